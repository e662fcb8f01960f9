package conformance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func assembleChecks() []Check {
	return []Check{
		{ID: "assemble/after-id", Promise: "after_id gives what the view of the head adds to that of an ancestor, and repeats it as base_id", run: afterID},
		{ID: "assemble/after-a-compaction", Promise: "where a compaction lies between, the reply is the whole view, without base_id", run: afterCompaction},
		{ID: "assemble/not-an-ancestor", Promise: "after_id that is no ancestor is NOT_AN_ANCESTOR", run: notAncestor},
		{ID: "assemble/not-modified", Promise: "an etag that is right still gives not_modified and nothing else, with and without after_id", run: notModified},
		{ID: "assemble/etag-names-what-is-held", Promise: "another head, view, policy, detail or facts have another etag; after_id has not", run: etagNames},
		{ID: "assemble/nodes", Promise: "node_detail tells which node each message is of, with its notes, and envelopes that prove the ids", run: assembleNodes},
		{ID: "assemble/node-facts", Promise: "node_facts tells metadata of the keys asked for, whole or not at all", run: nodeFactsOf},
		{ID: "assemble/findings", Promise: "the report tells what was found: duplicate, late and orphan results, unanswered calls, repeated ids, interrupted loops, a lead-in", run: findings},
		{ID: "assemble/tokens", Promise: "tokens are those of the notes, else a quarter of the bytes", run: tokensOf},
		{ID: "assemble/too-large", Promise: "a reply over 4 MiB - 64 KiB is USE_STREAM_ASSEMBLE, and the stream gives it", Large: true, run: tooLarge},
	}
}

func afterID(p *probe) {
	c := p.chain("s u c1 r1 a u c2 r9 r2 a")
	for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_EFFECTIVE} {
		whole := c.view(&transcriptv1.AssembleRequest{View: view})
		for _, base := range c.ids {
			held := c.view(&transcriptv1.AssembleRequest{View: view, Head: byID(base)})
			added := c.view(&transcriptv1.AssembleRequest{View: view, AfterId: base})
			is(p, "base_id", added.GetBaseId(), base)
			is(p, "head_id", added.GetHeadId(), c.head())
			p.sameMessages("what is held and what was added", append(held.GetMessages(), added.GetMessages()...), whole.GetMessages())
			is(p, "etag with after_id", added.GetEtag(), whole.GetEtag())
		}
	}
	is(p, "base_id without after_id", c.view(&transcriptv1.AssembleRequest{}).GetBaseId(), "")
}

func afterCompaction(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2 R2 a")
	name := p.name("chat")
	p.point(name, c.head())
	r, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byAlias(name)})
	p.ok(err, "Compact")
	head := byID(r.GetNodeId())
	reply := c.view(&transcriptv1.AssembleRequest{Head: head, AfterId: c.head()})
	is(p, "base_id across a compaction", reply.GetBaseId(), "")
	whole := c.view(&transcriptv1.AssembleRequest{Head: head})
	p.sameMessages("the whole view across a compaction", reply.GetMessages(), whole.GetMessages())
	full := c.view(&transcriptv1.AssembleRequest{Head: head, View: transcriptv1.View_VIEW_FULL, AfterId: c.head()})
	is(p, "base_id of the full view", full.GetBaseId(), c.head())
	is(p, "messages that the compaction adds to the full view", len(full.GetMessages()), 0)
}

func notAncestor(p *probe) {
	c, other := p.chain("u a"), p.chain("u a")
	for _, after := range []string{other.head(), p.node(c.ids[0], p.user())} {
		_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(c.head()), AfterId: after})
		p.refused(err, "NOT_AN_ANCESTOR")
	}
	_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(c.head()), AfterId: nowhere})
	p.refused(err, "NODE_NOT_FOUND", "after_id")
}

