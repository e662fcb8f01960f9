package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// replying runs a test of a server over the wire, in time that passes when all wait. In the end all room for replies is given back.
func replying(t *testing.T, test func(c *crowd)) {
	t.Helper()
	replyingOver(t, linePlain, test)
}

func replyingOver(t *testing.T, over line, test func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowdOver(t, 100, over)
		close(c.store.gate)
		test(c)
		synctest.Wait()
		o := c.server.transport.Replies
		if !o.Free.TryAcquire(reply.RepliesBytes) || !o.Batches.TryAcquire(reply.RepliesBytes/2) || !o.Small.TryAcquire(reply.SmallBytes) ||
			!o.Strangers.TryAcquire(reply.StrangersBytes) || !o.Waiting.TryAcquire(reply.WaitingBytes) {
			t.Error("room was not given back")
		}
		if n := c.metric("transcriptd_server_replies_bytes"); n != 0 {
			t.Errorf("the metric tells of %g bytes that nothing holds", n)
		}
	})
}

// chainOf puts a chain of nodes of so many bytes, and gives its head's id.
func (c *crowd) chainOf(nodes, bytes int) (head string) {
	c.Helper()
	for i := range nodes {
		var parent *transcriptv1.NodeRef
		if head != "" {
			parent = idRef(head)
		}
		reply, err := c.PutNode(c.Context(), &transcriptv1.PutNodeRequest{
			Parent: parent,
			Messages: []*transcriptv1.Message{{
				Role:  transcriptv1.Role_ROLE_USER,
				Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat(fmt.Sprint(i%10), bytes)}}},
			}},
		})
		if err != nil {
			c.Fatal(err)
		}
		head = reply.NodeId
	}
	return head
}

// deaf is a connection that takes no more data from when it is told to until it is closed.
type deaf struct {
	net.Conn
	told   *atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (d *deaf) Read(b []byte) (int, error) {
	if d.told.Load() {
		<-d.closed
	}
	return d.Conn.Read(b)
}

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}

// another is a client with a connection of its own, which takes no more data once it was told to.
func (c *crowd) another(told *atomic.Bool) (client transcriptv1.TranscriptServiceClient, leave func()) {
	c.Helper()
	client, leave = c.overLine(func(raw net.Conn) net.Conn {
		return &deaf{Conn: raw, told: told, closed: make(chan struct{})}
	})
	if _, err := client.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"}); status.Code(err) != codes.NotFound {
		c.Fatal(err)
	}
	return client, leave
}

func assembleOf(head string) *transcriptv1.AssembleRequest {
	return &transcriptv1.AssembleRequest{Head: idRef(head)}
}

func idRef(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

// Replies that nobody takes hold no more than their room, however many they are; a connection has a part of it, so others are
// answered at once; and where calls wait, the connections that take nothing are closed after a while.
func TestRepliesNobodyTakes(t *testing.T) {
	for name, call := range map[string]func(context.Context, transcriptv1.TranscriptServiceClient, string) error{
		"Assemble": func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
			_, err := client.Assemble(ctx, assembleOf(head))
			return err
		},
		"GetNode": func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
			_, err := client.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: idRef(head)})
			return err
		},
		"StreamAssemble": func(ctx context.Context, client transcriptv1.TranscriptServiceClient, head string) error {
			stream, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
			for err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		eachLine(t, name, func(t *testing.T, over line) {
			replyingOver(t, over, func(c *crowd) {
				head := c.chainOf(2, 1<<20)
				var told atomic.Bool
				ended := make(chan error, 100)
				var leaves []func()
				for range 4 {
					client, leave := c.another(&told)
					leaves = append(leaves, leave)
					told.Store(true)
					for range 25 {
						c.running.Go(func() { ended <- call(c.Context(), client, head) })
					}
					synctest.Wait()
					told.Store(false)
				}
				bytes := c.metric("transcriptd_server_replies_bytes")
				if bytes > 4*reply.ConnectionBytes || bytes < 2*reply.ConnectionBytes {
					t.Errorf("4 connections hold %g bytes", bytes)
				}
				if n := c.metric("transcriptd_server_replies_waiting"); n < 4*(25-reply.ConnectionBytes>>20-1) {
					t.Errorf("%g calls wait", n)
				}
				began := time.Now()
				if err := call(c.Context(), c.TranscriptServiceClient, head); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				if waited := time.Since(began); waited > 0 {
					t.Errorf("who takes replies waited %s", waited)
				}
				<-time.After(2*reply.TakenWithin + receive.EndEvery)
				synctest.Wait()
				if n := c.metric("transcriptd_server_replies_bytes"); n != 0 {
					t.Errorf("%g bytes are held still", n)
				}
				for _, leave := range leaves {
					leave()
				}
				for range 100 {
					if err := <-ended; err == nil || errors.Is(err, io.EOF) {
						t.Fatal("a reply that nobody took came")
					}
				}
			})
		})
	}
}

