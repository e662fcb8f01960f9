package chainstore

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Eraser takes the content of nodes away, and leaves markers in its place.
type Eraser interface {
	// Erase leaves of nodes what it is given, in one durable transaction as Commit does: their ids, links, folds and what rows of indexes tell
	// stay, and their metadata, salts and details go. When it returns, no read that begins shows what they had, nor does any put bring it back.
	// It tells how many it erased. A node that is erased already stays as it is; of a compaction node, further messages may be erased, and what
	// was erased stays so. Copies of what is erased, in compaction nodes, are erased by whoever asks: it looks for them behind the first
	// erasure, and again until it finds none, since a compaction may have come between. Errors: ErrNodeNotFound in a MissingError, whose Index is that of the
	// node; ErrBadErasure; ErrTooLarge, also for more than MaxErased nodes, and those of Commit from there on.
	Erase(ctx context.Context, namespace string, nodes []ErasedNode) (erased int, err error)
	// EraseLabels takes the labels from aliases, each of which gets a new revision, in one durable transaction. What the aliases ever had as labels
	// leaves the files as the content of erased nodes does, also of those that are deleted. A name that never was set is passed over. It tells how many had labels. Errors: ErrTooLarge, also for
	// more than MaxErased names, and those of Commit from there on.
	EraseLabels(ctx context.Context, namespace string, names []string) (had int, err error)
	// Receipt returns what was given with the last erasure of a node. It outlives the node: ErrNotErased. The caller may keep it.
	Receipt(ctx context.Context, namespace string, id ID) (Receipt, error)
	// Erasures is 0 where no node of a namespace was ever erased, and else a number that each change which erases some makes higher: no other state
	// of a namespace of this name has it, in this store or another. Who plans a compaction asks before it reads what it keeps.
	Erasures(ctx context.Context, namespace string) (uint64, error)
	// Purging tells what of the whole store is to leave its files yet. The store sees to that by itself, from the moment on that something was
	// erased, and after it was opened again.
	Purging(ctx context.Context) (Purging, error)
	// SigningKey returns the seed of the Ed25519 key that the store signs receipts with: always the same for as long as the store lasts, also after
	// it was closed. It is drawn when it is asked for first, and durable before it is returned; of several callers at once all get the same. No
	// export has it. Errors: ErrCorrupt, and where there is none yet, those of Commit.
	SigningKey(ctx context.Context) (Secret, error)
}

// Receipt is that of a node that was erased.
type Receipt struct {
	// Bytes is what was given with the erasure.
	Bytes []byte
	// PurgedAt is when what the node had was found to have left the store's files, in milliseconds since the epoch; 0: it has not yet.
	PurgedAt int64
}

// Purging is what is to leave a store's files.
type Purging struct {
	// Nodes were erased, each counted once for each erasure, and Namespaces were deleted; of Aliases the labels were erased.
	Nodes, Namespaces, Aliases int64
	// Since is when the first of these was, in milliseconds since the epoch; 0: nothing is to leave.
	Since int64
}

// MaxErased is how many nodes one Erase takes, and how many names one EraseLabels. Part of the contract: may only grow.
const MaxErased = 1000

// NextErasures is the Erasures of a namespace behind a change that erases nodes, where they were `was` before: made of the time in milliseconds since
// the epoch, which grows for a namespace that is begun again and from a store to the one that an archive of it is restored to, and of the number of the
// commit, by which two of one millisecond differ.
func NextErasures(was uint64, now int64, commit uint64) uint64 {
	const bits = 20
	return max(was+1, uint64(max(now, 0))<<bits|commit&(1<<bits-1))
}

// AnyErasures is the Erasures of a compaction node that was not planned here.
const AnyErasures = math.MaxUint64

// ErasedNode is what is to be left of a node. The store borrows everything in it until Erase returns.
type ErasedNode struct {
	ID ID
	// Payload is the canonical encoding of the messages as they are to be: of each one of the same role with calls and results of the same ids and
	// names, so that all that follows from these stays. Facts are what a Judge tells of it.
	Payload []byte
	Facts   []runloop.Facts
	// PayloadDigest and MetadataDigest (nil: no metadata) are those that the id is of. They cannot be told from what is left. Variables is
	// what a Judge tells that the node does to variables. All three count for the first erasure alone.
	PayloadDigest  ID
	MetadataDigest *ID
	Variables      []runloop.VariableChange
	// Receipt is kept as it is given.
	Receipt []byte
	// put is the node as it was put here, erased; nil: it is erased by Erase.
	put *NewNode
}

// Erased is what is written down of a node that was erased.
type Erased struct {
	// PayloadDigest and MetadataDigest are those that the node's id is of; nil: it had no metadata.
	PayloadDigest  ID
	MetadataDigest *ID
	// PayloadLength and MetadataLength are those from before. Each message's is its Was.
	PayloadLength, MetadataLength int
	// Variables is what the metadata did to variables.
	Variables []runloop.VariableChange
}

