package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
)

// registerStore adds the metrics of a store on disk; the one in memory has none.
func registerStore(to prometheus.Registerer, store chainstore.Store) {
	if s, ok := store.(*badgerstore.Store); ok {
		to.MustRegister(newStoreMetrics(s))
	}
}

// storeMetrics reads the store's metrics whenever they are asked for. Its only label is the name of a cache.
type storeMetrics struct {
	store *badgerstore.Store
	disk  *prometheus.Desc
	// values and caches are read off one badgerstore.Metrics.
	values []storeMetric[badgerstore.Metrics]
	caches []storeMetric[badgerstore.CacheMetrics]
}

// storeMetric is a metric that is read off an M.
type storeMetric[M any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*M) float64
}

func newStoreMetrics(store *badgerstore.Store) *storeMetrics {
	type all = badgerstore.Metrics
	type cache = badgerstore.CacheMetrics
	return &storeMetrics{
		store: store,
		disk:  storeDesc("disk_bytes", "Bytes that the store's files take on disk."),
		values: []storeMetric[all]{
			counter("gets_total", "Values read by key.", func(m *all) uint64 { return m.Gets }),
			counter("seeks_total", "Searches for a key.", func(m *all) uint64 { return m.Seeks }),
			counter("nexts_total", "Steps to the next key.", func(m *all) uint64 { return m.Nexts }),
			counter("sets_total", "Keys written or deleted.", func(m *all) uint64 { return m.Sets }),
			counter("written_bytes_total", "Bytes of keys and values written.", func(m *all) uint64 { return m.WrittenBytes }),
			counter("copied_bytes_total", "Bytes of values copied out of the database's memory.", func(m *all) uint64 { return m.CopiedBytes }),
			counter("commits_total", "Durable transactions.", func(m *all) uint64 { return m.Commits }),
			counter("committed_changes_total", "Changes that durable transactions held.", func(m *all) uint64 { return m.CommittedChanges }),
			seconds("paused_seconds_total", "For how long commits were held back so that merges of tables keep up.", func(m *all) time.Duration { return m.Paused }),
			gauge("room_kept_bytes", "Bytes of the disk that are kept free for logs and merges of tables.", func(m *all) int64 { return m.RoomKept }),
			gauge("room_left_bytes", "Bytes of the disk that puts may take yet; at 0 they are refused.", func(m *all) int64 { return m.RoomLeft }),
			gauge("queue_bytes", "Bytes of changes that wait to be committed or are being committed.", func(m *all) int64 { return m.QueueBytes }),
			gauge("queue_limit_bytes", "Bytes from which on callers wait for room in the queue.", func(m *all) int64 { return m.QueueLimitBytes }),
		},
		caches: []storeMetric[cache]{
			gauge("cache_bytes", "Bytes that a cache holds.", func(m *cache) int64 { return m.Bytes }, "cache"),
			gauge("cache_limit_bytes", "Bytes that a cache may hold.", func(m *cache) int64 { return m.LimitBytes }, "cache"),
			counter("cache_hits_total", "What a cache had.", func(m *cache) uint64 { return m.Hits }, "cache"),
			counter("cache_misses_total", "What a cache did not have, so that it was read from below.", func(m *cache) uint64 { return m.Misses }, "cache"),
		},
	}
}

func storeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("transcriptd_store_"+name, help, labels, nil)
}

func counter[M any](name, help string, read func(*M) uint64, labels ...string) storeMetric[M] {
	return storeMetric[M]{storeDesc(name, help, labels...), prometheus.CounterValue, func(m *M) float64 { return float64(read(m)) }}
}

func seconds[M any](name, help string, read func(*M) time.Duration) storeMetric[M] {
	return storeMetric[M]{storeDesc(name, help), prometheus.CounterValue, func(m *M) float64 { return read(m).Seconds() }}
}

func gauge[M any](name, help string, read func(*M) int64, labels ...string) storeMetric[M] {
	return storeMetric[M]{storeDesc(name, help, labels...), prometheus.GaugeValue, func(m *M) float64 { return float64(read(m)) }}
}

// Describe implements prometheus.Collector.
func (s *storeMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- s.disk
	for _, m := range s.values {
		to <- m.desc
	}
	for _, m := range s.caches {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector. Where the files cannot be looked at, all but their size is told.
func (s *storeMetrics) Collect(to chan<- prometheus.Metric) {
	if n, err := s.store.DiskBytes(); err == nil {
		to <- prometheus.MustNewConstMetric(s.disk, prometheus.GaugeValue, float64(n))
	}
	now := s.store.Metrics()
	for _, m := range s.values {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now))
	}
	for _, m := range s.caches {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Blocks), "blocks")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Rows), "rows")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Heads), "heads")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Aliases), "aliases")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Nodes), "nodes")
	}
}
