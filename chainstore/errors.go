package chainstore

import (
	"errors"
	"fmt"
)

// What a store's methods fail with. Engines wrap these; callers use errors.Is. No message holds content, a metadata
// value or an alias name. Contexts' own errors pass through.
var (
	// ErrNodeNotFound: no node of the namespace has that id.
	ErrNodeNotFound = errors.New("node not found")
	// ErrAfterNotFound is ErrNodeNotFound of the node that must be an ancestor, not of the head.
	ErrAfterNotFound = fmt.Errorf("%w: the one that must be an ancestor", ErrNodeNotFound)
	// ErrParentNotFound: a parent, by id or alias, is not there.
	ErrParentNotFound = errors.New("parent not found")
	// ErrAliasNotFound: no alias of the namespace has that name.
	ErrAliasNotFound = errors.New("alias not found")
	// ErrAliasExists: an alias that must not exist does. Comes in a ConflictError.
	ErrAliasExists = errors.New("alias exists")
	// ErrAliasMoved: an alias points elsewhere than its condition says, or has another revision. Comes in a ConflictError.
	ErrAliasMoved = errors.New("alias points elsewhere")
	// ErrNotAncestor: a node that must be an ancestor of the head is not.
	ErrNotAncestor = errors.New("not an ancestor of the head")
	// ErrAlreadyCovered: a compaction would end before what an earlier one covers, or before the end of the preamble.
	ErrAlreadyCovered = errors.New("covered already")
	// ErrOpenCalls: a compaction would end where a call is unanswered.
	ErrOpenCalls = errors.New("a tool call is unanswered there")
	// ErrGroupTooLarge: the group of calls that a chain would end in is over the limits in runloop.
	ErrGroupTooLarge = errors.New("the open group of tool calls is too large")
	// ErrErased: a node was erased, and may not be put again as it was. Comes in an ErasedError.
	ErrErased = errors.New("the node was erased")
	// ErrErasedMeanwhile: nodes were erased since a compaction was planned, which may have what was erased.
	ErrErasedMeanwhile = errors.New("nodes were erased since the compaction was planned")
	// ErrNotErased: no node of that id was erased.
	ErrNotErased = errors.New("the node was not erased")
	// ErrBadErasure: what is to be left of a node does not stand for its messages, or does not tell what it has. Who asks has made it of another node, or
	// has not looked at this one (NewNode.Absent).
	ErrBadErasure = errors.New("what is to be left of a node does not stand for its messages")
	// ErrTooLarge: the change does not fit into one transaction of the engine.
	ErrTooLarge = errors.New("the change is too large for one transaction")
	// ErrCorrupt: stored bytes do not parse or contradict each other.
	ErrCorrupt = errors.New("stored bytes are corrupt")
	// ErrDiskFull: the disk is full. Nothing was written.
	ErrDiskFull = errors.New("the disk is full")
	// ErrTooManyFiles: the process has too many files open or mapped for the store to write. Nothing was written.
	ErrTooManyFiles = errors.New("too many files are open")
	// ErrOverloaded: more changes wait than the store holds, or commits before the deadline. Nothing was written.
	ErrOverloaded = errors.New("too many changes wait to be committed")
	// ErrFailed: an earlier write did not reach the disk, and the store takes no more writes until it is opened again; or its files
	// are away, and it takes none until they are back.
	ErrFailed = errors.New("the store has failed and takes no more writes")
	// ErrBadCursor: the cursor of a check is none of this check, of this store, or of this version of the engine.
	ErrBadCursor = errors.New("not a cursor of this check")
	// ErrClosed: the store is closed or closing.
	ErrClosed = errors.New("the store is closed")
)

// MissingError is what Commit fails with where what a node or an alias of the change names is not there.
type MissingError struct {
	// Err is ErrParentNotFound of a node, ErrNodeNotFound or ErrAliasNotFound of an alias's target.
	Err error
	// Index is the place of that node in Change.Nodes, of that alias in Change.Aliases.
	Index int
}

// Error says what is not there.
func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap is what is not there.
func (e *MissingError) Unwrap() error { return e.Err }

// ErasedError is ErrErased of a node that a change puts.
type ErasedError struct {
	// Index is its place in Change.Nodes.
	Index int
	ID    ID
	// Receipt is that of its last erasure.
	Receipt []byte
}

// Error says that the node was erased.
func (e *ErasedError) Error() string { return ErrErased.Error() }

// Unwrap is ErrErased.
func (e *ErasedError) Unwrap() error { return ErrErased }

// DeletedError is ErrAliasNotFound of a name that was deleted and is not forgotten.
type DeletedError struct {
	// Revision is that of the deletion; At is when it was, in milliseconds since the epoch; Head is where the alias pointed.
	Revision, At int64
	Head         ID
}

// Error says that there is no such alias.
func (e *DeletedError) Error() string { return ErrAliasNotFound.Error() + ": it was deleted" }

// Unwrap is ErrAliasNotFound.
func (e *DeletedError) Unwrap() error { return ErrAliasNotFound }

// Conflict is a condition that did not hold.
type Conflict struct {
	// Index is the alias's place in Change.Aliases.
	Index int
	// Kind is the condition that failed.
	Kind ConditionKind
	// Exists says whether the alias does; Node is where it points then.
	Exists bool
	Node   ID
	// Revision is the alias's; 0 for a name that never was set, or is forgotten.
	Revision int64
	// Compaction says whether that is a compaction node: then the alias may be there by compactions alone.
	Compaction bool
}

// ConflictError lists every condition of a change that did not hold. It is ErrAliasExists where all that failed is
// MustNotExist, ErrAliasNotFound where all that failed is MustExist, else ErrAliasMoved.
type ConflictError struct {
	Conflicts []Conflict
}

// Error says which kind of condition failed.
func (e *ConflictError) Error() string { return e.Unwrap().Error() }

// Unwrap is the sentinel that the conflicts add up to.
func (e *ConflictError) Unwrap() error {
	kind := Any
	for i := range e.Conflicts {
		if i > 0 && e.Conflicts[i].Kind != kind {
			return ErrAliasMoved
		}
		kind = e.Conflicts[i].Kind
	}
	switch kind {
	case MustNotExist:
		return ErrAliasExists
	case MustExist:
		return ErrAliasNotFound
	default:
		return ErrAliasMoved
	}
}

// NoRow is ErrCorrupt of a path that lacks a row.
func NoRow(seq uint32) error { return fmt.Errorf("%w: a path has no row %d", ErrCorrupt, seq) }
