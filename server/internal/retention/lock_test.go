package retention

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// lateCancel is a context that is canceled just behind what waits with it.
type lateCancel struct{ context.Context }

func (lateCancel) Err() error { return context.Canceled }

// TestLockCanceledOnceItIsHad shows that a call which is canceled just as it gets a lock leaves it to others.
func TestLockCanceledOnceItIsHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLock()
		if err := l.Acquire(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			ended <- l.alone(lateCancel{context.WithoutCancel(t.Context())}, func() error { return nil })
		}()
		synctest.Wait()
		l.Release(1)
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if !l.TryAcquire(1) {
			t.Fatal("the lock is lost: nobody has it, and nobody gets it")
		}
	})
}
