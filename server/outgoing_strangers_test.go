package server

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// deafCrowd has so many connections call for large replies, more than there is room for, and take none.
func (c *crowd) deafCrowd(connections int, head string) (leave func()) {
	c.Helper()
	var told atomic.Bool
	var leaves []func()
	for range connections {
		told.Store(false)
		client, leave := c.another(&told)
		leaves = append(leaves, leave)
		told.Store(true)
		for range 4 {
			c.running.Go(func() { _, _ = client.Assemble(c.Context(), assembleOf(head)) })
		}
		synctest.Wait()
	}
	return func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// Connections that have taken replies before do not wait for those that have not, however many of these come.
func TestStrangersThatTakeNothing(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(3, 1200<<10)
		for range 3 {
			if _, err := c.Assemble(c.Context(), assembleOf(head)); err != nil {
				t.Fatal(err)
			}
		}
		leave := c.deafCrowd(20, head)
		began := time.Now()
		if _, err := c.Assemble(c.Context(), assembleOf(head)); err != nil {
			t.Error(err)
		}
		if n, err := readStream(c.Context(), c.TranscriptServiceClient, head, 0); err != nil || n != 3 {
			t.Errorf("%d messages, %v", n, err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("who takes replies waited %s", waited)
		}
		leave()
	})
}

// Who takes a little now and then, but hardly anything of what it holds, keeps nobody waiting for long.
func TestConnectionsThatTakeALittle(t *testing.T) {
	eachLine(t, "", func(t *testing.T, over line) {
		replyingOver(t, over, func(c *crowd) {
			head := c.chainOf(3, 1200<<10)
			ctx, cancel := context.WithCancel(c.Context())
			var leaves []func()
			for range 10 {
				client, leave := c.overLine(func(raw net.Conn) net.Conn { return &slowLine{Conn: raw, rate: 5 << 10} },
					grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
				leaves = append(leaves, leave)
				for range 2 {
					c.running.Go(func() { _, _ = client.Assemble(ctx, assembleOf(head)) })
				}
			}
			<-time.After(time.Second)
			if n := c.metric("transcriptd_server_replies_waiting"); n == 0 {
				t.Error("no call waits")
			}
			began := time.Now()
			if _, err := c.Assemble(c.Context(), assembleOf(head)); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited > 3*reply.TakenWithin {
				t.Errorf("who takes replies waited %s", waited)
			}
			cancel()
			for _, leave := range leaves {
				leave()
			}
			<-time.After(time.Minute) // what is on its way over the slow lines comes
		})
	})
}
