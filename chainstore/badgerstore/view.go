package badgerstore

import (
	"bytes"
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// view is the store as of one commit, and a namespace in it. Not for use by several goroutines.
type view struct {
	s    *Store
	snap badgerdb.Snapshot
	ts   uint64
	ns   uint32
}

// open returns a view of the newest state, to be closed soon: the database keeps all that it can see. ErrClosed.
func (s *Store) open(ns uint32) (*view, error) {
	ts, ok := s.reads.begin()
	if !ok {
		return nil, chainstore.ErrClosed
	}
	return s.viewAt(ts, ns), nil
}

func (s *Store) viewAt(ts uint64, ns uint32) *view {
	return &view{s: s, snap: s.db.Snapshot(ts), ts: ts, ns: ns}
}

func (v *view) close() {
	v.snap.Close()
	v.s.reads.end(v.ts)
}

// read runs f on a view of a namespace. In a namespace that was never written to, it runs on one whose number no row
// has.
func (s *Store) read(ctx context.Context, namespace string, f func(*view) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := s.open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.close()
	if v.ns, _, err = v.namespace(namespace); err != nil {
		return err
	}
	return f(v)
}

// get returns a copy of a value.
func (v *view) get(key []byte) (value []byte, found bool, err error) {
	found, err = v.borrow(key, func(b []byte) error {
		value = bytes.Clone(b)
		return nil
	})
	v.s.counts.copied.Add(uint64(len(value)))
	return value, found, err
}

// borrow runs f on a value that is there; the value is f's only until it returns.
func (v *view) borrow(key []byte, f func(value []byte) error) (found bool, err error) {
	return v.snap.Get(key, f)
}

// cursor walks over the keys with a prefix, in order. It must be closed.
type cursor struct {
	v  *view
	it badgerdb.Iterator
}

func (v *view) cursor(prefix []byte) *cursor {
	return &cursor{v, v.snap.Iterator(prefix, false)}
}

func (c *cursor) close() { c.it.Close() }

func (c *cursor) seek(key []byte) { c.it.Seek(key) }

func (c *cursor) next() { c.it.Next() }

func (c *cursor) valid() bool { return c.it.Valid() }

// key is borrowed until the cursor moves.
func (c *cursor) key() []byte { return c.it.Key() }

// value runs f on the value, which is f's until it returns.
func (c *cursor) value(f func([]byte) error) error { return c.it.Value(f) }

// errStop ends a scan without an error.
var errStop = errors.New("stop")

// scan runs f on the keys with a prefix, from one on (nil: from the first), until f fails; errStop is no error. Key and
// value are borrowed. It ends with its context.
func (v *view) scan(ctx context.Context, prefix, from []byte, f func(key, value []byte) error) error {
	c := v.cursor(prefix)
	defer c.close()
	if from == nil {
		from = prefix
	}
	for c.seek(from); c.valid(); c.next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := c.key()
		if err := c.value(func(value []byte) error { return f(key, value) }); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

// versionsAtOnce is how many versions of a key walk steps over before it seeks the next key.
const versionsAtOnce = 4

// walk is scan of a table whose rows are written again or deleted. What was there before stays in the database until it is merged
// away; walk looks at it too, as rows, so that it ends with its context and, after reach rows or errStop, tells which key it looked
// at last, and that there is more.
func (v *view) walk(ctx context.Context, prefix, from []byte, reach int, f func(key, value []byte) error) (last []byte, more bool, err error) {
	c := &cursor{v, v.snap.Iterator(prefix, true)}
	defer c.close()
	if from == nil {
		from = prefix
	}
	versions := 0
	for c.seek(from); c.valid(); reach-- {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if versions > 0 && bytes.Equal(c.key(), last) {
			if versions++; versions <= versionsAtOnce {
				c.next()
			} else {
				c.seek(append(last, 0))
			}
			continue
		}
		if reach <= 0 {
			return last, true, nil
		}
		if !c.it.Deleted() {
			err := c.value(func(value []byte) error { return f(c.key(), value) })
			if errors.Is(err, errStop) {
				return last, true, nil
			}
			if err != nil {
				return nil, false, err
			}
		}
		last, versions = append(last[:0], c.key()...), 1
		c.next()
	}
	return nil, false, nil
}

// counters are the namespace's; zero where it was never written to. ErrCorrupt where it was, and they are missing.
func (v *view) counters() (layout.Counters, error) {
	value, found, err := v.get(layout.CountersKey(v.ns))
	if err == nil && !found && v.ns != layout.NoNamespace {
		err = layout.Missing(layout.TableCounters)
	}
	if err != nil || !found {
		return layout.Counters{}, err
	}
	return layout.ParseCounters(value)
}
