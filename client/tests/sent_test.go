package client_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// labelled holds an alias to labels; sent/ID stands for the node that msg/ID points to.
func labelled(t *testing.T, c *client.Client, alias string, want ...string) {
	t.Helper()
	expected := map[string]string{}
	for _, key := range want {
		expected[key] = "kept"
		if id, ok := strings.CutPrefix(key, "sent/"); ok {
			expected[key] = must(c.Resolve(t.Context(), "msg/"+id))(t).Alias.NodeId
		}
	}
	if got := must(c.Resolve(t.Context(), alias))(t).Alias.Labels; !maps.Equal(got, expected) {
		t.Errorf("labels %v, want %v", got, expected)
	}
}

// replies holds a reply to a message to begin behind these.
func replies(t *testing.T, c *client.Client, replyTo string, want ...*transcriptv1.Message) {
	t.Helper()
	more := client.User("More?")
	next := must(c.Start(t.Context(), client.Turn{MessageID: "next to " + replyTo, ReplyTo: replyTo, Messages: messages{more}}))(t)
	shows(t, next, append(want, more)...)
}

// Labels are anybody's to set: one of this kind that names no node is in no append's way, and stays.
func TestAForeignLabelOfSentIsPassedOver(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	must(c.SetAliases(ctx, client.AliasMove{
		Name: thread.Alias(), Target: client.ByAlias(thread.Alias()), If: client.HeadIs(thread.Head()),
		Labels: map[string]string{"sent/o1": "yes"},
	}))(t)
	resumed := must(c.Resume(ctx, "m1"))(t)
	ok(t, resumed.Append(ctx, asks))
	if labels := must(c.Resolve(ctx, thread.Alias()))(t).Alias.Labels; labels["sent/o1"] != "yes" {
		t.Errorf("labels %v", labels)
	}
}

// A message that is seen inside a run is the run: who replies to it later finds the run as it ended, whatever ended it.
func TestAMessageSeenInsideARunIsTheRun(t *testing.T) {
	last := client.Assistant("That is all.")
	for name, ends := range map[string]struct {
		by    func(*testing.T, *client.Thread) error
		shows messages
	}{
		"a reply":      {func(t *testing.T, thread *client.Thread) error { return thread.Append(t.Context(), last) }, messages{last}},
		"an outcome":   {func(t *testing.T, thread *client.Thread) error { return thread.Finish(t.Context(), client.Replied) }, nil},
		"a named one":  {func(t *testing.T, thread *client.Thread) error { return thread.Reply(t.Context(), "o2", last) }, messages{last}},
		"the same one": {func(t *testing.T, thread *client.Thread) error { return thread.Reply(t.Context(), "o1", last) }, messages{last}},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", crash ", crash), func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client(client.WithVerification())
				thread := begun(t, c)
				ok(t, thread.Append(ctx, asks)) // which sends the message
				ok(t, thread.Sent(ctx, "o1"))
				ok(t, thread.Sent(ctx, "o1"))
				points(t, c, "msg/o1", thread.Head())
				labelled(t, c, "msg/m1") // labels are set in appends
				ok(t, thread.AppendResults(ctx, result))
				points(t, c, "msg/o1", thread.Head())
				labelled(t, c, "msg/m1", "sent/o1")
				ok(t, thread.Append(ctx, client.Assistant("", client.Call("call-2", "read", "{}"))))
				ok(t, thread.Sent(ctx, "o1"))
				if crash {
					c = l.client()
					thread = must(c.Resume(ctx, "m1"))(t)
				}
				ok(t, thread.AppendResults(ctx, client.Result(client.Call("call-2", "read", "{}"), "more")))
				ok(t, ends.by(t, thread))
				points(t, c, "msg/o1", thread.Head())
				labelled(t, c, "msg/m1")
				end := must(thread.Messages(ctx, nil))(t)

				ok(t, thread.Append(ctx, client.User("And?"))) // the next run is another
				ok(t, thread.Append(ctx, asks))
				replies(t, c, "o1", end...)
			})
		}
	}
}

