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
}

func (d *changeTxn) conflict(p *aliasPlan, i int) (c chainstore.Conflict, failed bool, err error) {
	exists, head, target, compaction := p.head != nil, chainstore.ID{}, idOf(p.target), false
	if exists {
		head, compaction = p.head.Header.ID, p.head.Header.Covers.Present
	}
	c = chainstore.Conflict{Index: i, Kind: p.change.Condition.Kind, Exists: exists, Node: head, Compaction: compaction}
	holds, err := p.change.Condition.Holds(exists, head, target, func() (bool, error) {
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
		var err error
		if p.row, p.head, err = d.alias(p.change.Name); err != nil {
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
	repeats := change.Repeats(made, func(i int) (head, target *chainstore.ID) { return idOf(plans[i].head), idOf(plans[i].target) })
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

// wasSet tells whether an alias points to its target, or did so lately.
func (d *changeTxn) wasSet(p *aliasPlan) (bool, error) {
	if p.row == nil || p.head != nil && p.head.At == p.target.At {
		return p.row != nil, nil
	}
	for number := p.row.States - 1; number > 0 && p.row.States-number <= chainstore.RepeatReach; number-- {
		value, found, err := d.get(layout.HistoryKey(d.ns, p.change.Name, number))
		if err != nil || !found {
			return false, err
		}
		past, err := layout.ParsePastState(value)
		if err != nil || !past.Deleted && past.At == p.target.At {
			return err == nil, err
		}
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
	out := chainstore.PutAlias{Existed: p.head != nil}
	if out.Existed {
		out.Previous = p.head.Header.ID
	}
	return out
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
	out.Changed = out.Existed != (p.target != nil) || p.target != nil && p.target.At != p.head.At
	next := layout.AliasRow{}
	if p.row != nil {
		next = *p.row
	}
	if out.Changed {
		d.leave(p)
		next.States++
		next.MovedAt, next.Deleted = d.now, p.target == nil
		d.arrive(p)
	}
	switch {
	case p.target == nil:
		next.Labels = nil
	case p.change.SetLabels:
		next.Labels = p.change.Labels
	}
	if p.target != nil {
		next.At = p.target.At
	} else {
		next.At = chainstore.Place{}
	}
	if out.Changed || p.target != nil && p.change.SetLabels {
		d.set(layout.AliasKey(d.ns, p.change.Name), layout.AppendAlias(nil, &next))
	}
	return out
}

// leave records the state that an alias leaves, and takes it from the indexes.
func (d *changeTxn) leave(p *aliasPlan) {
	if p.row == nil {
		return
	}
	name, row := p.change.Name, p.row
	past := layout.PastState{Deleted: row.Deleted, Number: row.States, Began: row.MovedAt, At: row.At}
	d.set(layout.HistoryKey(d.ns, name, row.States), layout.AppendPastState(nil, &past))
	if !row.Deleted {
		d.delete(layout.MovedKey(d.ns, name, row.MovedAt))
		d.delete(layout.HeadKey(d.ns, row.At, name))
		d.counters.Aliases--
	}
}

// arrive enters an alias into the indexes.
func (d *changeTxn) arrive(p *aliasPlan) {
	if p.target == nil {
		return
	}
	d.set(layout.MovedKey(d.ns, p.change.Name, d.now), []byte{})
	d.set(layout.HeadKey(d.ns, p.target.At, p.change.Name), []byte{})
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
