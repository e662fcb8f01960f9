package client_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// staleRuns are the stale runs under chat/, once there are so many.
func staleRuns(t *testing.T, c *client.Client, n int) (runs map[string]*client.AliasRun) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(runs) < n && time.Now().Before(deadline); {
		runs = map[string]*client.AliasRun{}
		for run, err := range c.StaleRuns(t.Context(), client.AliasesWithPrefix("chat/"), 0) {
			ok(t, err)
			runs[run.Name] = run
		}
	}
	if len(runs) != n {
		t.Fatalf("%d stale runs, want %d", len(runs), n)
	}
	return runs
}

// loopAt is what Describe tells of the loop of an alias.
func loopAt(t *testing.T, c *client.Client, alias string) string {
	t.Helper()
	l := must(c.Describe(t.Context(), client.ByAlias(alias), nil))(t).Loop
	return fmt.Sprint(l.State, " ", l.Outcome)
}

const (
	openLoop      = "RUN_LOOP_STATE_OPEN RUN_OUTCOME_UNSPECIFIED"
	cancelledLoop = "RUN_LOOP_STATE_CLOSED RUN_OUTCOME_CANCELLED"
)

// chatTurn begins a turn in a chat of its own.
func chatTurn(t *testing.T, c *client.Client, name string) *client.Thread {
	t.Helper()
	return must(c.Start(t.Context(), client.Turn{MessageID: "m-" + name, Chat: name, Messages: messages{hello}}))(t)
}

// TestStreamCancelStaleGuard: an agent that streams is cancelled, one that sleeps is ended by the guard, and one that works on wins
// against it. Who was ended can go on, which takes the outcome back.
func TestStreamCancelStaleGuard(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	streams, sleeps, works := chatTurn(t, c, "streams"), chatTurn(t, c, "sleeps"), chatTurn(t, c, "works")
	must(c.Put(ctx, client.Node{Messages: messages{client.Assistant("nobody asked")}, Aliases: []client.AliasUpdate{{Name: "chat/lead-in"}}}))(t)
	for _, thread := range []*client.Thread{streams, sleeps, works} {
		ok(t, thread.Append(ctx, asks))
	}
	part := client.Assistant("What I can say so f")
	part.State = transcriptv1.MessageState_MESSAGE_STATE_PARTIAL
	ok(t, streams.Finish(ctx, client.Cancelled, result, part))
	if got := loopAt(t, c, "chat/streams"); got != cancelledLoop {
		t.Errorf("what was streamed and cancelled is %s", got)
	}

	stale := staleRuns(t, c, 2)
	ok(t, works.AppendResults(ctx, result))
	worked := works.Head()
	ended := must(c.EndRun(ctx, stale["chat/sleeps"], client.Cancelled))(t)
	if !slices.Equal(ended.Aliases, []string{"chat/sleeps", "msg/m-sleeps"}) || ended.MoreAliases {
		t.Errorf("the guard moved %q", ended.Aliases)
	}
	for _, alias := range ended.Aliases {
		if got := loopAt(t, c, alias); got != cancelledLoop {
			t.Errorf("%s, which the guard ended, is %s", alias, got)
		}
	}
	if again := must(c.EndRun(ctx, stale["chat/sleeps"], client.Cancelled))(t); again.NodeID != ended.NodeID {
		t.Errorf("ended again, the run ends in %s, not in %s", again.NodeID, ended.NodeID)
	}
	_, err := c.EndRun(ctx, stale["chat/works"], client.Cancelled)
	fails(t, err, client.ErrAliasMoved)
	if at := must(c.Resolve(ctx, "chat/works"))(t); at.Alias.NodeId != worked || loopAt(t, c, "chat/works") != openLoop {
		t.Errorf("the run that works on stands at %s", at.Alias.NodeId)
	}

	fails(t, sleeps.AppendResults(ctx, result), client.ErrAliasMoved)
	ok(t, sleeps.Refresh(ctx))
	shown := must(sleeps.Messages(ctx, nil))(t)
	if last := shown[len(shown)-1]; last.Origin != transcriptv1.Origin_ORIGIN_STUB {
		t.Errorf("the call of the run that was ended has no stub: %v", shown)
	}
	ok(t, sleeps.Append(ctx, asks))
	if got := loopAt(t, c, "chat/sleeps"); got != openLoop {
		t.Errorf("the run that goes on is %s", got)
	}
}

// TestTheGuardEndsWhatWasSentInsideTheRun: a message that its agent saw inside the run ends where the guard ended the run, and the next
// question leaves it there.
func TestTheGuardEndsWhatWasSentInsideTheRun(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := chatTurn(t, c, "sends")
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	ended := must(c.EndRun(ctx, staleRuns(t, c, 1)["chat/sends"], client.Cancelled))(t)
	at := func(alias string) string { return must(c.Resolve(ctx, alias))(t).Alias.NodeId }
	for _, alias := range []string{"chat/sends", "msg/m-sends", "msg/o1"} {
		if at(alias) != ended.NodeID {
			t.Errorf("%s is at %s, the run ended in %s", alias, at(alias), ended.NodeID)
		}
	}
	ok(t, thread.Refresh(ctx))
	ok(t, thread.Append(ctx, hello))
	if at("msg/o1") != ended.NodeID || at("msg/m-sends") != thread.Head() {
		t.Errorf("msg/o1 is at %s, the thread at %s", at("msg/o1"), thread.Head())
	}
	reply := must(c.Start(ctx, client.Turn{MessageID: "m2", ReplyTo: "o1", Messages: messages{hello}}))(t)
	if shown := must(reply.Messages(ctx, nil))(t); shown[len(shown)-2].Origin != transcriptv1.Origin_ORIGIN_STUB {
		t.Errorf("a reply to what was sent goes on from %v", shown)
	}
}

