package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
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
func payloadByID(t *testing.T, db *badger.DB, ts uint64, id []byte) (payload []byte) {
	t.Helper()
	txn := db.NewTransactionAt(ts, false)
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
		"transactions": openTransactions, "committer": openCommitter,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p, err := open(dir)
			if err != nil {
				t.Fatal(err)
			}
			payloads := distinctPayloads(40)
			nodes := putMany(t, p, payloads)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := badger.OpenManaged(bareOptions(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for i, n := range nodes {
				if got := payloadByID(t, db, db.MaxVersion(), n.id[:]); !bytes.Equal(got, payloads[i]) {
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
	db, err := badger.OpenManaged(bareOptions(t.TempDir()))
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
		n, err := fillTransaction(txn, nodes, c.maxBytes, c.maxKeys)
		txn.Discard()
		if n != c.want || err != nil {
			t.Errorf("%s: %d nodes, %v, want %d", c.name, n, err, c.want)
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
	l.gatherer = gather(l.append)
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

// Everything that came while the function was at work is handed to it at once, and each caller gets the outcome of its own.
func TestGatherer(t *testing.T) {
	refused := errors.New("refused")
	entered, proceed := make(chan int), make(chan error)
	g := gather(func(nodes []*bareNode) error {
		entered <- len(nodes)
		return <-proceed
	})
	defer g.stop()
	outcomes := make(chan error, 4)
	hand := func() { outcomes <- g.hand(&bareNode{}) }
	go hand()
	if n := <-entered; n != 1 {
		t.Fatalf("%d nodes of a lone caller", n)
	}
	for range 3 {
		go hand()
	}
	for waiting := 0; waiting < 3; {
		g.mu.Lock()
		waiting = len(g.nodes)
		g.mu.Unlock()
	}
	proceed <- nil
	if err := <-outcomes; err != nil {
		t.Errorf("the first: %v", err)
	}
	if n := <-entered; n != 3 {
		t.Errorf("%d nodes at once, not 3", n)
	}
	proceed <- refused
	for range 3 {
		if err := <-outcomes; !errors.Is(err, refused) {
			t.Errorf("one of the others: %v", err)
		}
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
		db, err := badger.OpenManaged(bareOptions(dir))
		if err != nil {
			t.Fatal(err)
		}
		for id, messages := range ids {
			raw := make([]byte, 32)
			if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
				t.Fatal(err)
			}
			kept := new(transcriptv1.Payload)
			if err := proto.Unmarshal(payloadByID(t, db, db.MaxVersion(), raw), kept); err != nil {
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

// Bare Badger is opened as transcriptd opens it, but for what bareOptions says, and for the mark of transcriptd's format.
func TestBareOptionsAreTranscriptds(t *testing.T) {
	const file = "../../chainstore/badgerstore/testdata/options.json" // TestDatabaseOptions there holds it to what is opened
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var theirs badger.Options
	if err := json.Unmarshal(golden, &theirs); err != nil {
		t.Fatal(err)
	}
	bare := bareOptions("")
	if !bare.SyncWrites {
		t.Error("the log is not synced")
	}
	bare.SyncWrites, bare.BlockCacheSize = theirs.SyncWrites, theirs.BlockCacheSize
	bare.ExternalMagicVersion = theirs.ExternalMagicVersion
	ours, err := json.MarshalIndent(bare, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if ours = append(ours, '\n'); !bytes.Equal(ours, golden) {
		t.Errorf("bare Badger is opened with other options than %s:\n%s", file, ours)
	}
}
