package limit

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// node is a node as a bare database keeps it: by its id its place, by its place its payload.
type node struct {
	id      [32]byte
	payload []byte
}

// unhashed gives a payload an id that is as far from others as hashes are.
func unhashed(payload []byte) node {
	n := node{payload: payload}
	for i := 0; i < len(n.id); i += 8 {
		binary.BigEndian.PutUint64(n.id[i:], rand.Uint64())
	}
	return n
}

// set puts a node into a transaction.
func (n *node) set(txn *badger.Txn, number uint64) error {
	place := binary.BigEndian.AppendUint64(make([]byte, 4, 12), number)
	return errors.Join(txn.Set(append([]byte{'i'}, n.id[:]...), place), txn.Set(append([]byte{'p'}, place...), n.payload))
}

// Transactions is bare Badger with SyncWrites, as of a service that leaves durability to it. It has one caller.
type Transactions struct {
	db   *badgerdb.Bare
	last uint64
}

// OpenTransactions opens it in an empty folder.
func OpenTransactions(dir string) (*Transactions, error) {
	db, err := badgerdb.OpenBare(dir, func(o badger.Options) badger.Options { return o.WithSyncWrites(true) })
	if err != nil {
		return nil, err
	}
	return &Transactions{db: db}, nil
}

// Put makes a payload durable, in a transaction of its own.
func (t *Transactions) Put(payload []byte) error {
	n := unhashed(payload)
	t.last++
	return t.db.Update(func(txn *badger.Txn) error { return n.set(txn, t.last) })
}

// Close closes the database.
func (t *Transactions) Close() error { return t.db.Close() }

// BareCommitter is transcriptd's database with nothing but nodes in it: one goroutine commits whatever waits as one transaction,
// and is held back where transcriptd's is.
type BareCommitter struct {
	db      *badgerdb.DB
	waiting chan handed
	done    chan struct{}
	closing context.Context
	close   context.CancelFunc
	// ts and last are the last transaction's and the last node's numbers.
	ts, last uint64
}

// handed are nodes of one caller, who waits for the answer.
type handed struct {
	nodes  []node
	answer chan<- error
}

// OpenCommitter opens it in an empty folder.
func OpenCommitter(dir string) (*BareCommitter, error) {
	db, err := badgerdb.Open(dir, badgerdb.Options{})
	if err != nil {
		return nil, err
	}
	c := &BareCommitter{db: db, waiting: make(chan handed, 1024), done: make(chan struct{})}
	c.closing, c.close = context.WithCancel(context.Background())
	go c.run()
	return c, nil
}

// Put returns once payloads are durable.
func (c *BareCommitter) Put(payloads ...[]byte) error {
	nodes := make([]node, len(payloads))
	for i, payload := range payloads {
		nodes[i] = unhashed(payload)
	}
	return c.hand(nodes)
}

func (c *BareCommitter) hand(nodes []node) error {
	answer := make(chan error, 1)
	c.waiting <- handed{nodes, answer}
	return <-answer
}

func (c *BareCommitter) run() {
	defer close(c.done)
	for first := range c.waiting {
		answers, nodes := []chan<- error{first.answer}, first.nodes
		for range len(c.waiting) {
			next := <-c.waiting
			answers, nodes = append(answers, next.answer), append(nodes, next.nodes...)
		}
		err := c.commit(nodes)
		for _, answer := range answers {
			answer <- err
		}
		c.db.Pace(c.closing)
	}
}

// commit makes nodes durable in one transaction, or in as many as they need.
func (c *BareCommitter) commit(nodes []node) error {
	maxBytes, maxKeys := c.db.MaxCommit()
	for len(nodes) > 0 {
		c.ts++
		n := 0
		err := c.db.Commit(c.ts, func(txn *badger.Txn) (bytes int64, err error) {
			for ; n < len(nodes); n++ {
				takes := int64(len(nodes[n].payload)) + 128
				if n > 0 && (bytes+takes > maxBytes || int64(2*n+2) > maxKeys) {
					break
				}
				c.last++
				if err := nodes[n].set(txn, c.last); err != nil {
					return bytes, err
				}
				bytes += takes
			}
			return bytes, nil
		})
		if err != nil {
			return err
		}
		if nodes = nodes[n:]; len(nodes) > 0 {
			c.db.Pace(c.closing)
		}
	}
	return nil
}

// Close closes the database, once nobody puts any more.
func (c *BareCommitter) Close() error {
	c.close()
	close(c.waiting)
	<-c.done
	return c.db.Close()
}