// Clone shares nothing with e.
func (e *Erased) Clone() *Erased {
	if e == nil {
		return nil
	}
	out := *e
	if e.MetadataDigest != nil {
		digest := *e.MetadataDigest
		out.MetadataDigest = &digest
	}
	out.Variables = slices.Clone(e.Variables)
	return &out
}

// CountedBytes is the length of the payload that statistics count: as it was put.
func (h *Header) CountedBytes() int {
	if h.Erased != nil {
		return h.Erased.PayloadLength
	}
	return h.PayloadLength
}

// ErasedHere is what is to be left here of a node that was erased elsewhere.
func (n *NewNode) ErasedHere(id ID) *ErasedNode {
	return &ErasedNode{
		ID: id, Payload: n.Payload, Facts: n.Messages, PayloadDigest: n.Erased.PayloadDigest, MetadataDigest: n.Erased.MetadataDigest,
		Variables: n.Variables, Receipt: n.Receipt, put: n,
	}
}

// Over tells what a node becomes, whose header is given, and its payload where it is a compaction node. The header is nil where the node
// stays as it is: it is erased already. The payload has its own memory. ErrBadErasure.
func (n *ErasedNode) Over(h *Header, payload []byte) (*Header, []byte, error) {
	if !n.standsFor(h) || !n.describes(h) {
		return nil, nil, ErrBadErasure
	}
	if h.Erased != nil && !h.Covers.Present {
		return nil, nil, nil
	}
	out := *h
	out.Messages = slices.Clone(h.Messages)
	left, changed := make([]byte, 0, len(n.Payload)), h.Erased == nil
	for i, from := 0, 0; i < len(n.Facts); i++ {
		m, given := &out.Messages[i], n.Payload[from:from+n.Facts[i].Length]
		from += len(given)
		if h.Covers.Present {
			if m.Length > len(payload) {
				return nil, nil, ErrCorrupt
			}
			present := payload[:m.Length]
			payload = payload[m.Length:]
			if m.Was > 0 || bytes.Equal(present, given) {
				left = append(left, present...)
				continue
			}
		}
		left, changed = append(left, given...), true
		*m = marker(h, m, &n.Facts[i])
	}
	switch {
	case !changed:
		return nil, nil, nil
	case n.put != nil && n.put.Absent:
		return nil, nil, ErrBadErasure
	}
	if out.Erased == nil {
		out.Erased = (&Erased{n.PayloadDigest, n.MetadataDigest, h.PayloadLength, h.MetadataLength, n.Variables}).Clone()
	}
	out.Salt, out.PayloadLength, out.MetadataLength, out.DetailsLength = nil, len(left), 0, 0
	return &out, left, nil
}

// marker is what is kept of a message of a node that is erased. It is shorter than a line that would replace it.
func marker(h *Header, m *runloop.Brief, f *runloop.Facts) runloop.Brief {
	out := briefOf(h, f, m.Mark)
	out.Note, out.Was, out.Mark.LineLength = m.Note, int32(m.Length), 0
	return out
}

// briefOf is what the header of a node keeps of a message.
func briefOf(h *Header, f *runloop.Facts, mark runloop.Mark) runloop.Brief {
	out := runloop.BriefOf(f, mark)
	if h.Version1 {
		return out.AsVersion1()
	}
	return out
}

// describes tells whether what was erased elsewhere has what is there yet: the lengths of messages and metadata, and the outcome. Digests are what the
// id is of; variables nothing here can be held against.
func (n *ErasedNode) describes(h *Header) bool {
	if n.put == nil {
		return true
	}
	if h.Erased == nil && (n.put.Erased.MetadataLength != h.MetadataLength || n.put.Outcome != h.Outcome) {
		return false
	}
	for i := range n.Facts {
		if was := n.Facts[i].Was; was > 0 && h.Messages[i].Was == 0 && was != h.Messages[i].Length {
			return false
		}
	}
	return true
}

// standsFor tells whether all that folds and indexes go by is as it is in the node.
func (n *ErasedNode) standsFor(h *Header) bool {
	if len(n.Facts) != len(h.Messages) {
		return false
	}
	length := 0
	for i := range n.Facts {
		is, was := briefOf(h, &n.Facts[i], runloop.Mark{}), &h.Messages[i]
		if is.Role != was.Role || is.Empty != was.Empty || is.Error != was.Error || is.Summary != was.Summary || is.LeftOutLine != was.LeftOutLine ||
			is.LeftOutLoops != was.LeftOutLoops || is.Partial != was.Partial || is.Made != was.Made || is.Opaque != was.Opaque ||
			is.Calls != was.Calls || is.Unnamed != was.Unnamed || !slices.Equal(is.Names, was.Names) || is.Length <= 0 {
			return false
		}
		length += is.Length
	}
	return length == len(n.Payload)
}
