package change

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Taken are nodes whose content a change takes away, and the fields of the request that do.
type Taken struct {
	IDs    []chainstore.ID
	Fields []string
}

// looks is how often CommitArchived looks at what is there, where others put the same nodes meanwhile.
const looks = 8

// ErrPutMeanwhile says that others put nodes of a change between each look at what is there and the commit.
var ErrPutMeanwhile = errors.New("others put nodes of the change again and again while it was looked at what is there")

// CommitArchived is Commit of nodes that were put elsewhere. What was erased elsewhere and is there with its content has to be that node's. may runs
// the commit of a change that takes content away, unless it refuses that. ErrPutMeanwhile.
func (b *Builder) CommitArchived(
	ctx context.Context, store chainstore.Store, namespace string, may func(taken *Taken, commit func() error) error,
) (done *chainstore.Committed, err error) {
	var before []bool
	changed := false
	for range looks {
		var taken *Taken
		if taken, err = b.fits(ctx, store, namespace); err != nil {
			return nil, err
		}
		commit := func() (err error) {
			done, err = b.Commit(ctx, store, namespace)
			return err
		}
		if len(taken.IDs) == 0 {
			err = commit()
		} else {
			err = may(taken, commit)
		}
		if !errors.Is(err, chainstore.ErrBadErasure) { // else a node was put since
			return done, err
		}
		found := b.absent()
		changed = changed || before != nil && !slices.Equal(found, before)
		before = found
	}
	if changed { // else each look found the same, and it is a fault
		err = ErrPutMeanwhile
	}
	return nil, err
}

// absent tells of each node whether it is put on condition that there is none to take content from.
func (b *Builder) absent() []bool {
	out := make([]bool, len(b.change.Nodes))
	for i := range b.change.Nodes {
		out[i] = b.change.Nodes[i].Absent
	}
	return out
}

// fits judges nodes that were erased elsewhere by those that are there, and tells from which of these content is taken. The others are put on condition
// that there is none to take.
func (b *Builder) fits(ctx context.Context, store chainstore.Store, namespace string) (*Taken, error) {
	taken := &Taken{}
	erased, whole, ids := map[chainstore.ID]int{}, map[chainstore.ID]bool{}, []chainstore.ID(nil)
	for i := range b.change.Nodes {
		n := &b.change.Nodes[i]
		id := n.Identify(nil)
		if _, again := erased[id]; again || n.Erased != nil && whole[id] {
			return nil, wire.InvalidField(b.nodes[i], "must not be a node of the request again that was erased")
		}
		if n.Erased == nil {
			whole[id] = true
			continue
		}
		n.Absent = true
		ids, erased[id] = append(ids, id), i
	}
	if len(ids) == 0 {
		return taken, nil
	}
	return taken, store.Nodes(ctx, wire.Namespace(namespace), ids, func(n *chainstore.FoundNode) error {
		at := erased[n.Header.ID]
		b.change.Nodes[at].Absent = false
		takes, err := fitsNode(b.nodes[at], &b.change.Nodes[at], n)
		if b.change.Nodes[at].Absent = !takes; takes {
			taken.IDs, taken.Fields = append(taken.IDs, n.Header.ID), append(taken.Fields, b.nodes[at]+".erasure")
		}
		return err
	})
}

// fitsNode judges one, whose place in the request is field, by the node that is there, and tells whether it takes something from that.
func fitsNode(field string, in *chainstore.NewNode, there *chainstore.FoundNode) (takes bool, err error) {
	h, erasure := there.Header, field+".erasure."
	for i := range min(len(in.Messages), len(h.Messages)) {
		if was := in.Messages[i].Was; was > 0 && h.Messages[i].Was == 0 && was != h.Messages[i].Length {
			return false, wire.InvalidField(wire.Indexed(erasure+"message_bytes", i), "must be the bytes of the message of the node, which is there")
		}
	}
	if h.Erased == nil {
		entries, err := canonical.CheckMetadata(there.Metadata)
		if err != nil {
			return false, err
		}
		switch {
		case in.Erased.MetadataLength != h.MetadataLength:
			return false, wire.InvalidField(erasure+"metadata_bytes", "must be the bytes of the metadata of the node, which is there")
		case !slices.Equal(in.Variables, canonical.Variables(entries)):
			return false, wire.InvalidField(erasure+"variables", "must be what the node does to variables, which is there")
		case in.Outcome != canonical.Outcome(entries):
			return false, wire.InvalidField(erasure+"outcome", "must be that of the node, which is there")
		}
	}
	left, _, err := in.ErasedHere(h.ID).Over(h, there.Payload)
	if errors.Is(err, chainstore.ErrBadErasure) {
		err = wire.InvalidField(field+".payload", "must have the markers of the messages of the node, which is there")
	}
	return left != nil, err
}

// Archived adds a node that was put elsewhere; field is its place in the request.
func (b *Builder) Archived(field string, n *transcriptv1.ArchivedNode) error {
	stored, err := canonical.CheckArchived(n)
	if err != nil {
		return wire.Under(field, err)
	}
	return b.Stored(field, n, stored)
}

