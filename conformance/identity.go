package conformance

import (
	"encoding/hex"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func identityChecks() []Check {
	return []Check{
		{ID: "identity/vectors", Promise: "the vectors of proto/testdata, put over the wire, get the ids that they name", run: func(p *probe) { putVectors(p, false) }},
		{ID: "identity/large-vectors", Promise: "so do those of many messages and large texts", Large: true, run: func(p *probe) { putVectors(p, true) }},
		{ID: "identity/any-spelling", Promise: "fields in another order, and defaults written out, are the same node", run: putRespelled},
		{ID: "identity/recomputed", Promise: "the id of a node is the hash of its envelope, which GetNode tells, and this that of messages, metadata and parent", run: recompute},
		{ID: "identity/given-back", Promise: "messages are given back as they were put: no text is normalised, absent is not empty", run: givenBack},
		{ID: "identity/metadata-order", Promise: "metadata is sorted by the bytes of its keys, and its order in the request means nothing", run: metadataOrder},
		{ID: "identity/notes-are-not-hashed", Promise: "notes are no part of the id, and those of the first put stay", run: notesStay},
	}
}

// puttable says that a client may put the vector, here: a parent that is not there is refused.
func (v *vector) puttable() bool {
	return v.Parent == "" && v.CoversThrough == "" && !v.Stored
}

func (p *probe) vectorRequest(v *vector) *transcriptv1.PutNodeRequest {
	r := p.request(&v.input)
	if v.SpawnedFrom != nil {
		r.SpawnedFrom = &transcriptv1.SpawnedFromRef{NodeId: v.SpawnedFrom.Node, ToolCallId: v.SpawnedFrom.ToolCallID}
	}
	return r
}

func putVectors(p *probe, large bool) {
	for _, v := range p.kit.vectors {
		if v.puttable() && v.large() == large {
			is(p, "id of the vector \""+v.Name+"\"", p.put(p.vectorRequest(&v)).GetNodeId(), v.NodeID)
		}
	}
}

func putRespelled(p *probe) {
	for _, v := range p.kit.vectors {
		if len(v.WireHex) == 0 || !v.puttable() {
			continue
		}
		request := p.vectorRequest(&v)
		request.Messages = nil
		messages, err := retag(v.WireHex, messagesField)
		if err != nil {
			p.failf("the kit's own vectors: %v", err)
		}
		var reply transcriptv1.PutNodeResponse
		p.ok(p.raw(transcriptService+"PutNode", append(p.encode(request), messages...), &reply), "PutNode")
		is(p, "id of the vector \""+v.Name+"\"", reply.GetNodeId(), v.NodeID)
	}
}

// recompute computes ids of a chain of its own: with salt and metadata, with a spawner, of a compaction node.
func recompute(p *probe) {
	c := p.chain("s | u c1 R1 a | U c2 R2 A | u a")
	salted := p.put(&transcriptv1.PutNodeRequest{
		Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user()}, Salt: []byte("0123456789abcdef"),
		Metadata:    []*transcriptv1.MetadataEntry{{Key: "b", Value: "2"}, {Key: "a", Value: ""}},
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: c.ids[0], ToolCallId: proto.String("")},
	}).GetNodeId()
	compacted, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(c.head()), Salt: []byte("0123456789abcdef0123456789abcdef")})
	p.ok(err, "Compact")
	p.holds(compacted.GetWritten(), "Compact to write a node")
	for _, id := range append(c.ids, salted, compacted.GetNodeId()) {
		is(p, "id of the node that GetNode tells of", p.idOf(p.get(id)), id)
	}
}

// idOf computes the id of a node from what GetNode tells of it.
func (p *probe) idOf(n *transcriptv1.GetNodeResponse) string {
	e := n.GetInfo().GetEnvelope()
	payload := canonical.PayloadDigest(e.GetSalt(), canonical.EncodePayload(n.GetMessages()))
	is(p, "payload_digest", e.GetPayloadDigest(), hex.EncodeToString(payload[:]))
	in := canonical.Envelope{PayloadDigest: payload, Parent: p.digest(e.GetParentId()), CoversThrough: p.digest(e.GetCoversThroughId())}
	if entries := n.GetMetadata().GetEntries(); len(entries) > 0 {
		metadata := canonical.MetadataDigest(e.GetSalt(), canonical.AppendMetadata(nil, entries))
		in.MetadataDigest = &metadata
		is(p, "metadata_digest", e.GetMetadataDigest(), hex.EncodeToString(metadata[:]))
	}
	if e.GetSpawnedFrom() != nil {
		from, err := canonical.ParseSpawnedFrom(e.GetSpawnedFrom())
		if err != nil {
			p.failf("spawned_from: expected what was put, got a malformed one")
		}
		in.SpawnedFrom = from
	}
	id := canonical.NodeID(in)
	return hex.EncodeToString(id[:])
}

