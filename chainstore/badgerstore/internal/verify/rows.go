package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// indexTables are those of the rows that follow from a node and are written with it, in the order in which they are read.
const indexTables = string(layout.TableIDs) + string(layout.TableForks) + string(layout.TableRecall) + string(layout.TableTools) + string(layout.TableVariables)

// rowHash is the hash of a row. Sums of hashes are equal where the rows are.
func (c *checker) rowHash(key, value []byte) uint64 {
	c.scratch = append(append(c.scratch[:0], key...), value...)
	sum := sha256.Sum256(c.scratch)
	return binary.LittleEndian.Uint64(sum[:])
}

// expect notes a row that follows from a node of a segment. Where rows are put right, it is looked for at once: what follows from later
// nodes is read of it.
func (c *checker) expect(id *chainstore.ID, segment uint64, key, value []byte) error {
	c.at.entries++
	c.sums[bucketOf(segment)] += c.rowHash(key, value)
	if c.Mend == nil {
		return nil
	}
	_, err := c.matches(id, key, value)
	return err
}

// matches looks for a row that follows from a node, or from an alias where id is nil. found says that there is one then.
func (c *checker) matches(id *chainstore.ID, key, value []byte) (found bool, err error) {
	table := key[layout.KeyPrefix-1]
	got, found, err := c.Get(key)
	corrupt := errors.Is(err, chainstore.ErrCorrupt)
	if err := ignoreCorrupt(err); err != nil {
		return false, err
	}
	switch versionErr := layout.CheckVersion(table, got); {
	case !corrupt && !found:
		c.problem(chainstore.ProblemIndex, id, "an entry of table %c is missing", table)
	case !corrupt && versionErr != nil:
		// A store that a later version has written such rows to has a feature that this one does not know, and is not open.
		c.problem(chainstore.ProblemIndex, id, "%v", versionErr)
	case corrupt || !bytes.Equal(got, value):
		c.problem(chainstore.ProblemIndex, id, "an entry of table %c differs from what it should be", table)
	default:
		return true, nil
	}
	c.set(key, value)
	return found || corrupt || c.Mend != nil, nil
}

// ownerOf is the place of the node that a row of an index follows from, by its key and value; the first of all where they do not tell.
func ownerOf(key, value []byte) (at chainstore.Place, ok bool) {
	var err error
	switch table := key[layout.KeyPrefix-1]; table {
	case layout.TableIDs:
		if _, err = layout.ParseIDKey(key); err == nil {
			at, err = layout.ParsePlaceValue(value, table)
		}
	case layout.TableForks:
		var parent chainstore.Place
		parent, at.Segment, err = layout.ParseForkKey(key)
		at.Seq = parent.Seq + 1
	case layout.TableRecall:
		at, _, err = layout.ParseRecallKey(key)
	default:
		var rest []byte
		if at, rest, err = layout.ParsePlace(key); err == nil && len(rest) > 0 {
			err = layout.CorruptKey(table)
		}
	}
	if err != nil {
		return chainstore.Place{}, false
	}
	return at, true
}

// summed takes the rows of an index off the sums.
func (c *checker) summed(table byte) error {
	return c.walk(table, func(cur *snapshot.Cursor) error {
		if c.isLater(cur) {
			cur.Next()
			return nil
		}
		key := cur.Key()
		take := func(value []byte) error {
			at, _ := ownerOf(key, value)
			c.names(at.Segment)
			c.sums[bucketOf(at.Segment)] -= c.rowHash(key, value)
			return nil
		}
		err := cur.Value(take)
		if errors.Is(err, chainstore.ErrCorrupt) {
			err = take(nil)
		}
		cur.Next()
		return err
	})
}

// isOff tells whether the rows of nodes of a segment are not those that follow from them.
func (c *checker) isOff(segment uint64) bool { return c.sums[bucketOf(segment)] != 0 }

// agree tells whether the indexes have exactly the rows that follow from nodes.
func (c *checker) agree() bool { return c.sums == [buckets]uint64{} }

// missing looks for the rows that follow from nodes one by one, where the sums differ.
func (c *checker) missing() error {
	if c.agree() || c.Mend != nil {
		return nil
	}
	var buffer []byte
	return c.walk(layout.TableNodes, func(cur *snapshot.Cursor) error {
		if err := c.tick(); err != nil {
			return err
		}
		at, chunk, err := layout.ParseNodeKey(cur.Key())
		switch {
		case err == nil && !c.isOff(at.Segment) && at.Segment < math.MaxUint64:
			cur.Seek(layout.SegmentKey(c.Namespace, at.Segment+1))
			return nil
		case err != nil || chunk != 0:
			cur.Next()
			return ignoreCorrupt(err)
		}
		if later, err := c.isLaterNode(cur); err != nil || later {
			cur.Next()
			return err
		}
		r, kept, present, err := cur.Whole(at, buffer)
		if buffer = kept; err != nil || !present {
			return ignoreCorrupt(err)
		}
		id, rows, err := c.again(at, &r)
		for _, row := range rows {
			if err == nil {
				_, err = c.matches(&id, row.Key, row.Value)
			}
		}
		return err
	})
}

