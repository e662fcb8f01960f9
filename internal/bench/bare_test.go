package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// putMany puts payloads from as many callers and returns the nodes.
func putMany(t *testing.T, p putter, payloads [][]byte) []*bareNode {
	t.Helper()
	nodes := make([]*bareNode, len(payloads))
	faults := make([]error, len(payloads))
	var wait sync.WaitGroup
	for i, payload := range payloads {
		wait.Go(func() { nodes[i], faults[i] = p.put(payload) })
	}
	wait.Wait()
	if err := errors.Join(faults...); err != nil {
		t.Fatal(err)
	}
	return nodes
}

func distinctPayloads(n int) [][]byte {
	payloads := make([][]byte, n)
	for i := range payloads {
		payloads[i] = fmt.Appendf(nil, "payload %d", i)
	}
	return payloads
}

// payloadByID reads a node's payload from a database under both of its keys.
func payloadByID(t *testing.T, db *badgerdb.DB, id []byte) (payload []byte) {
	t.Helper()
	txn := db.NewTransactionAt(db.MaxVersion(), false)
	defer txn.Discard()
	item, err := txn.Get(append([]byte{'i'}, id...))
	if err != nil {
		t.Fatal(err)
	}
	place, err := item.ValueCopy([]byte{'p'})
	if err != nil {
		t.Fatal(err)
	}
	if len(place) != 12 {
		t.Fatalf("a place of %d bytes", len(place))
	}
	if item, err = txn.Get(append([]byte{'p'}, place...)); err != nil {
		t.Fatal(err)
	}
	if payload, err = item.ValueCopy(nil); err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestBareBadgerKeepsTwoKeysANode(t *testing.T) {
	for name, open := range map[string]func(string) (putter, error){
		"transactions": openTransactions, "transactions synced once": openDatabase, "committer": openCommitter,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			payloads := distinctPayloads(40)
			var nodes []*bareNode
			if name == "transactions synced once" { // which take one caller at a time
				for i := range payloads {
					nodes = append(nodes, putMany(t, p, payloads[i:i+1])...)
				}
			} else {
				nodes = putMany(t, p, payloads)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := badgerdb.Open(dir, badgerdb.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for i, n := range nodes {
				if got := payloadByID(t, db, n.id[:]); !bytes.Equal(got, payloads[i]) {
					t.Fatalf("node %d has payload %q", i, got)
				}
			}
			keys := 0
			txn := db.NewTransactionAt(db.MaxVersion(), false)
			defer txn.Discard()
			it := txn.NewIterator(badger.IteratorOptions{})
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				keys++
			}
			if keys != 2*len(nodes) {
				t.Errorf("%d keys for %d nodes", keys, len(nodes))
			}
		})
	}
}

