package commit

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// Request is a change in the queue.
type Request struct {
	Ctx context.Context
	// weight is the room that the change has. Who the change belongs to at last gives it back: the caller that abandons it, or
	// the committer as it answers.
	weight    int64
	Namespace string
	Change    *chainstore.Change
	// own is what it does that is no change of nodes and aliases; the change is then empty. It holds so many bytes beside, and adds is set
	// where it must not take what is kept for deletes.
	own  func(*changeTxn) error
	held int64
	adds bool
	// alone says that it is in a batch of its own.
	alone bool
	// prepared has what was made of compaction nodes before the change was in the queue, in the namespace of a number: of another one of the name
	// nothing was made. It is not changed. last: what it does not have, the committer must make.
	prepared   map[*chainstore.NewNode]*derive.Refold
	preparedIn uint32
	last       bool
	// state tells who has the change: see the constants.
	state atomic.Int32
	// Released is closed once the committer looks at the change no more; answered, once the outcome is there.
	Released, Answered chan struct{}
	Committed          *chainstore.Committed
	Err                error

	// Waits is its place in the queue, to which it belongs; nil: it is not there.
	Waits *list.Element
}

const (
	queued    = iota // nobody: the caller may leave
	taken            // the committer
	abandoned        // the caller, who has left: what the change held is free
)

// release says that the change is no longer looked at, and lets go of it.
func (r *Request) release() {
	r.Change, r.prepared, r.own = nil, nil, nil
	close(r.Released)
}

func (r *Request) place() **list.Element { return &r.Waits }

// batch is the changes of one transaction: what they wrote that the database does not have yet. What the last of them did
// can be undone.
type batch struct {
	c    *Committer
	view *snapshot.Snapshot
	// maxBytes and maxWrites are what the database takes in a commit.
	maxBytes, maxWrites int64
	// noPuts keeps changes that add something from being taken, noDeletes those that only delete; nil: nothing does.
	noPuts, noDeletes error
	// pending are answered once the batch is durable.
	pending []*Request

	writes  map[string]Write
	byID    map[cache.NodeKey]*cache.Node
	byPlace map[cache.NodePlace]*cache.Node
	// calls has the seq of the first node written that has a call of an id; begun are the segments that were.
	calls map[segmentCall]uint32
	begun map[cache.Segment]struct{}
	// entered are the namespaces of the changes.
	entered map[uint32]struct{}
	// settled says that a change of settings was tried.
	settled bool
	// full says that no change is taken any more: one is to be alone. swept are the nodes that it deletes.
	full  bool
	swept *cache.Forgotten
	// gone is the number of the namespace that it deletes; 0: none.
	gone uint32
	// readIn counts the rows that were read in for the cache of calls.
	readIn int
	// awaiting has, by spawners that were not put yet, the nodes that they spawned.
	awaiting map[cache.NodeKey][]layout.Spawned
	// bytes is what the writes take in a transaction.
	bytes int64
	// drafts counts the changes that were tried.
	drafts int
	undo   undo
	// room is where values are made; what lies in it dies with the batch. raw is a header on its way there.
	room, raw []byte
}

// How much of a batch the next one uses again.
const (
	maxWritesAgain = 4096
	maxRoomAgain   = 1 << 20
)

// begin is a batch on the newest state.
func (c *Committer) begin() *batch {
	b := c.spare
	if b == nil {
		b = &batch{
			c: c, writes: map[string]Write{}, byID: map[cache.NodeKey]*cache.Node{}, byPlace: map[cache.NodePlace]*cache.Node{},
			calls: map[segmentCall]uint32{}, begun: map[cache.Segment]struct{}{}, awaiting: map[cache.NodeKey][]layout.Spawned{},
			entered: map[uint32]struct{}{},
		}
		b.maxBytes, b.maxWrites = c.source.DB.MaxCommit()
	}
	c.spare = nil
	b.view = c.source.AsOf(c.source.Versions.Last(), layout.OwnNamespace)
	b.noPuts, b.noDeletes = c.Ready()
	return b
}

// end forgets a batch that is durable, or failed; the next one takes its memory.
func (c *Committer) end(b *batch) {
	if len(b.writes) > maxWritesAgain {
		return
	}
	b.undo.reset()
	clear(b.writes)
	clear(b.byID)
	clear(b.byPlace)
	clear(b.calls)
	clear(b.begun)
	clear(b.awaiting)
	clear(b.entered)
	b.pending, b.bytes, b.drafts, b.readIn, b.settled, b.room, b.view = nil, 0, 0, 0, false, b.room[:0], nil
	b.full, b.swept, b.gone = false, nil, 0
	c.spare = b
}

