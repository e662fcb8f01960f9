package hold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/internal/hold"
)

func none() error { return nil }

// TestGate: who deletes waits for all who hold, who holds waits for who deletes, and both end with their contexts.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g hold.Gate
		first, err := g.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.Hold(t.Context()) // at once, though the first has it
		if err != nil || !g.Held() {
			t.Fatal(err)
		}
		deleting, deleted := make(chan struct{}), make(chan error, 1)
		go func() { deleted <- g.Delete(t.Context(), none, func() error { <-deleting; return nil }) }()
		first()
		first() // counts once
		synctest.Wait()
		third, err := g.Hold(t.Context()) // nobody deletes yet
		if err != nil {
			t.Fatal(err)
		}
		second()
		third()
		synctest.Wait()
		held := make(chan func(), 1)
		go func() {
			release, err := g.Hold(t.Context())
			if err != nil {
				t.Error(err)
			}
			held <- release
		}()
		synctest.Wait()
		select {
		case <-held:
			t.Error("held while somebody deletes")
		default:
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Hold(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		close(deleting)
		if err := <-deleted; err != nil {
			t.Error(err)
		}
		release := <-held
		if err := g.Delete(cancelled, none, func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		release()
		if g.Held() {
			t.Error("held by nobody")
		}
		want := errors.New("of f")
		if err := g.Delete(t.Context(), none, func() error { return want }); !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
	})
}

// TestWaitingIsTold: who waits to delete is told at once, and at each interval, whether others hold the gate or delete, and may end that.
func TestWaitingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g hold.Gate
		told := 0
		tell := func() error { told++; return nil }
		if err := g.Delete(t.Context(), tell, none); err != nil || told != 0 {
			t.Fatalf("told %d times that it waits for nobody: %v", told, err)
		}
		release, err := g.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*hold.Interval+hold.Interval/2, release)
		began := time.Now()
		if err := g.Delete(t.Context(), tell, none); err != nil || told != 4 || time.Since(began) != 3*hold.Interval+hold.Interval/2 {
			t.Errorf("told %d times in %v: %v", told, time.Since(began), err)
		}
		over := make(chan struct{})
		go func() { _ = g.Delete(t.Context(), none, func() error { <-over; return nil }) }()
		synctest.Wait()
		want, times := errors.New("of who is told"), 0
		err = g.Delete(t.Context(), func() error {
			if times++; times == 3 {
				return want
			}
			return nil
		}, none)
		if !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
		close(over)
	})
}