// digest reads an id or a digest; nil for none.
func (p *probe) digest(digits string) *[32]byte {
	if digits == "" {
		return nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 32 || digits != strings.ToLower(digits) {
		p.failf("expected 64 lower-case hex digits, got %d bytes that are none", len(digits))
	}
	return (*[32]byte)(b)
}

// givenBack puts every vector that a client may put and reads it by GetNode, and by Assemble in the full view.
func givenBack(p *probe) {
	for _, v := range p.kit.vectors {
		if !v.puttable() || v.large() {
			continue
		}
		r := p.vectorRequest(&v)
		n := p.get(p.put(r).GetNodeId())
		p.sameMessages("vector \""+v.Name+"\"", n.GetMessages(), r.GetMessages())
		is(p, "salt of the vector \""+v.Name+"\"", n.GetInfo().GetEnvelope().GetSalt(), r.GetSalt())
		is(p, "metadata of the vector \""+v.Name+"\"", len(n.GetMetadata().GetEntries()), len(r.GetMetadata()))
		full := (&chain{p: p, ids: []string{n.GetInfo().GetNodeId()}}).view(&transcriptv1.AssembleRequest{View: transcriptv1.View_VIEW_FULL})
		p.sameMessages("full view of the vector \""+v.Name+"\"", full.GetMessages(), r.GetMessages())
	}
}

// metadataOrder: U+FF61 sorts before U+1F600 by its bytes in UTF-8, and behind it in UTF-16.
func metadataOrder(p *probe) {
	sorted := []string{"a", "｡", "😀"}
	request := func(keys ...string) *transcriptv1.PutNodeRequest {
		r := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{text(transcriptv1.Role_ROLE_USER, p.kit.mark+" metadata")}}
		for _, k := range keys {
			r.Metadata = append(r.Metadata, &transcriptv1.MetadataEntry{Key: k, Value: "of " + k})
		}
		return r
	}
	first := p.put(request(sorted...))
	second := p.put(request("😀", "a", "｡"))
	is(p, "id of the same metadata in another order", second.GetNodeId(), first.GetNodeId())
	is(p, "created of the same metadata in another order", second.GetCreated(), false)
	n := p.get(first.GetNodeId())
	for i, e := range n.GetMetadata().GetEntries() {
		p.holds(e.GetKey() == sorted[i] && e.GetValue() == "of "+sorted[i], "metadata sorted by the UTF-8 bytes of its keys, got another at place %d", i)
	}
	is(p, "id recomputed", p.idOf(n), first.GetNodeId())
}

func notesStay(p *probe) {
	message := p.user()
	put := func(model string) *transcriptv1.PutNodeResponse {
		return p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{message}, Notes: []*transcriptv1.MessageNote{{
			Model: model, FinishReason: "stop", TokenCount: proto.Int32(7), InputTokens: proto.Int32(5), OutputTokens: proto.Int32(0),
			CachedTokens: proto.Int32(3), Attributes: map[string]string{"k": "v"},
		}}})
	}
	first, second := put("m-1"), put("m-2")
	is(p, "id of the same node with other notes", second.GetNodeId(), first.GetNodeId())
	is(p, "created of the second put", second.GetCreated(), false)
	notes := p.get(first.GetNodeId()).GetInfo().GetNotes()
	is(p, "notes of the node", len(notes), 1)
	p.same("the notes", notes[0], &transcriptv1.MessageNote{
		Model: "m-1", FinishReason: "stop", TokenCount: proto.Int32(7), InputTokens: proto.Int32(5), OutputTokens: proto.Int32(0),
		CachedTokens: proto.Int32(3), Attributes: map[string]string{"k": "v"},
	})
}
