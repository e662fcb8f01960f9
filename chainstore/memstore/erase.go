package memstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Erase takes the content of nodes away; see chainstore.Eraser.
func (s *Store) Erase(ctx context.Context, name string, nodes []chainstore.ErasedNode) (erased int, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if len(nodes) > chainstore.MaxErased {
		return 0, chainstore.ErrTooLarge
	}
	e := newErasing(ns, s.point+1)
	for i := range nodes {
		n := ns.nodes[nodes[i].ID]
		if n == nil {
			return 0, &chainstore.MissingError{Err: chainstore.ErrNodeNotFound, Index: i}
		}
		if err := e.erase(n, &nodes[i]); err != nil {
			return 0, err
		}
	}
	if len(e.left) > 0 {
		s.point++
		e.apply(s.millis())
	}
	return len(e.left), nil
}

// EraseLabels takes the labels from aliases; see chainstore.Eraser.
func (s *Store) EraseLabels(ctx context.Context, name string, names []string) (had int, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if len(names) > chainstore.MaxErased {
		return 0, chainstore.ErrTooLarge
	}
	change := &chainstore.Change{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if a := ns.aliases[name]; a != nil && len(a.labels) > 0 {
			change.Aliases = append(change.Aliases, chainstore.AliasChange{
				Name: name, Target: chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{Alias: name}}, SetLabels: true,
			})
		}
	}
	if len(change.Aliases) == 0 {
		return 0, nil
	}
	_, err = s.apply(name, ns, change)
	return len(change.Aliases), err
}

// Receipt looks it up; see chainstore.Eraser.
func (s *Store) Receipt(ctx context.Context, name string, id chainstore.ID) (out chainstore.Receipt, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return out, err
	}
	defer unlock()
	receipt, ok := ns.receipts[id]
	if !ok {
		return out, chainstore.ErrNotErased
	}
	return chainstore.Receipt{Bytes: slices.Clone(receipt.bytes), PurgedAt: receipt.at}, nil
}

// Purging is never of anything: what is erased is gone at once.
func (s *Store) Purging(ctx context.Context) (none chainstore.Purging, err error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return none, err
	}
	unlock()
	return none, nil
}

// SigningKey draws it where there is none; see chainstore.Eraser.
func (s *Store) SigningKey(ctx context.Context) (seed chainstore.Secret, err error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return seed, err
	}
	defer unlock()
	if s.signing == (chainstore.Secret{}) {
		_, _ = rand.Read(s.signing[:]) // it ends the program where it cannot
	}
	return s.signing, nil
}

// Erasures tells them; see chainstore.Eraser.
func (s *Store) Erasures(ctx context.Context, name string) (uint64, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return ns.erasures, nil
}

// erasing are erasures under way. They change nothing before apply.
type erasing struct {
	ns    *namespace
	point chainstore.Point
	// left is what is to be left of nodes, receipts those to be written, of nodes that are put as erased, too.
	left     map[*node]*left
	receipts map[chainstore.ID][]byte
}

// left is what an erasure leaves of a node.
type left struct {
	header  *chainstore.Header
	payload []byte
	facts   []runloop.Facts
}

func newErasing(ns *namespace, point chainstore.Point) *erasing {
	return &erasing{ns: ns, point: point, left: map[*node]*left{}, receipts: map[chainstore.ID][]byte{}}
}

// put judges a node of a change, which is there as n, or nil: an ErasedError where it was erased and is put as it was, or where it was erased again
// since it was exported, and collected.
func (e *erasing) put(i int, in *chainstore.NewNode, id chainstore.ID, n *node) error {
	receipt, ok := e.receipts[id]
	if !ok {
		was, there := e.ns.receipts[id]
		receipt, ok = was.bytes, there
	}
	switch {
	case ok && (in.Erased == nil || n == nil && !bytes.Equal(receipt, in.Receipt)):
		return &chainstore.ErasedError{Index: i, ID: id, Receipt: slices.Clone(receipt)}
	case in.Erased == nil:
		return nil
	case n == nil:
		e.receipts[id] = slices.Clone(in.Receipt)
		return nil
	default:
		return e.erase(n, in.ErasedHere(id))
	}
}

// erase plans to erase a node: ErrBadErasure.
func (e *erasing) erase(n *node, in *chainstore.ErasedNode) error {
	was := e.left[n]
	if was == nil {
		was = &left{n.header, n.payload, n.facts}
	}
	h, payload, err := in.Over(was.header, was.payload)
	if err != nil || h == nil {
		return err
	}
	facts := slices.Clone(was.facts)
	for i := range facts {
		if m := &h.Messages[i]; m.Was > 0 && facts[i].Was == 0 {
			facts[i] = copyFacts(in.Facts[i : i+1])[0]
			facts[i].Note, facts[i].Was = m.Note, int(m.Was)
		}
	}
	e.left[n], e.receipts[in.ID] = &left{h, payload, facts}, slices.Clone(in.Receipt)
	return nil
}

func (e *erasing) apply(now int64) {
	for n, l := range e.left {
		n.header, n.payload, n.facts, n.metadata, n.details = l.header, l.payload, l.facts, nil, nil
		n.raw, n.erased = chainstore.AppendHeader(nil, n.header), e.point
	}
	for id, given := range e.receipts {
		e.ns.receipts[id] = receipt{given, now, e.point}
	}
	if len(e.receipts) > 0 {
		e.ns.erasures = chainstore.NextErasures(e.ns.erasures, now, uint64(e.point))
	}
}
