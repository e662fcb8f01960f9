package memstore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Find looks at every id; see chainstore.TreeReader.
func (s *Store) Find(ctx context.Context, name, prefix string, limit int) ([]chainstore.ID, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var ids []chainstore.ID
	for id := range ns.nodes {
		if strings.HasPrefix(id.String(), prefix) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b chainstore.ID) int { return bytes.Compare(a[:], b[:]) })
	return first(ids, limit), nil
}

func first[T any](all []T, limit int) []T { return all[:min(len(all), max(limit, 0))] }

// Nodes looks each up; see chainstore.TreeReader.
func (s *Store) Nodes(ctx context.Context, name string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	found, err := s.nodes(ctx, name, ids)
	if err != nil {
		return err
	}
	for i := range found {
		if err := yield(&found[i]); err != nil {
			return err
		}
	}
	return nil
}

// nodes are those that are there, in the order of their ids as given.
func (s *Store) nodes(ctx context.Context, name string, ids []chainstore.ID) (found []chainstore.FoundNode, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, id := range ids {
		n := ns.nodes[id]
		if n == nil {
			continue
		}
		found = append(found, chainstore.FoundNode{
			Row:    chainstore.Row{Raw: n.raw, Seq: n.header.Seq, Payload: n.payload, Metadata: n.metadata, Details: n.details},
			Header: n.header, Parent: idOf(n.parent), Covers: idOf(n.covers),
		})
	}
	return found, nil
}

// Children looks at every node; see chainstore.TreeReader.
func (s *Store) Children(ctx context.Context, name string, ref chainstore.Ref, after *chainstore.ID, limit int) ([]*chainstore.Header, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	parent, err := ns.find(ref)
	if err != nil {
		return nil, err
	}
	var children []*chainstore.Header
	begun := after == nil
	for _, n := range ns.order {
		switch {
		case n.parent != parent:
		case begun:
			children = append(children, n.header)
		default:
			begun = n.id() == *after
		}
	}
	if !begun {
		return nil, chainstore.ErrNodeNotFound
	}
	return first(children, limit), nil
}

// Descendants looks at every node; see chainstore.TreeReader.
func (s *Store) Descendants(ctx context.Context, name string, id chainstore.ID, yield func(*chainstore.Header) error) error {
	headers, err := s.descendants(ctx, name, id)
	for _, h := range headers {
		if err := yield(h); err != nil {
			return err
		}
	}
	return err
}

func (s *Store) descendants(ctx context.Context, name string, id chainstore.ID) (headers []*chainstore.Header, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	top := ns.nodes[id]
	if top == nil {
		return nil, chainstore.ErrNodeNotFound
	}
	below := map[*node]bool{top: true}
	for _, n := range ns.order {
		if below[n.parent] {
			below[n] = true
			headers = append(headers, n.header)
		}
	}
	return headers, nil
}

// Calls looks at every message of the path; see chainstore.Chain.
func (p *path) Calls(ctx context.Context, id runloop.Optional, through uint32, limit int) ([]chainstore.CallPlace, error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var places []chainstore.CallPlace
	for _, n := range slices.Backward(p.nodes) {
		if messages := n.callMessages(id); n.header.Seq <= through && len(messages) > 0 {
			places = append(places, chainstore.CallPlace{Header: n.header, Messages: messages})
		}
	}
	return first(places, limit), nil
}

// WithCalls looks at every message of the path; see chainstore.Chain.
func (p *path) WithCalls(ctx context.Context, through uint32, limit int) ([]chainstore.CallNode, error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var nodes []chainstore.CallNode
	for i, n := range slices.Backward(p.nodes) {
		if !n.calls() || n.header.Seq > through {
			continue
		}
		found := chainstore.CallNode{Header: n.header}
		if i > 0 {
			found.Before = p.nodes[i-1].header
		}
		nodes = append(nodes, found)
	}
	return first(nodes, limit), nil
}

func (n *node) callMessages(id runloop.Optional) []chainstore.CallMessage {
	var out []chainstore.CallMessage
	for i, f := range n.put() {
		result := f.Role == runloop.Tool && f.CallID == id
		if result || slices.ContainsFunc(f.Calls, func(c runloop.Call) bool { return c.ID == id }) {
			leftOut := n.header.Messages[i].Mark.LeftOut != runloop.Shown
			out = append(out, chainstore.CallMessage{Index: uint32(i), Result: result, LeftOut: leftOut})
		}
	}
	return out
}

// Tables counts along the path; see chainstore.Chain.
func (p *path) Tables(ctx context.Context) (t chainstore.Tables, err error) {
	_, unlock, err := p.read(ctx)
	if err != nil {
		return t, err
	}
	defer unlock()
	for _, n := range p.nodes {
		for _, f := range n.put() {
			for _, c := range f.Calls {
				countTool(&t, c.Name)
			}
		}
		changeVariables(&t, n.variables, n.header.Seq)
	}
	return t, nil
}

func countTool(t *chainstore.Tables, name runloop.Optional) {
	size := len(name.Value)
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			t.Tools[i].Calls++
			return
		}
		size += len(t.Tools[i].Name.Value)
	}
	if len(t.Tools) == chainstore.MaxTableEntries || size > chainstore.MaxTableBytes {
		t.OtherCalls++
		return
	}
	t.Tools = append(t.Tools, chainstore.ToolCount{Name: name, Calls: 1})
}

func changeVariables(t *chainstore.Tables, changes []runloop.VariableChange, seq uint32) {
	for _, c := range changes {
		t.Variables = slices.DeleteFunc(t.Variables, func(v chainstore.Variable) bool { return v.Name == c.Name })
		if !c.Unset {
			t.Variables = append(t.Variables, chainstore.Variable{Name: c.Name, Seq: seq})
		}
	}
	size := 0
	for i := len(t.Variables) - 1; i >= 0; i-- {
		size += len(t.Variables[i].Name)
		if len(t.Variables)-i > chainstore.MaxTableEntries || size > chainstore.MaxTableBytes {
			t.Variables = t.Variables[i+1:]
			return
		}
	}
}