// space is n bytes to append a value to.
func (b *batch) space(n int) []byte {
	if len(b.room)+n > cap(b.room) {
		if n > maxRoomAgain/4 {
			return make([]byte, 0, n)
		}
		b.room = make([]byte, 0, min(max(2*cap(b.room), 4*n), maxRoomAgain))
	}
	begin := len(b.room)
	b.room = b.room[:begin+n]
	return b.room[begin : begin : begin+n]
}

// take applies a change, and answers it if it is refused. It returns false for one that has to wait for the next
// batch.
func (b *batch) take(r *Request) bool {
	if b.full || r.alone && b.drafts > 0 {
		return false
	}
	if !r.state.CompareAndSwap(queued, taken) {
		return true
	}
	if b.c.failed {
		b.c.fail(r, chainstore.ErrFailed)
		return true
	}
	b.drafts++
	b.full = r.alone
	b.undo.reset()
	d := &changeTxn{batch: b, by: b.drafts, now: b.c.now(), request: r}
	committed, err := d.run(r)
	if err == nil && (d.tooLong || d.keys > b.maxWrites || d.bytes > b.maxBytes) {
		err = fmt.Errorf("%w: %d keys of %d bytes in all", chainstore.ErrTooLarge, d.keys, d.bytes)
	}
	if err == nil && d.keys > 0 {
		err = b.barred(r)
	}
	if err != nil {
		b.takeBack()
		b.refuse(r, err)
		return true
	}
	if int64(len(b.writes)) > b.maxWrites || b.bytes > b.maxBytes {
		b.takeBack()
		r.state.Store(queued)
		return false
	}
	r.Committed = committed
	r.release()
	b.pending = append(b.pending, r)
	return true
}

// takeBack leaves the batch as it was before the last change.
func (b *batch) takeBack() {
	b.swept, b.gone = nil, 0
	for _, u := range b.undo.writes {
		b.bytes -= Cost(u.key, b.writes[u.key])
		if !u.had {
			delete(b.writes, u.key)
			continue
		}
		b.writes[u.key] = u.before
		b.bytes += Cost(u.key, u.before)
	}
	for i := len(b.undo.nodes) - 1; i >= 0; i-- {
		u := b.undo.nodes[i]
		if u.before == nil {
			delete(b.byID, u.now.Key())
			delete(b.byPlace, u.now.Place())
			continue
		}
		b.byID[u.now.Key()], b.byPlace[u.now.Place()] = u.before, u.before
	}
	for _, call := range b.undo.calls {
		delete(b.calls, call)
	}
	for _, segment := range b.undo.begun {
		delete(b.begun, segment)
	}
	for _, spawner := range b.undo.awaiting {
		b.awaiting[spawner] = b.awaiting[spawner][:len(b.awaiting[spawner])-1]
	}
}

// barred is the error that keeps a change from being written that writes something. What only deletes may take what is kept for
// that.
func (b *batch) barred(r *Request) error {
	if len(r.Change.Nodes) > 0 || r.adds {
		return b.noPuts
	}
	for i := range r.Change.Aliases {
		if r.Change.Aliases[i].Target.Kind != chainstore.TargetNone {
			return b.noPuts
		}
	}
	return b.noDeletes
}

// refuse answers a change that fails; if the batch has changes before it, once those are durable, for the reason may be
// one of them: a caller must not learn of what readers do not see.
func (b *batch) refuse(r *Request, err error) {
	if len(b.writes) == 0 {
		b.c.fail(r, err)
		return
	}
	r.Err = err
	r.release()
	b.pending = append(b.pending, r)
}

// draft is a change being applied to a batch.
type changeTxn struct {
	*batch
	request *Request
	// by tells its writes from those of the batch's other changes; keys and bytes are what they take in a transaction.
	by          int
	keys, bytes int64
	// tooLong says that a key or a value is longer than the database takes.
	tooLong bool
	// unprepared counts the nodes read that the request should have brought.
	unprepared int
	now        int64
	ns         uint32
	// created says that ns is a number that this change gives; forgets, that it deletes what an earlier program takes for missing.
	created  bool
	forgets  bool
	counters layout.Counters
	// erased are the nodes that it erases, erasures is what the namespace had before.
	erased   map[chainstore.ID]bool
	erasures uint64
	// rewritten are the places of those that are there, and left about how many bytes are left of each.
	rewritten []chainstore.Place
	left      []uint64
}

