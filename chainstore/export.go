package chainstore

import "context"

// Point names a state of a store: what was committed through it. It grows with commits, and lasts as long as the store does. Only the store
// that gave it knows what it is.
type Point uint64

// Era names a part of the history of a store. Copies of a store's files that go on apart have the same ID, and points that look alike, but
// their eras differ from then on. The zero Era is of points that are not known any more, or were before eras were noted.
type Era [8]byte

// Exporter reads what a store has, for a copy of it elsewhere. No read lasts longer than it takes to fill a page, or to yield all aliases.
type Exporter interface {
	// Point is the store as it is: all that was acknowledged is of it.
	Point(ctx context.Context) (Point, error)
	// NoteEras has the store note its eras from now on, for as long as it lasts. Errors are those of Commit.
	NoteEras(ctx context.Context) error
	// Era is that of a point of the store. A point that another history gave, that of a copy which went on apart, has another era here, or is yet to
	// come.
	Era(ctx context.Context, p Point) (Era, error)
	// ExportNamespaces returns the namespaces that are wanted, in the order of the bytes of their names, and their numbers, in one state of the store; and
	// the last number that any namespace got by then, 0 where there was none.
	ExportNamespaces(ctx context.Context, wanted func(namespace string) bool) (named []NumberedNamespace, last int64, err error)
	// ExportNodes returns a page of the nodes of a namespace that were put, or erased, in a span, as they are by then, parents before children and covered nodes before those that cover
	// them, until they have so many bytes. A page goes on behind the cursor of the one before; nil: it is the first. It may be short, or empty, where
	// ExportReach rows were passed over. next is nil where no node is left. The caller may keep what is returned. Errors: ErrCorrupt, ErrBadCursor.
	ExportNodes(ctx context.Context, namespace string, span ExportSpan, cursor []byte, bytes int) (nodes []ExportedNode, next []byte, err error)
	// ExportReceipts returns a page of the receipts that were written in a span, of nodes that were erased and are not there: those of others are theirs, in ExportNodes.
	// It is otherwise as ExportNodes is.
	ExportReceipts(ctx context.Context, namespace string, span ExportSpan, cursor []byte, bytes int) (receipts []KeptReceipt, next []byte, err error)
	// ExportAliases yields, as of one state of the store, whose point it returns, the namespaces that are wanted, and behind each its
	// aliases that were set or deleted after a point, deleted ones too; those that are forgotten, but for point 0, which whoever has
	// the aliases of that point does not know. yield must not wait for anybody, nor ask the store.
	ExportAliases(ctx context.Context, after Point, wanted func(namespace string) bool, yield ExportYield) (Point, error)
}

// ExportReach bounds the rows that a page of nodes passes over, so that no read takes long where a span has few nodes.
const ExportReach = 100_000

// ExportSpan is what was committed after a point, and through another.
type ExportSpan struct{ After, Through Point }

// Holds tells whether a point is of the span.
func (s *ExportSpan) Holds(p Point) bool { return p > s.After && p <= s.Through }

// ExportedNode is a node as it is stored.
type ExportedNode struct {
	Header *Header
	// Parent is nil for a root, Covers but for a compaction node.
	Parent, Covers             *ID
	Payload, Metadata, Details []byte
	// Receipt is that of a node that was erased.
	Receipt []byte
}

// KeptReceipt is that of a node that was erased, and is not there.
type KeptReceipt struct {
	ID    ID
	Bytes []byte
}

// Size is about how many bytes it has in memory.
func (r *KeptReceipt) Size() int { return len(r.Bytes) + 64 }

// Size is about how many bytes it has in memory.
func (n *ExportedNode) Size() int {
	return len(n.Payload) + len(n.Metadata) + len(n.Details) + len(n.Receipt) + 1024
}

// ExportYield is told of namespaces, and then of their aliases. What it is given is its own.
type ExportYield struct {
	Namespace func(*ExportedNamespace) error
	Alias     func(*ExportedAlias) error
	// Forgotten asks for the names that are forgotten, too, which an export of everything leaves out: what they had as labels is in the files yet.
	Forgotten bool
}

// NumberedNamespace is a name and what tells the namespace from all others that the store ever had, those of the same name too: its number, which it
// keeps until it is deleted, and which is higher than those that were given before. 0: the store does not know it.
type NumberedNamespace struct {
	Name   string
	Number int64
}

// ExportedNamespace is a namespace without its nodes and aliases.
type ExportedNamespace struct {
	NumberedNamespace
	Settings SettingsNow
	// Floor is that of revisions, see Forgotten, and in an export of everything no lower than those of the names that are left out.
	Floor int64
}

// ExportedAlias is an alias with its history.
type ExportedAlias struct {
	Name     string
	Labels   map[string]string
	Revision int64
	// States are as AliasHistory has them: the present one first. The oldest is no deletion; of a name that is forgotten there is its deletion
	// alone.
	States []AliasState
}
