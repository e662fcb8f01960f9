package testserver

import (
	"cmp"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Make makes the nodes of storetest in the encoding of the wire.
func Make(n storetest.Node) chainstore.NewNode {
	messages := make([]*transcriptv1.Message, len(n.Messages))
	for i := range n.Messages {
		messages[i] = message(&n.Messages[i])
	}
	var metadata []*transcriptv1.MetadataEntry
	for _, e := range n.Metadata {
		metadata = append(metadata, &transcriptv1.MetadataEntry{Key: e.Key, Value: e.Value})
	}
	slices.SortFunc(metadata, func(a, b *transcriptv1.MetadataEntry) int { return cmp.Compare(a.Key, b.Key) })
	form := canonical.NewNode(messages, metadata, n.Salt)
	var from *canonical.SpawnedFrom
	if n.SpawnedFrom != nil {
		from = &canonical.SpawnedFrom{Node: n.SpawnedFrom.Node, CallID: n.SpawnedFrom.CallID}
	}
	facts := canonical.Facts(messages)
	for i := range facts {
		facts[i].Note = n.Messages[i].Note
	}
	return chainstore.NewNode{
		Parent: n.Parent, Payload: form.Payload, Metadata: form.Metadata, Details: n.Details(), Salt: slices.Clone(n.Salt),
		SpawnedFrom: n.SpawnedFrom, Messages: facts, Variables: canonical.Variables(metadata), Outcome: canonical.Outcome(metadata),
		Identify: func(parent *chainstore.ID) chainstore.ID {
			return canonical.NodeID(form.Envelope((*[32]byte)(parent), from))
		},
	}
}

func state(m *storetest.Message) transcriptv1.MessageState {
	if m.Partial {
		return transcriptv1.MessageState_MESSAGE_STATE_PARTIAL
	}
	return transcriptv1.MessageState_MESSAGE_STATE_UNSPECIFIED
}

func message(m *storetest.Message) *transcriptv1.Message {
	out := &transcriptv1.Message{
		Role: transcriptv1.Role(m.Role), IsError: m.Error, State: state(m), Name: pointer(m.Name), ToolCallId: pointer(m.CallID),
	}
	switch {
	case m.Opaque:
		state := &transcriptv1.Opaque{Type: "state", Data: []byte(m.Text)}
		out.Parts = append(out.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Opaque{Opaque: state}})
	case m.Text != "":
		out.Parts = append(out.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: m.Text}})
	}
	for _, c := range m.Calls {
		out.Parts = append(out.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
			Id: pointer(c.ID), Name: pointer(c.Name), Arguments: "{}",
		}}})
	}
	return out
}

func pointer(o runloop.Optional) *string {
	if !o.Present {
		return nil
	}
	return &o.Value
}

func optional(s *string) runloop.Optional {
	if s == nil {
		return runloop.Optional{}
	}
	return runloop.Some(*s)
}