func (d *changeTxn) set(key, value []byte) { d.write(key, Write{Value: value}) }

func (d *changeTxn) delete(key []byte) { d.write(key, Write{Deleted: true}) }

func (d *changeTxn) write(key []byte, w Write) {
	w.by = d.by
	old, again := d.writes[string(key)]
	text := string(key)
	if again {
		d.batch.bytes -= Cost(text, old)
	}
	if again && old.by == d.by {
		d.bytes -= Cost(text, old)
	} else {
		d.keys++
		d.undo.writes = append(d.undo.writes, undoneWrite{text, old, again})
	}
	d.tooLong = d.tooLong || len(key) > badgerdb.MaxKey || int64(len(w.Value)) >= d.c.source.DB.MaxValue()
	d.writes[text] = w
	d.bytes += Cost(text, w)
	d.batch.bytes += Cost(text, w)
}

// get returns a value as the changes so far leave it; it must not be changed.
func (d *changeTxn) get(key []byte) (value []byte, found bool, err error) {
	if w, ok := d.writes[string(key)]; ok {
		return w.Value, !w.Deleted, nil
	}
	return d.view.Get(key)
}

// know keeps what this change knows of a node that it wrote, or wrote behind.
func (d *changeTxn) know(n *cache.Node) {
	d.undo.nodes = append(d.undo.nodes, undoneNode{n, d.byID[n.Key()]})
	d.byID[n.Key()], d.byPlace[n.Place()] = n, n
}

// makeTokenKey writes the keys of page tokens anew where one is due.
func (d *changeTxn) makeTokenKey() error {
	row, isThere, err := d.get(layout.TokenKeysKey())
	if err != nil {
		return err
	}
	next, err := nextTokenKeys(row, isThere, d.now)
	if next != nil {
		d.set(layout.TokenKeysKey(), next)
	}
	return err
}

// run does what is asked for.
func (d *changeTxn) run(r *Request) (out *chainstore.Committed, err error) {
	if r.own != nil {
		err = r.own(d)
	} else {
		out, err = d.apply(r.Namespace, r.Change)
	}
	if err == nil && d.forgets {
		err = d.require(layout.FeatureForgetting)
	}
	if err == nil && len(d.erased) > 0 {
		err = errors.Join(d.require(layout.FeatureErasure), d.purge())
	}
	return out, err
}

// apply puts the change's nodes and then its aliases.
func (d *changeTxn) apply(namespace string, change *chainstore.Change) (*chainstore.Committed, error) {
	if err := d.enter(namespace); err != nil {
		return nil, err
	}
	before := d.counters
	nodes, put, err := d.putNodes(change)
	if err != nil {
		return nil, err
	}
	aliases, err := d.putAliases(change, nodes, put)
	if err != nil {
		return nil, err
	}
	if d.counters != before {
		if err := d.judgeQuotas(namespace, &before); err != nil {
			return nil, err
		}
		d.set(layout.CountersKey(d.ns), layout.AppendCounters(nil, &d.counters))
	}
	if d.created && d.keys > 0 {
		d.giveNumber(namespace)
	}
	return &chainstore.Committed{Nodes: put, Aliases: aliases}, nil
}

// giveNumber writes the number of a namespace that is written to for the first time.
func (d *changeTxn) giveNumber(namespace string) {
	d.set(layout.NameKey(namespace), layout.NumberValue(uint64(d.ns)))
	d.set(layout.TableKey(layout.OwnNamespace, layout.TableNumbers), layout.NumberValue(uint64(d.ns)))
}

// enter finds the namespace's number, or the next one, and its counters.
func (d *changeTxn) enter(namespace string) error {
	ns, found, err := d.number(namespace)
	if err != nil {
		return err
	}
	d.ns, d.created = ns, !found
	d.view.Namespace = ns
	d.entered[ns] = struct{}{}
	if d.created {
		return nil
	}
	d.counters, err = d.countersOf(ns)
	d.erasures = d.counters.Erasures
	return err
}