func notModified(p *probe) {
	c := p.chain("s u a u")
	for _, r := range []*transcriptv1.AssembleRequest{
		{}, {View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}, conversation(nil), {LastMessages: 2},
	} {
		first := c.view(r)
		r.IfNoneMatch = first.GetEtag()
		second := c.view(r)
		p.held(second, first.GetEtag(), "")
		r.IfNoneMatch = "x" + first.GetEtag()
		is(p, "not_modified with another etag", c.view(r).GetNotModified(), false)
	}
	etag := c.view(&transcriptv1.AssembleRequest{}).GetEtag()
	p.held(c.view(&transcriptv1.AssembleRequest{AfterId: c.ids[1], IfNoneMatch: etag}), etag, c.ids[1])
	c.put("a")
	is(p, "not_modified once the head is another", c.view(&transcriptv1.AssembleRequest{IfNoneMatch: etag}).GetNotModified(), false)
}

// held holds that a reply says that nothing is new, and nothing else.
func (p *probe) held(r *transcriptv1.AssembleResponse, etag, base string) {
	is(p, "not_modified", r.GetNotModified(), true)
	is(p, "messages and nodes beside not_modified", len(r.GetMessages())+len(r.GetNodes()), 0)
	is(p, "etag", r.GetEtag(), etag)
	is(p, "base_id", r.GetBaseId(), base)
	is(p, "messages of the report", r.GetReport().GetMessages(), 0)
}

func etagNames(p *probe) {
	c := p.chain("s u c1 r1 a u a u")
	seen := map[string]string{}
	for what, r := range map[string]*transcriptv1.AssembleRequest{
		"effective": {}, "full": {View: transcriptv1.View_VIEW_FULL}, "another head": {Head: byID(c.ids[3])},
		"conversation": conversation(nil), "another policy": conversation(loops(1)), "a longer policy": conversation(loops(2)),
		"condense_last": {View: transcriptv1.View_VIEW_CONVERSATION, CondenseLast: true}, "reply_tools": conversation(answers()),
		"ids": {NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}, "envelopes": {NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES},
		"facts":         {NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS, NodeFacts: &transcriptv1.NodeFacts{MetadataKeys: []string{"k"}}},
		"last_messages": {LastMessages: 2}, "last_bytes": {LastBytes: 100},
	} {
		etag := c.view(r).GetEtag()
		p.holds(etag != "", "an etag of %s, got none", what)
		p.holds(seen[etag] == "", "other etags of %s and %s, got one", what, seen[etag])
		seen[etag] = what
	}
}

// assembleNodes adds up the ids from what a reply with envelopes tells.
func assembleNodes(p *probe) {
	c := p.chain("s u c1 r1 a")
	noted := p.put(&transcriptv1.PutNodeRequest{
		Parent: byID(c.head()), Messages: []*transcriptv1.Message{p.user(), p.letter("a")}, Salt: []byte("0123456789abcdef"),
		Notes:    []*transcriptv1.MessageNote{{}, {TokenCount: proto.Int32(9), Model: "m"}},
		Metadata: []*transcriptv1.MetadataEntry{{Key: "k", Value: "v"}},
	})
	reply := c.view(&transcriptv1.AssembleRequest{Head: byID(noted.GetNodeId()), NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES})
	is(p, "nodes", len(reply.GetNodes()), 6)
	parent, rest := "", reply.GetMessages()
	for i, n := range reply.GetNodes() {
		own := rest[:n.GetMessageCount()]
		rest = rest[n.GetMessageCount():]
		is(p, "parent of a node", n.GetEnvelope().GetParentId(), parent)
		is(p, "size_bytes", n.GetSizeBytes(), int64(payloadBytes(own...)))
		p.holds(verbatim(n), "node %d to be verbatim", i)
		is(p, "id from the envelope and the messages", p.provenID(n, own), n.GetNodeId())
		parent = n.GetNodeId()
	}
	is(p, "messages of no node", len(rest), 0)
	notes := reply.GetNodes()[5].GetNotes()
	is(p, "notes of the last node", len(notes), 2)
	p.same("a note", notes[1], &transcriptv1.MessageNote{TokenCount: proto.Int32(9), Model: "m"})
	repaired := p.chain("u c1 u")
	nodes := repaired.view(&transcriptv1.AssembleRequest{NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}).GetNodes()
	is(p, "messages of the node that ended the group: the stub and its own", nodes[2].GetMessageCount(), 2)
	p.holds(!verbatim(nodes[2]), "a node with a stub not to be verbatim")
}

