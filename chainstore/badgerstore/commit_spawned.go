package badgerstore

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// maxAdopted is how many of the nodes that wait for a spawner are linked to it when it is put, those put first: as many as Spawned
// looks at of one spawner, those that it passes over counted, and one more, which tells that there are more.
const maxAdopted = 2*chainstore.SpawnedReach + 1

// spawned is a node that was spawned, and the number of its put.
type spawned struct {
	number uint64
	at     chainstore.Place
}

// linkSpawned writes the rows that find a new node by its spawner, and those that find by the new node what it spawned
// before it was put.
func (d *draft) linkSpawned(n *cache.Node, from *chainstore.SpawnedFrom) error {
	if err := d.adopt(n); err != nil || from == nil {
		return err
	}
	s := spawned{d.counters.puts, n.At}
	d.set(spawnedKey(d.ns, from.Node, s.number), appendPlaceValue(nil, s.at))
	spawner, err := d.find(from.Node)
	switch {
	case err != nil:
		return err
	case spawner != nil:
		d.setSpawnedAt(spawner.At, s)
	default:
		d.counters.awaited++
		key := cache.NodeKey{Namespace: d.ns, ID: from.Node}
		d.awaiting[key] = append(d.awaiting[key], s)
		d.undo.awaiting = append(d.undo.awaiting, key)
	}
	return nil
}

func (d *draft) setSpawnedAt(spawner chainstore.Place, s spawned) {
	d.set(spawnedAtKey(d.ns, spawner, s.number), appendPlaceValue(nil, s.at))
}

// adopt links a new node to what it spawned before it was put, at most maxAdopted: a seek, and only while any node waits for its
// spawner. The rest goes on waiting.
func (d *draft) adopt(n *cache.Node) error {
	if d.counters.awaited == 0 {
		return nil
	}
	waiting, err := d.view.spawnedBy(n.Header.ID, maxAdopted)
	if err != nil {
		return err
	}
	waiting = append(waiting, d.awaiting[n.Key()]...)
	waiting = waiting[:min(len(waiting), maxAdopted)]
	for _, s := range waiting {
		d.setSpawnedAt(n.At, s)
	}
	d.counters.awaited -= uint64(len(waiting))
	return nil
}

// spawnedBy reads what the database has of the nodes that a node spawned: those put first, at most limit.
func (v *view) spawnedBy(spawner chainstore.ID, limit int) (all []spawned, err error) {
	prefix := spawnerKey(v.ns, spawner)
	c := v.cursor(prefix)
	defer c.close()
	for c.seek(prefix); c.valid() && len(all) < limit; c.next() {
		_, number, err := parseSpawnedKey(c.key())
		if err != nil {
			return nil, err
		}
		s := spawned{number: number}
		if err := c.value(func(value []byte) error {
			s.at, err = parsePlaceValue(value, tableSpawned)
			return err
		}); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
