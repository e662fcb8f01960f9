package badgerstore

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

// write is a value to set, or a key to delete.
type write struct {
	value   []byte
	deleted bool
}

// layer is what changes wrote that the database does not have yet.
type layer struct {
	writes  map[string]write
	byID    map[nodeKey]*known
	byPlace map[nodePlace]*known
	// recalls has the recall rows that were written.
	recalls map[segmentOf]map[callKey][]recalled
	// awaiting has, by spawners that were not put yet, the nodes that they spawned.
	awaiting map[nodeKey][]spawned
	// bytes is what the writes take in a transaction.
	bytes int64
}

func newLayer() layer {
	return layer{
		writes: map[string]write{}, byID: map[nodeKey]*known{}, byPlace: map[nodePlace]*known{},
		recalls: map[segmentOf]map[callKey][]recalled{}, awaiting: map[nodeKey][]spawned{},
	}
}

// writeOverhead is what a write counts in a transaction beside key and value; at least what Badger counts.
const writeOverhead = 16

func cost(key string, w write) int64 { return int64(len(key)+len(w.value)) + writeOverhead }

func (l *layer) set(key string, w write) {
	if old, ok := l.writes[key]; ok {
		l.bytes -= cost(key, old)
	}
	l.writes[key] = w
	l.bytes += cost(key, w)
}

func (l *layer) know(n *known) {
	l.byID[n.key()], l.byPlace[n.where()] = n, n
}

// add puts a later layer on top.
func (l *layer) add(later *layer) {
	for key, w := range later.writes {
		l.set(key, w)
	}
	for _, n := range later.byPlace {
		l.know(n)
	}
	for spawner, nodes := range later.awaiting {
		l.awaiting[spawner] = append(l.awaiting[spawner], nodes...)
	}
	for in, calls := range later.recalls {
		for key, rows := range calls {
			for _, r := range rows {
				l.recall(in, key, r)
			}
		}
	}
}

// batch is the changes of one transaction.
type batch struct {
	layer
	c    *committer
	view *view
	// maxBytes and maxWrites are below what the database takes in a transaction.
	maxBytes, maxWrites int64
	// pending are answered once the batch is durable.
	pending []*request
}

func (c *committer) begin() *batch {
	return &batch{
		layer: newLayer(), c: c, view: c.s.viewAt(c.s.reads.last(), ownNamespace),
		maxBytes: c.s.db.MaxBatchSize() - 1024, maxWrites: c.s.db.MaxBatchCount() - 8,
	}
}

// take applies a change, and answers it if it is refused. It returns false for one that has to wait for the next
// batch.
func (b *batch) take(r *request) bool {
	if !r.state.CompareAndSwap(queued, taken) {
		return true
	}
	if b.c.failed {
		r.fail(chainstore.ErrFailed)
		return true
	}
	d := &draft{batch: b, layer: newLayer(), now: b.c.s.millis(), request: r}
	committed, err := d.apply(r.namespace, r.change)
	if err == nil && !b.canHold(&d.layer) {
		err = fmt.Errorf("%w: %d keys of %d bytes in all", chainstore.ErrTooLarge, len(d.writes), d.bytes)
	}
	if err != nil {
		b.refuse(r, err)
		return true
	}
	if int64(len(b.writes)+len(d.writes)) > b.maxWrites || b.bytes+d.bytes > b.maxBytes {
		r.state.Store(queued)
		return false
	}
	b.add(&d.layer)
	r.committed = committed
	r.release()
	b.pending = append(b.pending, r)
	return true
}

// refuse answers a change that fails; if the batch has changes before it, once those are durable, for the reason may be
// one of them: a caller must not learn of what readers do not see.
func (b *batch) refuse(r *request, err error) {
	if len(b.writes) == 0 {
		r.fail(err)
		return
	}
	r.err = err
	r.release()
	b.pending = append(b.pending, r)
}

// canHold tells whether a change fits into a transaction of its own.
func (b *batch) canHold(l *layer) bool {
	if int64(len(l.writes)) > b.maxWrites || l.bytes > b.maxBytes {
		return false
	}
	limit := int(b.c.s.db.Opts().ValueThreshold)
	for key, w := range l.writes {
		if len(w.value) >= limit || len(key) > maxKey {
			return false
		}
	}
	return true
}

// maxKey is below what the database takes as a key.
const maxKey = 64000

// draft is a change being applied on top of a batch. Dropped, it leaves no trace.
type draft struct {
	*batch
	layer
	request *request
	// unprepared counts the nodes read that the request should have brought.
	unprepared int
	now        int64
	ns         uint32
	// created says that ns is a number that this change gives.
	created  bool
	counters counters
}

func (d *draft) set(key, value []byte) { d.layer.set(string(key), write{value: value}) }

func (d *draft) delete(key []byte) { d.layer.set(string(key), write{deleted: true}) }

// get returns a value as the changes so far leave it; it must not be changed.
func (d *draft) get(key []byte) (value []byte, found bool, err error) {
	for _, l := range []*layer{&d.layer, &d.batch.layer} {
		if w, ok := l.writes[string(key)]; ok {
			return w.value, !w.deleted, nil
		}
	}
	return d.view.get(key)
}

// apply puts the change's nodes and then its aliases.
func (d *draft) apply(namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if err := d.enter(namespace); err != nil {
		return nil, err
	}
	before := d.counters
	nodes, put, err := d.putNodes(change)
	if err != nil {
		return nil, err
	}
	aliases, err := d.putAliases(change, nodes)
	if err != nil {
		return nil, err
	}
	if d.counters != before {
		d.set(countersKey(d.ns), appendCounters(nil, &d.counters))
	}
	if d.created && len(d.layer.writes) > 0 {
		d.set(nameKey(namespace), numberValue(uint64(d.ns)))
		d.set(tableKey(ownNamespace, tableNumbers), numberValue(uint64(d.ns)))
	}
	return &chainstore.Committed{Nodes: put, Aliases: aliases}, nil
}

// enter finds the namespace's number, or the next one, and its counters.
func (d *draft) enter(namespace string) error {
	ns, found, err := d.number(namespace)
	if err != nil {
		return err
	}
	d.ns, d.created = ns, !found
	d.view.ns = ns
	value, found, err := d.get(countersKey(ns))
	if err == nil && found {
		d.counters, err = parseCounters(value)
	}
	return err
}

// number returns the number of a namespace, or, where it was never written to, the next one.
func (d *draft) number(namespace string) (ns uint32, found bool, err error) {
	key := string(nameKey(namespace))
	for _, l := range []*layer{&d.layer, &d.batch.layer} {
		if w, ok := l.writes[key]; ok {
			ns, err = parseNamespace(w.value, tableNames)
			return ns, true, err
		}
	}
	if ns, found, err = d.view.namespace(namespace); err != nil || found {
		return ns, found, err
	}
	value, found, err := d.get(tableKey(ownNamespace, tableNumbers))
	if err != nil || !found {
		return firstNamespace, false, err
	}
	if ns, err = parseNamespace(value, tableNumbers); err == nil && ns == lastNamespace {
		err = errors.New("no namespace numbers are left")
	}
	return ns + 1, false, err
}