// provenID computes a node's id from its envelope in a reply, and its messages.
func (p *probe) provenID(n *transcriptv1.NodeInfo, own []*transcriptv1.Message) string {
	e := n.GetEnvelope()
	in := canonical.Envelope{
		PayloadDigest: canonical.PayloadDigest(e.GetSalt(), canonical.EncodePayload(own)),
		Parent:        p.digest(e.GetParentId()), MetadataDigest: p.digest(e.GetMetadataDigest()), CoversThrough: p.digest(e.GetCoversThroughId()),
	}
	id := canonical.NodeID(in)
	return hex.EncodeToString(id[:])
}

// verbatim says that the messages of a node stand in the reply as they are hashed.
func verbatim(n *transcriptv1.NodeInfo) bool {
	return n.GetContent() == transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
}

func nodeFactsOf(p *probe) {
	put := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Metadata: []*transcriptv1.MetadataEntry{
		{Key: "b", Value: "2"}, {Key: "a", Value: "1"}, {Key: "long", Value: fill(1025)}, {Key: "not asked", Value: "x"}, {Key: "kib", Value: fill(1024)},
	}})
	c := &chain{p: p, ids: []string{put.GetNodeId()}}
	facts := &transcriptv1.NodeFacts{MetadataKeys: []string{"b", "a", "long", "kib", "none"}}
	n := c.view(&transcriptv1.AssembleRequest{NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS, NodeFacts: facts}).GetNodes()[0]
	var keys []string
	for _, e := range n.GetMetadata() {
		keys = append(keys, e.GetKey())
	}
	is(p, "keys told", keys, []string{"a", "b", "kib"})
	is(p, "more_metadata where a value is over 1 KiB", n.GetHasMoreMetadata(), true)
	p.holds(n.GetFirstPutAt().GetSeconds() > 0, "first_put_at, got none")
	bare := c.view(&transcriptv1.AssembleRequest{NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}).GetNodes()[0]
	p.holds(bare.GetFirstPutAt() == nil && len(bare.GetMetadata()) == 0, "no facts where none were asked for")
}

func findings(p *probe) {
	c := p.chain("a u c1 r1 r1 r8 a r1 c1c2 u a")
	report := c.view(&transcriptv1.AssembleRequest{}).GetReport()
	var got []string
	for _, f := range report.GetFindings() {
		at := -1
		for i, id := range c.ids {
			if id == f.GetNodeId() {
				at = i
			}
		}
		got = append(got, fmt.Sprintf("%d %s %d", at, f.GetKind().String()[len("FINDING_KIND_"):], f.GetCount()))
	}
	is(p, "findings, by place", got, []string{
		"0 LEAD_IN 1", "4 DUPLICATE_RESULT 1", "5 ORPHAN_RESULT 1", "7 LATE_RESULT 1", "8 DUPLICATE_CALL_ID 1",
		"9 UNANSWERED_CALL 2", "9 INTERRUPTED_LOOP 1",
	})
	is(p, "repairs", report.GetRepairs(), 5)
}

func tokensOf(p *probe) {
	m := p.user()
	put := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{m, p.letter("a")}, Notes: []*transcriptv1.MessageNote{{TokenCount: proto.Int32(1000)}, {}}})
	c := &chain{p: p, ids: []string{put.GetNodeId()}}
	reply := c.view(&transcriptv1.AssembleRequest{})
	quarter := (int64(payloadBytes(reply.GetMessages()[1])) + 3) / 4
	is(p, "tokens", reply.GetReport().GetTokens(), 1000+quarter)
	is(p, "tokens_estimated", reply.GetReport().GetTokensEstimated(), true)
}

