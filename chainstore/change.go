package chainstore

import (
	"maps"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Change is what one call writes: nodes, and aliases set or deleted, all or nothing. The store borrows everything in
// it until Commit returns and changes nothing in it.
type Change struct {
	// Nodes are put in order; a node may have an earlier one of the change as its parent, by id or as ParentPrevious.
	Nodes []NewNode
	// Aliases name each alias at most once.
	Aliases []AliasChange
}

// ParentKind is how a NewNode names its parent.
type ParentKind uint8

// How a NewNode names its parent.
const (
	// NoParent: the node is a root.
	NoParent ParentKind = iota
	// ParentID: the node of that id.
	ParentID
	// ParentAlias: the node that the alias points to when the change is committed, before the change. Where the
	// change conditions the same alias on a head, the parent is that head, whatever the alias points to: if the
	// condition does not hold the change fails, and if it holds because the alias points to the new node already,
	// this is a repeat.
	ParentAlias
	// ParentPrevious: the node before this one in the change.
	ParentPrevious
)

// Parent names a NewNode's parent.
type Parent struct {
	Kind  ParentKind
	ID    ID
	Alias string
}

// SpawnedFrom is the call that started a chain; a link, which may dangle.
type SpawnedFrom struct {
	Node   ID
	CallID runloop.Optional
}

// NewNode is a node to put.
type NewNode struct {
	Parent Parent
	// Identify computes the node's id from its parent's, nil for a root. It is pure, and may be called more than once
	// and from another goroutine.
	Identify func(parent *ID) ID
	// Payload is the canonical encoding of the messages, Metadata of the metadata (empty: none).
	Payload, Metadata, Salt []byte
	// Details is what EncodeDetails gives for the messages.
	Details     []byte
	SpawnedFrom *SpawnedFrom
	// Messages are the facts of the payload's messages, in order; their Lengths add up to the payload's.
	Messages []runloop.Facts
	// Variables is what the metadata does to variables, each once, in the order of their names.
	Variables []runloop.VariableChange
	// Outcome is what the metadata says of how the run ended.
	Outcome runloop.Outcome
	// FirstPut is when it was first put elsewhere, in milliseconds since the epoch; 0, or later than now: now. A node that is there keeps
	// its own.
	FirstPut int64
	// Erased says that it was erased elsewhere: Payload is what was left of it, with the Was of each message that was erased in Messages, and
	// there are neither Metadata, Salt nor Details. It is put as it is, and one that is there is erased as Erase does. Of Erased.Variables
	// nothing is read, for they are Variables. Receipt is that of Eraser. nil: it was not erased.
	Erased  *Erased
	Receipt []byte
	// Absent says of such a node that whoever puts it found none that it takes something from: one from which it would is left as it is, with
	// ErrBadErasure.
	Absent bool
	// Compaction makes it a compaction node, which has a parent, and neither metadata nor SpawnedFrom; else nil.
	Compaction *Compaction
}

// Compaction is what a compaction node has beside its messages. Its messages are copies, or made from copies: they are in
// the effective fold in place of what they stand for, and in no full fold, recall row or table. Folded by themselves they
// end with no call unanswered, which is not checked: a stub would be due for it in messages that are folded already, and
// in the full fold.
type Compaction struct {
	// Covers is the last node that it stands for: its parent or an ancestor of it, at which no call of the group that
	// the chain ends in is unanswered, neither before what the parent's nearest compaction node covers nor before the
	// node in which the preamble ends. The preamble has ended.
	Covers ID
	// Provenance has an entry for each of its messages, none behind what it covers (ErrNotAncestor).
	Provenance []Provenance
	// Erasures is what Eraser.Erasures told before its messages were read; AnyErasures for one that was put elsewhere.
	Erasures uint64
	// Loops are the run loops of its messages as they are in the view that it stands for; nil: those that its messages have by
	// themselves.
	Loops *runloop.Loops
}

// ConditionKind is what must be true of an alias.
type ConditionKind uint8

// What must be true of an alias. All but Any also hold if the alias points to the target already, unless the condition names a
// revision.
const (
	// Any: nothing.
	Any ConditionKind = iota
	// MustNotExist: the alias does not exist. Not on a delete.
	MustNotExist
	// MustExist: the alias exists.
	MustExist
	// HeadIs: the alias points to Condition.Head. On a delete it also holds where the alias does not exist.
	HeadIs
	// Extends: the alias points to Condition.Head, or to a descendant of it with the same nearest compaction node: by
	// plain appends alone can it have come there. Not on a delete.
	Extends
)

// Condition is what must be true of an alias when the change is committed, before the change.
type Condition struct {
	Kind ConditionKind
	Head ID
	// Revision, if not 0, is the alias's, too; only with Any and HeadIs. The condition holds at this revision. It also holds at the
	// next one, whatever Kind says, if the alias is as the change leaves it: then this is a repeat.
	Revision int64
}

// AliasNow is an alias as a change finds it.
type AliasNow struct {
	// Exists says whether the alias does; Head is where it points then.
	Exists bool
	Head   ID
	// Revision is that of the last change, also where this was a deletion; 0 for a name that never was set, or is forgotten.
	Revision int64
	Labels   map[string]string
}

// TargetKind is what becomes of an alias.
type TargetKind uint8

// What becomes of an alias.
const (
	// TargetNew: it is set to Change.Nodes[Target.Node].
	TargetNew TargetKind = iota
	// TargetRef: it is set to a node that is there; an alias stands for the node it pointed to before the change.
	TargetRef
	// TargetNone: it is deleted; its history stays.
	TargetNone
)

// Target is what becomes of an alias.
type Target struct {
	Kind TargetKind
	Node int
	Ref  Ref
}

// AliasChange sets or deletes an alias.
type AliasChange struct {
	Name      string
	Target    Target
	Condition Condition
	// Labels replace the alias's labels if SetLabels is true; else they stay (an alias that is created has none).
	Labels    map[string]string
	SetLabels bool
	// Forget, of a change that deletes, deletes the history too, also where the alias is deleted already: the name is forgotten at once.
	Forget bool
}

// Committed is what a change did.
type Committed struct {
	// Nodes and Aliases have an entry for each of the change's.
	Nodes   []PutNode
	Aliases []PutAlias
}

// PutNode is what became of a NewNode.
type PutNode struct {
	ID ID
	// Created says that this change wrote the node; false: it was there, and stays as it was first put.
	Created bool
	// Full and Effective are the totals of the chain that ends in it.
	Full, Effective runloop.Totals
}

// PutAlias is what became of an AliasChange.
type PutAlias struct {
	// Changed says that the alias was created, moved to another node, or deleted. A change of labels alone is none.
	Changed bool
	// Revised says that the change gave the alias its revision: that it changed head or labels. Of two equal changes on condition of one
	// revision both hold, and this tells them apart.
	Revised bool
	// Revision is the alias's after the change; 0 for a name that never was set, or is forgotten.
	Revision int64
	// Existed says that there was an alias before; Previous is where it pointed.
	Existed  bool
	Previous ID
}

// Holds tells whether the condition holds of the alias as it is, for a change that would set it to target (nil on a delete). extends
// is asked only for Extends: whether the alias's head is reached from Condition.Head by plain appends.
func (a *AliasChange) Holds(now *AliasNow, target *ID, extends func() (bool, error)) (bool, error) {
	c := &a.Condition
	if a.Forget && target == nil && now.Revision == 0 { // it is forgotten
		return true, nil
	}
	if c.Revision != 0 {
		return a.holdsAt(now, target), nil
	}
	if target != nil && now.Exists && now.Head == *target {
		return true, nil
	}
	switch c.Kind {
	case MustNotExist:
		return !now.Exists, nil
	case MustExist:
		return now.Exists, nil
	case HeadIs:
		return now.Exists && now.Head == c.Head || !now.Exists && target == nil, nil
	case Extends:
		if !now.Exists || now.Head == c.Head {
			return now.Exists, nil
		}
		return extends()
	default:
		return true, nil
	}
}

// holdsAt is Holds of a condition that names a revision.
func (a *AliasChange) holdsAt(now *AliasNow, target *ID) bool {
	switch c := &a.Condition; now.Revision - c.Revision {
	case 0:
		return c.Kind != HeadIs || now.Exists && now.Head == c.Head
	case 1:
		return a.Leaves(now, target)
	default:
		return false
	}
}

// Leaves tells whether the alias is already as the change leaves it: such a change changes nothing, and the revision stays.
func (a *AliasChange) Leaves(now *AliasNow, target *ID) bool {
	if target == nil {
		return !now.Exists && (!a.Forget || now.Revision == 0)
	}
	return now.Exists && now.Head == *target && (!a.SetLabels || maps.Equal(now.Labels, a.Labels))
}

// Repeats tells whether a change took place before, as far as its aliases tell. made says whether it wrote a node; at gives, of
// the alias at i, how it is, and the node that the change would set it to, nil on a delete. Of a change that puts nodes, none is new,
// each alias on condition that it does not exist, or points to another node, points to the new one already, and each on condition
// of a revision is at the next one, as the change leaves it; there is one of these at least, and one that is forgotten is none. An alias to be
// deleted on condition of its head is not there. Such a change leaves every alias that was as the change sets it before, among its last RepeatReach states, as it
// is: others may have moved it since. An alias that was not is set or deleted.
func (c *Change) Repeats(made bool, at func(i int) (now *AliasNow, target *ID)) bool {
	if made || len(c.Nodes) == 0 {
		return false
	}
	repeats := false
	for i := range c.Aliases {
		a := &c.Aliases[i]
		now, target := at(i)
		switch {
		case a.Target.Kind == TargetRef:
			return false
		case a.Forget && target == nil && now.Revision == 0: // by whomever it was forgotten, and it may never have been
		case a.Condition.Revision != 0:
			if now.Revision == a.Condition.Revision {
				return false
			}
			repeats = true
		case target == nil:
			if a.Condition.Kind == HeadIs && now.Exists {
				return false
			}
		case a.Condition.Kind == MustNotExist, a.Condition.Kind == HeadIs && a.Condition.Head != *target:
			if !now.Exists || now.Head != *target {
				return false
			}
			repeats = true
		}
	}
	return repeats
}

// RepeatReach is how many states of an alias are looked at, beside the present one, for whether a change that repeats set it before.
const RepeatReach = 16

// EffectiveParent is the parent of node i once conditions are taken into account: an alias that the change conditions
// on a head stands for that head.
func (c *Change) EffectiveParent(i int) Parent {
	p := c.Nodes[i].Parent
	if p.Kind != ParentAlias {
		return p
	}
	for k := range c.Aliases {
		if a := &c.Aliases[k]; a.Name == p.Alias && a.Condition.Kind == HeadIs {
			return Parent{Kind: ParentID, ID: a.Condition.Head}
		}
	}
	return p
}
