// Package chainstore is the domain of transcriptd below the wire: nodes in chains, aliases, and what a store of them
// promises, in bytes, ids and plain values. It knows neither gRPC nor an engine. The engines are in badgerstore and
// memstore; storetest is the contract suite that each passes.
//
// A method asks a whole question, so that an engine that pays for round trips needs one or two for each. An engine holds what it reads
// with, a transaction or a connection, no longer than a call lasts, and in Rows no longer than RowsHold.
package chainstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Store keeps the nodes and aliases of any number of namespaces. All methods may run at once. A namespace that was
// never written to is empty. Nothing in one namespace is visible in another. Every method ends soon after its context
// does, with the context's error.
//
// A read sees every change whose Commit returned before the read began, and each change whole or not at all.
type Store interface {
	Writer
	ChainReader
	TreeReader
	AliasReader
	Verifier
	TokenKeeper
	NamespaceKeeper
	Exporter
	Restorer
	Collector
	Reclaimer
	Eraser
	// Info tells which store this is, of what engine: always the same until Close, and its ID for ever.
	Info() Info
	// Stats counts a namespace.
	Stats(ctx context.Context, namespace string) (Stats, error)
	// Close waits for the changes under way and releases everything. Methods that are called afterwards fail with
	// ErrClosed.
	Close() error
}

// Writer commits changes.
type Writer interface {
	// Commit applies a change in one durable transaction: when it returns without error, the change survives the loss of
	// the process and of power. An error means that nothing was changed, with two exceptions: ErrFailed, after which the
	// change may be found when the store is opened again; and the context's error, after which it is not known whether
	// the change took place.
	//
	// Nodes are put in order, then aliases. A node that is there already is not written again: its notes, first put and
	// position stay. A change that took place before (Change.Repeats) leaves the aliases that it has set. Errors, in this
	// order: ErrParentNotFound in a MissingError; ErrErased in an ErasedError; of a compaction node ErrNodeNotFound (what it covers), ErrNotAncestor, ErrAlreadyCovered,
	// ErrOpenCalls, ErrErasedMeanwhile; ErrGroupTooLarge; ErrNodeNotFound or ErrAliasNotFound in a MissingError where an alias's target is not there;
	// ConflictError; QuotaError; ErrTooLarge, ErrDiskFull, ErrTooManyFiles, ErrOverloaded, ErrFailed, ErrClosed.
	// A change that fails neither fails nor delays another. Quotas are judged exactly, whoever else commits at the same time.
	// What a change that took place adds when it is repeated is nothing, so that it is not refused.
	Commit(ctx context.Context, namespace string, change *Change) (*Committed, error)
}

// ChainReader reads the path from a root to a head.
type ChainReader interface {
	// Chain finds a head: ErrNodeNotFound, ErrAliasNotFound. With after, it also finds where that node lies on the path:
	// ErrAfterNotFound if it is not there at all, ErrNotAncestor if it is neither the head nor an ancestor.
	Chain(ctx context.Context, namespace string, head Ref, after *ID) (Chain, error)
	// ChainNamed finds a head, and with it, as of the same time, the names of the aliases that point to it, in order, at most limit. more
	// says that there are more, or that there may be: it ends where it has looked at AliasReach rows. Errors are those of Chain.
	ChainNamed(ctx context.Context, namespace string, head Ref, limit int) (chain Chain, names []string, more bool, err error)
}

