package conformance

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func limitChecks() []Check {
	return []Check{
		{ID: "limits/message", Promise: "a message of 3 MiB is taken, one of a byte more is LIMIT_EXCEEDED", Large: true, run: limitMessage},
		{ID: "limits/payload", Promise: "a node's messages of 4 MiB - 128 KiB are taken, a byte more is LIMIT_EXCEEDED; the node is read again", Large: true, run: limitPayload},
		{ID: "limits/request", Promise: "a request over 4 MiB is LIMIT_EXCEEDED, one over 8 MiB RESOURCE_EXHAUSTED", Large: true, run: limitRequest},
		{ID: "limits/messages-of-a-node", Promise: "1,000 messages are taken, 1,001 are LIMIT_EXCEEDED", run: limitMessages},
		{ID: "limits/calls", Promise: "256 calls of a message are taken, 257 are LIMIT_EXCEEDED; over 1,024 open ones are TOO_MANY_OPEN_CALLS", run: limitCalls},
		{ID: "limits/metadata", Promise: "64 entries with keys of 256 bytes and values of 4 KiB are taken, more is LIMIT_EXCEEDED", run: limitMetadata},
		{ID: "limits/labels", Promise: "64 labels with keys of 256 bytes and values of 4 KiB are taken, more is LIMIT_EXCEEDED", run: limitLabels},
		{ID: "limits/notes", Promise: "1 KiB of notes of a message and 16 attributes are taken, more is LIMIT_EXCEEDED", run: limitNotes},
		{ID: "limits/nodes-and-aliases-of-a-call", Promise: "1,000 nodes and 1,000 aliases of a call are taken, 1,001 are LIMIT_EXCEEDED", run: limitCall},
		{ID: "limits/messages-and-calls-of-a-request", Promise: "10,000 messages, and 10,000 calls and results, of a request are taken, more is LIMIT_EXCEEDED", Large: true, run: limitMessagesOfCall},
		{ID: "limits/notes-of-a-node", Promise: "64 KiB of notes of a node are taken, more is LIMIT_EXCEEDED", run: limitNodeNotes},
		{ID: "limits/summary", Promise: "a summary of 1 MiB is taken, of a byte more LIMIT_EXCEEDED", Large: true, run: limitSummary},
		{ID: "limits/reply-of-get-node", Promise: "a node that does not fit into 4 MiB is USE_STREAM_ASSEMBLE, and is read without its messages", Large: true, run: limitReply},
		{ID: "limits/opaque", Promise: "an opaque part of 1 MiB is taken, of a byte more LIMIT_EXCEEDED", Large: true, run: limitOpaque},
		{ID: "limits/page-size", Promise: "page_size 0 means 100, and more than 1,000 gives 1,000", run: limitPage},
	}
}

// ofSize is a user's message of n bytes in canonical encoding, without its tag and length in a payload.
func (p *probe) ofSize(n int) *transcriptv1.Message {
	m := text(transcriptv1.Role_ROLE_USER, p.text(""))
	words := m.Parts[0].GetText()
	size := func(fillers int) int {
		m.Parts[0] = textPart(words + fill(fillers))
		return messageBytes(m)
	}
	k := n - size(0)
	for k > 0 && size(k) > n {
		k--
	}
	if size(k) != n {
		p.failf("the kit cannot make a message of %d bytes", n)
	}
	return m
}

// putError puts, and gives the error.
func (p *probe) putError(r *transcriptv1.PutNodeRequest) error {
	r.Namespace = p.namespace
	_, err := p.PutNode(p.ctx, r)
	return err
}

func limitMessage(p *probe) {
	p.limitIs("message_bytes", (*transcriptv1.ServerLimits).GetMessageBytes, 3<<20)
	m := p.ofSize(3 << 20)
	id := p.node("", m)
	p.same("the message", p.get(id).GetMessages()[0], m)
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.ofSize(3<<20 + 1)}}), "LIMIT_EXCEEDED", "messages[0]")
}

const maxPayload = 4<<20 - 128<<10