// A message sent when the run has ended stays there, and so does one of a run that a question ends.
func TestWhatIsSentStaysWithItsRun(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, answer))
	ok(t, thread.Sent(ctx, "o1"))
	end := thread.Head()
	ok(t, thread.Append(ctx, client.Assistant("Yes.", call))) // more work
	points(t, c, "msg/o1", end)
	ok(t, thread.Sent(ctx, "o2"))
	ok(t, thread.AppendResults(ctx, result))
	points(t, c, "msg/o2", thread.Head())
	before := thread.Head()
	ok(t, thread.Append(ctx, client.User("Stop. Something else.")))
	points(t, c, "msg/o2", before)
	labelled(t, c, "msg/m1")
	ok(t, thread.Append(ctx, answer))
	points(t, c, "msg/o2", before)

	// Before anybody answered, the user speaks on in the same run.
	asked := must(c.Start(ctx, turn("m2", "", hello)))(t)
	ok(t, asked.Sent(ctx, "o3"))
	ok(t, asked.Append(ctx, client.User("Are you there?")))
	points(t, c, "msg/o3", asked.Head())
	// A node in which the run ends and another begins is the end of it; system messages and metadata are part of it.
	ok(t, asked.Append(ctx, system))
	points(t, c, "msg/o3", asked.Head())
	ok(t, asked.Append(ctx, answer, client.User("Next.")))
	points(t, c, "msg/o3", asked.Head())
	labelled(t, c, "msg/m2")
	ok(t, asked.Append(ctx, asks))
	if at := must(c.Resolve(ctx, "msg/o3"))(t).Alias.NodeId; at == asked.Head() {
		t.Error("it went on with the next run")
	}
}

// After Open and Refresh it is found out where the run stands.
func TestSentBehindAnOpen(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, asks))
	other := must(l.client().Resume(ctx, "m1"))(t)
	ok(t, other.Sent(ctx, "o1"))
	ok(t, other.AppendResults(ctx, result))
	points(t, c, "msg/o1", other.Head())
	ok(t, thread.Refresh(ctx))
	ok(t, thread.Append(ctx, answer))
	points(t, c, "msg/o1", thread.Head())
	labelled(t, c, "msg/m1")

	fails(t, other.Append(ctx, hello), client.ErrAliasMoved)
	ok(t, other.Refresh(ctx))
	ok(t, other.Sent(ctx, "o2")) // the run has ended
	end := other.Head()
	ok(t, other.Append(ctx, hello))
	points(t, c, "msg/o2", end)
	points(t, c, "msg/o1", end)
}

// Another thread that ended the run without labels, a program in another language say, leaves nothing to move.
func TestLabelsOfARunThatHasEnded(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.AppendResults(ctx, result))
	at := thread.Head()
	must(c.Put(ctx, client.Node{
		Parent: client.ByID(at), Messages: messages{answer}, Aliases: []client.AliasUpdate{{Name: "msg/m1", If: client.HeadIs(at)}},
	}))(t)
	thread = must(l.client().Resume(ctx, "m1"))(t)
	ok(t, thread.Append(ctx, hello))
	points(t, c, "msg/o1", at)
	labelled(t, c, "msg/m1")
}

// An alias that somebody else moved, or deleted, moves along no more, and refuses nothing; other labels are kept.
func TestAliasesThatOthersMoved(t *testing.T) {
	for name, do := range map[string]func(*testing.T, *client.Client, string){
		"moved": func(t *testing.T, c *client.Client, root string) {
			must(c.SetAliases(t.Context(), client.AliasMove{Name: "msg/o1", Target: client.ByID(root)}))(t)
		},
		"deleted": func(t *testing.T, c *client.Client, _ string) {
			must(c.DeleteAlias(t.Context(), "msg/o1", client.MustExist()))(t)
		},
	} {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", compacted ", compacted), func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client()
				thread := worked(t, c, 2)
				root := must(c.Put(ctx, client.Node{Messages: messages{client.System("elsewhere")}}))(t).NodeId
				ok(t, thread.Append(ctx, client.User("Go on."), client.Assistant("I do."), asks))
				must(c.SetAliases(ctx, client.AliasMove{Name: "msg/m1", Target: client.ByID(thread.Head()), Labels: map[string]string{"title": "kept"}}))(t)
				ok(t, thread.Sent(ctx, "o1"))
				ok(t, thread.Sent(ctx, "o2"))
				do(t, c, root)
				if compacted {
					must(must(l.client().Resume(ctx, "m1"))(t).Compact(ctx, client.Compaction{Policy: client.Unbounded()}))(t)
				}
				ok(t, thread.AppendResults(ctx, result))
				points(t, c, "msg/o2", thread.Head())
				labelled(t, c, "msg/m1", "title", "sent/o2")
				ok(t, thread.Append(ctx, answer))
				points(t, c, "msg/o2", thread.Head())
				labelled(t, c, "msg/m1", "title")
				if name == "moved" {
					points(t, c, "msg/o1", root)
				} else {
					_, err := c.Resolve(ctx, "msg/o1")
					fails(t, err, client.ErrAliasNotFound)
				}
			})
		}
	}
}