// Chain is a head and its path. Nodes are immutable, so a Chain stays true for as long as it is kept, but for what is erased (Eraser): a header
// that it gave before tells of the node as it was, and each read of it what is left. Once its head was deleted, which only
// happens to one that nothing refers to (Collector), its methods may fail with ErrNodeNotFound.
type Chain interface {
	// Head is the head's header. The caller must not change it.
	Head() *Header
	// After is the Seq of the node that Chain was asked about; meaningful only if it was.
	After() uint32
	// Compaction is the header of the nearest compaction node on the path, which may be the head; nil without one. The caller must
	// not change it.
	Compaction() *Header
	// Compactions returns the headers of the nearest compaction nodes on the path, nearest first, at most limit; more says that there
	// are more.
	Compactions(ctx context.Context, limit int) (headers []*Header, more bool, err error)
	// Runs are the stretches of the path, nearest to the head first, at most limit: a run begins at the root and at each
	// node that is not its parent's first child.
	Runs(limit int) []Run
	// Headers returns the headers of the nodes of the path with some Seqs, in the order of these, which is any; one may be asked for
	// twice. ErrCorrupt where the path has no such row.
	Headers(ctx context.Context, seqs ...uint32) ([]*Header, error)
	// FirstWhere finds the first node behind the one with Seq from, where the bounds are met, and the node before it. Both are nil
	// where they are met at from already, or not at the head. Bounds that are met at a node must be met at all nodes behind it, as
	// those on the full view are, and those on the effective view while no compaction node comes: for these none may lie behind from.
	FirstWhere(ctx context.Context, from uint32, bounds Bounds) (before, first *Header, err error)
	// Rows yields the nodes of the path that lie in spans, span after span, until yield fails, and returns that error. Each row and
	// its slices are borrowed: they are spoilt when yield returns, but for Row.Shared. While yield runs, the engine may hold what it
	// reads with. Once it has held that for RowsHold it goes on in a new read, a few rows later at most, and as rows never change, that
	// makes no difference.
	Rows(ctx context.Context, spans []Span, yield func(*Row) error) error
	// Calls returns where the path through a Seq, at most the head's, has calls and results of a call id, latest node first, at most
	// limit.
	Calls(ctx context.Context, id runloop.Optional, through uint32, limit int) ([]CallPlace, error)
	// WithCalls returns the nodes of the path through a Seq, at most the head's, that have calls, latest first, at most limit: those
	// that Header.Tools links to.
	WithCalls(ctx context.Context, through uint32, limit int) ([]CallNode, error)
	// Tables returns the tools called on the path and the variables set on it.
	Tables(ctx context.Context) (Tables, error)
	// Spawned returns the headers of the nodes whose SpawnedFrom names a node of the path, as of now, by their first puts, here or
	// elsewhere, and equal ones in PutOrder; nodes that lie on the path themselves are passed over. Those of the latest spawner are chosen first, of one spawner the first in
	// PutOrder, at most limit and SpawnedReach. more says that there are more, or that there may be: it looks no further than
	// SpawnedReach.
	Spawned(ctx context.Context, limit int) (spawned []*Header, more bool, err error)
	// SpawnDepth counts the spawns above the head: the nearest node of the path that has a SpawnedFrom, the nearest one on the path to
	// the node that this names, and so on, at most limit; more says that there are more. It ends at a name of a node that is not there.
	SpawnDepth(ctx context.Context, limit int) (depth int, more bool, err error)
}

// PutOrder is an order of nodes: always the same, and about that in which they were first put. Of two nodes, the one that was put
// PutOrder later, or more, by the store's clock, comes behind. Nothing is said of nodes that were put at about the same time, or in
// one change: several servers over one database do not agree which of them was first.
const PutOrder = time.Second

// SortByFirstPut sorts nodes by their first puts. Equal ones stay in their order.
func SortByFirstPut(headers []*Header) {
	slices.SortStableFunc(headers, func(a, b *Header) int { return cmp.Compare(a.FirstPut, b.FirstPut) })
}

// SpawnedReach bounds what Spawned looks at: runs of the path, nearest to the head first, and nodes that it passes over,
// counted together. Part of the contract: may only grow.
const SpawnedReach = 256

// RowsHold is how long Rows holds what it reads with beside a yield that takes its time.
const RowsHold = 10 * time.Second

// Span is a part of a path: from one Seq through another (inclusive, at most the head's; nothing if From > Through).
type Span struct {
	From, Through uint32
	// HeadersOnly leaves Row.Payload, Row.Metadata and Row.Details nil.
	HeadersOnly bool
	// WillReread is a hint: most of these rows are about to be read again. An engine that keeps what was read lately may keep them
	// at once; any may take no notice. What is yielded is the same.
	WillReread bool
}

// Bounds are on what a view has so far.
type Bounds struct {
	// Full says that the view is the full one; else it is the effective one.
	Full bool
	// Loops is met where the view has more run loops than that, the lead-in aside.
	Loops int64
	// Bytes is met where its messages have so many bytes or more.
	Bytes int64
}

// View is the view of a state that the bounds are on.
func (b *Bounds) View(s *runloop.State) *runloop.View {
	if b.Full {
		return &s.Full
	}
	return &s.Effective
}

