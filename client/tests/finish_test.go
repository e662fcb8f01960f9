package client_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// stub is what a view shows in place of a result that a call never got.
func stub(call *transcriptv1.ToolCall) *transcriptv1.Message {
	m := client.Result(call, "[no result: the call was interrupted]")
	m.Origin = transcriptv1.Origin_ORIGIN_STUB
	return m
}

// stands holds the last run loop of a thread to a state and an outcome.
func stands(t *testing.T, c *client.Client, thread *client.Thread, state transcriptv1.RunLoopState, outcome transcriptv1.RunOutcome) {
	t.Helper()
	last := collect(t, c.RunLoops(t.Context(), client.ByID(thread.Head()), nil))[0]
	if last.State != state || last.Outcome != outcome {
		t.Errorf("the run is %v, %v; want %v, %v", last.State, last.Outcome, state, outcome)
	}
}

const (
	runOpen   = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
	runClosed = transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
	noOutcome = transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED
)

// A run ends with any outcome, with last messages and without, also with calls under way; more work takes it back.
func TestFinish(t *testing.T) {
	for outcome, want := range map[client.Outcome]transcriptv1.RunOutcome{
		client.Replied: transcriptv1.RunOutcome_RUN_OUTCOME_REPLIED, client.Stopped: transcriptv1.RunOutcome_RUN_OUTCOME_STOPPED,
		client.Failed: transcriptv1.RunOutcome_RUN_OUTCOME_FAILED, client.Cancelled: transcriptv1.RunOutcome_RUN_OUTCOME_CANCELLED,
	} {
		for name, last := range map[string]messages{"alone": nil, "with a call": {asks}, "with a text": {answer}} {
			t.Run(string(outcome)+", "+name, func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client(client.WithVerification())
				thread := begun(t, c)
				other := client.Call("call-0", "write", "{}")
				ok(t, thread.Append(ctx, client.Assistant("", other)))
				shows(t, thread, system, hello, client.Assistant("", other))
				ok(t, thread.Finish(ctx, outcome, last...))
				stands(t, c, thread, runClosed, want)
				shown := whole(t, l, thread)
				shows(t, thread, shown...)
				if open := must(thread.OpenCalls(ctx))(t); len(open) != 0 {
					t.Errorf("still open: %v", open)
				}

				ok(t, thread.AppendResults(ctx, client.Result(other, "late")))
				ok(t, thread.Append(ctx, client.User("Next?")))
				loops := collect(t, c.RunLoops(ctx, client.ByID(thread.Head()), nil))
				if len(loops) != 2 || loops[1].State != runClosed || loops[1].Outcome != want {
					t.Errorf("runs %v", loops)
				}
				shows(t, thread, append(shown, client.User("Next?"))...)
			})
		}
	}
}

// Who resumes a run that is dead ends it; work of who was thought dead takes that back.
func TestFinishARunFoundDead(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client())
	ok(t, thread.Append(ctx, asks))
	c := l.client(client.WithVerification())
	guard := must(c.Resume(ctx, "m1"))(t)
	ok(t, guard.Finish(ctx, client.Cancelled))
	shows(t, guard, system, hello, asks, stub(call))
	stands(t, c, guard, runClosed, transcriptv1.RunOutcome_RUN_OUTCOME_CANCELLED)

	fails(t, thread.AppendResults(ctx, result), client.ErrAliasMoved)
	ok(t, thread.Refresh(ctx))
	ok(t, thread.Append(ctx, client.Assistant("I am here.", client.Call("call-2", "read", "{}"))))
	stands(t, c, thread, runOpen, noOutcome)
}

// A reply says that it is one; the outcome stands beside other metadata of a node, too.
func TestReplyIsAnOutcome(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, client.Assistant("", call)))
	ok(t, thread.Reply(ctx, "o1"))
	points(t, c, "msg/o1", thread.Head())
	stands(t, c, thread, runClosed, transcriptv1.RunOutcome_RUN_OUTCOME_REPLIED)

	ok(t, thread.Append(ctx, hello))
	must(thread.AppendNode(ctx, client.Node{
		Messages: messages{answer}, Metadata: map[string]string{client.OutcomeKey: string(client.Stopped), "steps": "9"},
	}))(t)
	stands(t, c, thread, runClosed, transcriptv1.RunOutcome_RUN_OUTCOME_STOPPED)
}

func TestNoOtherOutcome(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	for _, outcome := range []client.Outcome{"", "done", "REPLIED"} {
		e := fails(t, thread.Finish(ctx, outcome, answer), client.ErrInvalidField)
		if len(e.Violations) != 1 || e.Violations[0].Field != "metadata[0].value" {
			t.Errorf("%q: violations %v", outcome, e.Violations)
		}
	}
	shows(t, thread, system, hello)
}
