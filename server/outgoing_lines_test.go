package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// smallChain puts a chain of nodes of a few bytes each, and gives its head's id.
func (c *crowd) smallChain(nodes int) (head string) {
	c.Helper()
	req := &transcriptv1.PutNodesRequest{}
	for i := range nodes {
		req.Nodes = append(req.Nodes, &transcriptv1.NewNode{Previous: i > 0, Messages: []*transcriptv1.Message{{
			Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat(fmt.Sprint(i%10), 90)}}},
		}}})
	}
	reply, err := c.PutNodes(c.Context(), req)
	if err != nil {
		c.Fatal(err)
	}
	return reply.Nodes[nodes-1].NodeId
}

// The room of a reply counts what is told of its nodes, not their messages alone.
func TestRoomCountsWhatIsTold(t *testing.T) {
	replying(t, func(c *crowd) {
		req := assembleOf(c.smallChain(1000))
		req.NodeDetail = transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES
		whole, err := c.Assemble(c.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var told atomic.Bool
		client, leave := c.another(&told)
		told.Store(true)
		c.running.Go(func() { _, _ = client.Assemble(c.Context(), req) })
		<-time.After(time.Second)
		if held, size := c.metric("transcriptd_server_replies_bytes"), proto.Size(whole); held < float64(size) {
			t.Errorf("a reply of %d bytes that nobody takes holds %g bytes of the room", size, held)
		}
		leave()
	})
}

// slowLine is a connection that receives so many bytes in a second.
type slowLine struct {
	net.Conn
	mu    sync.Mutex
	rate  float64
	ready time.Time
}

func (s *slowLine) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b[:min(len(b), 16<<10)])
	s.mu.Lock()
	now := time.Now()
	if s.ready.Before(now) {
		s.ready = now
	}
	s.ready = s.ready.Add(time.Duration(float64(n) / s.rate * float64(time.Second)))
	wait := s.ready.Sub(now)
	s.mu.Unlock()
	<-time.After(wait)
	return n, err
}

func (c *crowd) overLine(wrap func(net.Conn) net.Conn, options ...grpc.DialOption) (client transcriptv1.TranscriptServiceClient, leave func()) {
	c.Helper()
	conn, leave := c.connect(wrap, options...)
	return transcriptv1.NewTranscriptServiceClient(conn), leave
}

// connect opens a connection of its own to the server.
func (c *crowd) connect(wrap func(net.Conn) net.Conn, options ...grpc.DialOption) (conn *grpc.ClientConn, leave func()) {
	c.Helper()
	conn, err := grpc.NewClient("passthrough:///localhost", append(options, grpc.WithTransportCredentials(c.credentials),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			raw, err := c.dial(ctx)
			if err != nil {
				return nil, err
			}
			return wrap(raw), nil
		}))...)
	if err != nil {
		c.Fatal(err)
	}
	return conn, sync.OnceFunc(func() { _ = conn.Close() })
}

func readStream(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string, between time.Duration) (messages int, err error) {
	stream, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
	for {
		var frame *transcriptv1.StreamAssembleResponse
		if err == nil {
			frame, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
		messages += len(frame.Messages)
		if between > 0 {
			<-time.After(between)
		}
	}
}

// A client on a line of 10 Mbit/s that takes all that comes, as fast as it can come, keeps its connection.
func TestSlowLineKeepsItsConnection(t *testing.T) {
	replying(t, func(c *crowd) {
		head, one := c.chainOf(40, 32<<10), c.chainOf(1, 200<<10)
		client, leave := c.overLine(func(raw net.Conn) net.Conn { return &slowLine{Conn: raw, rate: 10e6 / 8} })
		var running sync.WaitGroup
		for range 48 {
			running.Go(func() {
				if n, err := readStream(c.Context(), client, head, 0); err != nil {
					t.Errorf("a stream that is read as it comes: after %d messages: %v", n, err)
				}
			})
		}
		for range 4 {
			running.Go(func() {
				for range 10 {
					if _, err := client.Assemble(c.Context(), assembleOf(one)); err != nil {
						t.Errorf("Assemble beside: %v", err)
					}
				}
			})
		}
		running.Wait()
		leave()
		if n := c.metric("transcriptd_server_replies_closed_total"); n != 0 {
			t.Errorf("%g connections were closed", n)
		}
	})
}

// Streams of small nodes that are read slowly (20 s between two frames: a model is asked) do not end with their connection because
// another call of it wants a reply: they need no room to go on.
func TestSlowStreamsOfSmallNodes(t *testing.T) {
	replying(t, func(c *crowd) {
		head, one := c.chainOf(40, 32<<10), c.chainOf(1, 200<<10)
		client, leave := c.overLine(func(raw net.Conn) net.Conn { return raw }, grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(8<<20))
		var running sync.WaitGroup
		for range 24 {
			running.Go(func() {
				if n, err := readStream(c.Context(), client, head, 20*time.Second); err != nil {
					t.Errorf("a slow stream: after %d messages: %v", n, err)
				}
			})
		}
		running.Go(func() {
			<-time.After(time.Second)
			if _, err := client.Assemble(c.Context(), assembleOf(one)); err != nil {
				t.Errorf("Assemble beside: %v", err)
			}
		})
		running.Wait()
		leave()
	})
}

// rowsStore counts the reads of rows that are under way.
type rowsStore struct {
	chainstore.Store
	reading atomic.Int64
}

func (s *rowsStore) Chain(ctx context.Context, namespace string, ref chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	chain, err := s.Store.Chain(ctx, namespace, ref, after)
	if err != nil {
		return nil, err
	}
	return &rowsChain{chain, s}, nil
}

type rowsChain struct {
	chainstore.Chain
	store *rowsStore
}

func (c *rowsChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	c.store.reading.Add(1)
	defer c.store.reading.Add(-1)
	return c.Chain.Rows(ctx, spans, yield)
}

// A call that waits for room reads nothing meanwhile: while rows are read, the store keeps all that was written since, and Close waits.
func TestNobodyReadsWhileWaiting(t *testing.T) {
	replying(t, func(c *crowd) {
		store := &rowsStore{Store: c.store.Store}
		c.store.Store = store
		head := c.chainOf(10, 32<<10)
		o := c.server.transport.Replies
		if !o.Free.TryAcquire(reply.RepliesBytes) {
			t.Fatal("there is no room")
		}
		c.running.Go(func() {
			req := assembleOf(head)
			req.View = transcriptv1.View_VIEW_CONVERSATION
			if _, err := c.Assemble(c.Context(), req); err != nil {
				t.Error(err)
			}
		})
		<-time.After(time.Second)
		if n := c.metric("transcriptd_server_replies_waiting"); n != 1 {
			t.Errorf("%g calls wait", n)
		}
		if n := store.reading.Load(); n != 0 {
			t.Errorf("%d reads of rows are under way while a call waits for room", n)
		}
		o.Free.Release(reply.RepliesBytes)
	})
}