func tooLarge(p *probe) {
	head := ""
	for range 3 {
		big := p.user()
		big.Parts = append(big.Parts, textPart(fill(1500<<10)))
		head = p.node(head, big)
	}
	_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(head)})
	p.refused(err, "USE_STREAM_ASSEMBLE")
	frames := p.stream(&transcriptv1.StreamAssembleRequest{Head: byID(head)})
	messages := 0
	for _, f := range frames {
		messages += len(f.GetMessages())
	}
	is(p, "messages of the stream", messages, 3)
}

func streamChecks() []Check {
	return []Check{
		{ID: "stream-assemble/same-as-assemble", Promise: "its frames laid end to end are the reply of Assemble, in every view", run: streamSame},
		{ID: "stream-assemble/whole-nodes", Promise: "a frame holds whole nodes, about 64 KiB or one node of them", run: wholeNodes},
		{ID: "stream-assemble/not-modified", Promise: "not_modified is one frame without messages", run: streamHeld},
		{ID: "stream-assemble/errors", Promise: "it is refused as Assemble is", run: streamErrors},
	}
}

// stream reads all frames.
func (p *probe) stream(r *transcriptv1.StreamAssembleRequest) []*transcriptv1.StreamAssembleResponse {
	r.Namespace = p.namespace
	s, err := p.StreamAssemble(p.ctx, r)
	p.ok(err, "StreamAssemble")
	var frames []*transcriptv1.StreamAssembleResponse
	for {
		f, err := s.Recv()
		if errors.Is(err, io.EOF) {
			p.holds(len(frames) > 0, "a frame of StreamAssemble, got none")
			return frames
		}
		p.ok(err, "StreamAssemble")
		frames = append(frames, f)
	}
}

// joined is what frames are together, as a reply of Assemble.
func joined(frames []*transcriptv1.StreamAssembleResponse) *transcriptv1.AssembleResponse {
	first, last := frames[0], frames[len(frames)-1]
	r := &transcriptv1.AssembleResponse{
		HeadId: first.GetHeadId(), BaseId: first.GetBaseId(), Etag: first.GetEtag(), NotModified: first.GetNotModified(),
		Counters: first.GetCounters(), Begin: first.GetBegin(), HasMoreBefore: first.GetHasMoreBefore(), Erasures: first.GetErasures(), Report: last.GetReport(),
	}
	for _, f := range frames {
		r.Messages, r.Nodes = append(r.Messages, f.GetMessages()...), append(r.Nodes, f.GetNodes()...)
	}
	return r
}

// streamRequest asks a stream for what a request of Assemble asks for.
func streamRequest(r *transcriptv1.AssembleRequest) *transcriptv1.StreamAssembleRequest {
	return &transcriptv1.StreamAssembleRequest{
		Head: r.GetHead(), View: r.GetView(), AfterId: r.GetAfterId(), AfterErasures: r.GetAfterErasures(), IfNoneMatch: r.GetIfNoneMatch(), NodeDetail: r.GetNodeDetail(),
		Policy: r.GetPolicy(), CondenseLast: r.GetCondenseLast(), NodeFacts: r.GetNodeFacts(), LastMessages: r.GetLastMessages(),
		LastBytes: r.GetLastBytes(), Before: r.GetBefore(),
	}
}

func streamSame(p *probe) {
	c := p.chain("s U c1 R1 A | u c2 r9 U A | u c3 e u c4 R4")
	ids := transcriptv1.NodeDetail_NODE_DETAIL_IDS
	for _, r := range []*transcriptv1.AssembleRequest{
		{NodeDetail: ids}, {View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES},
		{View: transcriptv1.View_VIEW_CONVERSATION, NodeDetail: ids}, {AfterId: c.ids[3]}, {LastMessages: 3}, conversation(requests()),
	} {
		want := c.view(r)
		got := joined(p.stream(streamRequest(r)))
		p.sameMessages("frames laid end to end", got.GetMessages(), want.GetMessages())
		p.same("frames laid end to end", got, want)
	}
}