// Where nothing moves along any more, no label tells of it.
func TestTheLastThatMovesAlongIsDropped(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	at := thread.Head()
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.AppendResults(ctx, result))
	labelled(t, c, "msg/m1", "sent/o1")
	must(c.SetAliases(ctx, client.AliasMove{Name: "msg/o1", Target: client.ByID(at)}))(t)
	thread = must(l.client().Resume(ctx, "m1"))(t)
	ok(t, thread.Append(ctx, asks))
	points(t, c, "msg/o1", at)
	labelled(t, c, "msg/m1")
	l.reset()
	ok(t, thread.AppendResults(ctx, result))
	if l.sent[resolve] != 0 {
		t.Error("labels were looked for where none tells of anything")
	}
}

// Behind a compaction what was sent before moves along too.
func TestSentMovesAlongPastACompaction(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := worked(t, c, 2)
	ok(t, thread.Append(ctx, client.User("Go on."), client.Assistant("I do.", call)))
	ok(t, thread.Sent(ctx, "o1"))
	ok(t, thread.AppendResults(ctx, result))
	if res := must(thread.Compact(ctx, keepAll))(t); !res.Written {
		t.Fatalf("got %v", res)
	}
	ok(t, thread.Sent(ctx, "o1"))
	thread = must(l.client().Resume(ctx, "m1"))(t)
	ok(t, thread.Append(ctx, answer))
	points(t, c, "msg/o1", thread.Head())
}

// At most 16 move along, and fewer where the alias has many labels; long ids are not kept over a crash.
func TestManySent(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	ok(t, thread.Append(ctx, asks))
	kept := map[string]string{}
	for i := range 55 {
		kept[fmt.Sprint("label ", i)] = "kept"
	}
	must(c.SetAliases(ctx, client.AliasMove{Name: "msg/m1", Target: client.ByID(thread.Head()), Labels: kept}))(t)
	at, long := thread.Head(), strings.Repeat("x", 300)
	ok(t, thread.Sent(ctx, long))
	for i := range 17 {
		ok(t, thread.Sent(ctx, fmt.Sprint("o", i)))
	}
	ok(t, thread.AppendResults(ctx, result))
	points(t, c, "msg/"+long, thread.Head())
	points(t, c, "msg/o14", thread.Head())
	points(t, c, "msg/o15", at)
	labels := must(c.Resolve(ctx, "msg/m1"))(t).Alias.Labels
	if len(labels) != 64 || labels["label 54"] != "kept" || labels["sent/o0"] != thread.Head() {
		t.Errorf("%d labels: %v", len(labels), labels)
	}
	ok(t, thread.Append(ctx, answer))
	points(t, c, "msg/"+long, thread.Head())
	if labels := must(c.Resolve(ctx, "msg/m1"))(t).Alias.Labels; !maps.Equal(labels, kept) {
		t.Errorf("labels %v", labels)
	}
}

// Replies that are lost, and repeats, leave what was sent at its run's end.
func TestSentOverLostReplies(t *testing.T) {
	for name, attempts := range map[string]int{"in one call": 4, "in the next call": 1} {
		for _, overtaken := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", overtaken ", overtaken), func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client(client.WithRetry(client.Retry{Attempts: attempts, First: 1, Max: 1}))
				thread := begun(t, c)
				append := func(do func() error) {
					t.Helper()
					l.lost[putNode] = 1
					err := do()
					if attempts == 1 {
						if !client.MayHaveHappened(err) {
							t.Fatalf("got %v", err)
						}
						err = do()
					}
					ok(t, err)
				}
				append(func() error { return thread.Append(ctx, asks) })
				ok(t, thread.Sent(ctx, "o1"))
				append(func() error { return thread.AppendResults(ctx, result) })
				points(t, c, "msg/o1", thread.Head())
				labelled(t, c, "msg/m1", "sent/o1")
				if overtaken {
					l.meanwhile(func() { follows(t, l, thread) })
				}
				append(func() error { return thread.Append(ctx, answer) })
				points(t, c, "msg/o1", thread.Head())
				labelled(t, c, "msg/m1")
			})
		}
	}
}

