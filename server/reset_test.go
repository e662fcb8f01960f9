package server

import (
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// Room of calls that their callers give up comes back while the connection lives.
func TestResetCallsGiveBackTheirRoom(t *testing.T) {
	c := newCrowd(t, 1000)
	close(c.store.gate)
	go func() {
		for range c.store.came {
		}
	}()
	heads := []string{c.chainOf(50, 30<<10), c.chainOf(3, 900<<10), c.chainOf(8, 1<<20), c.chainOf(1, 70<<10)}
	client, leave := c.overLine(func(raw net.Conn) net.Conn { return raw }, grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(1<<20))
	defer leave()
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for range 400 {
				head := heads[rand.IntN(len(heads))]
				ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
				time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
				var options []grpc.CallOption
				if rand.IntN(4) == 0 {
					options = append(options, grpc.UseCompressor("gzip"))
				}
				switch rand.IntN(4) {
				case 0, 1:
					_, _ = client.Assemble(ctx, assembleOf(head), options...)
				case 2:
					_, _ = client.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: idRef(head)}, options...)
				default:
					stream, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)}, options...)
					for n := 0; n < 3 && err == nil; n++ {
						_, err = stream.Recv()
					}
				}
				cancel()
			}
		})
	}
	running.Wait()
	for end := time.Now().Add(3 * time.Second); ; <-time.After(10 * time.Millisecond) {
		n := c.metric("transcriptd_server_replies_bytes")
		if n == 0 {
			break
		}
		// A connection that rests may still have what it was about to send last, in a variable.
		_, _ = client.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"})
		runtime.GC() // finds what gRPC has forgotten
		if time.Now().After(end) {
			t.Errorf("%g bytes are held after all calls have ended; %g connections closed", n, c.metric("transcriptd_server_replies_closed_total"))
			break
		}
	}
	if !c.server.transport.Replies.Batches.TryAcquire(reply.RepliesBytes / 2) {
		t.Error("room for batches was not given back")
	}
}
