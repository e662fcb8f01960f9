// Package pace holds who reads a store to a rate, so that it can go on beside traffic.
package pace

import (
	"context"
	"time"
)

const (
	// Ahead is how far a reader may be ahead of its rate before it rests: to rest is worth that much time.
	Ahead = 10 * time.Millisecond
	// behind is how much of the time that a reader lost, when reading was slow, it may make up for by reading faster.
	behind = 100 * time.Millisecond
)

// Pace is a reader's. Not for use by several goroutines. The zero Pace has no limit, and is never due.
type Pace struct {
	// Rate is in bytes a second; 0: no limit.
	Rate int64
	// until is when what was read is paid for.
	until time.Time
}

// Read counts bytes that were read.
func (p *Pace) Read(bytes int64) {
	if p.Rate <= 0 {
		return
	}
	if now := time.Now(); p.until.Before(now.Add(-behind)) {
		p.until = now.Add(-behind)
	}
	p.until = p.until.Add(cost(bytes, p.Rate))
}

// cost is how long bytes take at a rate.
func cost(bytes, rate int64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour // so that what is added up does not overflow
	seconds := float64(bytes) / float64(rate)
	if seconds > most.Seconds() {
		return most
	}
	return time.Duration(seconds * float64(time.Second))
}

// Due tells whether the reader has to rest.
func (p *Pace) Due() bool { return p.Rate > 0 && time.Until(p.until) >= Ahead }

// Rest waits until the reader is no longer ahead, at most for limit. It ends early, with its error, when ctx does.
func (p *Pace) Rest(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(min(limit, time.Until(p.until)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
