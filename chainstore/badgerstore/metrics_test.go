package badgerstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

func TestMetricsOfTheQueue(t *testing.T) {
	s := openStore(t, Options{})
	entered, release := blocked(t, s)
	var wg sync.WaitGroup
	wg.Go(func() { put(t, s, node(nil, "first")) })
	<-entered
	for i := range 3 {
		wg.Go(func() { put(t, s, node(nil, fmt.Sprint(i), strings.Repeat("x", 10_000))) })
	}
	wg.Go(func() { put(t, s, node(nil, "first")) }) // is there, and writes nothing
	waitFor(t, func() bool { return queueLength(s) == 4 })
	if m := s.Metrics(); m.QueueBytes < 30_000 || m.QueueBytes > 60_000 || m.Commits != 0 || m.CommittedChanges != 0 {
		t.Errorf("with changes that wait: %+v", m)
	}
	release()
	wg.Wait()
	if m := s.Metrics(); m.QueueBytes != 0 || m.QueueLimitBytes != defaultQueueBytes || m.Commits != 2 || m.CommittedChanges != 5 {
		t.Errorf("when all is committed: %+v", m)
	}
	put(t, s, node(nil, "first"))
	if m := s.Metrics(); m.Commits != 2 || m.CommittedChanges != 5 {
		t.Errorf("after a change that wrote nothing: %+v", m)
	}
}

func TestMetricsOfTheNodeCache(t *testing.T) {
	s, root := openCold(t)
	for i := range 3 {
		put(t, s, node(&root, fmt.Sprint(i)))
	}
	nodes := s.Metrics().Nodes
	if nodes.Misses != 1 || nodes.Hits != 2 ||
		nodes.Bytes == 0 || nodes.Bytes > nodes.LimitBytes {
		t.Errorf("after three forks off a node that was not known at first: %+v", nodes)
	}
	for i := 0; nodes.Bytes < 8<<20; i++ { // more than fits, of tips of chains and of others
		h := &chainstore.Header{ID: [32]byte{1, byte(i), byte(i >> 8)}}
		s.source.Caches.Nodes.Put(&cache.Node{At: chainstore.Place{Segment: uint64(i)}, Header: h, IsTip: true, HasChild: i%4 == 0}, 1)
		nodes.Bytes += 1024
	}
	// The rest is for calls.
	full := s.Metrics().Nodes
	if nodes := full.Bytes - s.source.Caches.Calls.Size(); nodes > full.LimitBytes-s.source.Caches.Calls.Limit() || nodes < full.LimitBytes-s.source.Caches.Calls.Limit()-4000 {
		t.Errorf("a full cache: %+v", full)
	}
}

func TestMetricsOfCopies(t *testing.T) {
	s := openStore(t, Options{})
	long := noise(600_000) // in chunks
	end := put(t, s, node(nil, "root"), node(nil, long))[1].ID
	copied := s.Metrics().CopiedBytes
	readFrom(t, s, end, 0)
	first := s.Metrics().CopiedBytes - copied
	if first < uint64(len(long)) || first > uint64(len(long))+1000 {
		t.Errorf("%d bytes are copied to read %d in chunks", first, len(long))
	}
}

// What is written is counted in bytes, and once for a commit, when it is synced.
func TestMetricsOfWrites(t *testing.T) {
	s := openStore(t, Options{})
	before := s.Metrics()
	text := noise(10_000)
	for range 2 { // the second time it is there
		put(t, s, node(nil, text))
		m := s.Metrics()
		if n := m.WrittenBytes - before.WrittenBytes; n < uint64(len(text)) || n > uint64(len(text))+500 {
			t.Errorf("%d bytes are written of a node of %d", n, len(text))
		}
		if n := m.Syncs - before.Syncs; badgerdb.SyncsLog && n != 1 || !badgerdb.SyncsLog && n != 0 {
			t.Errorf("%d syncs", n)
		}
	}
}

// Tables are counted by level; and so is what the files take; both once the store is closed, as well.
func TestMetricsOfTables(t *testing.T) {
	s, _ := openCold(t) // one that was closed has left a table
	first := s.Metrics().Shape
	if len(first.Levels) < 2 || first.Levels[0].Tables != 1 || first.Levels[0].Bytes < 100 || first.WaitingBytes != 0 {
		t.Errorf("of one table: %+v", first)
	}
	for i := range 4 {
		put(t, s, node(nil, fmt.Sprint(i, noise(600_000))))
	}
	if grown := s.Metrics().Shape.DiskBytes - first.DiskBytes; grown < 4*600_000 || grown > 5*600_000 {
		t.Errorf("with 2.4 MB more, %d more are told", grown)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if m := s.Metrics(); m.Shape.DiskBytes == 0 || len(m.Shape.Levels) != len(first.Levels) {
		t.Errorf("of a closed store: %+v", m.Shape)
	}
}
