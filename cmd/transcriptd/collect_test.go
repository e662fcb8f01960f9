package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server"
)

// TestCollectsOnATimer: the first collection begins an hour after the start, another so long after the last one ended as the flag says, also after one
// that failed; the metrics tell of all.
func TestCollectsOnATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, registry, out := time.Now(), prometheus.NewRegistry(), &bytes.Buffer{}
		var began []time.Duration
		stop := startCollector(collectFlags{Every: 24 * time.Hour, Rate: 7}, func(_ context.Context, rate int64, report func(server.Collected) error) error {
			began = append(began, time.Since(start))
			if rate != 7 {
				t.Errorf("the rate is %d", rate)
			}
			<-time.After(time.Minute)
			if err := report(server.Collected{Collected: chainstore.Collected{Nodes: 3, MessageBytes: 10}}); err != nil {
				return err
			}
			if len(began) == 2 {
				return errors.New("no more")
			}
			return nil
		}, registry, slog.New(slog.NewTextHandler(out, nil)))
		<-time.After(3 * 25 * time.Hour)
		stop()
		if want := []time.Duration{time.Hour, 25*time.Hour + time.Minute, 49*time.Hour + 2*time.Minute, 73*time.Hour + 3*time.Minute}; !slices.Equal(began, want) {
			t.Errorf("they began at %v, not %v", began, want)
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`
			# HELP transcriptd_collect_nodes_total Nodes that these collections have deleted.
			# TYPE transcriptd_collect_nodes_total counter
			transcriptd_collect_nodes_total 12
			# HELP transcriptd_collect_failures_total Collections that ended early.
			# TYPE transcriptd_collect_failures_total counter
			transcriptd_collect_failures_total 1
			# HELP transcriptd_collect_duration_seconds How long the last one took.
			# TYPE transcriptd_collect_duration_seconds gauge
			transcriptd_collect_duration_seconds 60
		`), "transcriptd_collect_nodes_total", "transcriptd_collect_failures_total", "transcriptd_collect_duration_seconds"); err != nil {
			t.Error(err)
		}
		if got := out.String(); !strings.Contains(got, "nodes=3") || !strings.Contains(got, "no more") {
			t.Errorf("the log has %q", got)
		}
	})
}
