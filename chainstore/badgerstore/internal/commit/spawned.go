package commit

import (
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// linkSpawned writes the rows that find a new node by its spawner, and those that find by the new node what it spawned
// before it was put.
func (d *changeTxn) linkSpawned(n *cache.Node, from *chainstore.SpawnedFrom) error {
	if err := d.adopt(n); err != nil || from == nil {
		return err
	}
	s := layout.Spawned{Number: d.counters.Puts, At: n.At}
	d.set(layout.SpawnedKey(d.ns, from.Node, s.Number), layout.AppendPlaceValue(nil, s.At))
	spawner, err := d.find(from.Node)
	switch {
	case err != nil:
		return err
	case spawner != nil:
		d.setSpawnedAt(spawner.At, s)
	default:
		d.counters.Awaited++
		key := cache.NodeKey{Namespace: d.ns, ID: from.Node}
		d.awaiting[key] = append(d.awaiting[key], s)
		d.undo.awaiting = append(d.undo.awaiting, key)
	}
	return nil
}

func (d *changeTxn) setSpawnedAt(spawner chainstore.Place, s layout.Spawned) {
	d.set(layout.SpawnedAtKey(d.ns, spawner, s.Number), layout.AppendPlaceValue(nil, s.At))
}

// adopt links a new node to what it spawned before it was put, at most maxAdopted: a seek, and only while any node waits for its
// spawner. The rest goes on waiting.
func (d *changeTxn) adopt(n *cache.Node) error {
	if d.counters.Awaited == 0 {
		return nil
	}
	waiting, err := d.view.SpawnedBy(n.Header.ID, layout.MaxAdopted)
	if err != nil {
		return err
	}
	waiting = append(waiting, d.awaiting[n.Key()]...)
	waiting = waiting[:min(len(waiting), layout.MaxAdopted)]
	for _, s := range waiting {
		d.setSpawnedAt(n.At, s)
	}
	d.counters.Awaited -= uint64(len(waiting))
	return nil
}