func limitPayload(p *probe) {
	p.limitIs("payload_bytes", (*transcriptv1.ServerLimits).GetPayloadBytes, maxPayload)
	first := p.ofSize(2 << 20)
	rest := maxPayload - payloadBytes(first)
	fits := p.ofSize(rest - 1 - 3) // its tag, and its length in three bytes
	is(p, "bytes of the payload", payloadBytes(first, fits), maxPayload)
	id := p.node("", first, fits)
	p.sameMessages("the node", p.get(id).GetMessages(), []*transcriptv1.Message{first, fits})
	over := []*transcriptv1.Message{first, p.ofSize(rest - 3)}
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Messages: over}), "LIMIT_EXCEEDED", "messages")
}

func limitRequest(p *probe) {
	p.limitIs("request_bytes", (*transcriptv1.ServerLimits).GetRequestBytes, 4<<20)
	nodes := func(sizes ...int) *transcriptv1.PutNodesRequest {
		r := &transcriptv1.PutNodesRequest{Namespace: p.namespace}
		for _, n := range sizes {
			r.Nodes = append(r.Nodes, &transcriptv1.NewNode{Messages: []*transcriptv1.Message{p.ofSize(n)}})
		}
		return r
	}
	_, err := p.PutNodes(p.ctx, nodes(2<<20, 2<<20))
	p.refused(err, "LIMIT_EXCEEDED")
	_, err = p.PutNodes(p.ctx, nodes(3<<20, 3<<20, 3<<20))
	is(p, "code of a request over 8 MiB", status.Code(err), codes.ResourceExhausted)
}

func repeat(n int, make func(i int) *transcriptv1.Message) []*transcriptv1.Message {
	var all []*transcriptv1.Message
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

func limitMessages(p *probe) {
	p.limitIs("messages_per_node", (*transcriptv1.ServerLimits).GetMessagesPerNode, 1000)
	short := func(i int) *transcriptv1.Message { return text(transcriptv1.Role_ROLE_USER, fmt.Sprint(p.kit.mark, i)) }
	id := p.node("", repeat(1000, short)...)
	is(p, "message_count", p.get(id).GetInfo().GetMessageCount(), 1000)
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Messages: repeat(1001, short)}), "LIMIT_EXCEEDED", "messages")
}

func limitCalls(p *probe) {
	p.limitIs("calls_per_message", (*transcriptv1.ServerLimits).GetCallsPerMessage, 256)
	p.limitIs("open_calls", (*transcriptv1.ServerLimits).GetOpenCalls, 1024)
	calls := func(n int) *transcriptv1.Message {
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
		for i := range n {
			m.Parts = append(m.Parts, callPart(fmt.Sprint(i), "t", "{}"))
		}
		return m
	}
	head := p.node("", p.user())
	for range 4 {
		head = p.node(head, calls(256))
	}
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Parent: byID(head), Messages: []*transcriptv1.Message{calls(257)}}), "LIMIT_EXCEEDED", "messages[0].parts")
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Parent: byID(head), Messages: []*transcriptv1.Message{calls(1)}}), "TOO_MANY_OPEN_CALLS")
}

func limitMetadata(p *probe) {
	p.limitIs("metadata_entries", (*transcriptv1.ServerLimits).GetMetadataEntries, 64)
	entries := func(n, key, value int) []*transcriptv1.MetadataEntry {
		var all []*transcriptv1.MetadataEntry
		for i := range n {
			all = append(all, &transcriptv1.MetadataEntry{Key: fmt.Sprintf("%0*d", key, i), Value: fill(value)})
		}
		return all
	}
	p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Metadata: entries(64, 256, 4096)})
	for field, bad := range map[string][]*transcriptv1.MetadataEntry{"metadata": entries(65, 5, 1), "metadata[0].key": entries(1, 257, 1), "metadata[0].value": entries(1, 5, 4097)} {
		p.refused(p.putError(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Metadata: bad}), "LIMIT_EXCEEDED", field)
	}
}