// A connection that is alive, and takes nothing of its replies while calls wait, is closed.
func TestConnectionsThatTakeNothingAreClosed(t *testing.T) {
	eachLine(t, "", func(t *testing.T, over line) {
		replyingOver(t, over, func(c *crowd) {
			head := c.chainOf(3, 2900<<10)
			client, leave := c.overLine(func(raw net.Conn) net.Conn { return raw }, // windows that do not grow
				grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(1<<20))
			for range 6 {
				stream, err := client.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
				if err != nil {
					t.Fatal(err)
				}
				c.running.Go(func() { <-stream.Context().Done() })
			}
			<-time.After(reply.TakenWithin - time.Second)
			if n := c.metric("transcriptd_server_replies_closed_total"); n != 0 {
				t.Errorf("%g connections were closed at once", n)
			}
			<-time.After(reply.TakenWithin + 2*time.Second)
			if n := c.metric("transcriptd_server_replies_closed_total"); n != 1 {
				t.Errorf("%g connections were closed", n)
			}
			leave()
		})
	})
}

// Where nobody waits for room, who takes nothing for long is not disturbed.
func TestSlowReadersAloneAreLeftInPeace(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(20, 100<<10)
		stream, err := c.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for {
			frame, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range frame.Messages {
				bytes += len(m.Parts[0].GetText())
			}
			<-time.After(time.Minute)
		}
		if bytes != 20*100<<10 {
			t.Errorf("%d bytes came", bytes)
		}
	})
}

// Streams of small nodes need no room to go on: a client may open many on one connection and read one after the other.
func TestStreamsAreReadInTurn(t *testing.T) {
	replying(t, func(c *crowd) {
		head, began := c.chainOf(100, 32<<10), time.Now()
		var streams []grpc.ServerStreamingClient[transcriptv1.StreamAssembleResponse]
		for range 60 {
			stream, err := c.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)})
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, stream)
		}
		synctest.Wait()
		for i, stream := range streams {
			messages := 0
			for {
				frame, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("stream %d: %v", i, err)
				}
				messages += len(frame.Messages)
			}
			if messages != 100 {
				t.Fatalf("stream %d has %d messages", i, messages)
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a stream waited %s", waited)
		}
	})
}

// Slow readers of large nodes, more than there is room for, all come to the end.
func TestSlowStreamsOfLargeNodes(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(6, 2900<<10)
		var running sync.WaitGroup
		for range 40 {
			client, leave := c.another(new(atomic.Bool))
			defer leave()
			running.Go(func() {
				stream, err := client.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)}, grpc.MaxCallRecvMsgSize(8<<20))
				for messages := 0; ; {
					var frame *transcriptv1.StreamAssembleResponse
					if err == nil {
						frame, err = stream.Recv()
					}
					if errors.Is(err, io.EOF) && messages == 6 {
						return
					}
					if err != nil {
						t.Errorf("after %d messages: %v", messages, err)
						return
					}
					messages += len(frame.Messages)
					<-time.After(time.Second)
					if held := c.metric("transcriptd_server_replies_bytes"); held > reply.RepliesBytes {
						t.Errorf("%g bytes are held", held)
					}
				}
			})
		}
		running.Wait()
	})
}