func wholeNodes(p *probe) {
	head := ""
	for range 6 {
		big := p.user()
		big.Parts = append(big.Parts, textPart(fill(50<<10)))
		head = p.node(head, big, p.letter("a"))
	}
	frames := p.stream(&transcriptv1.StreamAssembleRequest{Head: byID(head), NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS})
	p.holds(len(frames) >= 3, "300 KiB in frames of about 64 KiB, got %d frames", len(frames))
	seen := map[string]bool{}
	for i, f := range frames {
		messages := 0
		for _, n := range f.GetNodes() {
			p.holds(!seen[n.GetNodeId()] && n.GetMessageCount() == 2, "frame %d to hold whole nodes of two messages, each once", i)
			seen[n.GetNodeId()] = true
			messages += int(n.GetMessageCount())
		}
		is(p, fmt.Sprintf("messages of frame %d", i), len(f.GetMessages()), messages)
	}
	is(p, "nodes of all frames", len(seen), 6)
}

func streamHeld(p *probe) {
	c := p.chain("u a")
	etag := c.view(&transcriptv1.AssembleRequest{}).GetEtag()
	frames := p.stream(&transcriptv1.StreamAssembleRequest{Head: byID(c.head()), IfNoneMatch: etag})
	is(p, "frames", len(frames), 1)
	p.held(joined(frames), etag, "")
}

func streamErrors(p *probe) {
	c, other := p.chain("u a"), p.chain("u")
	for reason, r := range map[string]*transcriptv1.StreamAssembleRequest{
		"NODE_NOT_FOUND":  {Head: byID(nowhere)},
		"ALIAS_NOT_FOUND": {Head: byAlias(p.name("none"))},
		"NOT_AN_ANCESTOR": {Head: byID(c.head()), AfterId: other.head()},
		"INVALID_FIELD":   {Head: byID(c.head()), LastMessages: -1},
	} {
		r.Namespace = p.namespace
		s, err := p.StreamAssemble(p.ctx, r)
		if err == nil {
			_, err = s.Recv()
		}
		p.refused(err, reason)
	}
}

func endOfViewChecks() []Check {
	return []Check{
		{ID: "end-of-view/no-group-is-parted", Promise: "last_messages gives the end of a view, and more where a call would be parted from its result", run: lastMessages},
		{ID: "end-of-view/pages-are-the-view", Promise: "pages of a head laid one before the other are the view, each message once", run: pagesBack},
		{ID: "end-of-view/last-bytes", Promise: "last_bytes gives at most so many bytes, and at least one message", run: lastBytes},
		{ID: "end-of-view/not-in-view", Promise: "before of a message that the view does not show is NOT_IN_VIEW, of another chain NOT_AN_ANCESTOR", run: notInView},
		{ID: "end-of-view/refused", Promise: "negative limits, both with after_id, and before without a limit are refused", run: lastRefused},
	}
}

func lastMessages(p *probe) {
	c := p.chain("u c1 c2 r9 r2 | u a")
	for _, e := range []struct {
		view   transcriptv1.View
		n      int32
		before int
		want   string
	}{
		{transcriptv1.View_VIEW_EFFECTIVE, 2, -1, "u a"}, {transcriptv1.View_VIEW_EFFECTIVE, 3, -1, "c1 c2 r2 +1 u a"},
		{transcriptv1.View_VIEW_FULL, 4, -1, "c1 c2 r9 r2 u a"}, {transcriptv1.View_VIEW_EFFECTIVE, 2, 5, "c1 c2 r2 +1"},
		{transcriptv1.View_VIEW_EFFECTIVE, 1, -1, "a"}, {transcriptv1.View_VIEW_FULL, 100, -1, "u c1 c2 r9 r2 u a"},
	} {
		r := &transcriptv1.AssembleRequest{View: e.view, LastMessages: e.n}
		if e.before >= 0 {
			r.Before = &transcriptv1.MessagePlace{NodeId: c.ids[e.before]}
		}
		reply := c.view(r)
		is(p, fmt.Sprintf("the last %d of the view %s", e.n, e.view), c.letters(reply.GetMessages()), e.want)
		is(p, "more_before", reply.GetHasMoreBefore(), e.want[0] != 'u' || e.n <= 2)
	}
}

