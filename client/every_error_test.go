package client

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// methods calls each method that can fail, by its name, on a client and a thread of it.
func methods() map[string]func(context.Context, *Client, *Thread) error {
	second := func(_ any, err error) error { return err }
	hello := []*transcriptv1.Message{User("hello")}
	call := Call("c", "read", "{}")
	return map[string]func(context.Context, *Client, *Thread) error{
		"Client.Aliases": func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Aliases(ctx, AliasScope{})) },
		"Client.AliasRuns": func(ctx context.Context, c *Client, _ *Thread) error {
			return last(c.AliasRuns(ctx, AliasScope{}, true))
		},
		"Client.Assemble": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.Assemble(ctx, ByID("x"), Query{}))
		},
		"Client.Chat":     func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Chat(ctx, "1", System("s"))) },
		"Client.Children": func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Children(ctx, ByID("x"))) },
		"Client.Close":    func(_ context.Context, c *Client, _ *Thread) error { return c.Close() },
		"Client.Compact": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.Compact(ctx, ByAlias("a"), Compaction{Through: "x", Summary: "s"}))
		},
		"Client.DeleteAlias": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.DeleteAlias(ctx, "a", Condition{}))
		},
		"Client.DeleteAliases": func(ctx context.Context, c *Client, _ *Thread) error {
			return last(c.DeleteAliases(ctx, AliasDeletion{Prefix: "a"}))
		},
		"Client.Variables": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Variables(ctx, ByID("x"), "v")) },
		"Client.Describe":  func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Describe(ctx, ByID("x"), nil)) },
		"Client.EndRun": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.EndRun(ctx, &AliasRun{AliasInfo: &transcriptv1.AliasInfo{Name: "a", NodeId: "x"}}, "cancelled"))
		},
		"Client.Frames":    func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Frames(ctx, ByID("x"), Query{})) },
		"Client.History":   func(ctx context.Context, c *Client, _ *Thread) error { return last(c.History(ctx, "a")) },
		"Client.Node":      func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Node(ctx, ByID("x"))) },
		"Client.NodeInfo":  func(ctx context.Context, c *Client, _ *Thread) error { return second(c.NodeInfo(ctx, ByID("x"))) },
		"Client.Back":      func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Back(ctx, ByID("x"), Query{})) },
		"Client.Nodes":     func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Nodes(ctx, "x")) },
		"Client.NodeInfos": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.NodeInfos(ctx, "x")) },
		"Client.Open":      func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Open(ctx, "a")) },
		"Client.Put": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.Put(ctx, Node{Messages: hello}))
		},
		"Client.PutArchived": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.PutArchived(ctx, &transcriptv1.ArchivedNode{}))
		},
		"Client.PutAll": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.PutAll(ctx, Node{Messages: hello}))
		},
		"Client.Recall": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.Recall(ctx, ByID("x"), Recall{}))
		},
		"Client.Replay":     func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Replay(ctx, ByID("x"), nil)) },
		"Client.Resolve":    func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Resolve(ctx, "a")) },
		"Client.Resume":     func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Resume(ctx, "m1")) },
		"Client.RunLoops":   func(ctx context.Context, c *Client, _ *Thread) error { return last(c.RunLoops(ctx, ByID("x"), nil)) },
		"Client.Search":     func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Search(ctx, nil)) },
		"Client.SearchPage": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.SearchPage(ctx, nil, "")) },
		"Client.SetAliases": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.SetAliases(ctx, AliasMove{Name: "a", Target: ByID("x")}))
		},
		"Client.StaleRuns": func(ctx context.Context, c *Client, _ *Thread) error { return last(c.StaleRuns(ctx, AliasScope{}, 0)) },
		"Client.Start": func(ctx context.Context, c *Client, _ *Thread) error {
			_, err := c.Start(ctx, Turn{MessageID: "m1", System: hello, Messages: hello})
			return errors.Join(err, second(c.Start(ctx, Turn{MessageID: "m2", ReplyTo: "m1", Messages: hello})))
		},
		"Client.ServerInfo": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.ServerInfo(ctx)) },
		"Client.Namespaces": func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Namespaces(ctx)) },
		"Client.SetNamespace": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.SetNamespace(ctx, &transcriptv1.NamespaceSettings{}, nil))
		},
		"Client.Stats":    func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Stats(ctx)) },
		"Client.Supports": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Supports(ctx, "presets")) },
		"Client.Backup":   func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Backup(ctx, Backup{})) },
		"Client.DeleteNamespace": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.DeleteNamespace(ctx, "default"))
		},
		"Client.CollectGarbage": func(ctx context.Context, c *Client, _ *Thread) error {
			return last(c.CollectGarbage(ctx, Collection{}))
		},
		"Client.Erase": func(ctx context.Context, c *Client, _ *Thread) error {
			return last(c.Erase(ctx, Erasure{AliasPrefix: "a"}))
		},
		"Client.Receipts": func(ctx context.Context, c *Client, _ *Thread) error { return second(c.Receipts(ctx, "a")) },
		"Client.ForgetAlias": func(ctx context.Context, c *Client, _ *Thread) error {
			return second(c.ForgetAlias(ctx, "a", Condition{}))
		},
		"Client.Restore": func(ctx context.Context, c *Client, _ *Thread) error {
			_, err := c.Restore(ctx, nil)
			return err
		},
		"Client.RestoreReceipts": func(ctx context.Context, c *Client, _ *Thread) error {
			return c.RestoreReceipts(ctx, []byte("receipt"))
		},
		"Client.Verify": func(ctx context.Context, c *Client, _ *Thread) error { return last(c.Verify(ctx, Check{})) },

		"Thread.AnswerUnknown": func(ctx context.Context, _ *Client, t *Thread) error { return t.AnswerUnknown(ctx) },
		"Thread.Append":        func(ctx context.Context, _ *Client, t *Thread) error { return t.Append(ctx, hello...) },
		"Thread.AppendNode": func(ctx context.Context, _ *Client, t *Thread) error {
			return second(t.AppendNode(ctx, Node{Messages: hello}))
		},
		"Thread.AppendResults": func(ctx context.Context, _ *Client, t *Thread) error { return t.AppendResults(ctx, Result(call, "ok")) },
		"Thread.Compact": func(ctx context.Context, _ *Client, t *Thread) error {
			return second(t.Compact(ctx, Compaction{Summary: "s"}))
		},
		"Thread.CompactWhen": func(ctx context.Context, _ *Client, t *Thread) error {
			return second(t.CompactWhen(ctx, Trigger{Bytes: 1}))
		},
		"Thread.Finish":    func(ctx context.Context, _ *Client, t *Thread) error { return t.Finish(ctx, Stopped, hello...) },
		"Thread.Fork":      func(ctx context.Context, _ *Client, t *Thread) error { return second(t.Fork(ctx, "b")) },
		"Thread.Messages":  func(ctx context.Context, _ *Client, t *Thread) error { return second(t.Messages(ctx, nil)) },
		"Thread.OpenCalls": func(ctx context.Context, _ *Client, t *Thread) error { return second(t.OpenCalls(ctx)) },
		"Thread.Refresh":   func(ctx context.Context, _ *Client, t *Thread) error { return t.Refresh(ctx) },
		"Thread.Reply":     func(ctx context.Context, _ *Client, t *Thread) error { return t.Reply(ctx, "o1", hello...) },
		"Thread.Sent":      func(ctx context.Context, _ *Client, t *Thread) error { return t.Sent(ctx, "o1") },
		"Thread.Spawn": func(ctx context.Context, _ *Client, t *Thread) error {
			return second(t.Spawn(ctx, Spawn{CallID: "c", Alias: "s", Messages: hello}))
		},
	}
}

