package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// saltOf is the salt of a node.
func saltOf(t *testing.T, c *client.Client, id string) []byte {
	t.Helper()
	return must(c.NodeInfo(t.Context(), client.ByID(id)))(t).Info.Envelope.Salt
}

// appends are the nodes that an agent puts in every way, by name.
func appends(t *testing.T, c *client.Client) map[string]string {
	t.Helper()
	ctx := t.Context()
	thread := begun(t, c)
	at := map[string]string{"Start": thread.Head()}
	then := func(name string, err error) {
		t.Helper()
		ok(t, err)
		at[name] = thread.Head()
	}
	then("Append", thread.Append(ctx, asks))
	at["Spawn"] = must(thread.Spawn(ctx, client.Spawn{CallID: call.GetId(), Alias: "sub", Messages: messages{system}}))(t).Head()
	then("AppendResults", thread.AppendResults(ctx, result))
	_, err := thread.AppendNode(ctx, client.Node{Metadata: map[string]string{"a": "b"}})
	then("AppendNode", err)
	then("Reply", thread.Reply(ctx, "o1", client.Assistant(strings.Repeat("long ", 500))))
	at["Start below"] = must(c.Start(ctx, turn("m2", "o1", hello)))(t).Head()
	at["Start bare"] = must(c.Start(ctx, client.Turn{MessageID: "m3", Messages: messages{hello}}))(t).Head()
	then("Finish", thread.Finish(ctx, client.Stopped))
	res := must(thread.Compact(ctx, briefly))(t)
	at["Compact"] = res.NodeId
	chat := must(c.Chat(ctx, "1", system))(t)
	at["root of Chat"] = chat.Head()
	at["root of Start"] = must(c.NodeInfo(ctx, client.ByID(at["Start"])))(t).Info.Envelope.ParentId
	return at
}

// Every append has a salt of its own, but for roots of prompts, which are shared. A Deterministic Client gives none.
func TestAppendsAreSalted(t *testing.T) {
	c := newLink(t).client(client.WithVerification())
	seen := map[string]bool{}
	at := appends(t, c)
	for name, id := range at {
		salt := saltOf(t, c, id)
		if root := strings.HasPrefix(name, "root of "); root != (len(salt) == 0) || !root && (len(salt) != 16 || seen[string(salt)]) {
			t.Errorf("%s has salt %x", name, salt)
		}
		seen[string(salt)] = true
	}
	if at["root of Chat"] != at["root of Start"] || len(at) != 12 {
		t.Errorf("equal prompts are not shared: %v", at)
	}
	c = newLink(t).client(client.Deterministic(), client.WithVerification())
	for name, id := range appends(t, c) {
		if salt := saltOf(t, c, id); len(salt) != 0 {
			t.Errorf("%s has salt %x of a Deterministic client", name, salt)
		}
	}
}

// The caller's salt goes before.
func TestTheCallersSalt(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread, own := begun(t, c), []byte("0123456789abcdef")
	must(thread.AppendNode(ctx, client.Node{Messages: messages{answer}, Salt: own}))(t)
	if got := saltOf(t, c, thread.Head()); !bytes.Equal(got, own) {
		t.Errorf("the salt is %x", got)
	}
}

// Conversations that say the same are apart: in nodes and in what names them. Those that fork share what they have in common.
func TestConversationsAreApart(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	one, two := must(c.Chat(ctx, "1", system))(t), must(c.Chat(ctx, "2", system))(t)
	for _, thread := range []*client.Thread{one, two} {
		ok(t, thread.Append(ctx, hello))
		ok(t, thread.Append(ctx, answer))
	}
	described := must(c.Describe(ctx, client.ByID(one.Head()), nil))(t)
	if one.Head() == two.Head() || len(described.Aliases) != 1 {
		t.Errorf("heads %s and %s; aliases %v", one.Head(), two.Head(), described.Aliases)
	}
	fork := must(one.Fork(ctx, "fork"))(t)
	ok(t, fork.Append(ctx, hello))
	ok(t, one.Append(ctx, hello))
	if stats := must(c.Stats(ctx))(t); stats.Nodes != 1+2+2+2 || stats.Roots != 1 {
		t.Errorf("%d nodes, %d roots", stats.Nodes, stats.Roots)
	}
}

