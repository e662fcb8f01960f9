// Package change turns requests that write into changes of a store, and what became of a change into replies.
package change

import (
	"context"
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// nodeFields is what PutNodeRequest and NewNode have in common.
type nodeFields interface {
	GetParent() *transcriptv1.NodeRef
	GetMessages() []*transcriptv1.Message
	GetNotes() []*transcriptv1.MessageNote
	GetMetadata() []*transcriptv1.MetadataEntry
	GetSalt() []byte
	GetSpawnedFrom() *transcriptv1.SpawnedFromRef
	GetAliases() []*transcriptv1.AliasUpdate
}

// ErrDuplicateAlias says that a call names one alias twice. Comes in a canonical.FieldError.
var ErrDuplicateAlias = errors.New("one alias is named twice")

// Builder is a change that a request is turned into.
type Builder struct {
	change chainstore.Change
	// fields are the places of the change's aliases in the request, parents those of its nodes' parents, nodes what is named where a node was
	// erased.
	fields, parents, nodes []string
	names                  map[string]bool
	// messages and calls are counted over all nodes.
	messages, calls int
}

// Deletion is a change that deletes an alias, which is the request's name, and with forget its history.
func Deletion(name string, condition chainstore.Condition, forget bool) *Builder {
	return &Builder{fields: []string{"name"}, change: chainstore.Change{Aliases: []chainstore.AliasChange{{
		Name: name, Target: chainstore.Target{Kind: chainstore.TargetNone}, Condition: condition, Forget: forget,
	}}}}
}

// Compaction is a change that puts a compaction node and sets aliases: that of the head first, if it is one and basis is the head that
// the node was made at, then others.
func Compaction(head chainstore.Ref, n chainstore.NewNode, basis chainstore.ID, others []*transcriptv1.AliasUpdate) (*Builder, error) {
	b := &Builder{change: chainstore.Change{Nodes: []chainstore.NewNode{n}}, parents: []string{"head"}, nodes: []string{"salt"}}
	if head.Alias != "" {
		b.names = map[string]bool{head.Alias: true}
		b.fields = []string{"head.alias"}
		b.change.Aliases = []chainstore.AliasChange{{
			Name: head.Alias, Target: chainstore.Target{Kind: chainstore.TargetNew},
			Condition: chainstore.Condition{Kind: chainstore.Extends, Head: basis},
		}}
	}
	return b, b.updates("", others)
}

// Node adds a node; field is its place in the request, empty where the request is the node. parent is judged already.
func (b *Builder) Node(field string, n nodeFields, parent chainstore.Parent) error {
	if err := canonical.Validate(n.GetMessages(), n.GetMetadata(), n.GetSalt()); err != nil {
		return wire.Under(field, err)
	}
	from, err := canonical.ParseSpawnedFrom(n.GetSpawnedFrom())
	if err != nil {
		return wire.Under(field, err)
	}
	facts := canonical.Facts(n.GetMessages())
	details, err := addNotes(facts, n.GetNotes())
	if err != nil {
		return wire.Under(field, err)
	}
	if err := b.count(field, facts); err != nil {
		return err
	}
	parentField := "parent"
	if field != "" {
		parentField = field + ".parent"
	}
	b.parents, b.nodes = append(b.parents, parentField), append(b.nodes, strings.TrimSuffix(parentField, "parent")+"salt")
	form := canonical.NewNode(n.GetMessages(), n.GetMetadata(), n.GetSalt())
	b.change.Nodes = append(b.change.Nodes, chainstore.NewNode{
		Parent: parent,
		Identify: func(parent *chainstore.ID) chainstore.ID {
			return canonical.NodeID(form.Envelope((*[32]byte)(parent), from))
		},
		Payload:     form.Payload,
		Metadata:    form.Metadata,
		Details:     details,
		Salt:        n.GetSalt(),
		SpawnedFrom: spawnedFrom(from),
		Messages:    facts,
		Variables:   canonical.Variables(n.GetMetadata()),
		Outcome:     canonical.Outcome(n.GetMetadata()),
	})
	return b.updates(field, n.GetAliases())
}

func spawnedFrom(from *canonical.SpawnedFrom) *chainstore.SpawnedFrom {
	if from == nil {
		return nil
	}
	return &chainstore.SpawnedFrom{Node: from.Node, CallID: from.CallID}
}

// count refuses more messages or calls than a request may bring; field is the node's place in it.
func (b *Builder) count(field string, facts []runloop.Facts) error {
	list := "messages"
	if field != "" {
		list = "nodes"
	}
	b.messages += len(facts)
	for i := range facts {
		b.calls += len(facts[i].Calls)
		if facts[i].Role == runloop.Tool {
			b.calls++
		}
	}
	switch {
	case b.messages > wire.MaxMessages:
		return wire.OverLimit(list, "must have at most %d messages in all", wire.MaxMessages)
	case b.calls > wire.MaxCalls:
		return wire.OverLimit(list, "must have at most %d tool calls and results in all", wire.MaxCalls)
	}
	return nil
}

// updates adds the aliases that are set to the last node added, or deleted.
func (b *Builder) updates(field string, aliases []*transcriptv1.AliasUpdate) error {
	if field != "" {
		field += "."
	}
	target := chainstore.Target{Kind: chainstore.TargetNew, Node: len(b.change.Nodes) - 1}
	for i, a := range aliases {
		if err := b.Alias(wire.Indexed(field+"aliases", i), a, target); err != nil {
			return err
		}
	}
	return nil
}

// aliasFields is what AliasUpdate and AliasMove have in common.
type aliasFields interface {
	GetName() string
	GetPrecondition() *transcriptv1.AliasPrecondition
	GetLabels() *transcriptv1.Labels
	GetDelete() bool
}

// Alias adds an alias that is to be set, or deleted; field is its place in the request.
func (b *Builder) Alias(field string, a aliasFields, target chainstore.Target) error {
	if err := wire.CheckAlias(field+".name", a.GetName()); err != nil {
		return err
	}
	condition, err := wire.ParseCondition(field+".precondition", a.GetPrecondition(), a.GetDelete())
	if err != nil {
		return err
	}
	if a.GetDelete() {
		target.Kind = chainstore.TargetNone
		if a.GetLabels() != nil {
			return wire.InvalidField(field+".labels", "must not be set with delete")
		}
	}
	if err := wire.CheckLabels(field+".labels.entries", a.GetLabels().GetEntries()); err != nil {
		return err
	}
	if b.names[a.GetName()] {
		return &canonical.FieldError{Field: field + ".name", Rule: "must not be named twice", Kind: ErrDuplicateAlias}
	}
	if b.names == nil {
		b.names = map[string]bool{}
	}
	b.names[a.GetName()] = true
	if len(b.names) > wire.MaxAliases {
		return wire.OverLimit("aliases", "must be at most %d in a request", wire.MaxAliases)
	}
	b.fields = append(b.fields, field)
	b.change.Aliases = append(b.change.Aliases, chainstore.AliasChange{
		Name: a.GetName(), Target: target, Condition: condition,
		SetLabels: a.GetLabels() != nil, Labels: a.GetLabels().GetEntries(),
	})
	return nil
}

// Commit applies the change. Conflicts, and what is not there, are told by their place in the request.
func (b *Builder) Commit(ctx context.Context, store chainstore.Store, namespace string) (*chainstore.Committed, error) {
	done, err := store.Commit(ctx, wire.Namespace(namespace), &b.change)
	var absent *chainstore.MissingError
	if errors.As(err, &absent) {
		return nil, b.missing(absent)
	}
	var erased *chainstore.ErasedError
	if errors.As(err, &erased) {
		return nil, &Erased{Field: b.nodes[erased.Index], Err: erased}
	}
	var conflict *chainstore.ConflictError
	if !errors.As(err, &conflict) {
		return done, err
	}
	c := &Conflicts{ConflictError: conflict, Fields: b.fields}
	for i := range conflict.Conflicts[:min(len(conflict.Conflicts), MaxConflicts)] {
		c.compacted = append(c.compacted, b.onlyCompacted(ctx, store, namespace, &conflict.Conflicts[i]))
	}
	return nil, c
}

func (b *Builder) missing(e *chainstore.MissingError) error {
	if errors.Is(e, chainstore.ErrParentNotFound) {
		return &wire.Missing{Field: b.parents[e.Index], Err: e}
	}
	return &wire.Missing{Field: b.fields[e.Index] + ".target", Err: e}
}

// onlyCompacted tells whether only compaction nodes lie between the head that a condition names and the node that the
// alias points to; which it asks the store only where that node is one. What cannot be read is not so.
func (b *Builder) onlyCompacted(ctx context.Context, store chainstore.Store, namespace string, c *chainstore.Conflict) bool {
	condition := &b.change.Aliases[c.Index].Condition
	if condition.Kind != chainstore.HeadIs || !c.Compaction {
		return false
	}
	chain, err := store.Chain(ctx, wire.Namespace(namespace), chainstore.Ref{ID: c.Node}, &condition.Head)
	if err != nil {
		return false
	}
	span := chainstore.Span{From: chain.After() + 1, Through: chain.Head().Seq, HeadersOnly: true}
	return chain.Rows(ctx, []chainstore.Span{span}, func(r *chainstore.Row) error {
		if !r.Raw.IsCompaction() {
			return chainstore.ErrAliasMoved
		}
		return nil
	}) == nil
}

// Replies are the replies for each node of a change that was applied, with the aliases that it names.
func (b *Builder) Replies(done *chainstore.Committed) []*transcriptv1.PutNodeResponse {
	replies := make([]*transcriptv1.PutNodeResponse, len(done.Nodes))
	for i, n := range done.Nodes {
		replies[i] = &transcriptv1.PutNodeResponse{
			NodeId: n.ID.String(), Created: n.Created, Counters: wire.ChainCounters(n.Full, n.Effective),
		}
	}
	for i, result := range b.Results(done) {
		reply := replies[b.change.Aliases[i].Target.Node]
		reply.Aliases = append(reply.Aliases, result)
	}
	return replies
}

// Results tell what became of each alias of a change that was applied.
func (b *Builder) Results(done *chainstore.Committed) []*transcriptv1.AliasResult {
	results := make([]*transcriptv1.AliasResult, len(done.Aliases))
	for i, a := range done.Aliases {
		results[i] = &transcriptv1.AliasResult{Name: b.change.Aliases[i].Name, Changed: a.Changed, Revised: a.Revised, Revision: a.Revision}
		if a.Existed {
			results[i].PreviousId = a.Previous.String()
		}
	}
	return results
}

// addNotes adds notes, none or one for each message, to the facts, and returns what else they tell as it is stored.
func addNotes(facts []runloop.Facts, notes []*transcriptv1.MessageNote) ([]byte, error) {
	parsed, details, err := wire.ParseNotes(notes, len(facts))
	if err != nil {
		return nil, err
	}
	for i, n := range parsed {
		if n.HasTokens && facts[i].Opaque {
			return nil, wire.InvalidField(wire.Indexed("notes", i)+".token_count", "must be absent for an opaque message")
		}
		facts[i].Note = n
	}
	return chainstore.EncodeDetails(details), nil
}

// ParseParent reads a parent that may be absent.
func ParseParent(field string, ref *transcriptv1.NodeRef) (chainstore.Parent, error) {
	if ref == nil {
		return chainstore.Parent{Kind: chainstore.NoParent}, nil
	}
	r, err := wire.ParseRef(field, ref)
	switch {
	case err != nil:
		return chainstore.Parent{}, err
	case r.Alias != "":
		return chainstore.Parent{Kind: chainstore.ParentAlias, Alias: r.Alias}, nil
	default:
		return chainstore.Parent{Kind: chainstore.ParentID, ID: r.ID}, nil
	}
}
