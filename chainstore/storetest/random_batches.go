package storetest

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"pgregory.net/rapid"
)

// Batcher is a store that can be told which changes share a batch, and what becomes of that.
type Batcher interface {
	// Together commits changes as the store does where they come at once, in their order.
	Together(namespace string, changes []*chainstore.Change, fate Fate) ([]*chainstore.Committed, []error)
}

// Fate is what becomes of a batch.
type Fate uint8

// What becomes of a batch.
const (
	// Durable: nothing keeps it from being written.
	Durable Fate = iota
	// DiskIsFull: what adds something is refused with chainstore.ErrDiskFull.
	DiskIsFull
	// Unwritten: it fails before anything is written.
	Unwritten
	// Unsynced: it is written, and fails with chainstore.ErrFailed. The store is then opened again.
	Unsynced
)

// together applies changes to both, to the store at once, and compares what they say. The model hears nothing of those that a full disk
// refused, or of which nothing was written.
func (p *program) together(rt *rapid.T) error {
	var changes []*chainstore.Change
	for range 1 + roll(rt, 7, "changes") {
		if p.last == nil || roll(rt, 5, "repeats") > 0 {
			p.last = p.change(rt)
		}
		changes = append(changes, p.last)
	}
	fate := pick(rt, []Fate{Durable, Durable, Durable, DiskIsFull, DiskIsFull, Unwritten, Unwritten, Unsynced}, "fate")
	got, errs := p.batcher.Together(p.f.ns, changes, fate)
	if fate == Unwritten {
		return nil
	}
	for i, c := range changes {
		if fate == DiskIsFull && errors.Is(errs[i], chainstore.ErrDiskFull) {
			continue
		}
		want := p.expect(c)
		if fate == Unsynced && errors.Is(errs[i], chainstore.ErrFailed) {
			continue
		}
		if err := (became{got[i], errs[i]}).is(want); err != nil {
			return fmt.Errorf("change %d of %d at once: %w", i, len(changes), err)
		}
	}
	return nil
}