func limitLabels(p *probe) {
	p.limitIs("labels", (*transcriptv1.ServerLimits).GetLabels, 64)
	entries := func(n, key, value int) *transcriptv1.Labels {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("%0*d", key, i)] = fill(value)
		}
		return &transcriptv1.Labels{Entries: all}
	}
	id := p.node("", p.user())
	p.move(&transcriptv1.AliasMove{Name: p.name("x"), Target: byID(id), Labels: entries(64, 256, 4096)})
	is(p, "labels", len(p.resolve(p.name("x")).GetLabels()), 64)
	for what, bad := range map[string]*transcriptv1.Labels{"65 labels": entries(65, 5, 1), "a key of 257 bytes": entries(1, 257, 1), "a value over 4 KiB": entries(1, 5, 4097)} {
		_, err := p.aliasMove(&transcriptv1.AliasMove{Name: p.name("y"), Target: byID(id), Labels: bad})
		if err == nil {
			p.failf("%s: expected LIMIT_EXCEEDED, got success", what)
		}
		p.refused(err, "LIMIT_EXCEEDED")
	}
}

func limitNotes(p *probe) {
	p.limitIs("note_bytes", (*transcriptv1.ServerLimits).GetNoteBytes, 1<<10)
	p.limitIs("note_attributes", (*transcriptv1.ServerLimits).GetNoteAttributes, 16)
	attributes := func(n, key, value int) *transcriptv1.MessageNote {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("%0*d", key, i)] = fill(value)
		}
		return &transcriptv1.MessageNote{Attributes: all}
	}
	put := func(n *transcriptv1.MessageNote) error {
		return p.putError(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Notes: []*transcriptv1.MessageNote{n}})
	}
	p.ok(put(attributes(16, 4, 30)), "16 attributes")
	p.ok(put(attributes(1, 64, 256)), "an attribute of the largest key and value")
	for what, n := range map[string]*transcriptv1.MessageNote{
		"17 attributes": attributes(17, 4, 1), "a key of 65 bytes": attributes(1, 65, 1), "a value of 257 bytes": attributes(1, 4, 257), "1.3 KiB": attributes(5, 10, 256),
	} {
		err := put(n)
		if err == nil {
			p.failf("%s: expected LIMIT_EXCEEDED, got success", what)
		}
		p.refused(err, "LIMIT_EXCEEDED")
	}
}

func limitCall(p *probe) {
	p.limitIs("nodes_per_request", (*transcriptv1.ServerLimits).GetNodesPerRequest, 1000)
	p.limitIs("aliases_per_request", (*transcriptv1.ServerLimits).GetAliasesPerRequest, 1000)
	message := text(transcriptv1.Role_ROLE_USER, p.text("x"))
	nodes := func(n int) *transcriptv1.PutNodesRequest {
		r := &transcriptv1.PutNodesRequest{Namespace: p.namespace}
		for i := range n {
			r.Nodes = append(r.Nodes, &transcriptv1.NewNode{Previous: i > 0, Messages: []*transcriptv1.Message{message}})
		}
		return r
	}
	r, err := p.PutNodes(p.ctx, nodes(1000))
	p.ok(err, "PutNodes of 1,000 nodes")
	_, err = p.PutNodes(p.ctx, nodes(1001))
	p.refused(err, "LIMIT_EXCEEDED", "nodes")
	moves := func(n int) *transcriptv1.AliasRequest {
		a := &transcriptv1.AliasRequest{Namespace: p.namespace}
		for i := range n {
			a.Aliases = append(a.Aliases, &transcriptv1.AliasMove{Name: p.name(fmt.Sprint(i)), Target: byID(r.GetNodes()[0].GetNodeId())})
		}
		return a
	}
	_, err = p.Alias(p.ctx, moves(1001))
	p.refused(err, "LIMIT_EXCEEDED", "aliases")
	_, err = p.Alias(p.ctx, moves(1000))
	p.ok(err, "Alias of 1,000 aliases")
}

// limitMessagesOfCall has ten nodes of 1,000 messages, and 40 of 250 calls, each of another root.
func limitMessagesOfCall(p *probe) {
	p.limitIs("messages_per_request", (*transcriptv1.ServerLimits).GetMessagesPerRequest, 10_000)
	p.limitIs("calls_per_request", (*transcriptv1.ServerLimits).GetCallsPerRequest, 10_000)
	nodes := func(n int, messages func(i int) []*transcriptv1.Message) error {
		r := &transcriptv1.PutNodesRequest{Namespace: p.namespace}
		for i := range n {
			r.Nodes = append(r.Nodes, &transcriptv1.NewNode{Messages: messages(i)})
		}
		_, err := p.PutNodes(p.ctx, r)
		return err
	}
	short := func(i int) *transcriptv1.Message {
		return text(transcriptv1.Role_ROLE_USER, fmt.Sprint(p.kit.mark, " short ", i))
	}
	thousand := func(int) []*transcriptv1.Message { return repeat(1000, short) }
	p.ok(nodes(10, thousand), "10,000 messages")
	p.refused(nodes(11, thousand), "LIMIT_EXCEEDED")
	call := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	for range 250 {
		call.Parts = append(call.Parts, callPart("1", "t", "{}"))
	}
	p.refused(nodes(41, func(int) []*transcriptv1.Message { return []*transcriptv1.Message{call} }), "LIMIT_EXCEEDED")
}

