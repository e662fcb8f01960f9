package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

// ahead is what a caller found out about a node of its change before the change waits.
type ahead struct {
	// parent is where the node lies that it took for the parent: an alias may be moved.
	parent chainstore.Place
	// called tells of the node's call ids whether that or an ancestor of it has a call, as in earlierCalls.
	called map[callKey]bool
}

// readAhead reads the parents of a change that the committer does not keep into its cache, and finds out which calls the ancestors of
// its nodes have, so that callers, of whom there are many, spend the time for it, and not the one goroutine that commits: what was
// not used lately has to be decompressed from tables, which takes several times as long as all else that a put does there, and to
// wait for one's turn on a busy processor each time takes longer still. What it reads never changes. What it cannot read it leaves
// to the committer, which judges.
func (s *Store) readAhead(ctx context.Context, namespace string, change *chainstore.Change) map[*chainstore.NewNode]*ahead {
	ns, known := s.names.get(namespace, s.reads.last())
	if !known {
		return nil
	}
	var found map[*chainstore.NewNode]*ahead
	for i := range change.Nodes {
		p, in := change.EffectiveParent(i), &change.Nodes[i]
		if p.Kind != chainstore.ParentID && p.Kind != chainstore.ParentAlias {
			continue
		}
		parent := s.keptParent(ns, p)
		a, told := s.lookAhead(in, parent)
		if !told {
			if a, told = s.readBehind(ctx, namespace, in, p, parent); !told {
				break
			}
		}
		if a != nil {
			if found == nil {
				found = map[*chainstore.NewNode]*ahead{}
			}
			found[in] = a
		}
	}
	return found
}

// keptParent is a parent that is known from memory with its path; nil: it is not. Readers see it.
func (s *Store) keptParent(ns uint32, p chainstore.Parent) (n *known) {
	if p.Kind == chainstore.ParentID {
		n = s.committer.nodes.look(nodeKey{ns, p.ID})
	} else if at, ok := s.aliases.get(ns, p.Alias, s.reads.last()); ok {
		n = s.committer.nodes.lookAt(nodePlace{ns, at})
	}
	if n == nil || n.lineage == nil {
		return nil
	}
	return n
}

// lookAhead finds out about a node what can be told from memory; false where there is something to read. Of a node that is there
// already nobody asks.
func (s *Store) lookAhead(in *chainstore.NewNode, parent *known) (a *ahead, told bool) {
	if parent == nil {
		return nil, false
	}
	e := &earlierCalls{parent: parent, node: in.Messages, kept: s.committer.calls}
	if a, told = e.find(in); told {
		return a, true
	}
	return nil, s.committer.nodes.look(nodeKey{parent.ns, in.Identify(&parent.id)}) != nil
}

// readBehind reads the parent, unless it is given, and finds out about a node with the database. It does so once there is a place:
// there are twice as many as processors, and so many decompress at once. With more callers at it those and the committer would wait
// for each other. False where there was no time left for it.
func (s *Store) readBehind(
	ctx context.Context, namespace string, in *chainstore.NewNode, p chainstore.Parent, parent *known,
) (a *ahead, told bool) {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	if s.committer.reading.Acquire(early, 1) != nil {
		return nil, false
	}
	defer s.committer.reading.Release(1)
	_ = s.read(ctx, namespace, func(v *view) (err error) {
		if parent == nil {
			if parent, err = v.readParent(chainstore.Ref{ID: p.ID, Alias: p.Alias}); err != nil {
				return err
			}
		}
		e := &earlierCalls{v: v, parent: parent, node: in.Messages, kept: s.committer.calls}
		a, _ = e.find(in)
		return e.failed
	})
	return a, true
}

// readParent reads a node into the committer's cache, as of the view: what is kept there may be newer by now.
func (v *view) readParent(ref chainstore.Ref) (*known, error) {
	at, err := v.resolve(ref)
	if err != nil {
		return nil, err
	}
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