// Stored is Archived of a node that was checked.
func (b *Builder) Stored(field string, n *transcriptv1.ArchivedNode, stored *canonical.Stored) error {
	details, err := addNotes(stored.Facts, n.GetNotes())
	if err != nil {
		return wire.Under(field, err)
	}
	if err := b.count(field, stored.Facts); err != nil {
		return err
	}
	in := chainstore.NewNode{
		Identify: func(*chainstore.ID) chainstore.ID { return stored.ID },
		Payload:  n.GetPayload(), Metadata: n.GetMetadata(), Salt: n.GetSalt(), Details: details,
		SpawnedFrom: spawnedFrom(stored.Envelope.SpawnedFrom), Messages: stored.Facts,
		Variables: canonical.Variables(stored.Metadata), Outcome: canonical.Outcome(stored.Metadata),
	}
	if e := stored.Erased; e != nil {
		if len(details) > 0 {
			return wire.InvalidField(field+".notes", "must have nothing but sent_at, token_count and token_count_estimated in a node that was erased")
		}
		in.Variables, in.Outcome, in.Receipt = e.Variables, e.Outcome, n.GetErasure().GetReceipt()
		in.Erased = &chainstore.Erased{
			PayloadDigest: stored.Envelope.PayloadDigest, MetadataDigest: (*chainstore.ID)(stored.Envelope.MetadataDigest),
			PayloadLength: e.PayloadBytes, MetadataLength: e.MetadataBytes,
		}
	}
	if id := stored.Envelope.Parent; id != nil {
		in.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: *id}
	}
	if at := n.GetFirstPutAt(); at != nil {
		var ok bool
		if in.FirstPut, ok = wire.Milliseconds(at); !ok {
			return wire.InvalidField(field+".first_put_at", "must be a time from 1970 to 9999")
		}
	}
	if in.Compaction, err = copies(field, stored, n.GetCopies()); err != nil {
		return err
	}
	b.parents, b.nodes = append(b.parents, field+".envelope"), append(b.nodes, field)
	b.change.Nodes = append(b.change.Nodes, in)
	return nil
}

// copies is what a compaction node has beside its messages; nil for another node.
func copies(field string, n *canonical.Stored, c *transcriptv1.CompactionCopies) (*chainstore.Compaction, error) {
	covers := n.Envelope.CoversThrough
	field += ".copies"
	switch {
	case covers == nil && c == nil:
		return nil, nil
	case covers == nil:
		return nil, wire.InvalidField(field, "must be absent, but for a compaction node")
	case c == nil:
		return nil, wire.InvalidField(field, "must be set for a compaction node")
	case len(c.GetCopiedFrom()) != len(n.Facts):
		return nil, wire.InvalidField(field+".copied_from", "must be one for each message")
	}
	out := &chainstore.Compaction{Covers: *covers, Erasures: chainstore.AnyErasures, Loops: &runloop.Loops{Begins: make([]bool, len(n.Facts))}}
	for i, from := range c.GetCopiedFrom() {
		if from == nil || (from.Ancestors == nil) != (from.MessageIndex == nil) || from.GetAncestors() < 0 || from.GetMessageIndex() < 0 || from.GetMessageIndex() >= canonical.MaxMessages {
			return nil, wire.InvalidField(wire.Indexed(field+".copied_from", i), "must be empty, or have ancestors and a message_index, each 0 or more")
		}
		out.Provenance = append(out.Provenance, chainstore.Provenance{
			Present: from.Ancestors != nil, Place: runloop.Place{Seq: uint32(from.GetAncestors()), Index: uint32(from.GetMessageIndex())},
		})
	}
	before := int32(-1)
	for i, at := range c.GetLoopBegins() {
		if at <= before || int(at) >= len(n.Facts) {
			return nil, wire.InvalidField(wire.Indexed(field+".loop_begins", i), "must be the indexes of messages, ascending")
		}
		if i > 0 && n.Facts[at].Role != runloop.User {
			return nil, wire.InvalidField(wire.Indexed(field+".loop_begins", i), "must be a message of the user, but for the first of them")
		}
		out.Loops.Begins[at], before = true, at
	}
	if i := slices.Index(out.Loops.Begins, true); i >= 0 && slices.ContainsFunc(n.Facts[i:], func(f runloop.Facts) bool { return f.Summary || f.LeftOutLine }) {
		return nil, wire.InvalidField(field+".loop_begins", "must be behind the summary and the left-out line")
	}
	var known bool
	if out.Loops.Phase, known = wire.ParsePhase(c.GetLastLoop()); !known || (out.Loops.Phase == runloop.None) != (before < 0) {
		return nil, wire.InvalidField(field+".last_loop", "must be set if there are loop_begins, and only then")
	}
	return out, answered(field, n, out)
}

// answered refuses messages that end with a call which is not answered: what comes behind them could not answer it.
func answered(field string, n *canonical.Stored, c *chainstore.Compaction) error {
	var s runloop.State
	_, _, err := s.Fold(runloop.Node{
		Seq: math.MaxUint32, Prefix: chainstore.ID{}.Prefix(), Times: runloop.Times{AsSent: true}, Messages: n.Facts, Loops: c.Loops,
	}, func(runloop.Optional) bool { return false })
	if err == nil && s.Group.Unanswered() > 0 {
		return wire.InvalidField(field, "must belong to messages whose calls are all answered")
	}
	return nil // a group that is too large the store refuses
}