func limitNodeNotes(p *probe) {
	p.limitIs("notes_bytes", (*transcriptv1.ServerLimits).GetNotesBytes, 64<<10)
	put := func(n int) error {
		r := &transcriptv1.PutNodeRequest{}
		for i := range n {
			r.Messages = append(r.Messages, text(transcriptv1.Role_ROLE_USER, p.text(fmt.Sprint(i))))
			r.Notes = append(r.Notes, &transcriptv1.MessageNote{Model: fill(500), FinishReason: fill(500)})
		}
		return p.putError(r)
	}
	p.ok(put(60), "60 notes of 1,000 bytes")
	p.refused(put(70), "LIMIT_EXCEEDED")
}

func limitSummary(p *probe) {
	p.limitIs("summary_bytes", (*transcriptv1.ServerLimits).GetSummaryBytes, 1<<20)
	c := p.chain("s | u c1 a")
	head := p.node(p.node(c.head(), p.user(), p.letter("c9")), result("9", fill(2<<20)), p.letter("a"))
	compact := func(n int) error {
		_, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(head), ThroughId: head, Summary: fill(n), DryRun: true})
		return err
	}
	p.ok(compact(1<<20), "a summary of 1 MiB")
	p.refused(compact(1<<20+1), "LIMIT_EXCEEDED", "summary")
}

func limitReply(p *probe) {
	first := p.ofSize(2 << 20)
	fits := p.ofSize(maxPayload - payloadBytes(first) - 4)
	r := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{first, fits}}
	for i := range 27 {
		r.Metadata = append(r.Metadata, &transcriptv1.MetadataEntry{Key: fmt.Sprint("k", i), Value: fill(4096)})
	}
	id := p.put(r).GetNodeId()
	var aliases []*transcriptv1.AliasMove
	for i := range 100 { // some 50 KiB of the reply
		name := p.name(fmt.Sprint(i, "/"))
		aliases = append(aliases, &transcriptv1.AliasMove{Name: name + fill(510-len(name)), Target: byID(id)})
	}
	p.move(aliases...)
	_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
	p.refused(err, "USE_STREAM_ASSEMBLE")
	bare, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id), OmitMessages: true})
	p.ok(err, "GetNode without messages")
	is(p, "entries of metadata", len(bare.GetMetadata().GetEntries()), 27)
	frames := p.stream(&transcriptv1.StreamAssembleRequest{Head: byID(id), View: transcriptv1.View_VIEW_FULL})
	p.sameMessages("the stream", joined(frames).GetMessages(), r.GetMessages())
}

func limitOpaque(p *probe) {
	p.limitIs("opaque_bytes", (*transcriptv1.ServerLimits).GetOpaqueBytes, 1<<20)
	m := p.letter("o")
	m.Parts[0].GetOpaque().Data = []byte(fill(1 << 20))
	p.same("the opaque message", p.get(p.node("", m)).GetMessages()[0], m)
	m.Parts[0].GetOpaque().Data = append(m.Parts[0].GetOpaque().GetData(), 0)
	p.refused(p.putError(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{m}}), "LIMIT_EXCEEDED", "messages[0].parts[0].opaque.data")
}