// What was sent between an append of unknown outcome and its repeat moves along as well.
func TestSentBeforeARepeat(t *testing.T) {
	for name, of := range map[string]struct {
		said  *transcriptv1.Message
		meets bool
	}{"work": {result, false}, "an end": {answer, false}, "an end that another met": {answer, true}} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			c := l.client(client.WithRetry(client.Retry{Attempts: 1}))
			thread := begun(t, c)
			ok(t, thread.Append(ctx, asks))
			l.lost[putNode] = 1
			if err := thread.Append(ctx, of.said); !client.MayHaveHappened(err) {
				t.Fatalf("got %v", err)
			}
			ok(t, thread.Sent(ctx, "o1"))
			if of.meets {
				follows(t, l, thread)
			}
			ok(t, thread.Append(ctx, of.said))
			points(t, c, "msg/o1", thread.Head())
		})
	}
}

// An append that ends the run while a message is sent is where the message goes.
func TestSentWhileTheRunEnds(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	c := s.client(1)
	thread := begun(t, c)
	ok(t, thread.Append(ctx, asks))
	var end string
	s.answers[setAlias] = []func(func() error) error{func(pass func() error) error {
		err := pass()
		ok(t, thread.Append(ctx, answer))
		end = thread.Head()
		ok(t, thread.Append(ctx, hello))
		return err
	}}
	ok(t, thread.Sent(ctx, "o1"))
	points(t, c, "msg/o1", end)
	ok(t, thread.Append(ctx, answer))
	points(t, c, "msg/o1", end)
}

// A thread's own alias, and its chat's, are its own.
func TestSentOfTheThreadsOwnAlias(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Sent(ctx, "m1"))
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	must(thread.AppendNode(ctx, client.Node{ // which names it itself
		Messages: messages{result}, Aliases: []client.AliasUpdate{{Name: "msg/o1"}, {Name: "o1"}},
	}))(t)
	points(t, c, "msg/o1", thread.Head())
	labelled(t, c, "msg/m1")
	fails(t, thread.Append(ctx, &transcriptv1.Message{}), client.ErrInvalidField)
}

// What moves along does so under a Thread of several goroutines: one that is overtaken, or whose reply comes late, takes nothing from it.
func TestSentOnAThreadOfSeveral(t *testing.T) {
	second := client.Call("call-2", "read", "{}")
	for name, late := range map[string]bool{"one is overtaken": false, "a reply comes late": true} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), newScripted(t)
			c := s.client(1)
			thread := begun(t, c)
			ok(t, thread.Append(ctx, asks))
			ok(t, thread.Sent(ctx, "o1"))
			goesOn := func() { ok(t, thread.Append(ctx, client.Assistant("", second))) }
			s.answers[putNode] = []func(func() error) error{func(pass func() error) error {
				if !late {
					goesOn()
					return pass()
				}
				err := pass()
				ok(t, thread.Refresh(ctx))
				goesOn()
				return err
			}}
			if err := thread.AppendResults(ctx, result); late {
				ok(t, err)
			} else {
				fails(t, err, client.ErrAliasMoved)
			}
			labelled(t, c, "msg/m1", "sent/o1")
			ok(t, thread.AppendResults(ctx, client.Result(second, "more")))
			labelled(t, c, "msg/m1", "sent/o1")
			points(t, c, "msg/o1", thread.Head())
			ok(t, thread.Append(ctx, answer))
			points(t, c, "msg/o1", thread.Head())
		})
	}
}

// An append that failed before it was sent, while it was looked up what moves along, did not happen.
func TestSentThatCannotBeLookedUp(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	thread := begun(t, s.client(1))
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Sent(ctx, "o1"))
	s.answers[resolve] = []func(func() error) error{lost}
	if err := thread.AppendResults(ctx, result); err == nil || client.MayHaveHappened(err) {
		t.Errorf("got %v", err)
	}
	ok(t, thread.AppendResults(ctx, result))
	shows(t, thread, system, hello, asks, result)
}

// An append with as many aliases as a call takes leaves what was sent behind; the next one moves it along.
func TestSentBesideManyAliases(t *testing.T) {
	c := newLink(t).client()
	thread := begun(t, c)
	ok(t, thread.Append(t.Context(), client.User("Answer."), client.Assistant("", client.Call("1", "reply", "{}"))))
	ok(t, thread.Sent(t.Context(), "own"))
	var many []client.AliasUpdate
	for i := range 999 {
		many = append(many, client.AliasUpdate{Name: fmt.Sprint("mark/", i)})
	}
	behind := thread.Head()
	must(thread.AppendNode(t.Context(), client.Node{Messages: messages{client.Result(client.Call("1", "reply", "{}"), "sent")}, Aliases: many}))(t)
	points(t, c, client.MessageAlias("own"), behind)
	ok(t, thread.Append(t.Context(), client.Assistant("", client.Call("2", "reply", "{}"))))
	points(t, c, client.MessageAlias("own"), thread.Head())
}
