package archive

import (
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
	namespaces map[string]map[[32]byte]bool
	nodes      map[[32]byte]bool // of the namespace of the records
	named      bool
	names      map[string]bool // of the aliases of the namespace
	heads      [][]byte
	// bundle says that there is one namespace.
	bundle bool
}

// NewChecker judges the records behind a header.
func NewChecker(header *transcriptv1.ArchiveHeader) (*Checker, error) {
	c := &Checker{
		partial: len(header.GetSince()) > 0 || len(header.GetContinues()) > 0, heads: header.GetHeads(),
		bundle: header.GetKind() == transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE,
		known: map[[32]byte]bool{}, namespaces: map[string]map[[32]byte]bool{},
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
	for _, nodes := range c.namespaces {
		if nodes[id] {
			return true
		}
	}
	return c.known[id]
}

// stands tells whether a node of the namespace stands before the record, as far as can be told.
func (c *Checker) stands(id [32]byte) bool { return c.partial || c.nodes[id] || c.known[id] }

func (c *Checker) namespace(n *transcriptv1.ArchiveNamespace) error {
	if c.bundle && c.named {
		return broken("a bundle with more than one namespace")
	}
	c.named, c.names = true, map[string]bool{}
	if c.nodes = c.namespaces[n.GetName()]; c.nodes == nil {
		c.nodes = map[[32]byte]bool{}
		c.namespaces[n.GetName()] = c.nodes
	}
	return nil
}

func (c *Checker) node(n *transcriptv1.ArchivedNode) (*canonical.Stored, error) {
	if !c.named {
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
	c.nodes[node.ID] = true
	return node, nil
}

// ParseNode judges a node by itself: ErrBroken.
func ParseNode(n *transcriptv1.ArchivedNode) (*canonical.Stored, error) {
	node, err := canonical.CheckNode(n.GetEnvelope(), n.GetPayload(), n.GetMetadata(), n.GetSalt())
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
	case !c.named:
		return broken("an alias without a namespace")
	case a.GetName() == "":
		return broken("an alias without a name")
	case c.names[a.GetName()]:
		return broken("an alias stands there twice")
	case len(a.GetStates()) == 0:
		return broken("an alias without a state")
	}
	c.names[a.GetName()] = true
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

func id32(b []byte) (id [32]byte, err error) {
	if len(b) != len(id) {
		return id, fmt.Errorf("an id has 32 bytes, not %d", len(b))
	}
	return [32]byte(b), nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}
