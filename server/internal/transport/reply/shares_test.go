package reply

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
)

// TestRepliesToOnePrincipal: over however many connections, those to one principal leave room for those to another.
func TestRepliesToOnePrincipal(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	o := NewLimiter(NewBuffers(), metrics.NewReplies(nil, log), log)
	of := func(name string) context.Context {
		c := newConnection(nil)
		c.written.Store(ConnectionBytes)
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), fair.Party{}, name), 400*time.Millisecond)
		t.Cleanup(cancel)
		return peer.NewContext(ctx, &peer.Peer{AuthInfo: connected{nil, c}})
	}
	var all []*Held
	take := func(name string) error {
		h, err := o.Take(of(name), ConnectionBytes)
		if err == nil {
			all = append(all, h)
		}
		return err
	}
	for range PrincipalBytes / ConnectionBytes {
		if err := take("one"); err != nil {
			t.Fatal(err)
		}
	}
	if err := take("one"); err == nil {
		t.Error("one more has room")
	}
	if err := take("other"); err != nil {
		t.Errorf("another: %v", err)
	}
	small := func(name string) *Held {
		h := o.TrySmall(of(name))
		if h != nil {
			all = append(all, h)
		}
		return h
	}
	for small("one") != nil {
	}
	if n := len(all) - (PrincipalBytes/ConnectionBytes + 1); n != SmallBytes*3/4/SmallReply {
		t.Errorf("it has %d small replies", n)
	}
	if small("other") == nil {
		t.Error("there is no room for another's small reply")
	}
	for _, h := range all {
		h.Release()
	}
	if !o.Small.TryAcquire(SmallBytes) || !o.Free.TryAcquire(RepliesBytes) || !o.shares.Of(of("one")).TryAcquire(PrincipalBytes) {
		t.Error("not all was given back")
	}
}
