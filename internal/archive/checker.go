package archive

import (
	"cmp"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Checker judges the records of an archive, in their order: that each node is what its id is the hash of, that what it names stands before it,
// and that aliases point to nodes. It holds some 100 bytes for each node. What it finds is an error with ErrBroken.
type Checker struct {
	// partial says that the archive goes on from another one, whose nodes are not known.
	partial    bool
	known      map[[32]byte]bool
	namespaces map[string]*checked
	now        *checked // of the namespace of the records
	// namespacesSeen counts the namespaces, one of a name that was begun anew as another.
	namespacesSeen int
	heads          [][]byte
	// bundle says that there is one namespace.
	bundle bool
}

// checked is what stands of a namespace.
type checked struct {
	// nodes are numbered in their order; parents has the number of each one's parent, noParent or unknownParent.
	nodes   map[[32]byte]int32
	parents []int32
	// names are the aliases of the archive.
	names map[string]bool
	// Namespace says which it is, and listed that the archive has named it.
	Namespace
	listed bool
}

// Namespace is one of those that archives have.
type Namespace struct {
	// Which tells it from the others of a Chain, from 1 on, also from those of the same name.
	Which int
	// Number is what the archive says; 0: not known.
	Number int64
}

// Is tells whether a namespace of the same name, in another archive of the store, may be this one, by the numbers.
func (n Namespace) Is(number int64) bool { return n.Number == 0 || number == 0 || n.Number == number }

const noParent, unknownParent = -1, -2

func (n *checked) has(id [32]byte) bool {
	_, has := n.nodes[id]
	return has
}

// add adds a node.
func (n *checked) add(id [32]byte, parent *[32]byte) {
	if n.has(id) {
		return
	}
	at := int32(noParent)
	if parent != nil {
		var is bool
		if at, is = n.nodes[*parent]; !is {
			at = unknownParent
		}
	}
	n.nodes[id] = int32(len(n.parents))
	n.parents = append(n.parents, at)
}

// leads tells whether a node is another one or an ancestor of it, as far as is known.
func (n *checked) leads(from, to [32]byte) bool {
	first, is := n.nodes[from]
	at, both := n.nodes[to]
	if !is || !both {
		return true
	}
	for at > first { // a parent has a lower number than its child
		at = n.parents[at]
	}
	return at == first || at == unknownParent
}

// NewChecker judges the records behind a header.
func NewChecker(header *transcriptv1.ArchiveHeader) (*Checker, error) {
	c := &Checker{
		partial: len(header.GetSince()) > 0 || len(header.GetContinues()) > 0, heads: header.GetHeads(),
		bundle: header.GetKind() == transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE,
		known:  map[[32]byte]bool{}, namespaces: map[string]*checked{},
	}
	for _, id := range header.GetKnown() {
		k, err := id32(id)
		if err != nil {
			return nil, broken("a node that the receiver must have: %v", err)
		}
		c.known[k] = true
	}
	return c, nil
}

// Check judges the next record, and returns the node if it is one.
func (c *Checker) Check(r *transcriptv1.ArchiveRecord) (*canonical.Stored, error) {
	switch r := r.GetRecord().(type) {
	case *transcriptv1.ArchiveRecord_Namespace:
		return nil, c.namespace(r.Namespace)
	case *transcriptv1.ArchiveRecord_Node:
		return c.node(r.Node)
	case *transcriptv1.ArchiveRecord_Alias:
		return nil, c.alias(r.Alias)
	case *transcriptv1.ArchiveRecord_Receipt:
		return nil, c.receipt(r.Receipt)
	default:
		return nil, nil
	}
}

// Finish judges what has to be there at the end: the heads of a bundle.
func (c *Checker) Finish() error {
	for _, head := range c.heads {
		id, err := id32(head)
		if err != nil {
			return broken("a head: %v", err)
		}
		if !c.has(id) {
			return broken("the head %x is not in it", id)
		}
	}
	return nil
}

func (c *Checker) has(id [32]byte) bool {
	for _, n := range c.namespaces {
		if n.has(id) {
			return true
		}
	}
	return c.known[id]
}

// stands tells whether a node of the namespace stands before the record, as far as can be told.
func (c *Checker) stands(id [32]byte) bool { return c.partial || c.now.has(id) || c.known[id] }

func (c *Checker) namespace(n *transcriptv1.ArchiveNamespace) error {
	if c.bundle && c.now != nil {
		return broken("a bundle with more than one namespace")
	}
	c.now = c.namespaces[n.GetName()]
	anew := c.now != nil && !c.now.Is(n.GetNumber())
	if anew && c.now.listed {
		return broken("a namespace with two numbers")
	}
	if c.now == nil || anew {
		c.namespacesSeen++
		c.now = &checked{nodes: map[[32]byte]int32{}, names: map[string]bool{}, Namespace: Namespace{Which: c.namespacesSeen}}
		c.namespaces[n.GetName()] = c.now
	}
	c.now.listed, c.now.Number = true, cmp.Or(n.GetNumber(), c.now.Number)
	return nil
}

// another goes on with another archive, which may have the same aliases. Namespaces that the one before did not name were deleted, unless it was cut.
func (c *Checker) another(cut bool) {
	for name, n := range c.namespaces {
		if !n.listed && !cut {
			delete(c.namespaces, name)
			continue
		}
		n.listed = false
		clear(n.names)
	}
	c.now = nil
}

func (c *Checker) node(n *transcriptv1.ArchivedNode) (*canonical.Stored, error) {
	if c.now == nil {
		return nil, broken("a node without a namespace")
	}
	node, err := ParseNode(n)
	if err != nil {
		return nil, err
	}
	if id := node.Envelope.Parent; id != nil && !c.stands(*id) {
		return nil, broken("node %x: its parent, %x, does not stand before it", node.ID, *id)
	}
	// What a node of a thin bundle covers can be an ancestor of what the receiver has.
	if id := node.Envelope.CoversThrough; id != nil && !c.stands(*id) && len(c.known) == 0 {
		return nil, broken("node %x: the last node that it covers, %x, does not stand before it", node.ID, *id)
	}
	if parent, covers := node.Envelope.Parent, node.Envelope.CoversThrough; parent != nil && covers != nil && !c.now.leads(*covers, *parent) {
		return nil, broken("node %x: the last node that it covers, %x, is no ancestor of it", node.ID, *covers)
	}
	c.now.add(node.ID, node.Envelope.Parent)
	return node, nil
}

// ParseNode judges a node by itself: ErrBroken.
func ParseNode(n *transcriptv1.ArchivedNode) (*canonical.Stored, error) {
	node, err := canonical.CheckArchived(n)
	if err != nil {
		return nil, broken("a node: %v", err)
	}
	if notes := len(n.GetNotes()); notes != 0 && notes != len(node.Facts) {
		return nil, broken("node %x: %d notes, and it has %d messages", node.ID, notes, len(node.Facts))
	}
	if err := checkCopies(node, n.GetCopies()); err != nil {
		return nil, err
	}
	return node, nil
}

func checkCopies(node *canonical.Stored, c *transcriptv1.CompactionCopies) error {
	switch {
	case node.Envelope.CoversThrough == nil && c != nil:
		return broken("node %x: only the messages of a compaction node are copies", node.ID)
	case c == nil:
		return nil
	case len(c.GetCopiedFrom()) != len(node.Facts):
		return broken("node %x: the origin of %d messages, and it has %d", node.ID, len(c.GetCopiedFrom()), len(node.Facts))
	}
	before := int32(-1)
	for _, at := range c.GetLoopBegins() {
		if at <= before || int(at) >= len(node.Facts) {
			return broken("node %x: the messages that run loops begin with are not in order", node.ID)
		}
		before = at
	}
	return nil
}

func (c *Checker) alias(a *transcriptv1.ArchiveAlias) error {
	switch {
	case c.now == nil:
		return broken("an alias without a namespace")
	case a.GetName() == "":
		return broken("an alias without a name")
	case c.now.names[a.GetName()]:
		return broken("an alias stands there twice")
	case len(a.GetStates()) == 0:
		return broken("an alias without a state")
	}
	c.now.names[a.GetName()] = true
	before := int64(0)
	for _, s := range a.GetStates() {
		if s.GetRevision() <= before {
			return broken("the revisions of an alias do not grow")
		}
		before = s.GetRevision()
		if len(s.GetNode()) == 0 {
			continue
		}
		id, err := id32(s.GetNode())
		if err != nil {
			return broken("the node of an alias: %v", err)
		}
		if !c.stands(id) {
			return broken("an alias points to %x, which does not stand before it", id)
		}
	}
	if a.GetRevision() < before {
		return broken("the revision of an alias is lower than that of its last state")
	}
	return nil
}

func (c *Checker) receipt(kept []byte) error {
	switch {
	case c.bundle:
		return broken("a receipt of a node that is not there, in a bundle")
	case c.now == nil:
		return broken("a receipt without a namespace")
	}
	if _, err := canonical.ParseReceipt(kept); err != nil {
		return broken("a receipt%v", err)
	}
	return nil
}

func id32(b []byte) (id [32]byte, err error) {
	if len(b) != len(id) {
		return id, fmt.Errorf("an id has 32 bytes, not %d", len(b))
	}
	return [32]byte(b), nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}
