package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

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
	case "silent":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.mu.Lock()
	h.got = append(h.got, req)
	h.mu.Unlock()
	return &transcriptv1.PutNodeResponse{NodeId: req.GetParent().GetNodeId() + "/" + string(req.Salt)}, nil
}

// outcome is what became of a put on a wire.
type wireOutcome struct {
	head   string
	code   codes.Code
	reason string
}

// wired connects a wire to a service.
func wired(t *testing.T, service transcriptv1.TranscriptServiceServer) *wire {
	t.Helper()
	w, err := dialWire(t.Context(), serve(t, rowEnv(t), service).addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.close() })
	return w
}

// call begins a put, and returns what will become of it.
func (w *wire) call(namespace, parent, salt string, messages []byte, within time.Duration) <-chan wireOutcome {
	ended := make(chan wireOutcome, 2) // a second one would be a fault, which the test is to see
	w.begin(&wireCall{
		namespace: namespace, parent: parent, salt: []byte(salt), messages: messages, deadline: time.Now().Add(within),
		done: func(head string, code codes.Code, reason string) { ended <- wireOutcome{head, code, reason} },
	})
	return ended
}

const longEnough = time.Minute

// Far more puts than the server takes at once, and more bytes than its windows hold, all arrive whole and are answered.
func TestWirePuts(t *testing.T) {
	service := &heads{}
	w := wired(t, service)
	messages := turn(1)
	raw, err := proto.Marshal(&transcriptv1.PutNodeRequest{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	const n = 1500
	var all [n]<-chan wireOutcome
	for i := range all {
		all[i] = w.call("some", strings.Repeat("a", i%65), fmt.Sprintf("%016d", i), raw, longEnough)
	}
	for i, ended := range all {
		want := wireOutcome{strings.Repeat("a", i%65) + "/" + fmt.Sprintf("%016d", i), codes.OK, ""}
		if got := <-ended; got != want {
			t.Fatalf("put %d: %v, want %v", i, got, want)
		}
	}
	for _, got := range service.got {
		want := &transcriptv1.PutNodeRequest{Namespace: "some", Messages: messages, Salt: got.Salt}
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
	refused := w.call("overloaded", "", "", nil, longEnough)
	if got, want := <-refused, (wireOutcome{"", codes.ResourceExhausted, "OVERLOADED"}); got != want {
		t.Errorf("refused: %v, want %v", got, want)
	}
	late := w.call("silent", "", "", nil, 30*time.Millisecond)
	if got := <-late; got.code != codes.DeadlineExceeded {
		t.Errorf("without an answer: %v", got)
	}
	if got := <-w.call("some", "", "", nil, longEnough); got.code != codes.OK {
		t.Errorf("after those: %v", got)
	}
}

// What is under way when a connection ends has no clear status, nor has what begins later.
func TestWireEnds(t *testing.T) {
	w := wired(t, &heads{})
	under := w.call("silent", "", "", nil, longEnough)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	for what, ended := range map[string]<-chan wireOutcome{"under way": under, "later": w.call("some", "", "", nil, longEnough)} {
		got := <-ended
		if got.code != codes.Unavailable || clearlyRefused(got.code, got.reason) {
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
		{codes.DeadlineExceeded, "", true}, // the client's own
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
	p := f.closed(t.Context(), 8, 30*time.Millisecond)
	if p.begun == 0 || p.failed != 0 || p.unoffered != 0 {
		t.Errorf("%d begun, %d failed, %d not offered", p.begun, p.failed, p.unoffered)
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
	p := f.open(t.Context(), 1000, 40*time.Millisecond)
	if p.begun != 5 || p.unoffered == 0 || p.failed != 5 || p.unclear != 0 || len(p.took) != 0 {
		t.Errorf("begun %d, not offered %d, failed %d, unclear %d, good %d", p.begun, p.unoffered, p.failed, p.unclear, len(p.took))
	}
}

func TestPutsCountWhileTheyCount(t *testing.T) {
	now := time.Now()
	during := &puts{from: now.Add(-time.Hour), to: now.Add(time.Hour), refused: map[string]int{}}
	before := &puts{from: now.Add(time.Hour), to: now.Add(2 * time.Hour), refused: map[string]int{}}
	for _, p := range []*puts{during, before} {
		p.end(now, codes.OK, "")
		p.end(now, codes.ResourceExhausted, "OVERLOADED")
		p.end(now, codes.Internal, "")
	}
	if during.perSecond() != 1/7200.0 || before.perSecond() != 0 || before.after(0.5) != 0 {
		t.Errorf("good: %v a second, %v a second too early", during.perSecond(), before.perSecond())
	}
	if during.failed != 2 || during.unclear != 1 || during.refused["ResourceExhausted OVERLOADED"] != 1 {
		t.Errorf("refused: %v, unclear %d", during.refused, during.unclear)
	}
}
