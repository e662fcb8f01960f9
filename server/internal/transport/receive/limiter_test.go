package receive

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
)

// roomForOne makes a room for one request of the largest size, all of which is given back in the end.
func roomForOne(t *testing.T) *ByteQuota {
	t.Helper()
	status := func(_ context.Context, err error) error { return err }
	m := metrics.NewRequests(nil, slog.New(slog.DiscardHandler))
	r := newByteQuota(MaxRequest, context.Background(), NewRequests(), status, m, "writes")
	t.Cleanup(func() {
		if !r.Free.TryAcquire(MaxRequest) {
			t.Error("room was not given back")
		}
	})
	return r
}

// enter begins a call.
func enter(t *testing.T, r *ByteQuota) *Reservation {
	t.Helper()
	p := &Reservation{Quota: r}
	if err := p.reserve(t.Context(), MaxRequest, func(error) {}); err != nil {
		t.Error(err)
	}
	return p
}

// A call that never finds room is refused before its deadline; one whose caller leaves hears that it has left.
func TestCallsWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roomForOne(t)
		large := enter(t, r)
		if err := large.came(wrapperspb.Bytes(make([]byte, 1<<20)), nil); err != nil {
			t.Fatal(err)
		}
		refused := func(ctx context.Context, want error) {
			t.Helper()
			p := &Reservation{Quota: r}
			defer p.Release()
			if err := p.reserve(ctx, MaxRequest, func(error) {}); !errors.Is(err, want) {
				t.Errorf("without room: %v, want %v", err, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		refused(ctx, ErrNoRoom)
		if ctx.Err() != nil {
			t.Error("refused after the deadline")
		}
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		refused(ctx, context.Canceled)
		large.Release()
	})
}

// Where MostWaiting wait already, who comes is refused at once.
func TestWaitingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roomForOne(t)
		first := enter(t, r)
		ended := make(chan error, MostWaiting)
		for range MostWaiting {
			go func() {
				p := &Reservation{Quota: r}
				defer p.Release()
				ended <- p.reserve(t.Context(), MaxRequest, func(error) {})
			}()
		}
		synctest.Wait()
		if err := (&Reservation{Quota: r}).reserve(t.Context(), MaxRequest, func(error) {}); !errors.Is(err, ErrNoRoom) || len(ended) != 0 {
			t.Errorf("one more: %v", err)
		}
		first.Release()
		for range MostWaiting {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait() // until the last has left
	})
}

// One principal whose calls wait, however many they are, does not have those of another refused.
func TestWaitersOfOnePrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roomForOne(t)
		first := enter(t, r)
		of := func(name string) context.Context { return context.WithValue(t.Context(), fair.Party{}, name) }
		ended := make(chan error, MostWaiting+1)
		wait := func(ctx context.Context) {
			go func() {
				p := &Reservation{Quota: r}
				defer p.Release()
				ended <- p.reserve(ctx, MaxRequest, func(error) {})
			}()
		}
		for range MostWaiting {
			wait(of("one"))
		}
		synctest.Wait()
		if err := (&Reservation{Quota: r}).reserve(of("one"), MaxRequest, func(error) {}); !errors.Is(err, ErrNoRoom) {
			t.Errorf("one more of the same: %v", err)
		}
		wait(of("other"))
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("another is told %v", <-ended)
		}
		first.Release()
		for range MostWaiting + 1 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait() // until the last has left
	})
}

// However many names there are, what waits is bounded.
func TestWaitersOfManyNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := roomForOne(t)
		for i := range 8 * MostWaiting {
			r.enter(strconv.Itoa(i / 2))
		}
		if n := r.enter("one more"); n <= MostWaiting {
			t.Errorf("it counts as %d", n)
		}
		for i := range 8 * MostWaiting {
			r.leave(strconv.Itoa(i / 2))
		}
		r.leave("one more")
		if n := r.enter("a"); n != 1 || len(r.waitersOf) != 1 {
			t.Errorf("the first counts as %d, beside %d names", n, len(r.waitersOf))
		}
		r.leave("a")
	})
}
