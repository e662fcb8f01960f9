package progress_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/server/internal/progress"
)

var errGone = errors.New("gone")

func both(unsent, newer []int) []int { return append(slices.Clone(unsent), newer...) }

// TestReportsDoNotWait: work goes on while nothing can be sent, and what it reported meanwhile is sent as one, nothing lost and nothing twice.
func TestReportsDoNotWait(t *testing.T) {
	reported, sent, sends := make(chan struct{}), []int{}, 0
	err := progress.Run(t.Context(), func(_ context.Context, report func([]int) error) error {
		defer close(reported)
		for i := range 100 {
			if err := report([]int{i}); err != nil {
				return err
			}
		}
		return nil
	}, both, func(r []int) error {
		<-reported
		sent, sends = append(sent, r...), sends+1
		return nil
	})
	if err != nil || len(sent) != 100 || !slices.IsSorted(sent) || sends > 2 {
		t.Errorf("%d of 100 reports in %d messages, %v", len(sent), sends, err)
	}
}

// TestEndsWithItsClient: work ends where nothing can be sent, and its own error and a panic are told.
func TestEndsWithItsClient(t *testing.T) {
	err := progress.Run(t.Context(), func(ctx context.Context, report func([]int) error) error {
		if err := report([]int{1}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}, both, func([]int) error { return errGone })
	if !errors.Is(err, errGone) {
		t.Errorf("nothing can be sent: %v", err)
	}
	send := func([]int) error { return nil }
	if err := progress.Run(t.Context(), func(context.Context, func([]int) error) error { return errGone }, both, send); !errors.Is(err, errGone) {
		t.Errorf("work failed: %v", err)
	}
	if err := progress.Run(t.Context(), func(context.Context, func([]int) error) error { panic(1) }, both, send); err == nil {
		t.Error("a panic of work is no error")
	}
}
