package fair

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestShares: who has its share waits, and another with a name does not; who has none may have all.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, shares := NewSemaphore(4), NewShares(3)
		one, other := context.WithValue(t.Context(), Party{}, "one"), context.WithValue(t.Context(), Party{}, "other")
		if shares.Of(t.Context()) != nil {
			t.Error("a party without a name has a share")
		}
		if !Try(3, shares.Of(one), all) || Try(1, shares.Of(one), all) {
			t.Fatal("the share is not what was taken")
		}
		served := make(chan error, 1)
		go func() { served <- Acquire(one, 1, shares.Of(one), all) }()
		synctest.Wait()
		if !Try(1, shares.Of(other), all) || Try(1, shares.Of(other), all) {
			t.Error("another has what is left, and no more")
		}
		synctest.Wait()
		if len(served) > 0 || !shares.Of(one).Wanted() || all.Wanted() {
			t.Error("it waits for its own share, and not for all")
		}
		left, leave := context.WithCancel(other)
		leave()
		if Acquire(left, 1, shares.Of(left), all) == nil || !shares.Of(other).TryAcquire(2) {
			t.Error("who left has taken some of its share")
		}
		Release(1, shares.Of(one), all)
		if err := <-served; err != nil {
			t.Error(err)
		}
		Release(3, shares.Of(one), all)
		Release(1, nil, all)
		if !all.TryAcquire(4) {
			t.Error("not all was given back")
		}
	})
}

// TestSharesForget: of parties that come once few are kept, and those that have something are.
func TestSharesForget(t *testing.T) {
	shares := NewShares(1)
	busy := context.WithValue(t.Context(), Party{}, "busy")
	shares.Of(busy).TryAcquire(1)
	for i := range 10_000 {
		shares.Of(context.WithValue(t.Context(), Party{}, fmt.Sprint(i)))
		if len(shares.of) > 2*leastKept {
			t.Fatalf("%d are kept", len(shares.of))
		}
	}
	if shares.Of(busy).TryAcquire(1) {
		t.Error("a share that is taken was forgotten")
	}
}