// pagesBack reads views page by page and lays the pages one before the other.
func pagesBack(p *probe) {
	for seed := range uint64(2) {
		c := p.chain(drawn(seed+400, 16))
		for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_EFFECTIVE} {
			for _, n := range []int32{1, 3} {
				var all []*transcriptv1.Message
				r := &transcriptv1.AssembleRequest{View: view, LastMessages: n}
				for range 100 {
					page := c.view(r)
					all = append(page.GetMessages(), all...)
					if !page.GetHasMoreBefore() {
						break
					}
					p.holds(page.GetBegin().GetNodeId() != "", "begin of a page with more before it, got none")
					r.Head, r.Before = byID(page.GetHeadId()), page.GetBegin()
				}
				whole := c.view(&transcriptv1.AssembleRequest{View: view})
				p.sameMessages(fmt.Sprintf("pages of %d of the view %s", n, view), all, whole.GetMessages())
			}
		}
	}
}

func lastBytes(p *probe) {
	c := p.chain("u a u a u a")
	size := int32(payloadBytes(c.messages[4:]...))
	is(p, "as many bytes as the last two take", c.letters(c.view(&transcriptv1.AssembleRequest{LastBytes: size}).GetMessages()), "u a")
	is(p, "a byte less", c.letters(c.view(&transcriptv1.AssembleRequest{LastBytes: size - 1}).GetMessages()), "a")
	is(p, "one byte", c.letters(c.view(&transcriptv1.AssembleRequest{LastBytes: 1}).GetMessages()), "a")
	is(p, "both limits", c.letters(c.view(&transcriptv1.AssembleRequest{LastBytes: 1 << 20, LastMessages: 3}).GetMessages()), "a u a")
}

func notInView(p *probe) {
	c := p.chain("s | u c1 R1 a | u c2 R2 a")
	r, err := p.Compact(p.ctx, &transcriptv1.CompactRequest{Namespace: p.namespace, Head: byID(c.head())})
	p.ok(err, "Compact")
	_, err = p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(r.GetNodeId()), LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: c.ids[2]}})
	p.refused(err, "NOT_IN_VIEW")
	_, err = p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(c.head()), LastMessages: 1, Before: &transcriptv1.MessagePlace{NodeId: p.chain("u").head()}})
	p.refused(err, "NOT_AN_ANCESTOR")
}

func lastRefused(p *probe) {
	c := p.chain("u a")
	for field, r := range map[string]*transcriptv1.AssembleRequest{
		"last_messages": {LastMessages: -1}, "last_bytes": {LastBytes: -1}, "before": {Before: &transcriptv1.MessagePlace{NodeId: c.ids[0]}},
		"after_id": {LastMessages: 1, AfterId: c.ids[0]},
	} {
		r.Namespace, r.Head = p.namespace, byID(c.head())
		_, err := p.Assemble(p.ctx, r)
		if err == nil {
			p.failf("%s: expected INVALID_FIELD, got success", field)
		}
		p.refused(err, "INVALID_FIELD")
	}
	_, err := p.Assemble(p.ctx, &transcriptv1.AssembleRequest{Namespace: p.namespace, Head: byID(c.head()), LastMessages: 10001})
	p.refused(err, "LIMIT_EXCEEDED", "last_messages")
}
