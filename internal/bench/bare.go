package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// bareNode is a node as bare things keep it, under two keys: by its id its place, by its place its payload.
type bareNode struct {
	id      [32]byte
	place   [12]byte
	payload []byte
}

// bareNodes gives nodes ids as far apart as hashes are, and places one behind the other, which is the least that a
// database has to do for places. Nothing is hashed.
type bareNodes struct{ last atomic.Uint64 }

func (b *bareNodes) node(payload []byte) *bareNode {
	n := &bareNode{payload: payload}
	for i := 0; i < len(n.id); i += 8 {
		binary.BigEndian.PutUint64(n.id[i:], rand.Uint64())
	}
	binary.BigEndian.PutUint64(n.place[:], b.last.Add(1))
	return n
}

// keys are the two keys of a node.
func (n *bareNode) keys() (id, place []byte) {
	return append([]byte{'i'}, n.id[:]...), append([]byte{'p'}, n.place[:]...)
}

// set puts a node into a transaction.
func (n *bareNode) set(txn *badger.Txn) error {
	id, place := n.keys()
	if err := txn.Set(id, n.place[:]); err != nil {
		return err
	}
	return txn.Set(place, n.payload)
}

// putter makes payloads durable, one for each call, of any number of callers.
type putter interface {
	put(payload []byte) (*bareNode, error)
	Close() error
}

// bareTransactions is bare Badger with SyncWrites and a transaction a node, committed by whoever puts it.
type bareTransactions struct {
	bareNodes
	db *badgerdb.Bare
}

func openTransactions(dir string) (putter, error) {
	db, err := badgerdb.OpenBare(dir, func(o badger.Options) badger.Options { return o.WithSyncWrites(true) })
	if err != nil {
		return nil, err
	}
	return &bareTransactions{db: db}, nil
}

func (b *bareTransactions) put(payload []byte) (*bareNode, error) {
	n := b.node(payload)
	return n, b.db.Update(n.set)
}

func (b *bareTransactions) Close() error { return b.db.Close() }

// bareDatabase is transcriptd's own database, which commits and syncs as it does for transcriptd, with nothing but nodes in
// it: a transaction a node, of one caller at a time.
type bareDatabase struct {
	bareNodes
	db *badgerdb.DB
	// pause holds the next commit back as transcriptd's committer does; a field so that tests can watch it.
	pause func(context.Context)
	// ts is the last transaction's.
	ts uint64
}

func openDatabase(dir string) (putter, error) { return newDatabase(dir) }

func newDatabase(dir string) (*bareDatabase, error) {
	db, err := badgerdb.Open(dir, badgerdb.Options{})
	if err != nil {
		return nil, err
	}
	return &bareDatabase{db: db, pause: db.Pace}, nil
}

func (b *bareDatabase) put(payload []byte) (*bareNode, error) {
	n := b.node(payload)
	b.pause(context.Background())
	return n, b.commit(context.Background(), []*bareNode{n})
}

// commit makes nodes durable in one transaction, or in as many as they need with pauses between them, which the end of the
// context cuts short.
func (b *bareDatabase) commit(ctx context.Context, nodes []*bareNode) error {
	maxBytes, maxKeys := b.db.MaxCommit()
	for first := true; len(nodes) > 0; first = false {
		if !first {
			b.pause(ctx)
		}
		b.ts++
		n := 0
		err := b.db.Commit(b.ts, func(txn *badger.Txn) (bytes int64, err error) {
			n, bytes, err = fillTransaction(txn, nodes, maxBytes, maxKeys)
			return bytes, err
		})
		if err != nil {
			return err
		}
		nodes = nodes[n:]
	}
	return nil
}

func (b *bareDatabase) Close() error { return b.db.Close() }

// bareCommitter is one goroutine that commits whatever waits as one transaction of such a database. It is held back where
// transcriptd's is: between its answers and the next that it takes, so that what comes meanwhile is committed together.
type bareCommitter struct {
	*bareDatabase
	*gatherer
}

