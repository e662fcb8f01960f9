package commit

import (
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// aliasPlan is an alias of a change, as it was before the change, and what it is to become.
type aliasPlan struct {
	change *chainstore.AliasChange
	// row is nil for a name that never was set; head is nil where there is no alias.
	row          *layout.AliasRow
	head, target *cache.Node
	// now is the alias as the change finds it.
	now chainstore.AliasNow
}

// find reads the alias.
func (p *aliasPlan) find(d *changeTxn) (err error) {
	if p.row, p.head, err = d.alias(p.change.Name); err != nil || d.forgotten(p.row) {
		return err
	}
	p.now = chainstore.AliasNow{Exists: p.head != nil, Revision: p.row.Revision, Labels: p.row.Labels}
	if p.now.Exists {
		p.now.Head = p.head.Header.ID
	}
	return nil
}

// forgotten tells whether a name is as one that never was set.
func (d *changeTxn) forgotten(row *layout.AliasRow) bool {
	return row == nil || row.IsForgotten(d.now)
}

func (d *changeTxn) conflict(p *aliasPlan, i int) (c chainstore.Conflict, failed bool, err error) {
	c = chainstore.Conflict{
		Index: i, Kind: p.change.Condition.Kind, Exists: p.now.Exists, Node: p.now.Head, Revision: p.now.Revision,
		Compaction: p.head != nil && p.head.Header.Covers.Present,
	}
	holds, err := p.change.Holds(&p.now, idOf(p.target), func() (bool, error) {
		return d.extends(p.head, p.change.Condition.Head)
	})
	return c, !holds, err
}

// extends tells whether a node is reached from an ancestor by plain appends.
func (d *changeTxn) extends(n *cache.Node, ancestor chainstore.ID) (bool, error) {
	from, err := d.find(ancestor)
	if err != nil || from == nil {
		return false, err
	}
	if n, err = d.asTip(n); err != nil {
		return false, err
	}
	return n.Lineage.Holds(from.At) && n.Header.Compaction == from.Header.Compaction, nil
}

// putAliases judges the change's aliases as they were before it, and then sets them, unless the change took place before.
func (d *changeTxn) putAliases(change *chainstore.Change, nodes []*cache.Node, done []chainstore.PutNode) ([]chainstore.PutAlias, error) {
	plans := make([]aliasPlan, len(change.Aliases))
	for i := range change.Aliases {
		target, err := d.target(change.Aliases[i].Target, nodes)
		if errors.Is(err, chainstore.ErrNodeNotFound) || errors.Is(err, chainstore.ErrAliasNotFound) {
			err = &chainstore.MissingError{Err: err, Index: i}
		}
		if err != nil {
			return nil, err
		}
		plans[i] = aliasPlan{change: &change.Aliases[i], target: target}
	}
	var failed []chainstore.Conflict
	for i := range plans {
		p := &plans[i]
		if err := p.find(d); err != nil {
			return nil, err
		}
		c, is, err := d.conflict(p, i)
		if err != nil {
			return nil, err
		}
		if is {
			failed = append(failed, c)
		}
	}
	if failed != nil {
		return nil, &chainstore.ConflictError{Conflicts: failed}
	}
	made := slices.ContainsFunc(done, func(n chainstore.PutNode) bool { return n.Created })
	repeats := change.Repeats(made, func(i int) (*chainstore.AliasNow, *chainstore.ID) { return &plans[i].now, idOf(plans[i].target) })
	put := make([]chainstore.PutAlias, len(plans))
	for i := range plans {
		stays := false
		if repeats {
			var err error
			if stays, err = d.wasSet(&plans[i]); err != nil {
				return nil, err
			}
		}
		if stays {
			put[i] = plans[i].stays()
		} else {
			put[i] = d.move(&plans[i])
		}
	}
	return put, nil
}

// wasSet tells whether an alias is as the change sets it, deleted or at its target, or was so lately.
func (d *changeTxn) wasSet(p *aliasPlan) (bool, error) {
	if d.forgotten(p.row) {
		return false, nil
	}
	target := layout.PastState{Deleted: p.target == nil}
	if p.target != nil {
		target.At = p.target.At
	}
	if p.row.Deleted == target.Deleted && p.row.At == target.At {
		return true, nil
	}
	ended := p.row.MovedAt
	for number := p.row.States - 1; number > 0 && p.row.States-number <= chainstore.RepeatReach; number-- {
		value, found, err := d.get(layout.HistoryKey(d.ns, p.change.Name, number))
		if err != nil || !found {
			return false, err
		}
		past, err := layout.ParsePastState(value)
		if err != nil || chainstore.Forgotten(past.Deleted, past.Began, ended) {
			return false, err
		}
		if past.Deleted == target.Deleted && past.At == target.At {
			return true, nil
		}
		ended = past.Began
	}
	return false, nil
}

// idOf is a node's id; nil for no node.
func idOf(n *cache.Node) *chainstore.ID {
	if n == nil {
		return nil
	}
	return &n.Header.ID
}

// stays tells of an alias that the change leaves as it is.
func (p *aliasPlan) stays() chainstore.PutAlias {
	return chainstore.PutAlias{Existed: p.now.Exists, Previous: p.now.Head, Revision: p.now.Revision}
}

// alias returns an alias's row, nil if it never was set, and its head, nil if it does not exist.
func (d *changeTxn) alias(name string) (*layout.AliasRow, *cache.Node, error) {
	value, found, err := d.get(layout.AliasKey(d.ns, name))
	if err != nil || !found {
		return nil, nil, err
	}
	row, err := layout.ParseAlias(value)
	if err != nil || row.Deleted {
		return row, nil, err
	}
	head, err := d.at(row.At)
	return row, head, err
}

// aliasHead is where an alias points; nil if it does not exist.
func (d *changeTxn) aliasHead(name string) (*cache.Node, error) {
	_, head, err := d.alias(name)
	return head, err
}

// target finds what an alias is to be set to; nil to delete it.
func (d *changeTxn) target(t chainstore.Target, nodes []*cache.Node) (n *cache.Node, err error) {
	switch {
	case t.Kind == chainstore.TargetNew:
		return nodes[t.Node], nil
	case t.Kind == chainstore.TargetNone:
		return nil, nil
	case t.Ref.Alias != "":
		if n, err = d.aliasHead(t.Ref.Alias); err == nil && n == nil {
			err = chainstore.ErrAliasNotFound
		}
	default:
		if n, err = d.find(t.Ref.ID); err == nil && n == nil {
			err = chainstore.ErrNodeNotFound
		}
	}
	return n, err
}

// move sets or deletes an alias.
func (d *changeTxn) move(p *aliasPlan) chainstore.PutAlias {
	out := p.stays()
	if p.change.Leaves(&p.now, idOf(p.target)) {
		return out
	}
	next := layout.AliasRow{}
	switch {
	case p.row == nil:
	case p.row.Forgot: // its states are counted anew
		next.Rest = p.row.Rest
	default:
		next = *p.row
	}
	next.Revision, next.Principal = d.revise(p), 0
	out.Revised, out.Revision = true, next.Revision
	if p.change.Forget && p.target == nil {
		d.forget(p, &next)
		out.Changed = p.now.Exists
		return out
	}
	if out.Changed = p.target == nil || p.head == nil || p.target.At != p.head.At; out.Changed {
		d.recordPast(p)
		next.States++
		next.MovedAt, next.Deleted, next.Began = d.now, p.target == nil, next.Revision
		if p.target != nil {
			d.list(p.change.Name, p.target.At, d.now)
		}
	}
	switch {
	case p.target == nil:
		next.Labels, next.At = nil, chainstore.Place{}
	default:
		next.At = p.target.At
		if p.change.SetLabels {
			next.Labels = p.change.Labels
		}
	}
	d.set(layout.AliasKey(d.ns, p.change.Name), layout.AppendAlias(nil, &next))
	return out
}

// forget deletes an alias, which is there or was, with its history.
func (d *changeTxn) forget(p *aliasPlan, next *layout.AliasRow) {
	d.clear(p)
	if !p.row.Deleted {
		next.MovedAt, next.Began = d.now, next.Revision
	}
	next.Deleted, next.Forgot, next.Labels, next.At = true, true, nil, chainstore.Place{}
	d.forgets = true
	d.set(layout.AliasKey(d.ns, p.change.Name), layout.AppendAlias(nil, next))
}

// clear takes an alias away with all that follows from it.
func (d *changeTxn) clear(p *aliasPlan) {
	if p.row == nil {
		return
	}
	d.unlist(p)
	for number := p.row.FirstKept(); number < p.row.States; number++ {
		d.delete(layout.HistoryKey(d.ns, p.change.Name, number))
	}
}

// revise is the revision of a change of an alias. That of a name that never was set, or is forgotten, is above the floor.
func (d *changeTxn) revise(p *aliasPlan) int64 {
	if !d.forgotten(p.row) {
		return p.row.Revision + 1
	}
	if p.row != nil {
		d.counters.Floor = max(d.counters.Floor, uint64(p.row.Revision))
	}
	return int64(d.counters.Floor) + 1
}

// recordPast records the state that an alias leaves, and takes it from the indexes.
func (d *changeTxn) recordPast(p *aliasPlan) {
	if p.row == nil || p.row.Forgot {
		return
	}
	name, row := p.change.Name, p.row
	past := layout.PastState{
		Deleted: row.Deleted, Number: row.States, Began: row.MovedAt, At: row.At, Revision: row.Began, Principal: row.Principal,
	}
	d.set(layout.HistoryKey(d.ns, name, row.States), layout.AppendPastState(nil, &past))
	d.unlist(p)
}

// unlist takes an alias that is there from the indexes.
func (d *changeTxn) unlist(p *aliasPlan) {
	if p.row.Deleted {
		return
	}
	for folder := range chainstore.Folders(p.change.Name) {
		d.delete(layout.MovedKey(d.ns, folder, p.change.Name, p.row.MovedAt))
	}
	d.delete(layout.HeadKey(d.ns, p.row.At, p.change.Name))
	d.counters.Aliases--
}

// list enters an alias into the indexes.
func (d *changeTxn) list(name string, at chainstore.Place, movedAt int64) {
	for folder := range chainstore.Folders(name) {
		d.set(layout.MovedKey(d.ns, folder, name, movedAt), []byte{})
	}
	d.set(layout.HeadKey(d.ns, at, name), []byte{})
	d.counters.Aliases++
}

// wroteAliases are the aliases that the batch wrote.
func (b *batch) wroteAliases() (all []cache.Alias) {
	for key, w := range b.writes {
		if key[layout.KeyPrefix-1] != layout.TableAliases {
			continue
		}
		a := cache.Alias{Namespace: layout.NamespaceOf(key), Name: key[layout.KeyPrefix:], Deleted: true}
		if row, err := layout.ParseAlias(w.Value); err == nil && !w.Deleted {
			a.At, a.Deleted = row.At, row.Deleted
		}
		all = append(all, a)
	}
	return all
}
