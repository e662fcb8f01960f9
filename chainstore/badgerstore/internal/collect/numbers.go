package collect

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

const (
	// numbersAtOnce is how many numbers of nodes that one spawner spawned are remembered, maxNumbers how many in all.
	numbersAtOnce = 1 << 15
	maxNumbers    = 1 << 18
)

// numbers remembers the numbers of spawned nodes, by spawner, so that the rows of one that spawned many are not read for each of them. Nodes are
// looked for from the last segment on, and the higher the segment, the higher are most numbers: so the highest that can be asked for yet are
// remembered.
type numbers struct {
	of    map[chainstore.ID]map[chainstore.Place]uint64
	count int
}

// find is the number of a node that was spawned: ErrCorrupt where it has none.
func (n *numbers) find(ctx context.Context, v *snapshot.Snapshot, spawner chainstore.ID, at chainstore.Place) (uint64, error) {
	if number, known := n.of[spawner][at]; known {
		return number, nil
	}
	var number uint64
	found := false
	var last []layout.Spawned // a ring
	seen := 0
	err := v.Scan(ctx, layout.SpawnerKey(v.Namespace, spawner), nil, func(key, value []byte) error {
		s := layout.Spawned{}
		var err error
		if _, s.Number, err = layout.ParseSpawnedKey(key); err != nil {
			return err
		}
		if s.At, err = layout.ParsePlaceValue(value, layout.TableSpawned); err != nil || s.At.Segment > at.Segment {
			return err
		}
		if s.At == at {
			number, found = s.Number, true
		}
		if len(last) < numbersAtOnce {
			last = append(last, s)
		} else {
			last[seen%numbersAtOnce] = s
		}
		seen++
		return nil
	})
	if err == nil && !found {
		err = layout.Dangling(layout.TableSpawned)
	}
	if err != nil {
		return 0, err
	}
	n.remember(spawner, last)
	return number, nil
}

// remember remembers these of a spawner in place of others.
func (n *numbers) remember(spawner chainstore.ID, all []layout.Spawned) {
	n.count += len(all) - len(n.of[spawner])
	if n.of == nil || n.count > maxNumbers {
		n.of, n.count = map[chainstore.ID]map[chainstore.Place]uint64{}, len(all)
	}
	of := make(map[chainstore.Place]uint64, len(all))
	for _, s := range all {
		of[s.At] = s.Number
	}
	n.of[spawner] = of
}
