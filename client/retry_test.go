package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// sends counts how often the client sends a call that always fails with err.
func sends(t *testing.T, err error, call func(context.Context, *Client) error) int {
	t.Helper()
	conn := &fakeConn{
		invoke: func(context.Context, string, any) (proto.Message, error) { return nil, err },
		frames: func(context.Context, any) ([]proto.Message, error) { return nil, err },
	}
	if got := call(t.Context(), New(conn, quick(3))); got == nil {
		t.Error("no error")
	}
	return conn.invoked + conn.opened
}

func TestWhatIsRepeated(t *testing.T) {
	put := func(nodes ...Node) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error {
			_, err := c.PutAll(ctx, nodes...)
			if len(nodes) == 1 {
				_, err = c.Put(ctx, nodes[0])
				_, errAll := c.PutAll(ctx, nodes...)
				return errors.Join(err, errAll)
			}
			return err
		}
	}
	del := func(condition Condition) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error {
			_, err := c.DeleteAlias(ctx, "a", condition)
			return err
		}
	}
	move := func(moves ...AliasMove) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error {
			_, err := c.SetAliases(ctx, moves...)
			return err
		}
	}
	to := func(target Ref, condition Condition) AliasMove {
		return AliasMove{Name: "a", Target: target, If: condition}
	}
	labelled := to(ByID("x"), HeadIs("x"))
	labelled.Labels = map[string]string{"k": "v"}
	on := func(alias string, condition Condition) []AliasUpdate {
		return []AliasUpdate{{Name: alias, If: condition}}
	}
	atRevision := to(ByID("x"), RevisionIs(3))
	atRevision.Labels = labelled.Labels
	itself := to(ByAlias("a"), RevisionIs(3))
	itself.Labels = labelled.Labels
	gone := func(condition Condition) Node {
		return Node{Aliases: []AliasUpdate{{Name: "a", If: condition, Delete: true}}}
	}
	goneToo := gone(HeadIs("x"))
	goneToo.Aliases = append(goneToo.Aliases, on("b", Condition{})...)
	revised := gone(RevisionIs(3))
	revised.Aliases = append(revised.Aliases, on("b", Condition{})...)
	unavailable := status.Error(codes.Unavailable, "gone")
	for name, c := range map[string]struct {
		call func(context.Context, *Client) error
		want bool
	}{
		"root":                            {put(Node{}), true},
		"parent by id":                    {put(Node{Parent: ByID("x")}), true},
		"parent by alias":                 {put(Node{Parent: ByAlias("a")}), false},
		"parent by alias that must exist": {put(Node{Parent: ByAlias("a"), Aliases: on("a", MustExist())}), false},
		"another alias conditioned":       {put(Node{Parent: ByAlias("a"), Aliases: on("b", HeadIs("x"))}), false},
		"another alias must not exist":    {put(Node{Parent: ByAlias("a"), Aliases: on("b", MustNotExist())}), false},
		"parent by alias with a head":     {put(Node{Parent: ByAlias("a"), Aliases: on("a", HeadIs("x"))}), true},
		"previous":                        {put(Node{}, Node{Previous: true}), true},
		"conditioned by another node":     {put(Node{Parent: ByAlias("a")}, Node{Previous: true, Aliases: on("a", HeadIs("x"))}), true},
		"one of several unconditioned":    {put(Node{}, Node{Parent: ByAlias("a")}), false},
		"with an alias":                   {put(Node{Aliases: on("a", Condition{})}), false},
		"with an alias that must exist":   {put(Node{Aliases: on("a", MustExist())}), false},
		"with a new alias":                {put(Node{Aliases: on("a", MustNotExist())}), true},
		"with an alias along":             {put(Node{Aliases: append(on("a", HeadIs("x")), on("b", Condition{})...)}), true},
		"alias":                           {move(to(ByID("x"), Condition{})), false},
		"alias that must exist":           {move(to(ByID("x"), MustExist())), false},
		"alias at a head":                 {move(to(ByID("x"), HeadIs("y"))), true},
		"new alias":                       {move(to(ByID("x"), MustNotExist())), true},
		"one of two aliases":              {move(to(ByID("x"), HeadIs("y")), to(ByID("x"), Condition{})), false},
		"alias with labels":               {move(labelled), false},
		"alias to alias":                  {move(to(ByAlias("b"), HeadIs("y"))), false},
		"delete":                          {del(Condition{}), false},
		"delete at head":                  {del(HeadIs("x")), true},
		"delete what must exist":          {del(MustExist()), false},
		"parent by alias at a revision":   {put(Node{Parent: ByAlias("a"), Aliases: on("a", RevisionIs(3))}), false},
		"parent by alias at both":         {put(Node{Parent: ByAlias("a"), Aliases: on("a", HeadAt("x", 3))}), true},
		"with an alias at a revision":     {put(Node{Aliases: append(on("a", RevisionIs(3)), on("b", Condition{})...)}), true},
		"with a deleted alias":            {put(gone(Condition{})), false},
		"with one deleted at a head":      {put(gone(HeadIs("x"))), true},
		"with one deleted and one set":    {put(goneToo), false},
		"with one deleted at a revision":  {put(revised), true},
		"alias at a revision":             {move(atRevision), true},
		"alias itself at a revision":      {move(itself), true},
		"alias to alias at a revision":    {move(to(ByAlias("b"), RevisionIs(3))), false},
		"deleted alias":                   {move(AliasMove{Name: "a", Delete: true}), false},
		"deleted alias that must exist":   {move(AliasMove{Name: "a", Delete: true, If: MustExist()}), false},
		"deleted aliases":                 {move(AliasMove{Name: "a", Delete: true, If: RevisionIs(3)}, AliasMove{Name: "b", Delete: true, If: HeadIs("x")}), true},
		"delete at a revision":            {del(RevisionIs(3)), true},
		"delete at a head and revision":   {del(HeadAt("x", 3)), true},
		"resolve":                         {func(ctx context.Context, c *Client) error { _, err := c.Resolve(ctx, "a"); return err }, true},
		"node":                            {func(ctx context.Context, c *Client) error { _, err := c.Node(ctx, ByID("x")); return err }, true},
		"namespaces":                      {func(ctx context.Context, c *Client) error { return last(c.Namespaces(ctx)) }, true},
		"settings":                        {func(ctx context.Context, c *Client) error { _, err := c.SetNamespace(ctx, nil, nil); return err }, false},
		"settings at a revision":          {func(ctx context.Context, c *Client) error { _, err := c.SetNamespace(ctx, nil, new(int64)); return err }, true},
		"stats":                           {func(ctx context.Context, c *Client) error { _, err := c.Stats(ctx); return err }, true},
		"assemble":                        {func(ctx context.Context, c *Client) error { _, err := c.Assemble(ctx, ByID("x"), Query{}); return err }, true},
		"frames":                          {func(ctx context.Context, c *Client) error { return last(c.Frames(ctx, ByID("x"), Query{})) }, true},
		"aliases":                         {func(ctx context.Context, c *Client) error { return last(c.Aliases(ctx, AliasScope{})) }, true},
		"history":                         {func(ctx context.Context, c *Client) error { return last(c.History(ctx, "a")) }, true},
		"nodes":                           {func(ctx context.Context, c *Client) error { _, err := c.Nodes(ctx, "x"); return err }, true},
		"children":                        {func(ctx context.Context, c *Client) error { return last(c.Children(ctx, ByID("x"))) }, true},
		"verify":                          {func(ctx context.Context, c *Client) error { return last(c.Verify(ctx, Check{})) }, true},
		"verify the store":                {func(ctx context.Context, c *Client) error { return last(c.Verify(ctx, Check{WholeStore: true})) }, true},
		"server info":                     {func(ctx context.Context, c *Client) error { _, err := c.ServerInfo(ctx); return err }, true},
	} {
		t.Run(name, func(t *testing.T) {
			once := sends(t, status.Error(codes.NotFound, "no"), c.call)
			want := once
			if c.want {
				want = 3 * once
			}
			if got := sends(t, unavailable, c.call); got != want {
				t.Errorf("sent %d times, want %d", got, want)
			}
			for _, err := range []error{refusal(t, codes.ResourceExhausted, ErrOverloaded), refusal(t, codes.Unavailable, ErrDraining)} {
				if got := sends(t, err, c.call); got != 3*once { // which has done nothing for sure
					t.Errorf("sent %d times, want %d: %v", got, 3*once, err)
				}
			}
		})
	}
}