func limitPage(p *probe) {
	p.limitIs("page_size", (*transcriptv1.ServerLimits).GetPageSize, 1000)
	message := text(transcriptv1.Role_ROLE_USER, p.text("root"))
	root := p.node("", message)
	r := &transcriptv1.PutNodesRequest{Namespace: p.namespace}
	for i := range 1000 {
		r.Nodes = append(r.Nodes, &transcriptv1.NewNode{Parent: byID(root), Messages: []*transcriptv1.Message{text(transcriptv1.Role_ROLE_USER, fmt.Sprint(p.kit.mark, i))}})
	}
	_, err := p.PutNodes(p.ctx, r)
	p.ok(err, "PutNodes")
	p.node(root, p.user())
	for size, want := range map[int32]int{0: 100, 7: 7, 1000: 1000, 5000: 1000} {
		page, err := p.ListChildren(p.ctx, &transcriptv1.ListChildrenRequest{Namespace: p.namespace, Node: byID(root), PageSize: size})
		p.ok(err, "ListChildren")
		is(p, fmt.Sprintf("children of a page of %d", size), len(page.GetChildren()), want)
		p.holds(page.GetNextPageToken() != "", "a token for the next page")
	}
}

func tokenChecks() []Check {
	return []Check{
		{ID: "page-tokens/bound", Promise: "a token is good for the call, the namespace and the arguments that it came from, and else INVALID_PAGE_TOKEN", run: tokensBound},
		{ID: "page-tokens/made-up", Promise: "a token that was made up or changed is INVALID_PAGE_TOKEN", run: tokensMadeUp},
	}
}

// manyChildren is a node with three children, and the token behind the first.
func (p *probe) manyChildren() (r *transcriptv1.ListChildrenRequest, token string) {
	root := p.node("", p.user())
	for range 3 {
		p.node(root, p.user())
	}
	r = &transcriptv1.ListChildrenRequest{Namespace: p.namespace, Node: byID(root), PageSize: 1}
	page, err := p.ListChildren(p.ctx, r)
	p.ok(err, "ListChildren")
	p.holds(page.GetNextPageToken() != "", "a token for the next page, got none")
	return r, page.GetNextPageToken()
}

func tokensBound(p *probe) {
	r, token := p.manyChildren()
	r.PageToken = token
	_, err := p.ListChildren(p.ctx, r)
	p.ok(err, "ListChildren with its own token")
	other, _ := p.manyChildren()
	other.PageToken = token
	_, err = p.ListChildren(p.ctx, other)
	p.refused(err, "INVALID_PAGE_TOKEN")
	_, err = p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, PageToken: token})
	p.refused(err, "INVALID_PAGE_TOKEN")
	p.tokenElsewhere()
	c := p.chain("u a u a u a")
	search := &transcriptv1.SearchRequest{Namespace: p.namespace, Scope: head(byID(c.head())), Pattern: words(p.kit.mark), PageSize: 1}
	page, err := p.Search(p.ctx, search)
	p.ok(err, "Search")
	search.PageToken, search.Pattern = page.GetNextPageToken(), words("other")
	_, err = p.Search(p.ctx, search)
	p.refused(err, "INVALID_PAGE_TOKEN")
}

// tokenElsewhere lists aliases with one scope, and goes on with another, and in another namespace.
func (p *probe) tokenElsewhere() {
	id := p.node("", p.user())
	for _, n := range []string{"a", "b", "c"} {
		p.point(p.name(n), id)
	}
	list := &transcriptv1.ListAliasesRequest{Namespace: p.namespace, Scope: prefix(p.name("")), PageSize: 1}
	page, err := p.ListAliases(p.ctx, list)
	p.ok(err, "ListAliases")
	for _, elsewhere := range []*transcriptv1.ListAliasesRequest{
		{Namespace: p.namespace, Scope: prefix(p.kit.mark)},
		{Namespace: p.namespace, Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: strings.TrimSuffix(p.name(""), "/")}},
		{Namespace: p.other, Scope: prefix(p.name(""))},
	} {
		elsewhere.PageToken = page.GetNextPageToken()
		_, err := p.ListAliases(p.ctx, elsewhere)
		p.refused(err, "INVALID_PAGE_TOKEN")
	}
}

func tokensMadeUp(p *probe) {
	r, token := p.manyChildren()
	changed := []byte(token)
	changed[len(changed)/2] ^= 1
	for _, bad := range []string{"x", "AAAAAAAAAAAAAAAAAAAA", string(changed), token[:len(token)-1]} {
		r.PageToken = bad
		_, err := p.ListChildren(p.ctx, r)
		p.refused(err, "INVALID_PAGE_TOKEN")
	}
}
