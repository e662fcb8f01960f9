package storetest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"pgregory.net/rapid"
)

// erasesLikeTheModel runs random programs that erase often.
func erasesLikeTheModel(f *fixture) { randomPrograms(f, (*program).eraseStep) }

func (p *program) eraseStep(rt *rapid.T) error {
	switch roll(rt, 10, "what") {
	case 0:
		p.later(rt)
		return nil
	case 1, 2, 3:
		return p.erase(rt)
	case 4:
		return p.collect(rt)
	case 5:
		if p.last != nil { // again
			return p.commit(p.last)
		}
	case 7:
		return p.keep(rt)
	case 6:
		if p.batcher != nil {
			return p.together(rt)
		}
	}
	p.last = p.change(rt)
	return p.commit(p.last)
}

// erase erases some nodes in both, and compares what becomes of that and what is left.
func (p *program) erase(rt *rapid.T) error {
	if p.f.skips(Erase) || len(p.ids) == 0 {
		return nil
	}
	nodes := p.erasures(rt)
	want, wantErr := p.model.Erase(p.f.ctx(), p.f.ns, nodes)
	if err := p.eraseLike(nodes, want, wantErr); err != nil {
		return err
	}
	return p.compare(p.ids)
}

// eraseLike erases in the store what was erased in the model.
func (p *program) eraseLike(nodes []chainstore.ErasedNode, want int, wantErr error) error {
	got, err := p.store.Erase(p.f.ctx(), p.f.ns, nodes)
	if err := errors.Join(sameError(err, wantErr)); err != nil {
		return fmt.Errorf("an erasure: %w", err)
	}
	if got != want {
		return fmt.Errorf("%d nodes were erased, want %d", got, want)
	}
	if err != nil {
		return nil //nolint:nilerr // it is the model's
	}
	return p.isLeft(nodes)
}

// isLeft asserts that of nodes there is what was to be left of them.
func (p *program) isLeft(nodes []chainstore.ErasedNode) error {
	for i := range nodes {
		n := &nodes[i]
		err := p.store.Nodes(p.f.ctx(), p.f.ns, []chainstore.ID{n.ID}, func(found *chainstore.FoundNode) error {
			h := found.Header
			if h.Erased == nil || len(h.Salt)+len(found.Metadata)+len(found.Details) > 0 || !h.Covers.Present && !bytes.Equal(found.Payload, n.Payload) {
				return fmt.Errorf("of node %v, which was erased, there is left %+v", n.ID, found)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// erasures are erasures of nodes, mostly such as are there, as the model has them. Of compaction nodes some messages are erased.
func (p *program) erasures(rt *rapid.T) (nodes []chainstore.ErasedNode) {
	for range 1 + roll(rt, 3, "erasures") {
		id := p.id(rt)
		found := false
		p.f.ok(p.model.Nodes(p.f.ctx(), p.f.ns, []chainstore.ID{id}, func(n *chainstore.FoundNode) error {
			found = true
			erased := all
			if n.Header.Covers.Present {
				erased = func(int) bool { return rapid.Bool().Draw(rt, "erases") }
			}
			nodes = append(nodes, p.f.cfg.Encoding.Erase(n.Header, n.Payload, n.Metadata, erased))
			nodes[len(nodes)-1].Receipt = []byte{byte(roll(rt, 250, "receipt"))}
			return nil
		}))
		if !found && roll(rt, 3, "of none") == 0 {
			nodes = append(nodes, chainstore.ErasedNode{ID: id})
		}
	}
	return nodes
}