// Met tells whether a view meets the bounds.
func (b *Bounds) Met(v *runloop.View) bool {
	return v.Loops > b.Loops && v.Bytes >= b.Bytes
}

// Run is a stretch of a path, from one Seq through another. Two paths of a namespace that have a run of the same Key share
// the nodes of it through the lesser Through.
type Run struct {
	Key           uint64
	From, Through uint32
}

// HeaderAt is the header of one node of a chain; see Chain.Headers.
func HeaderAt(ctx context.Context, c Chain, seq uint32) (*Header, error) {
	if head := c.Head(); head.Seq == seq {
		return head, nil
	}
	found, err := c.Headers(ctx, seq)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Row is a node as Rows yields it.
type Row struct {
	// Raw is the header as stored; RawHeader has what the hot path reads of it without decoding.
	Raw RawHeader
	Seq uint32
	// Payload is the canonical encoding of the messages, Metadata of the metadata; Details is what DecodeDetails reads.
	Payload, Metadata, Details []byte
	// Shared, if not nil, is memory that holds Payload from byte SharedFrom on and outlives the row: it never changes and may be kept,
	// but not changed, for as long as anyone likes. The payloads of rows that follow may lie directly behind, and what else it holds
	// is nobody's. An engine that has a row in such memory, a cache say, may give it; none must, and who reads takes a nil for a row
	// that was not in memory.
	Shared     []byte
	SharedFrom int
}

// Header decodes the row's header into memory of its own: ErrCorrupt.
func (r *Row) Header() (*Header, error) { return r.Raw.Decode(r.Seq) }

// HeaderInto is Header into h; see RawHeader.DecodeInto.
func (r *Row) HeaderInto(h *Header) error { return r.Raw.DecodeInto(h, r.Seq) }

// MessagesInto is HeaderInto without what comes behind the messages; see RawHeader.DecodeMessages.
func (r *Row) MessagesInto(h *Header) error { return r.Raw.DecodeMessages(h, r.Seq) }

// TreeReader finds nodes other than along a path.
type TreeReader interface {
	// Find returns the ids that begin with a prefix of lower-case hex digits, in order, at most limit.
	Find(ctx context.Context, namespace, prefix string, limit int) ([]ID, error)
	// Nodes yields the nodes with some ids, in the order of these and without those that are not there, until yield fails, and returns
	// that error. While yield runs, the engine may hold what it reads with: it must not wait for anybody.
	Nodes(ctx context.Context, namespace string, ids []ID, yield func(*FoundNode) error) error
	// Children returns the headers of a node's children in PutOrder, at most limit, beginning behind the child named by after. One that
	// is put meanwhile may come before that child. ErrNodeNotFound and ErrAliasNotFound for the node; ErrNodeNotFound where after is no
	// child of it.
	Children(ctx context.Context, namespace string, node Ref, after *ID, limit int) ([]*Header, error)
	// Descendants yields the headers of all descendants of a node, parents before children, until yield fails, and returns that error. The caller may
	// keep them, and not change them. One that is put or deleted meanwhile may be among them or not. While yield runs, nothing is held that is read
	// with. ErrNodeNotFound for the node.
	Descendants(ctx context.Context, namespace string, node ID, yield func(*Header) error) error
}

// CallPlace is a node that has calls or results of some call id.
type CallPlace struct {
	Header *Header
	// Messages are the messages concerned, in order.
	Messages []CallMessage
}

// CallNode is a node that has calls, and the one before it, nil for a root. The caller must not change the headers.
type CallNode struct {
	Header, Before *Header
}

// CallMessage is a message that has calls, or is a result, of some call id.
type CallMessage struct {
	Index uint32
	// Result says that it is a result; LeftOut, that repair leaves it out.
	Result, LeftOut bool
}

// Limits of the tables, so that a row stays small. Part of the contract: may only grow.
const (
	// MaxTableEntries is the tools that are counted by name, and the variables that are listed.
	MaxTableEntries = 256
	// MaxTableBytes is the bytes of the names in one table.
	MaxTableBytes = 16 << 10
)

// Tables are the tools and variables of a path.
type Tables struct {
	// Tools are in the order of their first call; a name that no longer fits is counted in OtherCalls.
	Tools      []ToolCount
	OtherCalls int64
	// Variables are those that are set, the latest set last; where they no longer fit, those set longest ago are gone.
	Variables []Variable
}

// ToolCount counts the calls of a tool. Calls without a name count under the absent name.
type ToolCount struct {
	Name  runloop.Optional
	Calls int64
}

// Variable is a variable and the Seq of the node that set it last, or declared it.
type Variable struct {
	Name string
	Seq  uint32
}

// AliasReader reads aliases.
type AliasReader interface {
	// Alias returns an alias: ErrAliasNotFound, in a DeletedError for a name that was deleted and is not forgotten.
	Alias(ctx context.Context, namespace, name string) (*Alias, error)
	// Aliases returns aliases in the order that the query asks for, at most its Limit, and where to go on: nil at the
	// end. A page may be short, or empty, before the end: it ends where it has its Bytes, and where it has looked at AliasReach
	// rows.
	Aliases(ctx context.Context, namespace string, query AliasQuery) ([]Alias, *AliasCursor, error)
	// AliasHistory returns the states of an alias, the present one first: at most MaxHistory, those that ended longer ago
	// than MaxHistoryAge, and those that are forgotten, left out. ErrAliasNotFound for a name that never was set, or is forgotten.
	AliasHistory(ctx context.Context, namespace, name string) ([]AliasState, error)
	// DeletedAliases returns the names with a prefix that were deleted and are not forgotten, those behind one, in the order of their bytes, at
	// most limit, and where to go on: "" at the end. A page may be short, or empty, before the end: it ends where it has looked at AliasReach rows.
	DeletedAliases(ctx context.Context, namespace, prefix, after string, limit int) (page []DeletedAlias, next string, err error)
}

// DeletedAlias is an alias that was deleted. Revision is that of the deletion; At is when it was, in milliseconds since the epoch.
type DeletedAlias struct {
	Name         string
	Revision, At int64
}

// Alias is an alias and the head it points to.
type Alias struct {
	Name string
	Node ID
	// MovedAt is when it was created or last moved to another node, in milliseconds since the epoch.
	MovedAt int64
	Labels  map[string]string
	// Revision is that of the last change, of head or labels, from 1.
	Revision int64
	// Full and Effective are the totals of the chain that ends there.
	Full, Effective runloop.Totals
	// Loop is that of the query's Loops; else nil.
	Loop *AliasLoop
}

// Size is about what an alias takes in memory and on the wire.
func (a *Alias) Size() int {
	size := 128 + len(a.Name)
	for key, value := range a.Labels {
		size += 8 + len(key) + len(value)
	}
	return size
}

// AliasReach bounds what a page of aliases, or the list of those of a node, looks at: aliases that are listed, names that were deleted,
// and what a store keeps of earlier states of them. Part of the contract: may only grow.
const AliasReach = 10_000

// AliasQuery asks for a page of aliases.
type AliasQuery struct {
	// ByFolder: those under Folder, last moved first, equal times in the order of names; none, where its level is above FolderLevels.
	// Else: those whose names begin with Prefix, in the order of the names' bytes.
	ByFolder bool
	// Reverse turns the order round.
	Reverse        bool
	Prefix, Folder string
	After          *AliasCursor
	Limit          int
	// Bytes ends a page behind the alias with which the Size of all comes to so many; 0: none does.
	Bytes int
	// Loops tells of each alias its Loop. OpenOnly leaves out those whose loop is not open, and ends a page where it has looked at the
	// heads of LoopReach aliases. With Loops a page also ends behind the alias with which the rows read for loops, those of ancestors,
	// come to AliasReach.
	Loops, OpenOnly bool
}

// AliasCursor is where a page ended: an alias, or what was one.
type AliasCursor struct {
	Name    string
	MovedAt int64
}

// How far an alias's history reaches. Part of the contract.
const (
	MaxHistory    = 100
	MaxHistoryAge = 90 * 24 * 60 * 60 * 1000 // milliseconds
)

// Forgotten tells whether a state of an alias that lasted from one time to another is forgotten, and all before it: a deletion that
// lasted longer than MaxHistoryAge. A deletion that asked for it (AliasChange.Forget) is forgotten at once. Until it is set again, such a name is as one that never was set.
//
// The revisions of a name that never was set, or is forgotten, begin above the floor of its namespace: the highest revision of
// any name that was forgotten there when it was set again, or of which a store kept nothing. So no name has a revision twice, and
// none has to be kept for that.
func Forgotten(deleted bool, from, to int64) bool { return deleted && to-from > MaxHistoryAge }

// AliasState is one state in the history of an alias.
type AliasState struct {
	// Revision is that of the change with which the state began. It grows from state to state; changes of labels have those between.
	Revision int64
	// Deleted says that there was no alias; else Node is where it pointed.
	Deleted bool
	Node    ID
	// At is when the state began, in milliseconds since the epoch.
	At int64
}

// Info tells which store this is, of what engine.
type Info struct {
	// Engine is its name: "badger", "memory".
	Engine string
	// ID is the store's own. Copies of its files have it, too.
	ID StoreID
	// Format is the version of its format on disk.
	Format int
	// Features are what was added to the format since, in a store that makes use of it. The caller must not change them.
	Features []string
	// Encrypted says that what lies on disk is encrypted: a copy in plain text is less protected than the store.
	Encrypted bool
}

// Stats counts a namespace.
type Stats struct {
	Nodes, Messages, MessageBytes, Aliases int64
	// Roots are nodes without a parent; Forks are nodes that were put behind a parent that had a child before.
	Roots, Forks int64
}

// Verifier checks what is stored.
type Verifier interface {
	// Verify reads every node of a namespace, parents before children, and recomputes what is stored: ids and facts
	// through judge, links, folds and every index by itself. It calls report with what it found, at least every second, soon after
	// it has found MaxProblems, and once at the end. It fails only where it cannot go on; an error of report ends it.
	// report and judge must not wait for anybody.
	//
	// Of a namespace it checks the nodes that were put before its check began, aliases as they are when their turn comes, and it may
	// pass over those that changed since. What is written meanwhile is no problem. It goes on in a new read once it has held one for RowsHold, between two rows. The number of
	// aliases is compared where one state of the store showed all of them.
	//
	// Of the whole store it checks every namespace that was ever written to, one after the other, and before them what is the
	// store's own: its files, and the rows that no namespace has. A damaged file, or a namespace whose rows are there and whose
	// name is not, is one problem, and what can be read is checked.
	//
	// ErrBadCursor where Cursor is none of this check.
	Verify(ctx context.Context, check Check, judge Judge, report func(VerifyReport) error) error
}

// Check is what Verify is to check, and how.
type Check struct {
	// WholeStore says that it is the whole store; Namespace is empty then.
	WholeStore bool
	Namespace  string
	// Cursor is that of a report of an earlier check of the same: this one goes on behind what that report, and those before it,
	// told. nil: from the beginning. A store that is opened again, with the same engine, knows it.
	Cursor []byte
	// BytesPerSecond bounds what is read, on average; 0: nothing does.
	BytesPerSecond int64
}

// MaxProblems is about how many problems Verify holds before it reports them.
const MaxProblems = 1000

// Judge recomputes a node from its bytes, its parent's id, nil for a root, and the id of the last node that it covers, nil
// but for a compaction node: its id, the facts of its messages without notes, and what it does to
// variables. Of a node that was erased (Header.Erased) the id is that of the digests that are written down, and what it does to variables, and
// Outcome, count for nothing. An error says in words, without content, why the bytes are not a node's.
type Judge func(header *Header, payload, metadata []byte, parent, covers *ID) (Judgement, error)

// Judgement is what a node is by its bytes.
type Judgement struct {
	ID        ID
	Messages  []runloop.Facts
	Variables []runloop.VariableChange
	Outcome   runloop.Outcome
}

// VerifyReport is how far a Verify has come. Numbers count what was checked before the cursor, too, that it began with.
type VerifyReport struct {
	// Namespace is the one that is being checked; empty while what is the store's own is.
	Namespace string
	// Files and Namespaces are those of the store checked so far; 0 in a Verify of one namespace.
	Files, Namespaces int64
	// Nodes and Entries are the nodes, and the aliases and index entries, checked so far.
	Nodes, Entries int64
	// Problems are those found since the report before.
	Problems []Problem
	// Cursor is where a check goes on behind the problems of this report and those before it: what is checked again, nothing was
	// told of. nil: at the beginning, or, in the last report, nowhere.
	Cursor []byte
}
