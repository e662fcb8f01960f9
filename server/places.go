package server

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// places are for the calls that take as long as their callers ask them to: Verify, Backup, CollectGarbage and Erase.
type places struct {
	*fair.Semaphore
	// of is what of them one principal may have.
	of *fair.Shares
	// waiting counts the calls that wait for one.
	waiting atomic.Int32
	status  func(context.Context, error) error
}

// maxVerifies of Verify, Backup, CollectGarbage and Erase run at once, and maxVerifiesOf of one principal: each has some nodes in memory, stored and decoded, and takes a processor, for as
// long as its caller asks it to take.
const maxVerifies, maxVerifiesOf = 8, 6

const (
	// placeWait is the longest that a call waits for a place, also without a deadline: it is told to come again before its client gives up.
	placeWait = 20 * time.Second
	// unreadAfter is how long a call may keep its place while its client takes nothing and others wait, looked at every unreadLook.
	unreadAfter = 10 * time.Second
	unreadLook  = time.Second
)

func newPlaces(status func(context.Context, error) error) *places {
	return &places{Semaphore: fair.NewSemaphore(maxVerifies), of: fair.NewShares(maxVerifiesOf), status: status}
}

// enter waits for a place. Error: errBusyVerifying shortly before the deadline, and after placeWait; that of the context.
func (p *places) enter(ctx context.Context) (*place, error) {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	early, enough := context.WithTimeout(early, placeWait)
	defer enough()
	share := p.of.Of(ctx)
	p.waiting.Add(1)
	err := fair.Acquire(early, 1, share, p.Semaphore)
	p.waiting.Add(-1)
	switch {
	case err == nil:
		one := &place{ctx: ctx, places: p, share: share, left: make(chan struct{})}
		go one.watch()
		return one, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, errBusyVerifying
	}
}

// place is that of a call.
type place struct {
	*places
	ctx   context.Context
	share *fair.Semaphore
	left  chan struct{}
	// since is when what is being sent began to be, in nanoseconds since the epoch; 0: nothing is.
	since atomic.Int64
	// holds says that others wait for the call anywhere else than for its place.
	holds atomic.Bool
}

func (p *place) leave() {
	close(p.left)
	fair.Release(1, p.share, p.Semaphore)
}

// watch ends the call once its client has taken nothing for a while and others wait for its place, or may wait for what it holds: sending fails
// then, and its place is free.
func (p *place) watch() {
	tick := time.NewTicker(unreadLook)
	defer tick.Stop()
	for {
		select {
		case <-p.left:
			return
		case now := <-tick.C:
			if since := p.since.Load(); since > 0 && now.Sub(time.Unix(0, since)) >= unreadAfter && (p.waiting.Load() > 0 || p.holds.Load()) {
				receive.HangUp(p.ctx, p.status(p.ctx, errUnread))
				return
			}
		}
	}
}

// sending is a stream whose sends a place watches.
type sending[Reply any] struct {
	grpc.ServerStreamingServer[Reply]
	place *place
}

func (s sending[Reply]) Send(r *Reply) error {
	s.place.since.Store(time.Now().UnixNano())
	defer s.place.since.Store(0)
	return s.ServerStreamingServer.Send(r)
}
