package transport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/tap"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The tap refuses by itself where gRPC then holds nothing, or not for long.
func TestRefusalsWithNearDeadlinesAreMadeInTheTap(t *testing.T) {
	refusal, now := errors.New("refused"), time.Now()
	for _, step := range []struct {
		left   time.Duration
		goesOn bool
	}{{Near / 2, false}, {Near, false}, {Near + 1, true}, {time.Hour, true}} {
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(step.left))
		defer cancel()
		ctx, err := refuse(ctx, refusal, now)
		if (err == nil) != step.goesOn || (turnedAway(ctx) != nil) != step.goesOn {
			t.Errorf("with %v left: %v, turned away as %v", step.left, err, turnedAway(ctx))
		}
	}
	if _, err := refuse(t.Context(), refusal, now); err == nil {
		t.Error("without a deadline the tap does not refuse")
	}
}

// takes tells whether a write is taken.
func takes(a *admission, ctx context.Context) bool {
	ctx, err := a.admit(ctx, &tap.Info{FullMethodName: transcriptv1.TranscriptService_PutNode_FullMethodName})
	return err == nil && turnedAway(ctx) == nil
}

// Between the two bounds a write is taken if it has twice the time that writes take; below the lesser one always.
func TestWritesThatWouldComeLateAreRefused(t *testing.T) {
	var log bytes.Buffer
	a := bareTransport(nil, slog.New(slog.NewTextHandler(&log, nil))).Admission
	a.Free, a.Most = 2, 4
	hurried, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	unhurried, leave := context.WithCancel(t.Context())
	defer leave()
	for range 200 {
		a.end(40 * time.Second)
	}
	for i, step := range []struct {
		ctx   context.Context
		taken bool
	}{{hurried, true}, {hurried, true}, {hurried, false}, {unhurried, true}, {unhurried, true}, {unhurried, false}, {hurried, false}} {
		if takes(a, step.ctx) != step.taken {
			t.Errorf("write %d: taken is %t, want %t", i, !step.taken, step.taken)
		}
	}
	if n := a.UnderWay.Load(); n != 4 {
		t.Errorf("%d writes count, not 4", n)
	}
	for range 200 {
		a.end(time.Second)
	}
	a.UnderWay.Add(-1)
	if !takes(a, hurried) {
		t.Error("refused though writes are fast again")
	}
	if n := strings.Count(log.String(), "OVERLOADED"); n != 1 {
		t.Errorf("%d lines tell of refusals, not one: %s", n, log.String())
	}
}

// A write that took hours, since nobody waited and its sender was slow, does not count as such when others are judged.
func TestOneSlowSenderCountsForLittle(t *testing.T) {
	a := bareTransport(nil, slog.New(slog.DiscardHandler)).Admission
	a.Free = 0
	a.end(6 * time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if !takes(a, ctx) {
		t.Error("refused")
	}
}
