// Package progress tells a client how far work is that must not wait for it.
package progress

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/transcriptd/transcriptd/server/internal/panics"
)

// Run runs work, and sends what it reports. A report never waits for send: what is not sent yet and a newer report become one, by merge.
// Error: why nothing can be sent, and then work's context is ended; or that of work.
func Run[Report any](
	ctx context.Context, work func(ctx context.Context, report func(Report) error) error, merge func(unsent, newer Report) Report, send func(Report) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := &unsent[Report]{merge: merge, news: make(chan struct{}, 1)}
	var failed error
	go func() {
		defer close(u.news)
		failed = panics.Guard(func() error { return work(ctx, u.add) })
	}()
	var unsendable error
	for open := true; open; {
		_, open = <-u.news
		if r, any := u.take(); any && unsendable == nil {
			unsendable = send(r)
		}
		if unsendable != nil {
			cancel()
		}
	}
	return cmp.Or(unsendable, failed)
}

// unsent is what was reported and not sent.
type unsent[Report any] struct {
	merge func(unsent, newer Report) Report

	mu     sync.Mutex
	report Report
	// any says that there is something.
	any bool
	// news has a token where something was added, and is closed at the end.
	news chan struct{}
}

// add takes a report, at once.
func (u *unsent[Report]) add(r Report) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.any {
		r = u.merge(u.report, r)
	}
	u.report, u.any = r, true
	select {
	case u.news <- struct{}{}:
	default: // there is a token
	}
	return nil
}

// take empties it; any is false where it was empty.
func (u *unsent[Report]) take() (r Report, any bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, any = u.report, u.any
	var none Report
	u.report, u.any = none, false
	return r, any
}

// Pulse calls tell at intervals, until it fails or the function that Pulse returns is called, which waits for it.
func Pulse(every time.Duration, tell func() error) (quiet func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(every)
	go func() {
		defer close(stopped)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if tell() != nil {
				return // who works, and tells too, hears of it
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
