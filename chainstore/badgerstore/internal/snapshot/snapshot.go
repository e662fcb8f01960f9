package snapshot

import (
	"bytes"
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Snapshot is the store as of one commit, and a namespace in it. Not for use by several goroutines.
type Snapshot struct {
	s    *Source
	snap badgerdb.Snapshot
	// Seen is the commit.
	Seen      uint64
	Namespace uint32
	// read counts bytes; nil where nobody asks.
	read *int64
}

// Meter adds to read, from now on, the bytes of the keys and values that are read, as they are stored.
func (v *Snapshot) Meter(read *int64) {
	v.read = read
	v.snap = v.snap.Metered(read)
}

// Open returns a snapshot of the newest state, to be closed soon: the database keeps all that it can see. ErrClosed.
func (s *Source) Open(ns uint32) (*Snapshot, error) {
	ts, ok := s.Versions.begin()
	if !ok {
		return nil, chainstore.ErrClosed
	}
	return s.AsOf(ts, ns), nil
}

// AsOf is a snapshot of a commit that nobody says is not asked for any more. It is discarded and not closed.
func (s *Source) AsOf(ts uint64, ns uint32) *Snapshot {
	return &Snapshot{s: s, snap: s.DB.Snapshot(ts), Seen: ts, Namespace: ns}
}

// Discard lets go of a snapshot that AsOf made.
func (v *Snapshot) Discard() { v.snap.Close() }

// Close ends the use of a snapshot that Open made.
func (v *Snapshot) Close() {
	v.snap.Close()
	v.s.Versions.end(v.Seen)
}

// Renew makes a snapshot that Open made one of the newest state; no cursor on it is open. After an error, ErrClosed, it is as it was.
func (v *Snapshot) Renew() error {
	ts, ok := v.s.Versions.begin()
	if !ok {
		return chainstore.ErrClosed
	}
	v.Close()
	v.snap, v.Seen = v.s.DB.Snapshot(ts).Metered(v.read), ts
	return nil
}

// Read runs f on a snapshot of a namespace. In a namespace that was never written to, it runs on one whose number no row
// has.
func (s *Source) Read(ctx context.Context, namespace string, f func(*Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := s.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	if v.Namespace, _, err = v.NumberOf(namespace); err != nil {
		return err
	}
	return f(v)
}

// Get returns a copy of a value.
func (v *Snapshot) Get(key []byte) (value []byte, found bool, err error) {
	found, err = v.Borrow(key, func(b []byte) error {
		value = bytes.Clone(b)
		return nil
	})
	v.s.Copied.Add(uint64(len(value)))
	return value, found, err
}

// Version tells with which commit a key got the value that it has.
func (v *Snapshot) Version(key []byte) (commit uint64, found bool, err error) {
	return v.snap.Version(key)
}

// Borrow runs f on a value that is there; the value is f's only until it returns.
func (v *Snapshot) Borrow(key []byte, f func(value []byte) error) (found bool, err error) {
	return v.snap.Get(key, f)
}

// Cursor walks over the keys with a prefix, in order. It must be closed.
type Cursor struct {
	V  *Snapshot
	it badgerdb.Iterator
}

func (v *Snapshot) Iterate(prefix []byte) *Cursor {
	return &Cursor{v, v.snap.Iterator(prefix, false)}
}

func (c *Cursor) Close() { c.it.Close() }

func (c *Cursor) Seek(key []byte) { c.it.Seek(key) }

func (c *Cursor) Next() { c.it.Next() }

// Within tells whether the cursor is at a key with a prefix.
func (c *Cursor) Within(prefix []byte) bool { return c.it.Within(prefix) }

func (c *Cursor) Valid() bool { return c.it.Valid() }

// Key is borrowed until the cursor moves.
func (c *Cursor) Key() []byte { return c.it.Key() }

// Version is the commit with which the key got the value that it has.
func (c *Cursor) Version() uint64 { return c.it.Version() }

// Value runs f on the value, which is f's until it returns.
func (c *Cursor) Value(f func([]byte) error) error { return c.it.Value(f) }

// ErrStop ends a scan without an error.
var ErrStop = errors.New("stop")

// Scan runs f on the keys with a prefix, from one on (nil: from the first), until f fails; errStop is no error. Key and
// value are borrowed. It ends with its context.
func (v *Snapshot) Scan(ctx context.Context, prefix, from []byte, f func(key, value []byte) error) error {
	c := v.Iterate(prefix)
	defer c.Close()
	if from == nil {
		from = prefix
	}
	for c.Seek(from); c.Valid(); c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := c.Key()
		if err := c.Value(func(value []byte) error { return f(key, value) }); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// Counters are the namespace's; zero where it was never written to. ErrCorrupt where it was, and they are missing.
func (v *Snapshot) Counters() (layout.Counters, error) {
	value, found, err := v.Get(layout.CountersKey(v.Namespace))
	if err == nil && !found && v.Namespace != layout.NoNamespace {
		err = layout.Missing(layout.TableCounters)
	}
	if err != nil || !found {
		return layout.Counters{}, err
	}
	return layout.ParseCounters(value)
}
