package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// TestOrder: what is documented is what is built.
func TestOrder(t *testing.T) {
	store := memstore.New(memstore.Options{})
	s := New(store, Config{Registerer: prometheus.NewRegistry()})
	var names []string
	for _, l := range s.layers() {
		if l.unary == nil || l.stream == nil || l.why == "" {
			t.Errorf("layer %s is incomplete", l.name)
		}
		names = append(names, l.name)
	}
	want := "metrics request logging limits refusals errors recovery replies"
	if !slices.Equal(names, strings.Fields(want)) {
		t.Errorf("layers are %v, want %v", names, want)
	}
	bare := New(store, Config{})
	unary, stream := bare.chains()
	if len(unary) != len(names)-1 || len(stream) != len(unary) {
		t.Errorf("without a registerer there are %d and %d interceptors", len(unary), len(stream))
	}
}

// TestRegistererIsShared: a second server counts in the metrics of the first.
func TestRegistererIsShared(t *testing.T) {
	store, registry := memstore.New(memstore.Options{}), prometheus.NewRegistry()
	a, b := New(store, Config{Registerer: registry}), New(store, Config{Registerer: registry})
	if a.metrics.ServerMetrics != b.metrics.ServerMetrics {
		t.Error("the second server has metrics that nobody gathers")
	}
}
