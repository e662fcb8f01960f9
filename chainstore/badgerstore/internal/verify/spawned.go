package verify

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// spawnedRows checks that the spawned nodes are exactly those that say so: sum is of the rows, as spawned is of the nodes.
func (c *checker) spawnedRows() error {
	err := c.walk(layout.TableSpawned, func(cur *snapshot.Cursor) error {
		if c.isLater(cur) {
			cur.Next()
			return nil
		}
		key := cur.Key()
		err := cur.Value(func(value []byte) error { return c.spawnedRow(key, value) })
		cur.Next()
		return c.judged(chainstore.ProblemIndex, nil, err)
	})
	if err == nil && c.spawned != 0 {
		c.problem(chainstore.ProblemIndex, nil, "the spawned nodes are not exactly those that say they were spawned")
	}
	return err
}

// spawnedRow checks a spawned node, and takes it off those that say that they were spawned.
func (c *checker) spawnedRow(key, value []byte) error {
	c.at.entries++
	spawner, number, err := layout.ParseSpawnedKey(key)
	if err != nil {
		return c.judged(chainstore.ProblemIndex, nil, err)
	}
	if c.siblings++; spawner != c.spawner {
		c.siblings, c.spawner = 1, spawner
	}
	at, err := layout.ParsePlaceValue(value, layout.TableSpawned)
	if err != nil {
		return c.judged(chainstore.ProblemIndex, nil, err)
	}
	c.puts = max(c.puts, min(number, math.MaxInt64)+1)
	c.spawned -= spawnHash(spawner, at)
	h, err := c.HeaderAt(at)
	if err == nil && (h.SpawnedFrom == nil || h.SpawnedFrom.Node != spawner) {
		c.problem(chainstore.ProblemIndex, &h.ID, "it is listed as spawned by another node than it says")
	}
	if err == nil {
		err = c.spawnedAt(spawner, layout.Spawned{Number: number, At: at}, c.siblings > layout.MaxAdopted)
	}
	return c.judged(chainstore.ProblemIndex, nil, err)
}

// spawnedAt checks that a spawned node is found by the place of its spawner, if that was put. Of one spawner those that are
// late may not have been linked. What was linked later than asOf was awaited then.
func (c *checker) spawnedAt(spawner chainstore.ID, s layout.Spawned, late bool) error {
	at, put, err := c.PlaceOf(spawner)
	if err != nil || !put {
		c.counted.Awaited += one(err == nil)
		return err
	}
	key, value := layout.SpawnedAtKey(c.Namespace, at, s.Number), layout.AppendPlaceValue(nil, s.At)
	linked, found, err := c.Version(key)
	switch {
	case err != nil:
		return err
	case !found && late:
		c.counted.Awaited++
		return nil
	default:
		c.counted.Awaited += one(found && linked > c.asOf)
		c.at.entries++
		there, err := c.matches(nil, key, value)
		c.found[layout.TableSpawnedAt-'A'] += one(there && linked <= c.asOf)
		return err
	}
}

// one counts what is so.
func one(so bool) uint64 {
	if so {
		return 1
	}
	return 0
}

// spawnedAtRows counts the rows that find what was spawned by the place of the spawner. Where rows are put right, those go that no row by id
// accounts for.
func (c *checker) spawnedAtRows() error {
	if c.Mend == nil {
		return c.noMore(chainstore.ProblemIndex, layout.TableSpawnedAt)
	}
	err := c.walk(layout.TableSpawnedAt, func(cur *snapshot.Cursor) error {
		key := bytes.Clone(cur.Key())
		cur.Next()
		accounted, err := c.isSpawnedAt(key)
		if err == nil && !accounted {
			c.rows++
			c.drop(key)
		}
		return err
	})
	if err == nil && c.rows > 0 {
		c.extra(chainstore.ProblemIndex, layout.TableSpawnedAt, c.rows)
		c.repaired()
	}
	return err
}

// isSpawnedAt tells whether the spawner at the place of a row has one by its id, too. It is so where the spawner cannot be read.
func (c *checker) isSpawnedAt(key []byte) (bool, error) {
	number, err := layout.ParseSpawnedAtKey(key)
	at, _, placeErr := layout.ParsePlace(key)
	if err := errors.Join(err, placeErr); err != nil {
		return false, ignoreCorrupt(err)
	}
	at.Seq = ^at.Seq
	spawner, err := c.IDAt(at)
	if err != nil {
		return true, ignoreCorrupt(err)
	}
	_, found, err := c.Get(layout.SpawnedKey(c.Namespace, spawner, number))
	return found || err != nil, ignoreCorrupt(err)
}

