package commit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// What is given once: the numbers of namespaces, and in a namespace those of segments and of spawned nodes. The row that says how
// many were given may be hidden by a damaged table, and an older one be found instead.

// number returns the number of a namespace, or, where it was never written to, the next one.
func (d *changeTxn) number(namespace string) (ns uint32, found bool, err error) {
	if w, ok := d.writes[string(layout.NameKey(namespace))]; ok {
		ns, err = layout.ParseNamespace(w.Value, layout.TableNames)
		return ns, true, err
	}
	if ns, found, err = d.view.NumberOf(namespace); err != nil || found {
		return ns, found, err
	}
	ns, err = d.nextNumber()
	return ns, false, err
}

// nextNumber is the number behind the last that was given: ErrCorrupt where that one was given before.
func (d *changeTxn) nextNumber() (uint32, error) {
	var last uint32
	var err error
	if w, ok := d.writes[string(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))]; ok {
		last, err = layout.ParseNamespace(w.Value, layout.TableNumbers) // given by this batch: no key begins with a higher one
	} else {
		last, err = d.lastGiven()
	}
	if err == nil && last == layout.LastNamespace {
		err = errors.New("no namespace numbers are left")
	}
	return last + 1, err
}

// lastGiven is the last number given before this batch: ErrCorrupt where a key begins with a higher one, or where it is not the one
// that this process knows of.
func (d *changeTxn) lastGiven() (uint32, error) {
	last, err := d.view.LastNumber()
	if err != nil {
		return 0, err
	}
	if given := d.c.source.Names.Given; last != given {
		return 0, fmt.Errorf("%w: the last number given to a namespace is %d, and was %d", chainstore.ErrCorrupt, last, given)
	}
	if used, found := d.view.NextUsed(last + 1); found {
		return 0, fmt.Errorf("%w: the last number given to a namespace is %d, and number %d has rows", chainstore.ErrCorrupt, last, used)
	}
	return last, nil
}

// keepGiven notes the numbers that a durable batch gave, if it gave any.
func (b *batch) keepGiven() {
	w, ok := b.writes[string(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))]
	if !ok {
		return
	}
	names := b.c.source.Names
	names.Given, _ = layout.ParseNamespace(w.Value, layout.TableNumbers)
	prefix := string(layout.NameKey(""))
	for key, w := range b.writes {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			number, _ := layout.ParseNamespace(w.Value, layout.TableNames)
			names.Put(name, number, b.view.Seen+1)
		}
	}
}

// countersOf are the counters of a namespace that is there, as the changes so far leave them: ErrCorrupt where they cannot be read,
// or would give a segment again.
func (d *changeTxn) countersOf(ns uint32) (c layout.Counters, err error) {
	key := layout.CountersKey(ns)
	if w, ok := d.writes[string(key)]; ok {
		return layout.ParseCounters(w.Value)
	}
	if c, ok := d.c.counters[ns]; ok {
		return c, nil
	}
	value, found, err := d.view.Get(key)
	switch {
	case err != nil:
		return c, err
	case !found:
		return c, layout.Missing(layout.TableCounters)
	}
	if c, err = layout.ParseCounters(value); err == nil && d.view.SegmentAbove(ns, c.NextSegment) {
		err = fmt.Errorf("%w: the last segment given is %d, and a later one has rows", chainstore.ErrCorrupt, c.NextSegment)
	}
	if err == nil {
		d.c.keepCounters(ns, c)
	}
	return c, err
}

// keepCounters remembers the counters of a namespace, as of the last commit, until there are too many.
func (c *Committer) keepCounters(ns uint32, now layout.Counters) {
	if len(c.counters) >= snapshot.MaxNames {
		clear(c.counters)
	}
	c.counters[ns] = now
}

// keepCounters remembers what a durable batch counted.
func (b *batch) keepCounters() {
	for ns := range b.entered {
		if w, ok := b.writes[string(layout.CountersKey(ns))]; ok {
			if now, err := layout.ParseCounters(w.Value); err == nil {
				b.c.keepCounters(ns, now)
			}
		}
	}
}
