package badgerstore

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

var (
	coldDir       = flag.String("cold.dir", "", "badgerstore: a folder that TestCold fills with a store, unless it has one, and reads")
	coldNodes     = flag.Int("cold.nodes", 1_000_000, "badgerstore: how many nodes TestCold fills a store with")
	coldEncrypted = flag.Bool("cold.encrypted", false, "badgerstore: TestCold's store is encrypted")
	coldRandom    = flag.Bool("cold.random", false, "badgerstore: TestCold advises the system that tables are read at random")
)

// TestCold tells what a store takes of which nothing is in memory: its start, single nodes that were put long ago, and its tables in order,
// as merges read them.
func TestCold(t *testing.T) {
	if *coldDir == "" {
		t.Skip("it tells what a large store takes: give -cold.dir")
	}
	o := coldOptions()
	ids := fillCold(t, *coldDir)
	forgetFiles(t, *coldDir)
	var s *Store
	reads(t, "start", 1, func() { s = openAt(t, *coldDir, o) })
	if *coldRandom {
		adviseRandom(t, *coldDir)
	}
	random := rand.New(rand.NewPCG(7, 7))
	reads(t, "node", 300, func() { readOne(t, s, ids[random.IntN(len(ids))]) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	forgetFiles(t, *coldDir)
	s = openAt(t, *coldDir, o)
	if *coldRandom {
		adviseRandom(t, *coldDir)
	}
	reads(t, "all in order, for 20 s", 1, func() { scanAll(s, 20*time.Second) })
}

// coldOptions are those of the daemon.
func coldOptions() (o Options) {
	o.CacheBytes = defaultCacheBytes
	if *coldEncrypted {
		o.EncryptionKey = testKey(1)
	}
	return o
}

// reads tells how long calls take, and how much they read from the disk.
func reads(t *testing.T, what string, calls int, call func()) {
	t.Helper()
	took, before := make([]time.Duration, calls), bytesRead(t)
	for i := range took {
		begin := time.Now()
		call()
		took[i] = time.Since(begin)
	}
	read := float64(bytesRead(t)-before) / 1e6
	slices.Sort(took)
	t.Logf("%s: median %v, nine tenths within %v; %.2f MB read for each, %.0f MB a second", what,
		took[calls/2].Round(time.Microsecond), took[calls*9/10].Round(time.Microsecond), read/float64(calls), read/sum(took).Seconds())
}

func sum(took []time.Duration) (total time.Duration) {
	for _, d := range took {
		total += d
	}
	return total
}

// bytesRead is what this process has caused to be read from disks.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "read_bytes: %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the system does not tell what is read")
	return 0
}

// fillCold fills a folder with conversations that grow side by side, until all merges are done, and returns ids of nodes; of a store that
// is there, those that were written beside it then.
func fillCold(t *testing.T, dir string) (ids []chainstore.ID) {
	t.Helper()
	list := strings.TrimSuffix(dir, "/") + ".ids"
	if text, err := os.ReadFile(list); err == nil {
		for _, id := range bytes.Fields(text) {
			ids = append(ids, chainstore.ID{})
			if _, err := hex.Decode(ids[len(ids)-1][:], id); err != nil {
				t.Fatal(err)
			}
		}
		return ids
	}
	s := openAt(t, dir, coldOptions())
	begin := time.Now()
	var callers sync.WaitGroup
	written := make([][]chainstore.ID, 8)
	for caller := range written {
		callers.Go(func() { written[caller] = growCold(t, s, uint64(caller), *coldNodes/len(written)) })
	}
	callers.Wait()
	t.Logf("%.0f nodes a second were put", float64(*coldNodes)/time.Since(begin).Seconds())
	for deadline := time.Now().Add(time.Hour); s.source.DB.Shape().WaitingBytes > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Second) // polls
	}
	t.Logf("%+v", s.source.DB.Shape())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ids = slices.Concat(written...)
	var text strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&text, id)
	}
	if err := os.WriteFile(list, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return ids
}

// growCold puts nodes of about 1.3 KB to 500 conversations, 50 at a time to one of them, and returns one id of each 50.
func growCold(t *testing.T, s *Store, seed uint64, nodes int) (ids []chainstore.ID) {
	const chats, each = 500, 50
	random := rand.New(rand.NewPCG(1, seed))
	heads := make([]*chainstore.ID, chats)
	for n := 0; n < nodes; n += each {
		chat := random.IntN(chats)
		in := []chainstore.NewNode{node(heads[chat], fmt.Sprint(seed, n), wordsOf(random))}
		for len(in) < each {
			next := node(nil, wordsOf(random))
			next.Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
			in = append(in, next)
		}
		out := put(t, s, in...)
		heads[chat] = &out[each-1].ID
		ids = append(ids, out[random.IntN(each)].ID)
	}
	return ids
}

// wordsOf are 300 to 2,300 bytes of words, which compress about three times.
func wordsOf(random *rand.Rand) string {
	var b strings.Builder
	for n := 300 + random.IntN(2000); b.Len() < n; {
		fmt.Fprintf(&b, "word%d ", random.IntN(4000))
	}
	return b.String()
}

// forgetFiles drops the files of a store that is closed from the system's memory.
func forgetFiles(t *testing.T, dir string) {
	t.Helper()
	const dontNeed = 4
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Sync()
		if _, _, err := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); err != 0 {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// adviseRandom advises the system of all tables that are mapped.
func adviseRandom(t *testing.T, dir string) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, filepath.Clean(dir)+"/") || !strings.HasSuffix(strings.TrimSpace(line), ".sst") {
			continue
		}
		span, _, _ := strings.Cut(line, " ")
		from, to, _ := strings.Cut(span, "-")
		begin, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		end, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := syscall.Syscall(syscall.SYS_MADVISE, uintptr(begin), uintptr(end-begin), syscall.MADV_RANDOM); err != 0 {
			t.Fatal(err)
		}
	}
}

// readOne reads a node as GetNode does.
func readOne(t *testing.T, s *Store, id chainstore.ID) {
	t.Helper()
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seq := c.Head().Seq
	if err := c.Rows(t.Context(), []chainstore.Span{{From: seq, Through: seq}}, func(*chainstore.Row) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// scanAll reads keys and values in order, for a time at most.
func scanAll(s *Store, most time.Duration) {
	txn := s.source.DB.NewTransactionAt(s.source.DB.MaxVersion(), false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	begin := time.Now()
	for it.Rewind(); it.Valid() && time.Since(begin) < most; it.Next() {
		_ = it.Item().EstimatedSize()
	}
}