// last is the error that ends a sequence.
func last[T any](seq func(func(T, error) bool)) (err error) {
	seq(func(_ T, e error) bool {
		err = e
		return true
	})
	return err
}

func TestOnWhichErrorsACallIsRepeated(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{status.Error(codes.Unavailable, ""), 3},
		{refusal(t, codes.Unavailable, ErrDraining), 3},
		{refusal(t, codes.Unavailable, ErrStoreFailed), 1},
		{refusal(t, codes.ResourceExhausted, ErrOverloaded), 3},
		{refusal(t, codes.Unavailable, ErrIdentityUnavailable), 3},
		{refusal(t, codes.Unavailable, ErrAuditUnavailable), 1},
		{refusal(t, codes.ResourceExhausted, ErrRateLimited), 3},
		{refusal(t, codes.ResourceExhausted, ErrQuotaExceeded), 1},
		{refusal(t, codes.Unauthenticated, ErrUnauthenticated), 1},
		{refusal(t, codes.PermissionDenied, ErrPermissionDenied), 1},
		{refusal(t, codes.ResourceExhausted, ErrDiskFull), 1},
		{refusal(t, codes.ResourceExhausted, ErrTooManyFiles), 1},
		{status.Error(codes.ResourceExhausted, "message too large"), 1},
		{status.Error(codes.Internal, ""), 1},
		{status.Error(codes.Unknown, ""), 1},
		{status.Error(codes.DeadlineExceeded, ""), 1},
		{refusal(t, codes.Aborted, ErrAliasMoved), 1},
	} {
		resolve := func(ctx context.Context, c *Client) error { _, err := c.Resolve(ctx, "a"); return err }
		if got := sends(t, c.err, resolve); got != c.want {
			t.Errorf("%v: sent %d times, want %d", c.err, got, c.want)
		}
	}
}

func TestPausesDoubleAndEndWithTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		conn := &fakeConn{invoke: func(context.Context, string, any) (proto.Message, error) {
			at = append(at, time.Since(start))
			return nil, status.Error(codes.Unavailable, "gone")
		}}
		c := New(conn, WithRetry(Retry{Attempts: 100, First: time.Second, Max: 4 * time.Second}), WithDeadline(20*time.Second))
		if _, err := c.Stats(t.Context()); status.Code(err) != codes.Unavailable {
			t.Fatalf("got %v", err)
		}
		for i, full := range []time.Duration{1, 2, 4, 4} {
			pause := at[i+1] - at[i]
			if pause < full*time.Second/2 || pause > full*time.Second {
				t.Errorf("pause %d was %v, want %v to %v", i+1, pause, full*time.Second/2, full*time.Second)
			}
		}
		if end := time.Since(start); end > 20*time.Second || end < 15*time.Second {
			t.Errorf("gave up after %v", end)
		}
	})
}

func TestDeadlines(t *testing.T) {
	var left time.Duration
	conn := &fakeConn{invoke: func(ctx context.Context, _ string, _ any) (proto.Message, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			t.Error("a call without a deadline")
		}
		left = time.Until(deadline).Round(time.Minute)
		return &transcriptv1.NamespaceStatsResponse{}, nil
	}}
	c := New(conn, WithDeadline(5*time.Minute))
	for _, own := range []time.Duration{0, time.Minute, time.Hour} {
		ctx, want := t.Context(), 5*time.Minute
		if own > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, own)
			defer cancel()
			want = own
		}
		if _, err := c.Stats(ctx); err != nil || left != want {
			t.Errorf("caller's %v: %v left, want %v (%v)", own, left, want, err)
		}
	}
}

func TestStreamsEndWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := frame(User("a"))
		first.HeadId = "x"
		conn := &fakeConn{frames: func(context.Context, any) ([]proto.Message, error) {
			return []proto.Message{first, frame(User("b"))}, errHang
		}}
		c := New(conn, WithIdle(10*time.Second))
		start, n := time.Now(), 0
		for _, err := range c.Frames(t.Context(), ByID("x"), Query{}) {
			if err == nil {
				n++
				time.Sleep(time.Minute) // on the fake clock: the consumer's time does not count
				continue
			}
			if !errors.Is(err, ErrDeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
		}
		if took := time.Since(start); n != 2 || took != 2*time.Minute+10*time.Second {
			t.Errorf("%d frames in %v", n, took)
		}
	})
}

func TestAStreamGoesOnOnlyBeforeItsFirstFrame(t *testing.T) {
	first := frame(User("a"))
	first.HeadId = "x"
	whole := frame(User("b"))
	whole.HeadId, whole.Report = "x", &transcriptv1.Report{Messages: 1}
	conn := &fakeConn{}
	conn.frames = func(context.Context, any) ([]proto.Message, error) {
		switch conn.opened {
		case 1:
			return nil, status.Error(codes.Unavailable, "at once")
		case 2:
			return []proto.Message{first}, status.Error(codes.Unavailable, "midway")
		default:
			return []proto.Message{whole}, nil
		}
	}
	c := New(conn, quick(5))
	n, err := 0, error(nil)
	for _, e := range c.Frames(t.Context(), ByID("x"), Query{}) {
		if err = e; e == nil {
			n++
		}
	}
	if n != 1 || status.Code(err) != codes.Unavailable || conn.opened != 2 {
		t.Errorf("Frames: %d frames, opened %d times, ended with %v", n, conn.opened, err)
	}
	conn.opened = 1
	a, err := c.Assemble(t.Context(), ByID("x"), Query{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := a.Messages()
	if err != nil || len(messages) != 1 || Text(messages[0]) != "b" {
		t.Errorf("Assemble kept what came before the stream broke: %v %v", messages, err)
	}
}

// away is a server that cannot be reached for a time, and knows no alias then.
func away(t *testing.T, d time.Duration) *fakeConn {
	back := time.Now().Add(d)
	gone := refusal(t, codes.NotFound, ErrAliasNotFound)
	return &fakeConn{invoke: func(context.Context, string, any) (proto.Message, error) {
		if time.Now().Before(back) {
			return nil, status.Error(codes.Unavailable, "connection refused")
		}
		return nil, gone
	}}
}

// A server that is away for a while fails no call whose deadline is later, by default 30 s.
func TestCallsOutlastAServerThatIsAway(t *testing.T) {
	for _, d := range []time.Duration{2 * time.Second, 5 * time.Second, 25 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			conn, began := away(t, d), time.Now()
			_, err := New(conn).Resolve(t.Context(), "a")
			if took := time.Since(began); !errors.Is(err, ErrAliasNotFound) || took > d+2*time.Second {
				t.Errorf("away for %v: after %v %v", d, took, err)
			}
			if conn.invoked > 30 {
				t.Errorf("away for %v: sent %d times", d, conn.invoked)
			}
		})
	}
}

