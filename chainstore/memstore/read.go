package memstore

import (
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// path is a chain: its nodes from the root on.
type path struct {
	store *Store
	// namespace is that of the nodes.
	namespace *namespace
	nodes     []*node
	// head and compaction are the headers of the last node and of the last compaction node as they were when it was found.
	head, compaction *chainstore.Header
	after            uint32
}

// Chain finds a head; see chainstore.ChainReader.
func (s *Store) Chain(ctx context.Context, name string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := s.path(ns, head)
	if err != nil {
		return nil, err
	}
	if after == nil {
		return p, nil
	}
	a := ns.nodes[*after]
	if a == nil {
		return nil, chainstore.ErrAfterNotFound
	}
	p.after = a.header.Seq
	if int(p.after) >= len(p.nodes) || p.nodes[p.after] != a {
		return nil, chainstore.ErrNotAncestor
	}
	return p, nil
}

// ChainNamed looks at every alias; see chainstore.ChainReader.
func (s *Store) ChainNamed(ctx context.Context, name string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, nil, false, err
	}
	defer unlock()
	p, err := s.path(ns, head)
	if err != nil {
		return nil, nil, false, err
	}
	names := ns.aliasesOf(p.Head().ID)
	return p, first(names, limit), len(names) > limit, nil
}

func (s *Store) path(ns *namespace, head chainstore.Ref) (*path, error) {
	n, err := ns.find(head)
	if err != nil {
		return nil, err
	}
	p := &path{store: s, namespace: ns, nodes: n.path(), head: n.header}
	for m := n; m != nil && p.compaction == nil; m = m.parent {
		if m.compaction != nil {
			p.compaction = m.header
		}
	}
	return p, nil
}

// path is the way from the root to n.
func (n *node) path() []*node {
	nodes := make([]*node, n.header.Seq+1)
	for i := n.header.Seq; n != nil; i, n = i-1, n.parent {
		nodes[i] = n
	}
	return nodes
}

// read locks the store and returns the namespace: ErrNodeNotFound where that was deleted.
func (p *path) read(ctx context.Context) (*namespace, func(), error) {
	_, unlock, err := p.store.read(ctx, "")
	if err == nil && p.namespace.gone {
		unlock()
		err = chainstore.ErrNodeNotFound
	}
	if err != nil {
		return nil, nil, err
	}
	return p.namespace, unlock, nil
}

func (p *path) Head() *chainstore.Header { return p.head }

func (p *path) After() uint32 { return p.after }

// Runs walks back along the path; see chainstore.Chain.
func (p *path) Runs(limit int) (runs []chainstore.Run) {
	for i := len(p.nodes) - 1; i >= 0; i-- {
		n, last := p.nodes[i], len(runs)-1
		switch {
		case last >= 0 && runs[last].Key == n.run:
			runs[last].From = uint32(i)
		case len(runs) >= limit:
			return runs
		default:
			runs = append(runs, chainstore.Run{Key: n.run, From: uint32(i), Through: uint32(i)})
		}
	}
	return runs
}

// Compaction is the last compaction node of the path; see chainstore.Chain.
func (p *path) Compaction() *chainstore.Header { return p.compaction }

// Compactions walks back along the path; see chainstore.Chain.
func (p *path) Compactions(ctx context.Context, limit int) (headers []*chainstore.Header, more bool, err error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	for _, n := range slices.Backward(p.nodes) {
		if n.header.Covers.Present {
			headers = append(headers, n.header)
		}
	}
	return first(headers, limit), len(headers) > max(limit, 0), nil
}

// Headers are those of the path; see chainstore.Chain.
func (p *path) Headers(ctx context.Context, seqs ...uint32) (headers []*chainstore.Header, err error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, seq := range seqs {
		if int(seq) >= len(p.nodes) {
			return nil, chainstore.NoRow(seq)
		}
		headers = append(headers, p.nodes[seq].header)
	}
	return headers, nil
}

// FirstWhere looks at every node; see chainstore.Chain.
func (p *path) FirstWhere(ctx context.Context, from uint32, bounds chainstore.Bounds) (before, first *chainstore.Header, err error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	for i := int(from); i < len(p.nodes); i++ {
		switch h := p.nodes[i].header; {
		case !bounds.Met(bounds.View(&h.State)):
			before = h
		case before == nil:
			return nil, nil, nil
		default:
			return before, h, nil
		}
	}
	return nil, nil, nil
}

// Rows yields what is in memory and holds nothing; see chainstore.Chain.
func (p *path) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return err
	}
	unlock()
	for i := range spans {
		if err := p.rows(ctx, &spans[i], yield); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *path) rows(ctx context.Context, span *chainstore.Span, yield func(*chainstore.Row) error) error {
	for seq := span.From; seq <= span.Through && int(seq) < len(p.nodes); seq++ {
		_, unlock, err := p.read(ctx)
		if err != nil {
			return err
		}
		n := p.nodes[seq]
		row := chainstore.Row{Raw: n.raw, Seq: seq}
		if !span.HeadersOnly {
			row.Payload, row.Metadata, row.Details = n.payload, n.metadata, n.details
		}
		unlock()
		if err := yield(&row); err != nil {
			return err
		}
	}
	return nil
}

// Spawned looks at every node; see chainstore.Chain.
func (p *path) Spawned(ctx context.Context, limit int) (headers []*chainstore.Header, more bool, err error) {
	ns, unlock, err := p.read(ctx)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	chosen, more := p.spawned(ns, min(limit, chainstore.SpawnedReach))
	for _, n := range ns.order {
		if slices.Contains(chosen, n) {
			headers = append(headers, n.header)
		}
	}
	chainstore.SortByFirstPut(headers)
	return headers, more, nil
}

// spawned goes back along the path, and chooses of what its nodes spawned.
func (p *path) spawned(ns *namespace, limit int) (chosen []*node, more bool) {
	spawned := map[chainstore.ID][]*node{}
	for _, n := range ns.order {
		if from := n.header.SpawnedFrom; from != nil {
			spawned[from.Node] = append(spawned[from.Node], n)
		}
	}
	reach, run := chainstore.SpawnedReach, uint64(0)
	for _, spawner := range slices.Backward(p.nodes) {
		if spawner.run != run {
			run = spawner.run
			if reach--; reach < 0 {
				return chosen, true
			}
		}
		for _, n := range spawned[spawner.id()] {
			if seq := int(n.header.Seq); seq < len(p.nodes) && p.nodes[seq] == n {
				reach--
			} else {
				chosen = append(chosen, n)
			}
			if reach < 0 || len(chosen) > limit {
				return first(chosen, limit), true
			}
		}
	}
	return chosen, false
}

// SpawnDepth walks to each spawner; see chainstore.Chain.
func (p *path) SpawnDepth(ctx context.Context, limit int) (depth int, more bool, err error) {
	ns, unlock, err := p.read(ctx)
	if err != nil {
		return 0, false, err
	}
	defer unlock()
	for n := p.nodes[len(p.nodes)-1]; ; depth++ {
		if n = n.spawned(); n == nil || depth == limit {
			return depth, n != nil, nil
		}
		n = ns.nodes[n.header.SpawnedFrom.Node]
	}
}

// spawned is the nearest node, this one included, that was spawned; nil without one, and of no node.
func (n *node) spawned() *node {
	for n != nil && n.header.SpawnedFrom == nil {
		n = n.parent
	}
	return n
}