// mendSpawned puts the rows of spawned nodes right: those go that name no node that was spawned so, and what is missing gets the number that
// it has at the place of its spawner, or one among the siblings by the times of the puts.
func (c *checker) mendSpawned() error {
	if c.Mend == nil {
		return nil
	}
	dropped, without := uint64(0), c.spawned
	err := c.walk(layout.TableSpawned, func(cur *snapshot.Cursor) error {
		key, at := bytes.Clone(cur.Key()), chainstore.Place{}
		err := cur.Value(func(value []byte) (err error) {
			at, err = layout.ParsePlaceValue(value, layout.TableSpawned)
			return err
		})
		cur.Next()
		spawner, number, keyErr := layout.ParseSpawnedKey(key)
		if err = errors.Join(err, keyErr); err == nil {
			c.puts = max(c.puts, min(number, math.MaxInt64)+1)
			var h *chainstore.Header
			if h, err = c.HeaderAt(at); err == nil && h.SpawnedFrom != nil && h.SpawnedFrom.Node == spawner {
				without -= spawnHash(spawner, at)
				return nil
			}
		}
		if err := ignoreCorrupt(err); err != nil {
			return err
		}
		dropped++
		c.drop(key)
		return nil
	})
	if err == nil && dropped > 0 {
		c.extra(chainstore.ProblemIndex, layout.TableSpawned, dropped)
		c.repaired()
	}
	if err == nil {
		err = c.settle()
	}
	if err != nil || without == 0 { // each has a row
		return err
	}
	c.key = nil
	return c.walk(layout.TableNodes, c.mendSpawnedNode)
}

// mendSpawnedNode sees that the node at the cursor has a row by its spawner, if it has one.
func (c *checker) mendSpawnedNode(cur *snapshot.Cursor) error {
	at, chunk, err := layout.ParseNodeKey(cur.Key())
	var h *chainstore.Header
	if err == nil && chunk == 0 {
		err = cur.Value(func(value []byte) error {
			r, present, err := layout.ParseRow(value)
			if err == nil && present {
				h, err = r.Header.Decode(at.Seq)
			}
			return err
		})
	}
	cur.Next()
	if err != nil || h == nil || h.SpawnedFrom == nil {
		return ignoreCorrupt(err)
	}
	siblings, err := c.SpawnedBy(h.SpawnedFrom.Node, math.MaxInt)
	if err != nil || slices.ContainsFunc(siblings, func(s layout.Spawned) bool { return s.At == at }) {
		return ignoreCorrupt(err)
	}
	number, found, err := c.numberAt(h.SpawnedFrom.Node, at)
	if err == nil && !found {
		number, err = c.numberAmong(siblings, h.FirstPut)
	}
	if err != nil {
		return err
	}
	c.problem(chainstore.ProblemIndex, &h.ID, "an entry of table %c is missing", layout.TableSpawned)
	c.set(layout.SpawnedKey(c.Namespace, h.SpawnedFrom.Node, number), layout.AppendPlaceValue(nil, at))
	c.soon = true
	return nil
}

// numberAt is the number of a spawned node by the place of its spawner.
func (c *checker) numberAt(spawner chainstore.ID, spawned chainstore.Place) (number uint64, found bool, err error) {
	at, put, err := c.PlaceOf(spawner)
	if err != nil || !put {
		return 0, false, ignoreCorrupt(err)
	}
	first := layout.SpawnedAtKey(c.Namespace, at, 0)
	prefix := first[:layout.RowKeySize]
	cur := c.Iterate(prefix)
	defer cur.Close()
	for cur.Seek(prefix); cur.Valid() && !found; cur.Next() {
		if number, err = layout.ParseSpawnedAtKey(cur.Key()); err != nil {
			continue
		}
		err := cur.Value(func(value []byte) error {
			named, err := layout.ParsePlaceValue(value, layout.TableSpawnedAt)
			found = err == nil && named == spawned
			return nil
		})
		if err != nil {
			return 0, false, ignoreCorrupt(err)
		}
	}
	c.puts = max(c.puts, one(found)*(number+1))
	return number, found, nil
}

// numberAmong is a number for a node that was put at a time, behind those of its siblings that were put no later, where there is one.
func (c *checker) numberAmong(siblings []layout.Spawned, put int64) (uint64, error) {
	free := uint64(0)
	for _, s := range siblings {
		h, err := c.HeaderAt(s.At)
		if err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
			return 0, err
		}
		if err == nil && h.FirstPut > put && s.Number > free {
			return free, nil
		}
		free = s.Number + 1
	}
	if len(siblings) == 0 {
		free = max(c.puts, c.counters.Puts)
	}
	c.puts = max(c.puts, free+1)
	return free, nil
}