// Room is given back however a call ends: all is read, a part of it, nothing; the call fails, or asks for compression.
func TestRoomForRepliesComesBack(t *testing.T) {
	replying(t, func(c *crowd) {
		heads := []string{c.chainOf(50, 30<<10), c.chainOf(3, 900<<10), c.chainOf(8, 1<<20), c.chainOf(1, 100)}
		random := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			head, calls := heads[random.IntN(len(heads))], random.IntN(3)
			var options []grpc.CallOption
			if random.IntN(3) == 0 {
				options = append(options, grpc.UseCompressor("gzip"))
			}
			ctx, cancel := context.WithCancel(c.Context())
			frames, early := random.IntN(12), random.IntN(4) == 0
			c.running.Go(func() {
				defer cancel()
				switch calls {
				case 0:
					_, _ = c.Assemble(ctx, assembleOf(head), options...) // of the third chain USE_STREAM_ASSEMBLE
				case 1:
					_, _ = c.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: idRef(head)}, options...)
				default:
					stream, err := c.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)}, options...)
					for n := 0; n < frames && err == nil; n++ {
						_, err = stream.Recv()
					}
				}
			})
			if early && calls == 2 {
				cancel()
			}
		}
		c.running.Wait()
	})
}

// A reply that turns out to be large is forgotten until there is room, and then made once more; that of a write goes out at once.
func TestRepliesThatTurnOutToBeLarge(t *testing.T) {
	replying(t, func(c *crowd) {
		var moves []*transcriptv1.AliasMove
		for i, head := 0, c.chainOf(1, 1); i < 100; i++ {
			moves = append(moves, &transcriptv1.AliasMove{
				Name: fmt.Sprint(i), Target: idRef(head), Labels: &transcriptv1.Labels{Entries: map[string]string{"label": strings.Repeat("x", 3000)}},
			})
		}
		if _, err := c.Alias(c.Context(), &transcriptv1.AliasRequest{Aliases: moves}); err != nil {
			t.Fatal(err)
		}
		o := c.server.transport.Replies
		if !o.Free.TryAcquire(reply.RepliesBytes) {
			t.Fatal("there is no room")
		}
		ended := make(chan error, 64)
		for range cap(ended) {
			c.running.Go(func() {
				page, err := c.ListAliases(c.Context(), &transcriptv1.ListAliasesRequest{PageSize: 100})
				if err == nil && len(page.Aliases) < 50 {
					err = fmt.Errorf("a page of %d aliases", len(page.Aliases))
				}
				ended <- err
			})
		}
		synctest.Wait()
		if n, held := c.metric("transcriptd_server_replies_waiting"), c.metric("transcriptd_server_replies_bytes"); n != float64(cap(ended)) || held != 0 {
			t.Errorf("%g calls wait with %g bytes", n, held)
		}
		ctx := reply.WithCall(c.Context(), nil)
		if !o.Settle(ctx, reply.CallOf(ctx), transcriptv1.TranscriptService_PutNodes_FullMethodName, 1<<20) {
			t.Error("the reply of a write waits")
		}
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		if _, err := o.Take(ctx, 1<<20); !errors.Is(err, reply.ErrNoRoom) || ctx.Err() != nil {
			t.Errorf("before its deadline a call is told %v", err)
		}
		o.Free.Release(reply.RepliesBytes)
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// Small replies that nobody takes are bounded, too. Then each connection has room of its own: others are served as before, and
// so is who calls for many at once and takes them. What takes nothing is closed where it has calls that wait.
func TestSmallRepliesNobodyTakes(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(1, 60_000)
		call := func(ctx context.Context, client transcriptv1.TranscriptServiceClient) error {
			_, err := client.Assemble(ctx, assembleOf(head))
			return err
		}
		var told atomic.Bool
		ended := make(chan error, 10*transport.MaxStreams)
		for range 10 {
			client, leave := c.another(&told)
			defer leave()
			told.Store(true)
			for range transport.MaxStreams {
				c.running.Go(func() { ended <- call(c.Context(), client) })
			}
			synctest.Wait()
			told.Store(false)
		}
		if held := c.metric("transcriptd_server_replies_bytes"); held < reply.SmallBytes/2 || held > reply.SmallBytes+10*reply.OwnBytes {
			t.Errorf("%g bytes are held", held)
		}
		began, took := time.Now(), make(chan error, transport.MaxStreams)
		for range cap(took) {
			c.running.Go(func() { took <- call(c.Context(), c.TranscriptServiceClient) })
		}
		for range cap(took) {
			if err := <-took; err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("who takes replies waited %s", waited)
		}
		<-time.After(2*reply.TakenWithin + receive.EndEvery)
		synctest.Wait()
		if n := c.metric("transcriptd_server_replies_closed_total"); n == 0 {
			t.Error("no connection was closed")
		}
	})
}
