package providerjson

import (
	"bytes"
	"encoding/json"
)

// Node is a JSON value to be written: an object, a list, or a text ready to write.
type Node struct {
	raw     []byte
	items   []*Node
	members []nodeMember
	kind    Kind
}

type nodeMember struct {
	name string
	node *Node
}

// Raw is a JSON text, written as it is. It is borrowed until the node was written.
func Raw[T string | []byte](text T) *Node { return &Node{raw: []byte(text)} }

// Text is a string.
func Text(s string) *Node {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string always encodes
		return Raw(`""`)
	}
	return Raw(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// NewObject is an object without members.
func NewObject() *Node { return &Node{kind: Object} }

// NewList is a list of the items.
func NewList(items ...*Node) *Node { return &Node{kind: List, items: items} }

// Add appends an item to a list.
func (n *Node) Add(item *Node) { n.items = append(n.items, item) }

// Len is the number of a list's items or an object's members.
func (n *Node) Len() int { return len(n.items) + len(n.members) }

// Set adds a member to an object, or replaces it, and returns the object.
func (n *Node) Set(name string, value *Node) *Node {
	for i := range n.members {
		if n.members[i].name == name {
			n.members[i].node = value
			return n
		}
	}
	n.members = append(n.members, nodeMember{name, value})
	return n
}

// Get returns a member of an object, or nil.
func (n *Node) Get(name string) *Node {
	for _, m := range n.members {
		if m.name == name {
			return m.node
		}
	}
	return nil
}

// Merge adds the members of extras that the object has not. Where both have an object, these are merged likewise;
// where both have something else, the object's stays. The members that extras has come last, in its order, so that
// taking the others out gives extras again.
func (n *Node) Merge(extras *Value) {
	if extras == nil {
		return
	}
	var own, shared []nodeMember
	for _, m := range n.members {
		if extras.Member(m.name) == nil {
			own = append(own, m)
		}
	}
	for _, m := range extras.Members {
		have := n.Get(m.Name)
		if have == nil {
			have = Raw(m.Value.Source)
		} else if have.kind == Object && m.Value.Kind == Object {
			have.Merge(m.Value)
		}
		shared = append(shared, nodeMember{m.Name, have})
	}
	n.members = append(own, shared...)
}

// Append appends the node as JSON without white space of its own.
func (n *Node) Append(dst []byte) []byte {
	switch n.kind {
	case Object:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(Text(m.name).Append(dst), ':')
			dst = m.node.Append(dst)
		}
		return append(dst, '}')
	case List:
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.Append(dst)
		}
		return append(dst, ']')
	default:
	}
	return append(dst, n.raw...)
}