// Near its deadline a call pauses for less, so that it does not give up long before.
func TestCallsAreRepeatedUntilTheirDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := New(away(t, time.Hour)).Resolve(t.Context(), "a")
		if took := time.Since(began); status.Code(err) != codes.Unavailable || took < 29*time.Second || took > 30*time.Second {
			t.Errorf("given up after %v: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := New(away(t, 2500*time.Millisecond)).Resolve(ctx, "a"); !errors.Is(err, ErrAliasNotFound) {
			t.Error(err)
		}
	})
}

func TestCallsWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, began := away(t, time.Hour), time.Now()
		_, err := New(conn, WithDeadline(0)).Resolve(t.Context(), "a")
		if took := time.Since(began); status.Code(err) != codes.Unavailable || took < 50*time.Second || took > time.Minute {
			t.Errorf("given up after %v: %v", took, err)
		}
		conn.invoke = func(ctx context.Context, _ string, _ any) (proto.Message, error) {
			if _, has := ctx.Deadline(); has {
				t.Error("a call has a deadline")
			}
			return &transcriptv1.NamespaceStatsResponse{}, nil
		}
		if _, err := New(conn, WithDeadline(0)).Stats(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStreamsWithoutIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{frames: func(context.Context, any) ([]proto.Message, error) { return nil, errHang }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err := New(conn, WithIdle(0)).Assemble(ctx, ByID("x"), Query{})
		if took := time.Since(began); !errors.Is(err, ErrDeadlineExceeded) || took != time.Hour {
			t.Errorf("ended after %v: %v", took, err)
		}
	})
}

// A Retry of which some fields are 0 pauses too.
func TestAnyRetryPauses(t *testing.T) {
	for _, r := range []Retry{{Attempts: 6}, {Attempts: 6, First: 20 * time.Millisecond}, {Attempts: 6, Max: time.Second}, {Attempts: 6, First: 5 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			conn, began := away(t, time.Hour), time.Now()
			_, err := New(conn, WithRetry(r)).Resolve(t.Context(), "a")
			if took := time.Since(began); err == nil || conn.invoked != 6 || took < 100*time.Millisecond {
				t.Errorf("%+v: sent %d times in %v: %v", r, conn.invoked, took, err)
			}
		})
	}
}

// A call over its rate is sent again once the server allows it, and not at all where that is behind its deadline.
func TestCallsOverTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allowed := time.Now().Add(7 * time.Second)
		conn := &fakeConn{}
		conn.invoke = func(context.Context, string, any) (proto.Message, error) {
			if left := time.Until(allowed); left > 0 {
				st, err := status.New(codes.ResourceExhausted, "").WithDetails(
					&errdetails.ErrorInfo{Domain: domain, Reason: "RATE_LIMITED"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(left)})
				if err != nil {
					t.Error(err)
				}
				return nil, st.Err()
			}
			return &transcriptv1.NamespaceStatsResponse{}, nil
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		var told *Error
		if _, err := New(conn).Stats(ctx); !errors.As(err, &told) || told.Reason != ErrRateLimited || told.RetryAfter != 7*time.Second || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := New(conn).Stats(t.Context()); err != nil || conn.invoked != 3 || time.Since(began) != 7*time.Second {
			t.Errorf("sent %d times in %v: %v", conn.invoked, time.Since(began), err)
		}
	})
}

// A call that never reached a server has done nothing: it is repeated whatever it does, and nobody's put is taken for its own.
func TestCallsThatWereNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	sent := 0
	count := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		sent++
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	c, err := Dial(addr, quick(3), WithDialOptions(grpc.WithUnaryInterceptor(count)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.DeleteAlias(t.Context(), "a", Condition{})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != codes.Unavailable || e.Retried || sent != 3 || MayHaveHappened(err) {
		t.Errorf("sent %d times: %#v", sent, err)
	}
}