// Of equal appends at once exactly one moves the alias.
func TestEqualAppendsAtOnce(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	begun(t, c)
	const writers = 8
	errs := make(chan error, writers)
	var together sync.WaitGroup
	together.Add(writers)
	for range writers {
		thread := must(c.Resume(ctx, "m1"))(t)
		go func() {
			together.Done()
			together.Wait()
			errs <- thread.Append(ctx, answer)
		}()
	}
	won := 0
	for range writers {
		if err := <-errs; err == nil {
			won++
		} else {
			fails(t, err, client.ErrAliasMoved)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d won", won, writers)
	}
	shows(t, must(c.Resume(ctx, "m1"))(t), system, hello, answer)
}

// A request that was never sent makes nobody's put one's own.
func TestWhatWasNeverSentIsNobodys(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	begun(t, l.client())
	a, b := must(l.client().Resume(ctx, "m1"))(t), must(l.client().Resume(ctx, "m1"))(t)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := b.Append(gone, asks); err == nil || client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	l.refused[putNode] = 4 // lost on its way, of which nobody knows
	if err := b.Append(ctx, asks); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	ok(t, a.Append(ctx, asks))
	if err := fails(t, b.Append(ctx, asks), client.ErrAliasMoved); client.MayHaveHappened(err) {
		t.Error("what is known not to be there may have happened")
	}

	l.refused[putNodes] = 4
	c := l.client()
	if _, err := c.Start(ctx, turn("m9", "", hello)); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	if first := must(l.client().Start(ctx, turn("m9", "", hello)))(t); !first.New() {
		t.Error("the first is not new")
	}
	if second := must(c.Start(ctx, turn("m9", "", hello)))(t); second.New() {
		t.Error("the second is new")
	}
}

// Whoever refuses the repeat of a put that took place, the thread knows its node again.
func TestALostAppendThatAStrangerRefuses(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	thread := begun(t, s.client(3))
	stranger := func(func() error) error { return status.Error(codes.ResourceExhausted, "too many requests") }
	s.answers[putNode] = []func(func() error) error{lost, stranger}
	if err := thread.Append(ctx, answer); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	for _, reason := range []string{"OVERLOADED", "DISK_FULL"} { // of which each by itself says that nothing was done
		no := refuses(t, reason, func() {})
		s.answers[putNode] = []func(func() error) error{no, no, no}
		if err := thread.Append(ctx, answer); !client.MayHaveHappened(err) {
			t.Fatalf("got %v", err)
		}
		s.answers[putNode] = nil
	}
	follows(t, s.link, thread)
	ok(t, thread.Append(ctx, answer))
	shows(t, thread, system, hello, answer)
}

// What goroutines of one thread append, and refresh, takes no append of unknown outcome from another.
func TestAThreadRemembersBesideOthers(t *testing.T) {
	for name, beside := range map[string]func(*testing.T, *client.Thread){
		"an append that is refused": func(t *testing.T, thread *client.Thread) {
			fails(t, thread.Append(t.Context(), client.User("second")), client.ErrAliasMoved)
			ok(t, thread.Refresh(t.Context()))
			must(thread.Messages(t.Context(), nil))(t)
			ok(t, thread.Append(t.Context(), client.User("second")))
		},
		"a compaction": func(t *testing.T, thread *client.Thread) {
			must(thread.Compact(t.Context(), keepAll))(t)
			ok(t, thread.Refresh(t.Context()))
			ok(t, thread.Append(t.Context(), client.User("second")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			thread := begun(t, l.client(client.WithRetry(client.Retry{Attempts: 1})))
			l.lost[putNode] = 1
			first := client.Assistant("first")
			if err := thread.Append(ctx, first); !client.MayHaveHappened(err) {
				t.Fatalf("got %v", err)
			}
			beside(t, thread)
			head := thread.Head()
			ok(t, thread.Append(ctx, first))
			if thread.Head() != head {
				t.Error("the thread went back, or on")
			}
			shows(t, thread, system, hello, first, client.User("second"))
			ok(t, thread.Append(ctx, first)) // which is another
			shows(t, thread, system, hello, first, client.User("second"), first)
		})
	}
}

// A repeat that finds its node below an earlier head tells of the same aliases as an append that was put.
func TestTheAliasesOfANodeThatIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client(client.WithRetry(client.Retry{Attempts: 1})))
	node := client.Node{Messages: messages{answer}, Aliases: []client.AliasUpdate{{Name: "seen"}}}
	l.lost[putNode] = 1
	if _, err := thread.AppendNode(ctx, node); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	ok(t, thread.Refresh(ctx))
	res := must(thread.AppendNode(ctx, node))(t)
	if !res.Retried || len(res.Aliases) != 2 || res.Aliases[0].Name != thread.Alias() || res.Aliases[1].Name != "seen" {
		t.Errorf("retried %v, aliases %v", res.Retried, res.Aliases)
	}
}

