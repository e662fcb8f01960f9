package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// reportEvery is the nodes between two reports of Verify.
const reportEvery = 1000

// Verify recomputes every node and looks at every alias; see chainstore.Verifier.
func (s *Store) Verify(ctx context.Context, name string, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	v := &verification{judge: judge, deliver: report}
	if err := s.verify(ctx, name, v); err != nil {
		return err
	}
	return v.flush()
}

// VerifyStore is Verify of every namespace, in the order of their names; see chainstore.Verifier. There are no files.
func (s *Store) VerifyStore(ctx context.Context, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	v := &verification{judge: judge, deliver: report}
	for _, name := range names {
		if err := s.verify(ctx, name, v); err != nil {
			return err
		}
		if v.report.Namespaces++; len(v.report.Problems) > 0 || v.report.Namespaces%reportEvery == 0 {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	v.report.Namespace = ""
	return v.flush()
}

// names are those of the namespaces, in order.
func (s *Store) names(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, chainstore.ErrClosed
	}
	return slices.Sorted(maps.Keys(s.namespaces)), nil
}

func (s *Store) verify(ctx context.Context, name string, v *verification) error {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	nodes, dangling, states, astray := slices.Clone(ns.order), 0, int64(0), 0
	for _, a := range ns.aliases {
		if !a.grows() {
			astray++
		}
		for _, st := range a.states {
			states++
			if !st.Deleted && ns.nodes[st.Node] == nil {
				dangling++
			}
		}
	}
	unlock()
	v.report.Namespace, v.children = name, map[*node]bool{}
	for i, n := range nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.node(n)
		if (i+1)%reportEvery == 0 {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	v.report.Entries += states
	for range astray {
		v.problem(nil, "the revisions of an alias do not grow from state to state")
	}
	for range dangling {
		v.problem(nil, "an alias state names a node that is not there")
	}
	return nil
}

// grows tells whether revisions grow from state to state, up to the alias's.
func (a *alias) grows() bool {
	last := int64(0)
	for _, st := range a.states {
		if st.Revision <= last {
			return false
		}
		last = st.Revision
	}
	return a.revision >= last
}

type verification struct {
	judge    chainstore.Judge
	deliver  func(chainstore.VerifyReport) error
	children map[*node]bool // parents in the namespace that had a child before
	report   chainstore.VerifyReport
}

func (v *verification) flush() error {
	out := v.report
	v.report.Problems = nil
	return v.deliver(out)
}

func (v *verification) problem(n *node, what string) {
	p := chainstore.Problem{Namespace: v.report.Namespace, What: what}
	if n != nil {
		p.HasNode, p.Node = true, n.id()
	}
	v.report.Problems = append(v.report.Problems, p)
}

func (v *verification) node(n *node) {
	v.report.Nodes++
	fork := n.parent != nil && v.children[n.parent]
	v.children[n.parent] = true
	found, err := v.judge(n.header, n.payload, n.metadata, idOf(n.parent), idOf(n.covers))
	if err != nil {
		v.problem(n, err.Error())
		return
	}
	if found.ID != n.id() {
		v.problem(n, "the bytes give another id")
	}
	if len(found.Messages) != len(n.header.Messages) {
		v.problem(n, "the header has another number of messages")
		return
	}
	if _, err := chainstore.DecodeDetails(n.details, len(n.header.Messages)); err != nil {
		v.problem(n, "the details of the messages are damaged")
	}
	if n.compaction != nil && len(n.compaction.Provenance) != len(n.facts) {
		v.problem(n, "a compaction node does not tell where each of its messages was put")
		return
	}
	again := *n
	again.facts, again.variables, again.outcome = withNotes(found.Messages, n.facts), found.Variables, found.Outcome
	old := n.header
	h := &chainstore.Header{ID: old.ID, FirstPut: old.FirstPut, Salt: old.Salt, SpawnedFrom: old.SpawnedFrom}
	if err := again.derive(h, fork); err != nil {
		v.problem(n, err.Error())
	} else if !bytes.Equal(chainstore.AppendHeader(nil, h), n.raw) {
		v.problem(n, "the header differs from what follows from the bytes and the parent")
	}
}

// withNotes is what the bytes tell of the messages, with the notes that only the store knows.
func withNotes(found, stored []runloop.Facts) []runloop.Facts {
	out := slices.Clone(found)
	for i := range out {
		out[i].Note = stored[i].Note
	}
	return out
}
