package conformance

import (
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func refusedChecks() []Check {
	return []Check{
		{ID: "refused/vectors", Promise: "the refused inputs of proto/testdata are refused with the field and the reason that they name, and change nothing", run: func(p *probe) { putRefused(p, false) }},
		{ID: "refused/large-vectors", Promise: "so are those of many messages and large texts", Large: true, run: func(p *probe) { putRefused(p, true) }},
		{ID: "refused/requests", Promise: "the refused requests of proto/testdata are refused with the reason and the fields that they name, and change nothing", run: refusedRequests},
		{ID: "refused/in-put-nodes", Promise: "PutNodes refuses the same inputs, and names the node", run: refusedNodes},
		{ID: "refused/unknown-fields", Promise: "a field that the server does not know is refused as MALFORMED_REQUEST, in a request and deep inside", run: unknownFields},
		{ID: "refused/invalid-utf8", Promise: "a string of invalid UTF-8 is refused as MALFORMED_REQUEST in any request", run: invalidUTF8},
		{ID: "refused/cut-off", Promise: "bytes that do not parse as the request are refused as MALFORMED_REQUEST", run: cutOff},
		{ID: "refused/origin", Promise: "origin is the server's: a message with one is refused", run: refusedOrigins},
		{ID: "refused/notes", Promise: "notes are refused that are not one for each message, or out of their form", run: refusedNotes},
		{ID: "refused/metadata-forms", Promise: "values of run/end, varinfo/NAME and spawn/inherits have their form, and other keys of the service's are refused", run: refusedMetadata},
		{ID: "refused/references", Promise: "ids, aliases and namespaces that are malformed are refused as INVALID_FIELD, naming the field", run: refusedReferences},
	}
}

// reasonOfKind is the reason of each kind of refused.json.
var reasonOfKind = map[string]string{"invalid": "INVALID_FIELD", "limit": "LIMIT_EXCEEDED", "malformed": "MALFORMED_REQUEST"}

func putRefused(p *probe, large bool) {
	parent, name := p.node("", p.user()), p.name("refused")
	for _, r := range p.kit.refusals {
		if r.StoredHex != "" || r.large() != large {
			continue
		}
		err := p.raw(transcriptService+"PutNode", p.refusedRequest(&r, parent, name), &transcriptv1.PutNodeResponse{})
		if got := reasonOf(status.Convert(err)); err == nil || got != reasonOfKind[r.Kind] {
			p.failf("\"%s\": expected %s for %s, got %s", r.Name, reasonOfKind[r.Kind], r.Field, orSuccess(err))
		}
		fields := []string{r.Field}
		if r.Kind == "malformed" {
			fields = nil // where bytes do not parse, a field may not be known
		}
		p.refusedCase(r.Name, err, reasonOfKind[r.Kind], fields)
	}
	is(p, "children of the parent of refused nodes", len(p.children(parent)), 0)
	p.gone(name)
}

func (p *probe) refusedCase(name string, err error, reason string, fields []string) {
	if got := fieldsOf(status.Convert(err)); len(fields) > 0 && strings.Join(got, ", ") != strings.Join(fields, ", ") {
		p.failf("\"%s\": expected a BadRequest that names %s, got %s", name, orNothing(fields), orNothing(got))
	}
	p.refused(err, reason, fields...)
}

func orSuccess(err error) string {
	if err == nil {
		return "success"
	}
	return describe(err)
}

// refusedRequest is a PutNodeRequest that holds a refused input, and would set an alias.
func (p *probe) refusedRequest(r *refusal, parent, name string) []byte {
	request := p.request(&r.input)
	request.Parent, request.Aliases = byID(parent), []*transcriptv1.AliasUpdate{{Name: name}}
	if len(r.SpawnedFrom) > 0 {
		request.SpawnedFrom = &transcriptv1.SpawnedFromRef{}
		if err := protojson.Unmarshal(r.SpawnedFrom, request.SpawnedFrom); err != nil {
			p.failf("the kit's own vectors do not parse: %v", err)
		}
	}
	var tail []byte
	for _, list := range []struct {
		entries []byte
		field   protowire.Number
		drop    func()
	}{
		{r.WireHex, messagesField, func() { request.Messages = nil }},
		{r.MetadataWireHex, metadataField, func() { request.Metadata = nil }},
	} {
		if len(list.entries) == 0 {
			continue
		}
		list.drop()
		entries, err := retag(list.entries, list.field)
		if err != nil {
			p.failf("the kit's own vectors: %v", err)
		}
		tail = append(tail, entries...)
	}
	return append(p.encode(request), tail...)
}

func refusedNodes(p *probe) {
	root := p.user()
	for _, r := range p.kit.refusals {
		if r.StoredHex != "" || r.large() || len(r.WireHex) > 0 || len(r.MetadataWireHex) > 0 || len(r.SpawnedFrom) > 0 {
			continue
		}
		in := p.request(&r.input)
		_, err := p.PutNodes(p.ctx, &transcriptv1.PutNodesRequest{Namespace: p.namespace, Nodes: []*transcriptv1.NewNode{
			{Messages: []*transcriptv1.Message{root}},
			{Previous: true, Messages: in.Messages, Metadata: in.Metadata, Salt: in.Salt},
		}})
		if err == nil {
			p.failf("\"%s\": expected a refusal, got success", r.Name)
		}
		p.refusedCase(r.Name, err, reasonOfKind[r.Kind], []string{"nodes[1]." + r.Field})
	}
	is(p, "created of the node that came before refused ones", p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{root}}).GetCreated(), true)
}

