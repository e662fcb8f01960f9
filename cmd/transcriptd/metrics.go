package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/certs"
)

// registerStore adds the metrics of a store on disk; the one in memory has none.
func registerStore(to prometheus.Registerer, store chainstore.Store) {
	if s, ok := store.(*badgerstore.Store); ok {
		to.MustRegister(newStoreMetrics(s))
	}
}

// registerCerts adds when the certificate of a server that speaks TLS expires.
func registerCerts(to prometheus.Registerer, served *certs.Server) {
	if served != nil {
		to.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "transcriptd_server_certificate_expires_timestamp_seconds",
			Help: "When the certificate that is shown to clients expires, in seconds since 1970.",
		}, func() float64 { return float64(served.Expires().Unix()) }))
	}
}

// storeMetrics reads the store's metrics whenever they are asked for. Its only labels are the name of a cache, the number of a level, and
// descriptors or maps.
type storeMetrics struct {
	store *badgerstore.Store
	// What follows is read off one badgerstore.Metrics.
	values []storeMetric[badgerstore.Metrics]
	caches []storeMetric[badgerstore.CacheMetrics]
	levels []storeMetric[badgerdb.Level]
	files  []storeMetric[badgerdb.Usage]
	dead   deadSpace
}

// deadSpace measures how much of the store's files is dead, not often.
type deadSpace struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	// last is what was measured last, at a time; found says that it could be. One that failed is not tried at each scrape, for it makes that wait.
	last  int64
	at    time.Time
	found bool
}

const (
	// measureEvery is how long a measure of dead space holds: it reads some thousand rows.
	measureEvery = 10 * time.Minute
	// measureFor is how long one may take.
	measureFor = 5 * time.Second
)

// read is the bytes that are dead; false where they cannot be told.
func (d *deadSpace) read(store chainstore.Reclaimer, now time.Time) (int64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(d.at) >= measureEvery {
		ctx, cancel := context.WithTimeout(context.Background(), measureFor)
		defer cancel()
		space, err := store.Space(ctx)
		d.last, d.at, d.found = space.Dead, now, err == nil
	}
	return d.last, d.found
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
	type level = badgerdb.Level
	type usage = badgerdb.Usage
	return &storeMetrics{
		store: store,
		dead:  deadSpace{desc: storeDesc("dead_bytes", "Bytes of the tables that are of what was deleted or written over, about.")},
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
			gauge("purge_nodes", "Nodes that were erased and are in the store's files yet.", func(m *all) int64 { return m.PurgeNodes }),
			gauge("purge_aliases", "Aliases whose labels were erased and are in the store's files yet.", func(m *all) int64 { return m.PurgeAliases }),
			gauge("purge_namespaces", "Namespaces that were deleted and are in the store's files yet.", func(m *all) int64 { return m.PurgeNamespaces }),
			{storeDesc("purge_since_timestamp_seconds", "When the first of these was erased or deleted, in seconds since 1970; 0 where there are none."),
				prometheus.GaugeValue, func(m *all) float64 { return float64(m.PurgeSince) / 1000 }},
			counter("purges_total", "How often what was erased or deleted was taken out of the store's files.", func(m *all) uint64 { return m.Purges }),
			counter("purge_failures_total", "How often that failed; it is tried again.", func(m *all) uint64 { return m.PurgeFailures }),
			gauge("disk_bytes", "Bytes that the store's files take on disk.", func(m *all) int64 { return m.Shape.DiskBytes }),
			gauge("merge_pending_bytes", "Bytes of tables that wait to be merged into the next level.", func(m *all) int64 { return m.Shape.WaitingBytes }),
			gauge("queue_bytes", "Bytes of changes that wait to be committed or are being committed.", func(m *all) int64 { return m.QueueBytes }),
			gauge("queue_limit_bytes", "Bytes from which on callers wait for room in the queue.", func(m *all) int64 { return m.QueueLimitBytes }),
		},
		files: []storeMetric[usage]{
			gauge("handles", "Of each of which a table takes one: file descriptors and memory maps that the process has.", func(m *usage) int64 { return m.Used }, "kind"),
			gauge("handles_limit", "How many the process may have.", func(m *usage) int64 { return m.Limit }, "kind"),
			gauge("handles_kept", "Writes are refused while fewer are left.", func(m *usage) int64 { return m.Kept }, "kind"),
		},
		levels: []storeMetric[level]{
			gauge("tables", "Tables of a level, each of which takes a file descriptor and a memory map.", func(m *level) int64 { return m.Tables }, "level"),
			gauge("table_bytes", "Bytes of the tables of a level.", func(m *level) int64 { return m.Bytes }, "level"),
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
	to <- s.dead.desc
	for _, m := range s.values {
		to <- m.desc
	}
	for _, m := range s.levels {
		to <- m.desc
	}
	for _, m := range s.files {
		to <- m.desc
	}
	for _, m := range s.caches {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (s *storeMetrics) Collect(to chan<- prometheus.Metric) {
	if dead, found := s.dead.read(s.store, time.Now()); found {
		to <- prometheus.MustNewConstMetric(s.dead.desc, prometheus.GaugeValue, float64(dead))
	}
	now := s.store.Metrics()
	for _, m := range s.values {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now))
	}
	for _, m := range s.levels {
		for number := range now.Shape.Levels {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Shape.Levels[number]), strconv.Itoa(number))
		}
	}
	for _, m := range s.files {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Descriptors), "descriptors")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Maps), "maps")
	}
	for _, m := range s.caches {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Blocks), "blocks")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Indexes), "indexes")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Rows), "rows")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Aliases), "aliases")
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.read(&now.Nodes), "nodes")
	}
}

// metricsOf are those that are read off an M, which mu guards.
type metricsOf[M any] struct {
	of     *M
	mu     *sync.Mutex
	values []storeMetric[M]
}

// Describe implements prometheus.Collector.
func (m *metricsOf[M]) Describe(to chan<- *prometheus.Desc) {
	for _, v := range m.values {
		to <- v.desc
	}
}

// Collect implements prometheus.Collector.
func (m *metricsOf[M]) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.values {
		to <- prometheus.MustNewConstMetric(v.desc, v.kind, v.read(m.of))
	}
}

// sinceEpoch is a time in seconds since 1970; 0 for the zero time.
func sinceEpoch(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
