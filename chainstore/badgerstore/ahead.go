package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
)

// readAhead reads the parents of a change that the committer does not keep into its cache, so that callers, of whom there are
// many, spend the time for it, and not the one goroutine that commits: a node that was not continued lately has to be
// decompressed from tables, which takes several times as long as all else that a put does there. What it reads never changes.
// What it cannot read it leaves to the committer, which judges.
func (s *Store) readAhead(ctx context.Context, namespace string, change *chainstore.Change) {
	ns, known := s.names.get(namespace)
	if !known {
		return
	}
	for i := range change.Nodes {
		p := change.EffectiveParent(i)
		switch {
		case p.Kind != chainstore.ParentID && p.Kind != chainstore.ParentAlias:
		case p.Kind == chainstore.ParentID && s.committer.nodes.has(nodeKey{ns, p.ID}):
		case ctx.Err() != nil:
			return
		default:
			_ = s.read(ctx, namespace, func(v *view) error { return v.readParent(chainstore.Ref{ID: p.ID, Alias: p.Alias}) })
		}
	}
}

// readParent reads a node that the committer does not keep into its cache.
func (v *view) readParent(ref chainstore.Ref) error {
	at, err := v.resolve(ref)
	if err != nil || v.s.committer.nodes.hasAt(nodePlace{v.ns, at}) {
		return err
	}
	h, err := v.header(at)
	if err != nil {
		return err
	}
	n := knownOf(v.ns, at, h)
	if err := v.readPath(n); err != nil {
		return err
	}
	v.s.committer.nodes.offer(n)
	return nil
}

// readPath reads what it takes to continue a chain of which only the end's header is known, but for whether it was continued.
func (v *view) readPath(n *known) (err error) {
	if n.lineage, err = v.lineage(n.at, n.forks); err != nil {
		return err
	}
	return v.readTables(n)
}