// TestAChatThatHasJustBegunIsNotStale: its words were put long ago in another chat, and it has an alias of its own since now.
func TestAChatThatHasJustBegunIsNotStale(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	said := client.Node{Messages: messages{hello}, Aliases: []client.AliasUpdate{{Name: "chat/old"}}}
	old := must(c.Put(ctx, said))(t)
	run := staleRuns(t, c, 1)["chat/old"]
	ended := must(c.EndRun(ctx, run, client.Failed))(t)
	said.Aliases[0].Name = "chat/new"
	if again := must(c.Put(ctx, said))(t); again.Created || again.NodeId != old.NodeId {
		t.Fatal("the words were put anew")
	}
	for a, err := range c.AliasRuns(ctx, client.AliasScope{}, true) {
		ok(t, err)
		if since := a.Now.Sub(a.MovedAt.AsTime()); a.Name != "chat/new" || a.Idle() != max(0, since) || a.Loop.LastPutAt.AsTime().After(run.Now) {
			t.Errorf("%s is idle for %v, was moved %v ago, and put last at %v", a.Name, a.Idle(), since, a.Loop.LastPutAt.AsTime())
		}
	}
	if at := must(c.Resolve(ctx, "chat/old"))(t); at.Alias.NodeId != ended.NodeID {
		t.Error("the chat that was ended was moved")
	}
}

// TestOfGuardAndWorkerOneWins: where a guard ends a run while its agent goes on, exactly one of them succeeds, and the chain has what
// that one put.
func TestOfGuardAndWorkerOneWins(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	const n = 30
	var threads []*client.Thread
	for i := range n {
		threads = append(threads, chatTurn(t, c, fmt.Sprint(i)))
	}
	runs := staleRuns(t, c, n)
	won := 0
	for i, thread := range threads {
		run := runs[fmt.Sprint("chat/", i)]
		var worker, guard error
		var both sync.WaitGroup
		both.Go(func() { worker = thread.Append(ctx, client.Assistant("done")) })
		both.Go(func() { _, guard = c.EndRun(ctx, run, client.Stopped) })
		both.Wait()
		want := "RUN_LOOP_STATE_CLOSED RUN_OUTCOME_STOPPED"
		switch {
		case worker == nil && errors.Is(guard, client.ErrAliasMoved):
			want = "RUN_LOOP_STATE_CLOSED RUN_OUTCOME_UNSPECIFIED"
			won++
		case guard == nil && errors.Is(worker, client.ErrAliasMoved):
		default:
			t.Fatalf("the worker: %v; the guard: %v", worker, guard)
		}
		for _, alias := range []string{run.Name, thread.Alias()} {
			if got := loopAt(t, c, alias); got != want {
				t.Errorf("%s is %s, want %s", alias, got, want)
			}
		}
	}
	t.Logf("of %d races workers won %d", n, won)
}

// TestTheGuardEndsAHeadWithManyAliases: a run is ended with all aliases of its head, also where a commit has no room for them.
func TestTheGuardEndsAHeadWithManyAliases(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	head := must(c.Put(ctx, client.Node{Messages: messages{hello}, Aliases: []client.AliasUpdate{{Name: "chat/first"}}}))(t)
	const n = 250
	for from := 0; from < n; from += 50 {
		var more []client.AliasMove
		for i := from; i < from+50; i++ {
			more = append(more, client.AliasMove{Name: fmt.Sprintf("msg/%04d", i), Target: client.ByID(head.NodeId)})
		}
		must(c.SetAliases(ctx, more...))(t)
	}
	ended := must(c.EndRun(ctx, staleRuns(t, c, 1)["chat/first"], client.Cancelled))(t)
	names := slices.Compact(slices.Sorted(slices.Values(ended.Aliases)))
	if len(names) != n+1 || len(ended.Aliases) != n+1 || ended.MoreAliases {
		t.Errorf("%d aliases were ended, %d names, more: %t; want %d", len(ended.Aliases), len(names), ended.MoreAliases, n+1)
	}
	for run, err := range c.AliasRuns(ctx, client.AliasScope{}, true) {
		ok(t, err)
		t.Fatalf("%s is open still", run.Name)
	}
}

// TestTheGuardLosesToADelete: an alias that was deleted since it was listed has moved on, and is not made again.
func TestTheGuardLosesToADelete(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	chatTurn(t, c, "gone")
	run := staleRuns(t, c, 1)["chat/gone"]
	must(c.DeleteAlias(ctx, "chat/gone", client.Condition{}))(t)
	_, err := c.EndRun(ctx, run, client.Cancelled)
	fails(t, err, client.ErrAliasMoved)
	if _, err := c.Resolve(ctx, "chat/gone"); !errors.Is(err, client.ErrAliasNotFound) {
		t.Errorf("the alias that was deleted: %v", err)
	}
}
