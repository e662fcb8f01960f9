package commit

import (
	"context"
	"errors"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// prepare reads what the change's compaction nodes show, as of now, so that the committer has little left to read. What it
// cannot make it leaves to the committer, which judges.
func (c *Committer) prepare(
	ctx context.Context, namespace string, change *chainstore.Change,
) (prepared map[*chainstore.NewNode]*derive.Refold, in uint32, err error) {
	is := func(n chainstore.NewNode) bool { return n.Compaction != nil }
	if !slices.ContainsFunc(change.Nodes, is) {
		return nil, 0, nil
	}
	prepared = map[*chainstore.NewNode]*derive.Refold{}
	err = c.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		in = v.Namespace
		for i := range change.Nodes {
			if !is(change.Nodes[i]) {
				continue
			}
			r, err := Prepare(ctx, v, change, i)
			if err != nil && !refused(err) {
				return err
			}
			prepared[&change.Nodes[i]] = r
		}
		return nil
	})
	return prepared, in, err
}

// refused tells whether an error is one of a change, and not of the store.
func refused(err error) bool {
	for _, is := range []error{
		chainstore.ErrParentNotFound, chainstore.ErrNodeNotFound, chainstore.ErrAliasNotFound, chainstore.ErrNotAncestor,
		chainstore.ErrAlreadyCovered, chainstore.ErrOpenCalls, chainstore.ErrGroupTooLarge,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// Prepare makes the refold of node i of a change as far as its nearest ancestor that is there; nil where the node is
// there already.
func Prepare(ctx context.Context, v *snapshot.Snapshot, change *chainstore.Change, i int) (*derive.Refold, error) {
	in := &change.Nodes[i]
	parent, direct, err := base(v, change, i)
	if err != nil {
		return nil, err
	}
	if direct {
		_, found, err := v.PlaceOf(in.Identify(&parent.Header.ID))
		if err != nil || found {
			return nil, err
		}
	}
	covers, err := v.Resolve(chainstore.Ref{ID: in.Compaction.Covers})
	if err != nil {
		return nil, err
	}
	if err := derive.MayCover(snapshot.Derived(parent), covers, v.HeaderAt); err != nil {
		return nil, err
	}
	r, err := derive.NewRefold(in, snapshot.Derived(parent), covers, v.FoldHeaders(ctx))
	if err != nil {
		return nil, err
	}
	return r, r.Extend(parent.Lineage, v.FoldHeaders(ctx))
}

// base is the nearest ancestor of node i of a change that is not of the change, with its lineage; direct says that it is
// the parent.
func base(v *snapshot.Snapshot, change *chainstore.Change, i int) (n *cache.Node, direct bool, err error) {
	first := i
	for first > 0 && change.Nodes[first].Parent.Kind == chainstore.ParentPrevious {
		first--
	}
	ref := chainstore.Ref{}
	switch p := change.EffectiveParent(first); p.Kind {
	case chainstore.ParentID:
		ref.ID = p.ID
	case chainstore.ParentAlias:
		ref.Alias = p.Alias
	default:
		return nil, false, chainstore.ErrParentNotFound
	}
	n, err = v.Head(ref)
	return n, first == i, err
}

// compact derives a new compaction node: ErrNotAncestor for a root, or where a message was put behind what it covers;
// ErrNodeNotFound, ErrNotAncestor, ErrAlreadyCovered, ErrOpenCalls, ErrErasedMeanwhile, ErrGroupTooLarge.
func (d *changeTxn) compact(in *chainstore.NewNode, seat derive.Seat, parent derive.Node) (derive.Node, error) {
	if parent.Header == nil {
		return derive.Node{}, chainstore.ErrNotAncestor
	}
	covers, err := d.find(in.Compaction.Covers)
	if err == nil && covers == nil {
		err = chainstore.ErrNodeNotFound
	}
	if err != nil {
		return derive.Node{}, err
	}
	if slices.ContainsFunc(in.Compaction.Provenance, func(p chainstore.Provenance) bool {
		return p.Present && p.Place.Seq > covers.At.Seq
	}) {
		return derive.Node{}, chainstore.ErrNotAncestor
	}
	if err := derive.MayCover(parent, covers.At, d.headerAt); err != nil {
		return derive.Node{}, err
	}
	if in.Compaction.Erasures < d.erasures {
		return derive.Node{}, chainstore.ErrErasedMeanwhile
	}
	var made *derive.Refold
	if d.request.preparedIn == d.ns {
		made = d.request.prepared[in]
	}
	return derive.Compact(in, seat, parent, covers.At, made, d.headers)
}

// headerAt is the header of the node at a place, which is there.
func (d *changeTxn) headerAt(at chainstore.Place) (*chainstore.Header, error) {
	n, err := d.at(at)
	if err != nil {
		return nil, err
	}
	return n.Header, nil
}

// How much a caller prepares, and how little is left to the committer.
const (
	// maxPrepared is how often a change is prepared again.
	maxPrepared = 2
	// MaxUnprepared is the nodes that the committer reads for a change while it can ask for more to be prepared.
	MaxUnprepared = 256
)

// errUnprepared asks the caller of Commit to prepare its change again.
var errUnprepared = errors.New("too much of what a compaction node shows is to be read")

// headers reads one row for each node: those that were put after a compaction node was prepared, or all, where its parent
// was another one, or not there. errUnprepared.
func (d *changeTxn) headers(l *chainstore.Lineage, from, through uint32, f func(*chainstore.Header) error) error {
	for seq := from; seq <= through; seq++ {
		h, err := d.header(l.Locate(seq))
		if err == nil {
			err = f(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header reads the header of a node that is there, also one that these changes wrote.
func (d *changeTxn) header(at chainstore.Place) (*chainstore.Header, error) {
	if w, ok := d.writes[string(layout.PlaceKey(d.ns, layout.TableNodes, at))]; ok {
		r, _, err := layout.ParseRow(w.Value)
		if err != nil {
			return nil, err
		}
		return r.Header.Decode(at.Seq)
	}
	if d.unprepared++; d.unprepared > MaxUnprepared && !d.request.last {
		return nil, errUnprepared
	}
	return d.view.HeaderAt(at)
}