// What comes together is one transaction, unless it is more than one takes.
func TestFillTransaction(t *testing.T) {
	db, err := badgerdb.Open(t.TempDir(), badgerdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var numbers bareNodes
	nodes := make([]*bareNode, 10)
	for i := range nodes {
		nodes[i] = numbers.node(make([]byte, 1000))
	}
	for _, c := range []struct {
		name              string
		maxBytes, maxKeys int64
		want              int
	}{
		{"all", 1 << 20, 1 << 20, 10},
		{"so many bytes", 3 * 1128, 1 << 20, 3},
		{"so many keys", 1 << 20, 8, 4},
		{"at least one", 10, 1, 1},
	} {
		txn := db.NewTransactionAt(0, true)
		n, took, err := fillTransaction(txn, nodes, c.maxBytes, c.maxKeys)
		txn.Discard()
		if n != c.want || took != int64(n)*1128 || err != nil {
			t.Errorf("%s: %d nodes of %d bytes, %v, want %d", c.name, n, took, err, c.want)
		}
	}
}

func TestBareLogHoldsWhatWasPut(t *testing.T) {
	dir := t.TempDir()
	log, err := openLog(filepath.Join(dir, "log"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	l := &bareLog{log: log}
	l.gatherer = gather(l.append, nil)
	payloads := distinctPayloads(40)
	nodes := putMany(t, l, payloads)
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for range nodes {
		id, size := string(b[:32]), binary.BigEndian.Uint32(b[32:])
		found[id] = string(b[36 : 36+size])
		b = b[36+size:]
	}
	for i, n := range nodes {
		if found[string(n.id[:])] != string(payloads[i]) {
			t.Errorf("node %d is %q in the log", i, found[string(n.id[:])])
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The limits of puts keep the request's messages and answer an id of their own.
func TestPutLimits(t *testing.T) {
	for _, kind := range []string{"committer", "txn"} {
		dir := t.TempDir()
		l, err := limits()[kind](dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string][]*transcriptv1.Message{}
		for seed := range uint64(3) {
			req := &transcriptv1.PutNodeRequest{Messages: turn(seed)}
			res, err := l.PutNode(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if !res.Created || len(res.NodeId) != 64 || res.Counters == nil {
				t.Errorf("%s answers %v", kind, res)
			}
			ids[res.NodeId] = req.Messages
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := badgerdb.Open(dir, badgerdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for id, messages := range ids {
			raw := make([]byte, 32)
			if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
				t.Fatal(err)
			}
			kept := new(transcriptv1.Payload)
			if err := proto.Unmarshal(payloadByID(t, db, raw), kept); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(kept, &transcriptv1.Payload{Messages: messages}) {
				t.Errorf("%s keeps other messages than were put", kind)
			}
		}
		if len(ids) != 3 {
			t.Errorf("%s gave %d ids to 3 nodes", kind, len(ids))
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A put that returned was synced once, by transcriptd's own database: not by Badger, which syncs twice.
func TestBareCommitterSyncsOncePerTransaction(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Badger syncs the log here")
	}
	for name, open := range map[string]func(string) (putter, error){"lone": openDatabase, "committer": openCommitter} {
		t.Run(name, func(t *testing.T) {
			p, err := open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}()
			database, ok := p.(*bareDatabase)
			if !ok {
				database = p.(*bareCommitter).bareDatabase
			}
			if database.db.Opts().SyncWrites {
				t.Error("Badger syncs too")
			}
			for i, payload := range distinctPayloads(10) {
				if _, err := p.put(payload); err != nil {
					t.Fatal(err)
				}
				if n := database.db.Syncs(); n != uint64(i+1) {
					t.Fatalf("%d syncs for %d puts behind each other", n, i+1)
				}
			}
		})
	}
}

// What many callers bring at once shares transactions, and each transaction has its sync.
func TestBareCommitterSyncsWhatWaitsTogether(t *testing.T) {
	b, err := newDatabase(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	pauses := uint64(0)
	b.pause = func(context.Context) { pauses++ }
	nodes := make([]*bareNode, 50)
	for i := range nodes {
		nodes[i] = b.node(make([]byte, 3500))
	}
	if err := b.commit(t.Context(), nodes); err != nil || b.ts != 1 {
		t.Errorf("%d transactions for 50 nodes, %v", b.ts, err)
	}
	for i := range nodes {
		nodes[i] = b.node(make([]byte, 200<<10))
	}
	if err := b.commit(t.Context(), nodes); err != nil || b.ts < 4 || pauses != b.ts-2 {
		t.Errorf("%d transactions for 50 small and 50 large nodes, %d pauses, %v", b.ts, pauses, err)
	}
	if n := b.db.Syncs(); runtime.GOOS == "linux" && n != b.ts {
		t.Errorf("%d syncs of %d transactions", n, b.ts)
	}
}

// The bare committer is held back where transcriptd's is: it pauses once its caller has the answer, takes what came meanwhile
// at once, and a pause ends when it is stopped.
func TestBareCommitterPausesBeforeItTakes(t *testing.T) {
	db, err := newDatabase(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pausing, proceed := make(chan struct{}), make(chan struct{})
	db.pause = func(ctx context.Context) {
		pausing <- struct{}{}
		select {
		case <-proceed:
		case <-ctx.Done():
		}
	}
	pauses := func() {
		t.Helper()
		select {
		case <-pausing:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not pause")
		}
	}
	b := newCommitter(db)
	if _, err := b.put([]byte("first")); err != nil {
		t.Fatal(err)
	}
	pauses()
	outcomes := make(chan error, 3)
	for i := range cap(outcomes) {
		go func() {
			_, err := b.put([]byte{byte(i)})
			outcomes <- err
		}()
	}
	for waiting := 0; waiting < cap(outcomes); {
		b.mu.Lock()
		waiting = len(b.nodes)
		b.mu.Unlock()
	}
	proceed <- struct{}{}
	for range cap(outcomes) {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	pauses()
	if db.ts != 2 {
		t.Errorf("%d transactions, not one before the pause and one behind it", db.ts)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Bare Badger is opened as transcriptd opens its own, but for what it is bare Badger for.
func TestLimitsAreOpenedAsTranscriptd(t *testing.T) {
	db, err := badgerdb.Open(t.TempDir(), badgerdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	theirs := db.Opts().WithBypassLockGuard(false) // badgerdb holds the lock of a store itself
	p, err := openTransactions(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	w, err := openWalk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for name, c := range map[string]struct{ opened, want badger.Options }{
		"transactions": {p.(*bareTransactions).db.Opts(), theirs.WithSyncWrites(true)},
		"walk":         {w.(*walkLimit).db.Opts(), theirs.WithSyncWrites(false).WithBlockCacheSize(walkCacheBytes)},
	} {
		if got, want := shown(t, c.opened), shown(t, c.want); got != want {
			t.Errorf("%s: opened with %s, want %s", name, got, want)
		}
	}
}

// shown are options but for folders and the logger.
func shown(t *testing.T, o badger.Options) string {
	t.Helper()
	b, err := json.Marshal(o.WithDir("").WithValueDir("").WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
