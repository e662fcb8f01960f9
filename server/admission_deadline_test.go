package server

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport"
)

// due is a context with a deadline.
func due(t *testing.T, in time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), in)
	t.Cleanup(cancel)
	return ctx
}

// Refused writes with a far deadline are told the same as others and count as they do, and leave as little: no call in any other
// metric, no line in the log, no span, no place that is taken.
func TestRefusalsAreAlikeWhateverTheDeadline(t *testing.T) {
	c := newCrowd(t, 0)
	close(c.store.gate) // one that is not refused ends too
	calls := c.writes(func(ctx context.Context) error { return c.put(ctx, 0) })
	for method, call := range calls {
		inTap, later := call(t.Context()), call(due(t, time.Hour))
		c.refused(inTap)
		if want, got := status.Convert(inTap).Proto(), status.Convert(later).Proto(); !proto.Equal(want, got) {
			t.Errorf("%s with a far deadline is told %v, not %v", method, got, want)
		}
	}
	if n := c.counted(); n != float64(2*len(calls)) {
		t.Errorf("%v refusals are counted, not %d", n, 2*len(calls))
	}
	if n := c.metric("grpc_server_started_total"); n != 0 {
		t.Errorf("interceptors saw %v calls", n)
	}
	if strings.Contains(c.logs.String(), "finished call") {
		t.Errorf("calls are in the log: %s", c.logs)
	}
	if n := len(c.spans.Started()); n != 0 {
		t.Errorf("there are %d spans", n)
	}
	if n := c.server.transport.Admission.UnderWay.Load(); n != 0 {
		t.Errorf("%d writes count", n)
	}
}

// Writes are refused when their head has come, whatever their deadline: nothing follows here.
func TestRefusalsWaitForNoRequest(t *testing.T) {
	c := newCrowd(t, 0)
	for _, ctx := range []context.Context{t.Context(), due(t, 2*transport.Near)} {
		desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
		stream, err := c.conn.NewStream(ctx, desc, transcriptv1.TranscriptService_PutNode_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		c.refused(stream.RecvMsg(&transcriptv1.PutNodeResponse{}))
	}
}

// What refused writes hold does not grow with their deadlines. Refused in the tap, each would hold some 300 bytes.
func TestRefusalsWithFarDeadlinesHoldNothing(t *testing.T) {
	const n, most = 10_000, 100
	c := newCrowd(t, 0)
	close(c.store.gate)
	ctx := due(t, time.Hour)
	refuse := func(n int) (held int64) {
		for i := range n {
			if err := c.put(ctx, i); status.Code(err) != codes.ResourceExhausted {
				t.Fatalf("a write too many ended with %v", err)
			}
		}
		return small()
	}
	before := refuse(n / 10)
	held := (refuse(n) - before) / n
	t.Logf("a refused write holds %d bytes", held)
	if held > most {
		t.Errorf("%d refused writes hold %d bytes each, over %d", n, held, most)
	}
}

// small is how many bytes small objects take: large ones are the buffers of connections, also those of tests before.
func small() (bytes int64) {
	runtime.GC() // twice, for what pools keep until then
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, class := range m.BySize {
		bytes += int64(class.Size) * int64(class.Mallocs-class.Frees)
	}
	return bytes
}

// Only of unary calls can a handler refuse what no interceptor is to see.
func TestWritesAreUnary(t *testing.T) {
	found := 0
	server, err := New(memstore.New(memstore.Options{}), Config{}).GRPC()
	if err != nil {
		t.Fatal(err)
	}
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			if !access.IsWrite("/" + service + "/" + m.Name) {
				continue
			}
			found++
			if m.IsClientStream || m.IsServerStream {
				t.Errorf("%s is a stream: who is refused there with a far deadline is served", m.Name)
			}
		}
	}
	if found != 10 {
		t.Errorf("%d methods write, not 10", found)
	}
}