// tools are functions that the SDK hands out.
func tools() map[string]func(context.Context, *Client, *Thread) error {
	return map[string]func(context.Context, *Client, *Thread) error{
		"recall": func(ctx context.Context, _ *Client, t *Thread) error {
			_, err := t.RecallTool().Call(ctx, `{"call_id":"c"}`)
			return err
		},
		"search": func(ctx context.Context, _ *Client, t *Thread) error {
			_, err := t.SearchTool().Call(ctx, `{"query":"x"}`)
			return err
		},
	}
}

// wild answers every call with the same bytes, or error; a stream ends behind them.
type wild struct {
	fakeConn
	reply []byte
	err   error
}

func (w *wild) Invoke(_ context.Context, _ string, _, reply any, _ ...grpc.CallOption) error {
	return w.deliver(reply)
}

func (w *wild) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &wildStream{fakeStream: fakeStream{ctx: ctx, conn: &w.fakeConn}, wild: w}, nil
}

func (w *wild) deliver(reply any) error {
	if w.err != nil {
		return w.err
	}
	if raw, ok := reply.(*rawReply); ok {
		raw.bytes = w.reply
		return nil
	}
	if err := proto.Unmarshal(w.reply, reply.(proto.Message)); err != nil {
		return status.Error(codes.Internal, err.Error()) // as gRPC does
	}
	return nil
}

type wildStream struct {
	fakeStream
	wild *wild
	came bool
}

func (s *wildStream) SendMsg(any) error { return nil }