func unknownFields(p *probe) {
	id := p.node("", p.user())
	reads := map[string]proto.Message{
		"GetNode":      &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)},
		"Assemble":     &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(id)},
		"ResolveAlias": &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: p.name("x")},
		"ListAliases":  &transcriptv1.ListAliasesRequest{Namespace: p.namespace},
		"Describe":     &transcriptv1.DescribeRequest{Namespace: p.namespace, Head: byID(id)},
		"PutNode":      &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{p.user()}},
	}
	for method, request := range reads {
		err := p.raw(transcriptService+method, append(p.encode(request), unknownField...), &transcriptv1.GetNodeResponse{})
		if err == nil {
			p.failf("%s with an unknown field: expected MALFORMED_REQUEST, got success", method)
		}
		p.refused(err, "MALFORMED_REQUEST")
	}
	deep := &transcriptv1.AssembleRequest{
		Namespace: p.namespace, Head: byID(id), View: transcriptv1.View_VIEW_CONVERSATION, Policy: &transcriptv1.Policy{ClearToolResults: &transcriptv1.ClearToolResults{}},
	}
	deep.Policy.ClearToolResults.ProtoReflect().SetUnknown(unknownField)
	_, err := p.Assemble(p.ctx, deep)
	p.refused(err, "MALFORMED_REQUEST")
}

func invalidUTF8(p *probe) {
	bad := func(field protowire.Number) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), []byte("a\xff"))
	}
	p.refused(p.raw(transcriptService+"ResolveAlias", bad(2), &transcriptv1.ResolveAliasResponse{}), "MALFORMED_REQUEST")
	p.refused(p.raw(transcriptService+"ListAliases", bad(2), &transcriptv1.ListAliasesResponse{}), "MALFORMED_REQUEST")
	p.refused(p.raw(transcriptService+"PutNode", bad(1), &transcriptv1.PutNodeResponse{}), "MALFORMED_REQUEST")
}

func cutOff(p *probe) {
	whole := p.encode(&transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{p.user()}})
	p.refused(p.raw(transcriptService+"PutNode", whole[:len(whole)-3], &transcriptv1.PutNodeResponse{}), "MALFORMED_REQUEST")
}

func refusedOrigins(p *probe) {
	for origin := transcriptv1.Origin_ORIGIN_SUMMARY; origin <= transcriptv1.Origin_ORIGIN_LEFT_OUT; origin++ {
		m := p.user()
		m.Origin = origin
		_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{m}})
		p.refused(err, "INVALID_FIELD", "messages[0].origin")
	}
}

