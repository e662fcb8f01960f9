package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// heads is a service that answers each put with a node named by the parent and the salt.
type heads struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	mu  sync.Mutex
	got []*transcriptv1.PutNodeRequest
}

func (h *heads) PutNode(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	switch req.Namespace {
	case "overloaded":
		s, err := status.New(codes.ResourceExhausted, "no").WithDetails(&errdetails.ErrorInfo{Reason: "OVERLOADED"})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	case "late":
		return nil, status.Error(codes.DeadlineExceeded, "no")
	case "silent":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.mu.Lock()
	h.got = append(h.got, req)
	h.mu.Unlock()
	return &transcriptv1.PutNodeResponse{NodeId: req.GetParent().GetNodeId() + "/" + string(req.Salt)}, nil
}

// wired connects a wire to a service.
func wired(t *testing.T, service transcriptv1.TranscriptServiceServer) *wire {
	t.Helper()
	w, err := dialWire(t.Context(), serve(t, rowEnv(t), service).addr, func(err error) { t.Errorf("lost: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.close() })
	return w
}

// call begins a put of a turn with an id of its call, and returns what will become of it.
func (w *wire) call(t *testing.T, namespace, parent, salt string, id uint64, within time.Duration) <-chan ending {
	t.Helper()
	ended := make(chan ending, 2) // a second one would be a fault, which the test is to see
	encoded, err := encodeTurn(1)
	if err != nil {
		t.Fatal(err)
	}
	w.begin(&wireCall{
		namespace: namespace, parent: parent, salt: []byte(salt), turn: encoded, call: id, deadline: time.Now().Add(within),
		done: func(e ending) { ended <- e },
	})
	return ended
}

const longEnough = time.Minute

// Far more puts than the server takes at once, and more bytes than its windows hold, all arrive whole and are answered.
func TestWirePuts(t *testing.T) {
	service := &heads{}
	w := wired(t, service)
	const n = 1500
	var all [n]<-chan ending
	for i := range all {
		all[i] = w.call(t, "some", strings.Repeat("a", i%65), fmt.Sprintf("%016d", i), uint64(i), longEnough)
	}
	for i, ended := range all {
		want := ending{head: strings.Repeat("a", i%65) + "/" + fmt.Sprintf("%016d", i)}
		if got := <-ended; got != want {
			t.Fatalf("put %d: %v, want %v", i, got, want)
		}
	}
	for _, got := range service.got {
		id, err := strconv.ParseUint(string(got.Salt), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := &transcriptv1.PutNodeRequest{Namespace: "some", Messages: withCall(turn(1), id), Salt: got.Salt}
		if parent := got.GetParent().GetNodeId(); parent != "" {
			want.Parent = byID(parent)
		}
		if !proto.Equal(got, want) {
			t.Fatalf("arrived as %v", got)
		}
	}
	if len(service.got) != n {
		t.Errorf("%d puts arrived, not %d", len(service.got), n)
	}
}

func TestWireTellsWhyPutsFail(t *testing.T) {
	w := wired(t, &heads{})
	for namespace, want := range map[string]ending{
		"overloaded": {code: codes.ResourceExhausted, reason: "OVERLOADED"},
		"late":       {code: codes.DeadlineExceeded}, // the server's own
	} {
		if got := <-w.call(t, namespace, "", "", 0, longEnough); got != want {
			t.Errorf("%s: %v, want %v", namespace, got, want)
		}
	}
	// Either gRPC's reset or the handler's status comes first.
	if got := <-w.call(t, "silent", "", "", 0, 30*time.Millisecond); got.code != codes.DeadlineExceeded {
		t.Errorf("without an answer: %v", got)
	}
	if got := <-w.call(t, "some", "", "", 0, longEnough); got.code != codes.OK {
		t.Errorf("after those: %v", got)
	}
}

// mute is a server of HTTP/2 that answers nothing. It tells of the first streams that are reset.
func mute(t *testing.T) (addr string, resets <-chan uint32) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	told := make(chan uint32, 10)
	serve := func(conn net.Conn) {
		defer conn.Close()
		framer := http2.NewFramer(conn, conn)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		if framer.WriteSettings() != nil {
			return
		}
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if reset, ok := frame.(*http2.RSTStreamFrame); ok && reset.ErrCode == http2.ErrCodeCancel {
				select {
				case told <- reset.StreamID:
				default: // more than anybody asks for
				}
			}
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().String(), told
}

// Who hears nothing is told so a little after the deadline, and the server that nobody waits any more.
func TestWireWaitsForAnAnswer(t *testing.T) {
	addr, resets := mute(t)
	w, err := dialWire(t.Context(), addr, func(err error) { t.Errorf("lost: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.close() })
	w.mu.Lock()
	w.streams = 1
	w.mu.Unlock()
	const within = 200 * time.Millisecond
	began := time.Now()
	sent := w.call(t, "any", "", "", 0, within)
	waiting := w.call(t, "any", "", "", 0, within)
	if got := <-sent; got != unanswered(noAnswer) {
		t.Errorf("sent: %v", got)
	}
	if took := time.Since(began); took < within+deadlineSlack {
		t.Errorf("it ended after %v", took)
	}
	if got := <-waiting; got != unanswered(neverSent) {
		t.Errorf("not sent: %v", got)
	}
	if stream := <-resets; stream != 1 {
		t.Errorf("stream %d was reset", stream)
	}
}

// About the deadline, DEADLINE_EXCEEDED is the server's, any other answer too late; a cancel is gRPC's own, and a fault
// before.
func TestWireAtTheDeadline(t *testing.T) {
	late, early := time.Now().Add(-time.Millisecond), time.Now().Add(time.Hour)
	expired := ending{code: codes.DeadlineExceeded}
	overloaded := ending{code: codes.ResourceExhausted, reason: "OVERLOADED"}
	cancel := func(w *wire) { w.reset(1, http2.ErrCodeCancel) }
	ends := func(e ending) func(*wire) { return func(w *wire) { w.finish(1, e) } }
	for _, c := range []struct {
		name     string
		deadline time.Time
		what     func(*wire)
		want     ending
	}{
		{"a success in time", early, ends(ending{}), ending{head: "id"}},
		{"a success without a node", early, func(w *wire) {
			w.sent[1].head = ""
			w.finish(1, ending{})
		}, ending{code: codes.Internal}},
		{"a success too late", late, ends(ending{}), unanswered(answeredLate)},
		{"a refusal in time", early, ends(overloaded), overloaded},
		{"a refusal too late", late, ends(overloaded), unanswered(answeredLate)},
		{"the deadline before it", early, ends(expired), expired},
		{"the deadline a little late", late, ends(expired), expired},
		{"a cancel in time", early, cancel, ending{code: codes.Unavailable}},
		{"a cancel at the deadline", late, cancel, unanswered(resetLate)},
		{"another reset", early, func(w *wire) { w.reset(1, http2.ErrCodeInternal) }, ending{code: codes.Unavailable}},
	} {
		var got []ending
		w := &wire{sent: map[uint32]*wireCall{
			1: {deadline: c.deadline, stream: 1, head: "id", done: func(e ending) { got = append(got, e) }},
		}}
		c.what(w)
		if len(got) != 1 || got[0] != c.want || len(w.sent) != 0 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What is under way when a connection ends has no clear status, nor has what begins later.
func TestWireEnds(t *testing.T) {
	w := wired(t, &heads{})
	under := w.call(t, "silent", "", "", 0, longEnough)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	for what, ended := range map[string]<-chan ending{"under way": under, "later": w.call(t, "some", "", "", 0, longEnough)} {
		got := <-ended
		if got != (ending{code: codes.Unavailable}) || clearlyRefused(got.code, got.reason) {
			t.Errorf("%s: %v", what, got)
		}
		select {
		case again := <-ended:
			t.Errorf("%s: ended again: %v", what, again)
		default:
		}
	}
}

func TestClearlyRefused(t *testing.T) {
	for _, c := range []struct {
		code   codes.Code
		reason string
		clear  bool
	}{
		{codes.ResourceExhausted, "OVERLOADED", true},
		{codes.ResourceExhausted, "", false}, // gRPC's own
		{codes.DeadlineExceeded, "DEADLINE_EXCEEDED", true},
		{codes.DeadlineExceeded, "", true}, // gRPC's own, on the server's side
		{codes.Unavailable, "DRAINING", true},
		{codes.Unavailable, "", false}, // the transport
		{codes.Unknown, "", false},
		{codes.Internal, "INTERNAL", false},
		{codes.Canceled, "CANCELLED", false},
	} {
		if got := clearlyRefused(c.code, c.reason); got != c.clear {
			t.Errorf("%v %q: %v", c.code, c.reason, got)
		}
	}
}

// A conversation goes on from the head of its last reply, and no two puts of one are under way at once.
func TestFlood(t *testing.T) {
	service := &heads{}
	e := rowEnv(t)
	s := serve(t, e, service)
	f, err := s.newFlood(8)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.connect(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	p, err := f.closed(t.Context(), 8, 30*time.Millisecond)
	if err != nil || p.begun == 0 || len(p.refused) != 0 || len(p.unanswered) != 0 || p.unoffered != 0 {
		t.Errorf("%d begun, refused %v, unanswered %v, %d not offered", p.begun, p.refused, p.unanswered, p.unoffered)
	}
	last := map[string]string{}
	service.mu.Lock()
	defer service.mu.Unlock()
	for _, req := range service.got {
		salt, parent := string(req.Salt), req.GetParent().GetNodeId()
		if parent != last[salt] {
			t.Fatalf("a put behind %q, not %q", parent, last[salt])
		}
		last[salt] = parent + "/" + salt
	}
	if len(service.got) != p.begun || len(last) > 8 {
		t.Errorf("%d of %d puts arrived, of %d conversations", len(service.got), p.begun, len(last))
	}
}

// The flood's clock does not wait; what cannot begin is counted.
func TestFloodOffersWhatIsDue(t *testing.T) {
	s := serve(t, rowEnv(t), &heads{})
	s.namespace = "silent"
	f, err := s.newFlood(5)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.connect(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	f.deadline = 100 * time.Millisecond
	p, err := f.open(t.Context(), 1000, 40*time.Millisecond)
	if err != nil || p.begun != 5 || p.unoffered == 0 || total(p.refused)+total(p.unanswered) != 5 || p.unclear != 0 || len(p.took) != 0 {
		t.Errorf("begun %d, not offered %d, refused %v, unanswered %v, unclear %d, good %d",
			p.begun, p.unoffered, p.refused, p.unanswered, p.unclear, len(p.took))
	}
}

// A load over a connection that ended is over, and says so as a call does: puts on that connection tell nothing of the server.
func TestFloodThatLosesAConnection(t *testing.T) {
	s := serve(t, rowEnv(t), &heads{})
	s.namespace = "silent"
	for name, load := range map[string]func(*flood) error{
		"closed": func(f *flood) error { _, err := f.closed(t.Context(), 8, time.Hour); return err },
		"open":   func(f *flood) error { _, err := f.open(t.Context(), 1000, time.Hour); return err },
	} {
		f, err := s.newFlood(8)
		if err != nil {
			t.Fatal(err)
		}
		f.deadline = 10 * time.Millisecond
		if err := f.connect(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- load(f) }()
		f.wires[1].fail(io.EOF)
		err = <-ended
		if call, ok := errors.AsType[*client.Error](err); !ok || call.Code != codes.Unavailable || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// brokenConn is a connection that the other side has closed.
type brokenConn struct {
	net.Conn
	closed bool
}

func (b *brokenConn) Write([]byte) (int, error) {
	return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
}

func (b *brokenConn) Close() error {
	b.closed = true
	return nil
}

// A connection that ends before anything was said on it is a call's error, and no broken pipe, which would be taken for that of
// standard output.
func TestWireThatCannotBegin(t *testing.T) {
	conn := new(brokenConn)
	_, err := newWire(conn, nil)
	if call, ok := errors.AsType[*client.Error](err); !ok || call.Code != codes.Unavailable || errors.Is(err, syscall.EPIPE) || !conn.closed {
		t.Errorf("%v; closed: %v", err, conn.closed)
	}
}

func TestPutsCountWhileTheyCount(t *testing.T) {
	now := time.Now()
	during, before := newPuts(now.Add(-time.Hour), now.Add(time.Hour)), newPuts(now.Add(time.Hour), now.Add(2*time.Hour))
	for _, p := range []*puts{during, before} {
		p.end(now, ending{head: "id"})
		p.end(now, ending{code: codes.ResourceExhausted, reason: "OVERLOADED"})
		p.end(now, ending{code: codes.Internal})
		p.end(now, unanswered(noAnswer))
	}
	if during.perSecond() != 1/7200.0 || before.perSecond() != 0 || before.after(0.5) != 0 {
		t.Errorf("good: %v a second, %v a second too early", during.perSecond(), before.perSecond())
	}
	if total(during.refused) != 2 || during.unclear != 1 || during.refused["ResourceExhausted OVERLOADED"] != 1 || len(during.told) != 2 {
		t.Errorf("refused: %v, unclear %d, told %v", during.refused, during.unclear, during.told)
	}
	if total(during.unanswered) != 1 || during.unanswered[noAnswer] != 1 {
		t.Errorf("unanswered: %v", during.unanswered)
	}
}