// Two appends of one text, of each of which the outcome is unknown, are two.
func TestTwoUnknownAppendsOfOneText(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client(client.WithRetry(client.Retry{Attempts: 1})))
	l.lost[putNode] = 1
	if err := thread.Append(ctx, hello); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	l.lost[putNode] = 1
	l.meanwhile(func() { // while the repeat is under way, which the thread has taken up, another says the same
		fails(t, thread.Append(ctx, hello), client.ErrAliasMoved)
		ok(t, thread.Refresh(ctx))
		ok(t, thread.Append(ctx, hello))
	})
	if err := thread.Append(ctx, hello); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	ok(t, thread.Append(ctx, hello))
	shows(t, thread, system, hello, hello, hello)
}

// What never took place is put where the thread is by then, once.
func TestAnAppendThatNeverTookPlaceIsPutLater(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client(client.WithRetry(client.Retry{Attempts: 1})))
	l.refused[putNode] = 1
	if err := thread.Append(ctx, answer); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	ok(t, thread.Append(ctx, hello))
	ok(t, thread.Append(ctx, answer))
	shows(t, thread, system, hello, hello, answer)
}

// A thread that is opened anew knows nothing of appends that were given up.
func TestAGivenUpAppend(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithRetry(client.Retry{Attempts: 1}))
	thread := begun(t, c)
	l.lost[putNode] = 1
	if err := thread.Append(ctx, answer); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	anew := must(c.Open(ctx, thread.Alias()))(t)
	ok(t, anew.Append(ctx, answer))
	shows(t, anew, system, hello, answer, answer)
}

// A Refresh under way takes a thread back behind none of its appends.
func TestRefreshTakesNothingBack(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	thread := begun(t, s.client(1))
	s.answers[resolve] = []func(func() error) error{func(pass func() error) error {
		err := pass()
		ok(t, thread.Append(ctx, answer))
		return err
	}}
	ok(t, thread.Refresh(ctx))
	ok(t, thread.Append(ctx, hello))
	shows(t, thread, system, hello, answer, hello)
}

// The only caller of Start is told New, in its first call or in its second, whoever went on meanwhile.
func TestStartIsNewToItsOnlyCaller(t *testing.T) {
	for name, replyTo := range map[string]string{"a conversation": "", "a reply": "m1", "to what is not known": "unheard"} {
		for attempts := range 3 {
			t.Run(fmt.Sprint(name, ", ", attempts), func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				c := l.client(client.WithRetry(client.Retry{Attempts: attempts, First: 1, Max: 1}))
				parent := begun(t, c)
				m2 := turn("m2", replyTo, hello)
				m2.Chat = "x"
				if replyTo == "m1" {
					l.lost[putNode] = 1
				} else {
					l.lost[putNodes] = 1
				}
				l.meanwhile(func() {
					ok(t, parent.Append(ctx, answer))
					ok(t, must(l.client().Resume(ctx, "m2"))(t).Append(ctx, answer)) // a guard, say
				})
				thread, err := c.Start(ctx, m2)
				if attempts == 1 {
					if !client.MayHaveHappened(err) {
						t.Fatalf("got %v", err)
					}
					thread, err = c.Start(ctx, m2)
				}
				if ok(t, err); !thread.New() {
					t.Error("not new to its only caller")
				}
				fails(t, thread.Append(ctx, answer), client.ErrAliasMoved)
				_, err = c.Start(ctx, m2)
				if e := fails(t, err, client.ErrAliasExists); client.MayHaveHappened(e) {
					t.Error("what was refused may have happened")
				}
			})
		}
	}
}

// Of two workers whose requests and replies are lost in any order one is New, and one appends.
func TestOfTwoWorkersOneIsNew(t *testing.T) {
	for _, lost := range []bool{false, true} {
		for _, replyTo := range []string{"", "m1"} {
			t.Run(fmt.Sprint(lost, replyTo), func(t *testing.T) {
				ctx, l := t.Context(), newLink(t)
				begun(t, l.client())
				faults := l.refused
				if lost {
					faults = l.lost
				}
				faults[putNodes], faults[putNode] = 1, 1
				var other *client.Thread
				l.meanwhile(func() {
					faults[putNodes], faults[putNode] = 0, 0
					other = must(client.New(l.ClientConn).Start(ctx, turn("m2", replyTo, hello)))(t)
				})
				if !lost { // the request goes astray before the other's
					other = must(client.New(l.ClientConn).Start(ctx, turn("m2", replyTo, hello)))(t)
				}
				own := must(l.client().Start(ctx, turn("m2", replyTo, hello)))(t)
				if own.New() == other.New() || own.New() != lost || own.Head() != other.Head() {
					t.Errorf("new: %v and %v", own.New(), other.New())
				}
				ok(t, other.Append(ctx, asks))
				fails(t, own.Append(ctx, asks), client.ErrAliasMoved)
			})
		}
	}
}

