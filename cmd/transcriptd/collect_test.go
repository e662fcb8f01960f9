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

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server"
)

// TestCollectsOnATimer: the first collection begins an hour after the start, another so long after the last one ended as the flag says, also after one
// that failed; the metrics tell of all.
func TestCollectsOnATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, registry, out := time.Now(), prometheus.NewRegistry(), &bytes.Buffer{}
		var began []time.Duration
		var reclaims []int
		stop := startCollector(collectFlags{Every: 24 * time.Hour, Rate: 7, Dead: 25}, collecting{func(_ context.Context, rate int64, report func(server.Collected) error) error {
			began = append(began, time.Since(start))
			if rate != 7 {
				t.Errorf("the rate is %d", rate)
			}
			<-time.After(time.Minute)
			if err := report(server.Collected{Collected: chainstore.Collected{Nodes: 3, MessageBytes: 10}, Space: chainstore.Space{Files: 1000, Dead: 247 + int64(len(began))}}); err != nil {
				return err
			}
			if len(began) == 2 {
				return errors.New("no more")
			}
			return nil
		}, func(context.Context) error { reclaims = append(reclaims, len(began)); return nil }}, registry, slog.New(slog.NewTextHandler(out, nil)))
		<-time.After(3 * 25 * time.Hour)
		stop()
		if want := []time.Duration{time.Hour, 25*time.Hour + time.Minute, 49*time.Hour + 2*time.Minute, 73*time.Hour + 3*time.Minute}; !slices.Equal(began, want) {
			t.Errorf("they began at %v, not %v", began, want)
		}
		if want := []int{3, 4}; !slices.Equal(reclaims, want) {
			t.Errorf("space was given back behind collections %v, not %v", reclaims, want)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]float64{}
		for _, f := range families {
			m := f.GetMetric()[0]
			told[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		for name, want := range map[string]float64{"nodes_total": 12, "message_bytes_total": 40, "failures_total": 1, "duration_seconds": 60, "running": 0} {
			if got, found := told["transcriptd_collect_"+name]; !found || got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if got := out.String(); !strings.Contains(got, "nodes=3") || !strings.Contains(got, "no more") {
			t.Errorf("the log has %q", got)
		}
	})
}

// TestCollectsAtAnHour: the first collection begins at the hour that is set, and those behind it too, however long they take.
func TestCollectsAtAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight, in UTC
		var began []string
		stop := startCollector(collectFlags{Every: 24 * time.Hour, At: "03:30"}, collecting{collect: func(context.Context, int64, func(server.Collected) error) error {
			began = append(began, time.Now().UTC().Format("02 15:04"))
			<-time.After(5 * time.Hour)
			return nil
		}}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		<-time.After(72 * time.Hour)
		stop()
		if want := []string{"01 03:30", "02 03:30", "03 03:30"}; !slices.Equal(began, want) {
			t.Errorf("they began at %v, not %v", began, want)
		}
	})
	for flags, want := range map[collectFlags]string{
		{Every: time.Hour, Grace: time.Hour, At: "25:00"}: "--collect-at", {Grace: time.Hour, At: "03:30"}: "--collect-every",
		{Grace: time.Hour, Dead: 101}: "--reclaim-dead", {Every: time.Millisecond, Grace: time.Hour}: "--collect-every", {}: "--collect-grace", {Grace: time.Hour, Rate: -1}: "--collect-rate",
	} {
		if err := flags.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", flags, err)
		}
	}
}
