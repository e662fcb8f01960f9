package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// readAhead reads the parents of a change that the committer does not keep into its cache, and finds out which calls the ancestors of
// its nodes have, so that callers, of whom there are many, spend the time for it, and not the one goroutine that commits: what was
// not used lately has to be decompressed from tables, which takes several times as long as all else that a put does there, and to
// wait for one's turn on a busy processor each time takes longer still. What it reads never changes. What it cannot read it leaves
// to the committer, which judges.
func (s *Store) readAhead(ctx context.Context, namespace string, change *chainstore.Change) map[*chainstore.NewNode]*earlierCalls {
	ns, known := s.names.get(namespace)
	if !known {
		return nil
	}
	var found map[*chainstore.NewNode]*earlierCalls
	for i := range change.Nodes {
		p, in := change.EffectiveParent(i), &change.Nodes[i]
		if p.Kind != chainstore.ParentID && p.Kind != chainstore.ParentAlias {
			continue
		}
		calls := &earlierCalls{node: in.Messages, kept: s.committer.calls}
		if p.Kind == chainstore.ParentID {
			calls.parent = s.committer.nodes.look(nodeKey{ns, p.ID})
		}
		if !calls.tell() {
			if !s.mayRead(ctx) {
				break
			}
			_ = s.read(ctx, namespace, func(v *view) error { return v.readCalls(chainstore.Ref{ID: p.ID, Alias: p.Alias}, calls) })
			s.committer.reading.Release(1)
		}
		if calls.called != nil {
			if found == nil {
				found = map[*chainstore.NewNode]*earlierCalls{}
			}
			found[in] = calls
		}
	}
	return found
}

// mayRead waits for one of the few places to read ahead: as many callers as decompress at once, and as many that are about to. With
// more of them, those and the committer would wait for each other to decompress. False where there is no time left for it.
func (s *Store) mayRead(ctx context.Context) bool {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	return s.committer.reading.Acquire(early, 1) == nil
}

// tell finds out which calls the ancestors have, if that can be told and anybody will ask; false where something is to be read.
func (e *earlierCalls) tell() bool {
	switch {
	case !e.knows():
		return false
	case e.parent.tools.Present && hasCallIDs(e.node):
		return e.search()
	default:
		return true
	}
}

// knows tells whether the parent and its path are known.
func (e *earlierCalls) knows() bool { return e.parent != nil && e.parent.lineage != nil }

// readCalls reads a parent that the committer does not keep into its cache, and finds out which calls are on its path.
func (v *view) readCalls(ref chainstore.Ref, calls *earlierCalls) (err error) {
	calls.v = v
	if !calls.knows() {
		if calls.parent, err = v.parent(ref); err != nil {
			return err
		}
	}
	calls.tell()
	return calls.failed
}

// parent is a node that the committer keeps, or is read into its cache.
func (v *view) parent(ref chainstore.Ref) (*known, error) {
	at, err := v.resolve(ref)
	if err != nil {
		return nil, err
	}
	if n := v.s.committer.nodes.lookAt(nodePlace{v.ns, at}); n != nil && n.lineage != nil {
		return n, nil
	}
	return v.readParent(at)
}

// readParent reads a node that the committer does not keep into its cache.
func (v *view) readParent(at place) (*known, error) {
	h, err := v.header(at)
	if err != nil {
		return nil, err
	}
	n := knownOf(v.ns, at, h)
	if err := v.readPath(n); err != nil {
		return nil, err
	}
	v.s.committer.nodes.offer(n)
	return n, nil
}

// readPath reads what it takes to continue a chain of which only the end's header is known, but for whether it was continued.
func (v *view) readPath(n *known) (err error) {
	if n.lineage, err = v.lineage(n.at, n.forks); err != nil {
		return err
	}
	return v.readTables(n)
}