func refusedNotes(p *probe) {
	opaque := p.letter("o")
	for _, c := range []struct {
		what, field string
		message     *transcriptv1.Message
		notes       []*transcriptv1.MessageNote
	}{
		{"two notes for a message", "notes", p.user(), []*transcriptv1.MessageNote{{}, {}}},
		{"a sent_at before 1970", "notes[0].sent_at", p.user(), []*transcriptv1.MessageNote{{SentAt: &timestamppb.Timestamp{Seconds: -1}}}},
		{"a sent_at after 9999", "notes[0].sent_at", p.user(), []*transcriptv1.MessageNote{{SentAt: &timestamppb.Timestamp{Seconds: 253402300800}}}},
		{"an estimate without a count", "notes[0].token_count_estimated", p.user(), []*transcriptv1.MessageNote{{TokenCountEstimated: true}}},
		{"a negative token_count", "notes[0].token_count", p.user(), []*transcriptv1.MessageNote{{TokenCount: proto.Int32(-1)}}},
		{"a count for an opaque message", "notes[0].token_count", opaque, []*transcriptv1.MessageNote{{TokenCount: proto.Int32(1)}}},
		{"negative input_tokens", "notes[0].input_tokens", p.user(), []*transcriptv1.MessageNote{{InputTokens: proto.Int32(-1)}}},
		{"negative output_tokens", "notes[0].output_tokens", p.user(), []*transcriptv1.MessageNote{{OutputTokens: proto.Int32(-1)}}},
		{"negative cached_tokens", "notes[0].cached_tokens", p.user(), []*transcriptv1.MessageNote{{CachedTokens: proto.Int32(-1)}}},
	} {
		_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{c.message}, Notes: c.notes})
		p.refusedCase(c.what, err, "INVALID_FIELD", []string{c.field})
	}
	_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{Namespace: p.namespace, Messages: []*transcriptv1.Message{p.user()}, Notes: []*transcriptv1.MessageNote{{Attributes: map[string]string{"": "v"}}}})
	p.refused(err, "INVALID_FIELD")
}

func refusedMetadata(p *probe) {
	for _, c := range []struct{ key, value, field string }{
		{"run/end", "done", "metadata[0].value"}, {"run/end", "", "metadata[0].value"}, {"run/begin", "x", "metadata[0].key"},
		{"spawn/inherits", "all", "metadata[0].value"}, {"spawn/x", "x", "metadata[0].key"}, {"transcriptd/x", "x", "metadata[0].key"},
		{"var/", "1", "metadata[0].key"}, {"varinfo/", "", "metadata[0].key"},
		{"varinfo/v", "1", "metadata[0].value"}, {"varinfo/v", `{"type":"t"}`, "metadata[0].value"},
		{"varinfo/v", `{"type":"","size":1,"iteration":0,"preview":""}`, "metadata[0].value"},
		{"varinfo/v", `{"type":"t","size":-1,"iteration":0,"preview":""}`, "metadata[0].value"},
		{"varinfo/v", `{"type":"t","size":1,"iteration":0,"preview":"","more":1}`, "metadata[0].value"},
	} {
		_, err := p.PutNode(p.ctx, &transcriptv1.PutNodeRequest{
			Namespace: p.namespace, Messages: []*transcriptv1.Message{p.user()}, Metadata: []*transcriptv1.MetadataEntry{{Key: c.key, Value: c.value}},
		})
		p.refusedCase("metadata "+c.key, err, "INVALID_FIELD", []string{c.field})
	}
	for _, e := range []*transcriptv1.MetadataEntry{
		{Key: "run/end", Value: "cancelled"}, {Key: "spawn/inherits", Value: "prefix"}, {Key: "var/v", Value: "no JSON"}, {Key: "var/v", Value: ""},
		{Key: "varinfo/v", Value: `{"type":"t","size":9007199254740991,"iteration":0,"preview":""}`}, {Key: "varinfo/v", Value: ""}, {Key: "runs/x", Value: "x"},
	} {
		p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Metadata: []*transcriptv1.MetadataEntry{e}})
	}
}

func refusedReferences(p *probe) {
	id := p.node("", p.user())
	for _, bad := range []string{"", id[:63], id + "0", strings.ToUpper(id[:63]) + "A", "g" + id[1:], " " + id[1:]} {
		_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: bad}}})
		p.refused(err, "INVALID_FIELD", "head.node_id")
	}
	_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id[:5])})
	p.refused(err, "INVALID_FIELD", "node.node_id")
	_, err = p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace})
	p.refused(err, "INVALID_FIELD")
	for _, bad := range []string{"", "a\nb", "a\x00", "a\u0085"} {
		_, err := p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: p.namespace, Aliases: []*transcriptv1.AliasMove{{Name: bad, Target: byID(id)}}})
		p.refused(err, "INVALID_FIELD", "aliases[0].name")
	}
	for _, bad := range []string{"Upper", "a b", "a/b", "é", strings.Repeat("a", 65)} {
		_, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: bad, Name: "x"})
		p.refused(err, "INVALID_FIELD", "namespace")
	}
}
