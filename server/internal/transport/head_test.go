package transport

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
)

// Refusals of strangers beyond what comes at once wait, none longer than longestPace, so that however many connections call, so many are refused
// a second; and a server that drains keeps none waiting.
func TestStrangersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		s := newStrangers(metrics.NewStrangers(nil, log), func(_ context.Context, err error) error { return err }, log)
		draining, drain := context.WithCancel(t.Context())
		var calling sync.WaitGroup
		refuse := func(n int) (longest time.Duration) {
			var mu sync.Mutex
			for range n {
				calling.Go(func() {
					began := time.Now()
					s.pace(draining)
					mu.Lock()
					defer mu.Unlock()
					longest = max(longest, time.Since(began))
				})
			}
			calling.Wait()
			return longest
		}
		if took := refuse(2 * strangersPerSecond); took != 0 {
			t.Errorf("the first wait %v", took)
		}
		began := time.Now()
		for range 5 {
			refuse(strangersPerSecond)
		}
		if took := time.Since(began); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("five seconds' worth of refusals take %v", took)
		}
		if took := refuse(100_000); took != longestPace {
			t.Errorf("of a flood one waits %v, want %v", took, longestPace)
		}
		time.AfterFunc(time.Millisecond, drain)
		if took := refuse(10 * strangersPerSecond); took > time.Millisecond {
			t.Errorf("a server that drains keeps one waiting for %v", took)
		}
	})
}