// Start of another message under a taken id is refused; so is a spawn from another call.
func TestAnotherMessageUnderATakenID(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	begun(t, c)
	_, err := c.Start(ctx, turn("m1", "", client.User("Another?")))
	fails(t, err, client.ErrAliasExists)
	noted := turn("m1", "", hello)
	noted.Metadata = map[string]string{"from": "mail"}
	_, err = c.Start(ctx, noted)
	fails(t, err, client.ErrAliasExists)

	thread := must(c.Resume(ctx, "m1"))(t)
	other := client.Call("call-2", "read", "{}")
	ok(t, thread.Append(ctx, client.Assistant("", call, other)))
	spawn := client.Spawn{CallID: "call-1", Alias: "sub", Messages: messages{hello}}
	must(thread.Spawn(ctx, spawn))(t)
	spawn.CallID = "call-2"
	_, err = thread.Spawn(ctx, spawn)
	fails(t, err, client.ErrAliasExists)
}

// Of two forks to one name one is new.
func TestOfTwoForksOneIsNew(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client())
	l.lost[setAlias] = 1
	one, two := must(thread.Fork(ctx, "branch"))(t), must(thread.Fork(ctx, "branch"))(t)
	if !one.New() || two.New() {
		t.Errorf("new: %v and %v", one.New(), two.New())
	}
}

// A spawn whose reply was lost is new to its only caller, and a compaction is not made again.
func TestLostSpawnsAndCompactions(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	thread := begun(t, l.client(client.WithRetry(client.Retry{Attempts: 1})))
	ok(t, thread.Append(ctx, asks))
	spawn := client.Spawn{CallID: "call-1", Alias: "sub", Messages: messages{hello}, Inherit: client.InheritPrefix}
	l.lost[putNode] = 1
	if _, err := thread.Spawn(ctx, spawn); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	if child := must(thread.Spawn(ctx, spawn))(t); !child.New() {
		t.Error("not new to its only caller")
	}
	if again := must(thread.Spawn(ctx, spawn))(t); again.New() {
		t.Error("new again")
	}

	ok(t, thread.AppendResults(ctx, client.Result(call, strings.Repeat("long ", 500))))
	ok(t, thread.Append(ctx, answer))
	o := client.Compaction{Summary: "They read.", SummaryOnly: true}
	l.lost[compactRPC] = 1
	const describe = transcriptv1.TranscriptService_Describe_FullMethodName
	l.meanwhile(func() { l.refused[describe] = 1 })
	if _, err := thread.Compact(ctx, o); !client.MayHaveHappened(err) {
		t.Fatalf("got %v", err)
	}
	before := must(l.client().Stats(ctx))(t).Nodes
	if res := must(thread.Compact(ctx, o))(t); !res.Written || res.NodeId != thread.Head() {
		t.Errorf("got %v", res)
	}
	if now := must(l.client().Stats(ctx))(t).Nodes; now != before {
		t.Errorf("%d nodes, there were %d", now, before)
	}
}

func TestMayHaveHappened(t *testing.T) {
	ctx, s := t.Context(), newScripted(t)
	c := s.client(2)
	put := func(answers ...func(func() error) error) error {
		s.answers[putNode] = answers
		_, err := c.Put(ctx, client.Node{Messages: messages{hello}})
		return err
	}
	fail := func(code codes.Code) func(func() error) error {
		return func(func() error) error { return status.Error(code, "so") }
	}
	no := func(reason string) func(func() error) error { return refuses(t, reason, func() {}) }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                    {nil, false},
		"an error of something else": {errors.New("x"), false},
		"a deadline":                 {put(fail(codes.DeadlineExceeded)), true},
		"cancelled":                  {put(fail(codes.Canceled)), true},
		"gone twice":                 {put(lost, lost), true},
		"the store":                  {put(no("STORE_FAILED")), true},
		"a stranger":                 {put(fail(codes.ResourceExhausted)), true},
		"refused":                    {put(no("DISK_FULL")), false},
		"refused twice":              {put(no("OVERLOADED"), no("OVERLOADED")), false},
		"gone and refused":           {put(lost, no("DISK_FULL")), true},
		"wrapped":                    {fmt.Errorf("in the agent: %w", put(fail(codes.Internal))), true},
	} {
		if got := client.MayHaveHappened(c.err); got != c.want {
			t.Errorf("%s: %v: %v, want %v", name, c.err, got, c.want)
		}
	}
}

// A reply of system messages alone is no root, and salted.
func TestAReplyOfSystemMessagesIsSalted(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	begun(t, c)
	thread := must(c.Start(ctx, client.Turn{MessageID: "m2", ReplyTo: "m1", Messages: messages{system}}))(t)
	if len(saltOf(t, c, thread.Head())) == 0 {
		t.Error("it has no salt")
	}
}