func openCommitter(dir string) (putter, error) {
	db, err := newDatabase(dir)
	if err != nil {
		return nil, err
	}
	return newCommitter(db), nil
}

func newCommitter(db *bareDatabase) *bareCommitter {
	return &bareCommitter{db, gather(db.commit, db.pause)}
}

func (b *bareCommitter) put(payload []byte) (*bareNode, error) {
	n := b.node(payload)
	return n, b.hand(n)
}

func (b *bareCommitter) Close() error {
	b.stop()
	return b.bareDatabase.Close()
}

// fillTransaction puts nodes into a transaction until it is full, the first in any case, and tells how many they are and what
// they take.
func fillTransaction(txn *badger.Txn, nodes []*bareNode, maxBytes, maxKeys int64) (n int, bytes int64, err error) {
	for _, node := range nodes {
		takes := int64(len(node.payload)) + 128
		if n > 0 && (bytes+takes > maxBytes || int64(2*n+2) > maxKeys) {
			break
		}
		if err := node.set(txn); err != nil {
			return n, bytes, err
		}
		n++
		bytes += takes
	}
	return n, bytes, nil
}

// bareLogBytes is the size of a bare log.
const bareLogBytes = 256 << 20

// bareLog is a log to which one goroutine writes whatever waits, payload after payload, and then syncs it.
type bareLog struct {
	bareNodes
	*gatherer
	log *syncLog
	// b is written; its memory is used again.
	b []byte
}

func openBareLog(dir string) (putter, error) {
	log, err := openLog(filepath.Join(dir, "log"), bareLogBytes)
	if err != nil {
		return nil, err
	}
	l := &bareLog{log: log}
	l.gatherer = gather(l.append, nil)
	return l, nil
}

func (l *bareLog) put(payload []byte) (*bareNode, error) {
	n := l.node(payload)
	return n, l.hand(n)
}

// append writes the nodes, each with its id and length before it, in one write.
func (l *bareLog) append(_ context.Context, nodes []*bareNode) error {
	l.b = l.b[:0]
	for _, n := range nodes {
		l.b = append(l.b, n.id[:]...)
		l.b = binary.BigEndian.AppendUint32(l.b, uint32(len(n.payload)))
		l.b = append(l.b, n.payload...)
	}
	return errors.Join(l.log.write(l.b), l.log.sync())
}

func (l *bareLog) Close() error {
	l.stop()
	return l.log.close()
}

// gatherer hands what many callers bring to one function, everything that came while it was at work at once. Who comes
// alone waits for nobody.
type gatherer struct {
	durable func(context.Context, []*bareNode) error
	// between is called after each time's answers and before the next is taken; nil: nothing is.
	between func(context.Context)
	// closing ends once the gatherer is stopped, and with it what durable and between wait for.
	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	nodes   []*bareNode
	answers []chan<- error
	wake    chan struct{}
	done    chan struct{}
}

// gather starts a gatherer; stop ends it, once nobody hands it anything any more.
func gather(durable func(context.Context, []*bareNode) error, between func(context.Context)) *gatherer {
	g := &gatherer{durable: durable, between: between, wake: make(chan struct{}, 1), done: make(chan struct{})}
	g.closing, g.close = context.WithCancel(context.Background())
	go g.run()
	return g
}

// hand returns once the nodes are durable, all in one transaction where one takes them.
func (g *gatherer) hand(nodes ...*bareNode) error {
	answer := make(chan error, 1)
	g.mu.Lock()
	g.nodes, g.answers = append(g.nodes, nodes...), append(g.answers, answer)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return <-answer
}

func (g *gatherer) run() {
	defer close(g.done)
	for range g.wake {
		g.mu.Lock()
		nodes, answers := g.nodes, g.answers
		g.nodes, g.answers = nil, nil
		g.mu.Unlock()
		if len(nodes) == 0 {
			continue
		}
		err := g.durable(g.closing, nodes)
		for _, answer := range answers {
			answer <- err
		}
		if g.between != nil {
			g.between(g.closing)
		}
	}
}

func (g *gatherer) stop() {
	g.close()
	close(g.wake)
	<-g.done
}