// ignoreCorrupt lets errors through that are not of what is stored.
func ignoreCorrupt(err error) error {
	if errors.Is(err, chainstore.ErrCorrupt) {
		return nil
	}
	return err
}

// unaccounted looks for rows of an index that follow from no node, where the sums differ. Where rows are put right, those go whose node is
// there and has no such row; one of a node that is not there, or cannot be derived, tells what is lost.
func (c *checker) unaccounted(table byte) error {
	if c.agree() {
		return nil
	}
	dropped := uint64(0)
	err := c.walk(table, func(cur *snapshot.Cursor) error {
		if err := c.tick(); err != nil {
			return err
		}
		if c.isLater(cur) {
			cur.Next()
			return nil
		}
		key, value := bytes.Clone(cur.Key()), []byte(nil)
		err := cur.Value(func(b []byte) error {
			value = bytes.Clone(b)
			return nil
		})
		cur.Next()
		if err := ignoreCorrupt(err); err != nil {
			return err
		}
		follows, known, err := c.followsFromItsNode(key, value)
		if err == nil && !follows {
			if c.rows++; known && c.Mend != nil {
				c.drop(key)
				dropped++
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if dropped > 0 {
		c.extra(chainstore.ProblemIndex, table, dropped)
		c.repaired()
	}
	c.extra(chainstore.ProblemIndex, table, c.rows-dropped)
	return nil
}

// followsFromItsNode tells whether a row of an index is of a node; known says that the node is there and what follows from it is known, or
// that the row is of no node at all.
func (c *checker) followsFromItsNode(key, value []byte) (follows, known bool, err error) {
	at, ok := ownerOf(key, value)
	if !c.isOff(at.Segment) {
		return true, true, nil
	}
	if !ok {
		return false, true, nil
	}
	rows, err := c.rowsAt(at)
	if err != nil || rows == nil {
		return false, false, err
	}
	return slices.ContainsFunc(rows, sameKey(key)), true, nil
}

// rowsAt are the rows that follow from the node at a place; nil where there is none, or it cannot be derived.
func (c *checker) rowsAt(at chainstore.Place) ([]layout.KeyValue, error) {
	key := layout.PlaceKey(c.Namespace, layout.TableNodes, at)
	cur := c.Iterate(key)
	defer cur.Close()
	if cur.Seek(key); !cur.Valid() || !bytes.Equal(cur.Key(), key) {
		return nil, nil
	}
	if later, err := c.isLaterNode(cur); err != nil || later {
		return nil, err
	}
	r, _, present, err := cur.Whole(at, nil)
	if err != nil || !present {
		return nil, ignoreCorrupt(err)
	}
	_, rows, err := c.again(at, &r)
	return rows, err
}

// again derives a node again that was checked, and gives its id and the rows of indexes that follow from it, in order; none where it cannot be
// derived, as was told.
func (c *checker) again(at chainstore.Place, r *layout.Row) (id chainstore.ID, rows []layout.KeyValue, err error) {
	c.quiet = true
	defer func() { c.quiet = false }()
	h, err := r.Header.Decode(at.Seq)
	if err != nil {
		return id, nil, ignoreCorrupt(err)
	}
	up, forked, err := c.parentOf(at, r)
	if err != nil {
		return h.ID, nil, ignoreCorrupt(err)
	}
	n := &cache.Node{Namespace: c.Namespace, At: at, Header: h, Lineage: lineageUnder(at, up)}
	in, _, err := c.input(n, r, up.Node)
	if err != nil || in == nil {
		return h.ID, nil, err
	}
	made, recalls, err := c.derive(h, in, seatOf(n), snapshot.Derived(up.Node))
	if err != nil {
		if errors.Is(err, chainstore.ErrGroupTooLarge) {
			err = nil
		}
		return h.ID, nil, ignoreCorrupt(err)
	}
	rows = layout.IndexRows(c.Namespace, made, recalls)
	if forked {
		rows = append(rows, layout.KeyValue{Key: layout.ForkKey(c.Namespace, up.At, at.Segment)})
	}
	slices.SortFunc(rows, func(a, b layout.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return h.ID, rows, nil
}

// seatOf is the seat of a node that is there.
func seatOf(n *cache.Node) derive.Seat {
	h := n.Header
	return derive.Seat{ID: h.ID, FirstPut: h.FirstPut, Lineage: n.Lineage, Version1: h.Version1}
}

// parentOf reads the parent of a node that was checked; forked says that the node began a segment there.
func (c *checker) parentOf(at chainstore.Place, r *layout.Row) (up parentNode, forked bool, err error) {
	if at.Seq == 0 {
		return up, false, nil
	}
	from := chainstore.Place{Segment: at.Segment, Seq: at.Seq - 1}
	if len(r.Forks) > 0 {
		follows, err := c.Used(from)
		if err != nil {
			return up, false, err
		}
		if !follows {
			from, forked = r.Forks[0], true
		}
	}
	if forked && (from.Seq+1 != at.Seq || from.Segment >= at.Segment) {
		return up, false, layout.Dangling(layout.TableNodes)
	}
	up.Node, err = c.endAt(from)
	return up, forked, err
}

// sameKey tells whether a row has a key.
func sameKey(key []byte) func(layout.KeyValue) bool {
	return func(row layout.KeyValue) bool { return bytes.Equal(row.Key, key) }
}