func (s *wildStream) RecvMsg(reply any) error {
	if s.came {
		return s.fakeStream.RecvMsg(reply)
	}
	s.came = true
	return s.wild.deliver(reply)
}

// Every error that leaves the SDK is an *Error, whatever the connection does; nor does it panic.
func TestEveryErrorIsAnError(t *testing.T) {
	all := methods()
	for _, of := range []any{&Client{}, &Thread{}} {
		kind := reflect.TypeOf(of)
		for i := range kind.NumMethod() {
			m := kind.Method(i)
			name := kind.Elem().Name() + "." + m.Name
			for n := range m.Type.NumOut() {
				if strings.Contains(m.Type.Out(n).String(), "error") && all[name] == nil {
					t.Errorf("%s is not in the table", name)
				}
			}
		}
	}
	for name, tool := range tools() {
		all[name] = tool
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	foreign := &transcriptv1.StreamAssembleResponse{HeadId: "x", NotModified: true}
	held, err := proto.Marshal(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for mode, c := range map[string]struct {
		conn   *wild
		ctx    context.Context
		closed bool
		want   error // nil: any, or none
	}{
		"unavailable":     {&wild{err: status.Error(codes.Unavailable, "gone")}, t.Context(), false, codeError(codes.Unavailable)},
		"no status":       {&wild{err: context.DeadlineExceeded}, t.Context(), false, ErrDeadlineExceeded},
		"a plain error":   {&wild{err: errors.New("a conn of somebody's own")}, t.Context(), false, codeError(codes.Unknown)},
		"cancelled":       {&wild{}, ended, false, ErrCancelled},
		"closed":          {&wild{}, t.Context(), true, ErrClosed},
		"empty replies":   {&wild{}, t.Context(), false, nil},
		"foreign replies": {&wild{reply: held}, t.Context(), false, nil},
		"garbage":         {&wild{reply: []byte{0xff, 0xff, 0x01}}, t.Context(), false, nil},
	} {
		for _, verify := range []bool{false, true} {
			for name, method := range all {
				opts := []Option{quick(1)}
				if verify {
					opts = append(opts, WithVerification())
				}
				client := New(c.conn, opts...)
				thread := &Thread{c: client, alias: "a", head: "x", size: &transcriptv1.Counters{Bytes: 10}}
				if c.closed {
					if err := errors.Join(client.Close(), client.Close()); err != nil {
						t.Error(err)
					}
				}
				err := method(c.ctx, client, thread)
				if _, is := errors.AsType[*Error](err); err != nil && !is {
					t.Errorf("%s, %s: %T: %v", mode, name, err, err)
				}
				if c.want != nil && name != "Client.Close" && !matches(err, c.want) {
					t.Errorf("%s, %s: %v", mode, name, err)
				}
			}
		}
	}
}

// codeError is an error that only its code is wanted of.
type codeError codes.Code

func (c codeError) Error() string { return codes.Code(c).String() }

func matches(err, want error) bool {
	if code, ok := want.(codeError); ok { //nolint:errorlint // it is never wrapped
		e, is := errors.AsType[*Error](err)
		return is && e.Code == codes.Code(code)
	}
	return errors.Is(err, want)
}

// Refusals of this side are *Error too.
func TestOwnRefusals(t *testing.T) {
	c := New(&wild{})
	thread := &Thread{c: c, alias: "a", head: "x"}
	_, insecure := Dial("example.com:1")
	_, target := Dial("dns:///127.0.0.1:\x01", WithInsecure())
	_, noID := c.Start(t.Context(), Turn{})
	_, noAlias := thread.Spawn(t.Context(), Spawn{})
	_, noResume := c.Resume(t.Context(), "")
	_, noChat := c.Chat(t.Context(), "")
	_, parent := thread.AppendNode(t.Context(), Node{Parent: ByID("x")})
	for _, r := range []struct {
		err  error
		want Reason
	}{
		{insecure, ErrInsecure}, {target, ErrBadTarget}, {noID, ErrNoName}, {noAlias, ErrNoName}, {noResume, ErrNoName},
		{noChat, ErrNoName}, {thread.Reply(t.Context(), ""), ErrNoName}, {thread.Sent(t.Context(), ""), ErrNoName},
		{parent, ErrParentGiven}, {thread.AppendResults(t.Context(), User("x")), ErrNotAResult},
	} {
		e, ok := errors.AsType[*Error](r.err)
		if !ok || e.Reason != r.want || !errors.Is(r.err, r.want) || e.Code == codes.OK || e.Reason.Error() == "" {
			t.Errorf("got %#v, want %v", r.err, r.want)
		}
		if ok && !strings.HasPrefix(e.Error(), "client: ") {
			t.Errorf("it says %q", e)
		}
	}
}
