// Package deadline lets a server give up before its caller does, and wait no longer than its caller.
package deadline

import (
	"context"
	"time"
)

// Early ends shortly before ctx does, where that has a deadline, so that who waited in vain can still say why to a caller who
// listens: by an eighth of what is left, 50 ms at most.
func Early(ctx context.Context) (context.Context, context.CancelFunc) {
	end, has := ctx.Deadline()
	if !has {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/8, 50*time.Millisecond)))
}

// Sleep returns when a time has passed, or when ctx ends, with its error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
