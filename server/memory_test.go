package server_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var long = flag.Bool("server.long", false, "server: stream a chain of 100,000 nodes")

// endless is a store with one chain of n nodes, which are made as they are read and held by nobody, so that what memory
// there is is the server's.
type endless struct {
	chainstore.Store
	template *chainstore.Header
	payload  []byte
	n        uint32
	// read is the number of rows yielded; watch is called with it.
	watch func(read uint32)
}

type endlessChain struct {
	*endless
	head  *chainstore.Header
	after uint32
}

func newEndless(t *testing.T, size int, n uint32) *endless {
	t.Helper()
	store := memstore.New(memstore.Options{})
	id := newRig(t, store).put("", user(strings.Repeat("x", size)))
	parsed, err := chainstore.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := store.Chain(t.Context(), "default", chainstore.Ref{ID: parsed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &endless{Store: store, template: c.Head(), n: n, watch: func(uint32) {}}
	err = c.Rows(t.Context(), []chainstore.Span{{}}, func(r *chainstore.Row) error {
		e.payload = append(e.payload, r.Payload...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *endless) Chain(context.Context, string, chainstore.Ref, *chainstore.ID) (chainstore.Chain, error) {
	h := *e.template
	h.Seq = e.n - 1
	return &endlessChain{endless: e, head: &h}, nil
}

func (c *endlessChain) Runs(int) []chainstore.Run { return nil }

func (c *endlessChain) Compaction() *chainstore.Header { return nil }

func (c *endlessChain) Compactions(context.Context, int) ([]*chainstore.Header, bool, error) {
	return nil, false, nil
}

func (c *endlessChain) Calls(context.Context, runloop.Optional, uint32, int) ([]chainstore.CallPlace, error) {
	return nil, nil
}

func (c *endlessChain) WithCalls(context.Context, uint32, int) ([]chainstore.CallNode, error) {
	return nil, nil
}

func (c *endlessChain) Tables(context.Context) (chainstore.Tables, error) {
	return chainstore.Tables{}, nil
}

func (c *endlessChain) Headers(context.Context, ...uint32) ([]*chainstore.Header, error) {
	return nil, nil
}

func (c *endlessChain) FirstWhere(context.Context, uint32, chainstore.Bounds) (before, first *chainstore.Header, err error) {
	return nil, nil, nil
}

func (c *endlessChain) Spawned(context.Context, int) ([]*chainstore.Header, bool, error) {
	return nil, false, nil
}

func (c *endlessChain) SpawnDepth(context.Context, int) (int, bool, error) { return 0, false, nil }

func (c *endlessChain) Head() *chainstore.Header { return c.head }
func (c *endlessChain) After() uint32            { return c.after }

func (c *endlessChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	for seq := spans[0].From; seq <= min(spans[0].Through, c.head.Seq); seq++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := *c.template
		h.Seq = seq
		if err := yield(&chainstore.Row{Raw: chainstore.AppendHeader(nil, &h), Seq: seq, Payload: c.payload}); err != nil {
			return err
		}
		c.watch(seq + 1)
	}
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestStreamsTakeConstantMemory streams a chain of many times the memory that is allowed for it.
func TestStreamsTakeConstantMemory(t *testing.T) {
	n := uint32(3_000)
	if *long {
		n = 100_000
	}
	e := newEndless(t, 16<<10, n)
	r := newPlainRig(t, e)
	idle, most := heap(), uint64(0)
	e.watch = func(read uint32) {
		if read%(n/16) == 0 {
			most = max(most, heap())
		}
	}
	// Windows of a fixed size: those that gRPC grows by itself take up to 16 MiB, in the client, and both are measured.
	client := transcriptv1.NewTranscriptServiceClient(r.Dial(t, grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<20)))
	for _, detail := range []transcriptv1.NodeDetail{0, envelopes} {
		stream, err := client.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{Head: byAlias("x"), NodeDetail: detail})
		messages := 0
		for err == nil {
			var f *transcriptv1.StreamAssembleResponse
			if f, err = stream.Recv(); err == nil {
				messages += len(f.Messages)
			}
		}
		if !errors.Is(err, io.EOF) || messages != int(n) {
			t.Fatalf("%d messages, %v", messages, err)
		}
	}
	if most == 0 {
		t.Fatal("memory was not measured")
	}
	t.Logf("the heap grew by %d KiB", (int64(most)-int64(idle))>>10)
	if grown := int64(most) - int64(idle); grown > 24<<20 {
		t.Errorf("the heap grew by %d KiB while %d MiB were streamed", grown>>10, int(n)*len(e.payload)>>20)
	}
}

// TestStreamsStopWithTheClient: a client that goes away stops the reading; one that does not read holds up no more
// than windows and a batch.
func TestStreamsStopWithTheClient(t *testing.T) {
	const n = 100_000
	e := newEndless(t, 16<<10, n)
	read := make(chan uint32, n)
	e.watch = func(seq uint32) { read <- seq }
	r := newPlainRig(t, e)
	ctx, cancel := context.WithCancel(r.ctx())
	stream, err := r.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: byAlias("x")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	if status := failureOf(err); status.code != codes.Canceled {
		t.Errorf("the stream ended with %v", status.all)
	}
	eventually(t, "the call ends", func() bool { return strings.Contains(r.logs.String(), `"grpc.code":"Canceled"`) })
	if got := len(read); got > n/10 {
		t.Errorf("%d of %d rows were read for a client who took one frame", got, n)
	}
}

// TestUnaryMemoryIsRefusedEarly: a reply that will not fit is refused from the head's totals, before a row is read.
func TestUnaryMemoryIsRefusedEarly(t *testing.T) {
	e := newEndless(t, 16<<10, 1000)
	e.template.State.Full.Bytes, e.template.State.Effective.Bytes = 16<<20, 16<<20
	rows := 0
	e.watch = func(uint32) { rows++ }
	r := newRig(t, e)
	_, err := r.Assemble(r.ctx(), &Assemble{Head: byAlias("x")})
	r.fails(err, codes.ResourceExhausted, "USE_STREAM_ASSEMBLE", "")
	equal(r, "the rows read", rows, 0)
}
