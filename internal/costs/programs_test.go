//go:build !race

package costs

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/prose"
)

// begun is the time on every clock.
var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// chain is a chain of turns behind a system prompt, whose alias is its name.
type chain struct {
	name string
	// ids are those of its nodes; prompt and turns.
	ids  []string
	last [32]byte
	// turns are what it has, for which the next one is looked up.
	turns int
	// salt is that of the nodes behind the prompt; nil: they have none.
	salt []byte
}

func (c *chain) head() string { return c.ids[len(c.ids)-1] }

// alias is the head, as the alias that names it.
func (c *chain) alias() *transcriptv1.NodeRef { return byAlias(c.name) }

func byAlias(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}

func byID(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

// next is the node of the next turn, which it takes as put.
func (c *chain) next() *transcriptv1.NewNode {
	var messages []*transcriptv1.Message
	if len(c.ids) == 0 {
		messages = []*transcriptv1.Message{said(transcriptv1.Role_ROLE_SYSTEM, "The prompt of "+c.name+".")}
	} else {
		messages = turn(c.name, c.turns)
		c.turns++
	}
	n := &transcriptv1.NewNode{Messages: messages}
	var parent *[32]byte
	if len(c.ids) > 0 {
		parent, n.Parent, n.Salt = &c.last, byID(c.head()), c.salt
	}
	id := canonical.NodeID(canonical.NewNode(messages, nil, n.Salt).Envelope(parent, nil))
	c.ids, c.last = append(c.ids, fmt.Sprintf("%x", id)), id
	return n
}

// nodes are the next n, each behind the one before.
func (c *chain) nodes(n int) *transcriptv1.PutNodesRequest {
	before := ""
	if len(c.ids) > 0 {
		before = c.head()
	}
	req := &transcriptv1.PutNodesRequest{}
	for i := range n {
		node := c.next()
		if i > 0 {
			node.Parent, node.Previous = nil, true
		}
		req.Nodes = append(req.Nodes, node)
	}
	req.Nodes[n-1].Aliases = c.moved(before)
	return req
}

// moved are the alias's updates to the node that is put, from the head before.
func (c *chain) moved(before string) []*transcriptv1.AliasUpdate {
	return []*transcriptv1.AliasUpdate{{Name: c.name, Precondition: headIs(before)}}
}

func headIs(id string) *transcriptv1.AliasPrecondition {
	if id == "" {
		return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
	}
	return &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: id}}
}

// turn is four messages with 3.5 KB of text that compresses about three times: a question, a call, its result and a reply.
func turn(chain string, i int) []*transcriptv1.Message {
	random := rand.New(rand.NewPCG(uint64(len(chain)), uint64(i)))
	id := fmt.Sprintf("call_%04d", i)
	call := said(transcriptv1.Role_ROLE_ASSISTANT, "")
	call.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
		Id: &id, Name: proto.String("read_file"), Arguments: `{"path":"` + prose.Words(random, 250) + `"}`,
	}}}}
	result := said(transcriptv1.Role_ROLE_TOOL, prose.Words(random, 2300))
	result.ToolCallId = &id
	return []*transcriptv1.Message{
		said(transcriptv1.Role_ROLE_USER, prose.Words(random, 300)), call, result,
		said(transcriptv1.Role_ROLE_ASSISTANT, prose.Words(random, 550)),
	}
}

func said(role transcriptv1.Role, text string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}
}

// conversations are the chains that programs read and grow, put while the store was open an earlier time.
type conversations struct{ long, medium, short, grown, bySDK, forked *chain }

func newConversations() conversations {
	return conversations{
		long: &chain{name: "chat/long"}, medium: &chain{name: "chat/medium"}, short: &chain{name: "chat/short"},
		grown: &chain{name: "chat/grown"}, bySDK: &chain{name: "chat/by-sdk", salt: []byte("0123456789abcdef")}, forked: &chain{name: "chat/forked"},
	}
}

// put writes them to an empty store.
func (c *conversations) put(tb testing.TB, r *rig) {
	tb.Helper()
	for _, x := range []struct {
		chain *chain
		turns int
	}{{c.long, 1000}, {c.medium, 100}, {c.short, 10}, {c.grown, 50}, {c.bySDK, 50}} {
		for left := 1 + x.turns; left > 0; left -= 200 {
			r.make(tb, unary(transcriptv1.TranscriptService_PutNodes_FullMethodName, x.chain.nodes(min(left, 200))))
		}
	}
	c.putApart(tb, r)
}

// apart is a namespace of its own, small enough to be verified in no time: a check tells how far it is every now and then.
const apart = "apart"

// children is how many forks there are behind one node of the chain there, and doomed how many aliases to be deleted: more
// than are.
const children, doomed = 20, 200

func doomedName(i int) string { return fmt.Sprintf("doomed/%03d", i) }

func (c *conversations) putApart(tb testing.TB, r *rig) {
	tb.Helper()
	nodes := c.forked.nodes(11)
	nodes.Namespace = apart
	r.make(tb, unary(transcriptv1.TranscriptService_PutNodes_FullMethodName, nodes))
	for i := range children {
		r.make(tb, fork(apart, c.forked.ids[5], i))
	}
	req := &transcriptv1.AliasRequest{Namespace: apart}
	for i := range doomed {
		req.Aliases = append(req.Aliases, &transcriptv1.AliasMove{Name: doomedName(i), Target: c.forked.alias()})
	}
	r.make(tb, unary(transcriptv1.TranscriptService_Alias_FullMethodName, req))
}

// fork puts the i-th of other turns behind a node that has a child already.
func fork(namespace, parent string, i int) call {
	return unary(transcriptv1.TranscriptService_PutNode_FullMethodName,
		&transcriptv1.PutNodeRequest{Namespace: namespace, Parent: byID(parent), Messages: turn("another", i)})
}

// same makes the same call again and again.
func same(name string, calls int, method string, req proto.Message) *program {
	one := unary(method, req)
	return &program{name: name, calls: calls, next: func() call { return one }}
}

// stream is the same of a call whose reply has many frames; short, of one whose reply has hardly more than one.
func stream(name, method string, req proto.Message) *program {
	p := short(name, 3, method, req)
	p.buffers = streamBuffers
	return p
}

func short(name string, calls int, method string, req proto.Message) *program {
	one := unary(method, req)
	one.stream = &grpc.StreamDesc{ServerStreams: true}
	return &program{name: name, calls: calls, next: func() call { return one }}
}

// whole reads a chain.
func whole(of *chain) *program {
	return stream(fmt.Sprintf("StreamAssemble, %d turns", of.turns), transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
		&transcriptv1.StreamAssembleRequest{Head: of.alias()})
}

// reads are calls that write nothing.
func (c *conversations) reads() []*program {
	long, medium := c.long, c.medium
	head, before := long.alias(), long.ids[len(long.ids)-2]
	return []*program{
		same("ResolveAlias", 16, transcriptv1.TranscriptService_ResolveAlias_FullMethodName,
			&transcriptv1.ResolveAliasRequest{Name: long.name}),
		same("GetNode", 16, transcriptv1.TranscriptService_GetNode_FullMethodName,
			&transcriptv1.GetNodeRequest{Node: byID(long.ids[500])}),
		same("Assemble, 10 turns", 16, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: c.short.alias()}),
		same("Assemble, after one turn ago of 1000", 16, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: head, AfterId: before}),
		same("Assemble, conversation of 1000 turns", 8, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: head, View: transcriptv1.View_VIEW_CONVERSATION, Policy: &transcriptv1.Policy{}}),
		same("Assemble, 1000 turns", 12, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: head}),
		whole(long),
		short("StreamAssemble, after one turn ago of 1000", 16, transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: head, AfterId: before}),
		short("StreamAssemble, after the head of 1000", 16, transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: head, AfterId: long.head()}),
		stream("StreamAssemble, 1000 turns, full", transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: head, View: transcriptv1.View_VIEW_FULL}),
		stream("StreamAssemble, 1000 turns, envelopes", transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: head, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES}),
		same("ListRunLoops, a page", 8, transcriptv1.TranscriptService_ListRunLoops_FullMethodName,
			&transcriptv1.ListRunLoopsRequest{Head: head}),
		same("RecallToolCall", 16, transcriptv1.TranscriptService_RecallToolCall_FullMethodName,
			&transcriptv1.RecallToolCallRequest{Head: head, ToolCallId: proto.String("call_0500")}),
		same("Search, 100 turns, no hit", 3, transcriptv1.TranscriptService_Search_FullMethodName, &transcriptv1.SearchRequest{
			Scope:   &transcriptv1.SearchRequest_Head{Head: medium.alias()},
			Pattern: &transcriptv1.SearchRequest_Text{Text: "nobody said this"},
		}),
		same("ReplayTools", 8, transcriptv1.TranscriptService_ReplayTools_FullMethodName, &transcriptv1.ReplayToolsRequest{Head: head}),
		same("Describe, metadata", 16, transcriptv1.TranscriptService_Describe_FullMethodName,
			&transcriptv1.DescribeRequest{Head: head, Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_METADATA}),
		same("Compact, dry run, 100 turns", 3, transcriptv1.TranscriptService_Compact_FullMethodName,
			&transcriptv1.CompactRequest{Head: medium.alias(), DryRun: true, Summary: "What was said."}),
		same("Search, 100 turns, a hit", 3, transcriptv1.TranscriptService_Search_FullMethodName, &transcriptv1.SearchRequest{
			Scope:   &transcriptv1.SearchRequest_Head{Head: medium.alias()},
			Pattern: &transcriptv1.SearchRequest_Text{Text: "prompt of " + medium.name},
		}),
		same("ListAliases, a page of 100", 8, transcriptv1.TranscriptService_ListAliases_FullMethodName,
			&transcriptv1.ListAliasesRequest{Namespace: apart}),
		same("ListAliases, a page of a folder", 8, transcriptv1.TranscriptService_ListAliases_FullMethodName,
			&transcriptv1.ListAliasesRequest{Namespace: apart, Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: "doomed"}}),
		same("ListAliasHistory, 6 states", 16, transcriptv1.TranscriptService_ListAliasHistory_FullMethodName,
			&transcriptv1.ListAliasHistoryRequest{Name: long.name}),
		same("ListChildren, 21 of them", 16, transcriptv1.TranscriptService_ListChildren_FullMethodName,
			&transcriptv1.ListChildrenRequest{Namespace: apart, Node: byID(c.forked.ids[5])}),
		same("ServerInfo", 8, transcriptv1.TranscriptService_ServerInfo_FullMethodName, &transcriptv1.ServerInfoRequest{}),
		same("NamespaceStats", 8, transcriptv1.AdminService_NamespaceStats_FullMethodName, &transcriptv1.NamespaceStatsRequest{}),
		short("Verify, 31 nodes and 201 aliases", 3, transcriptv1.AdminService_Verify_FullMethodName,
			&transcriptv1.VerifyRequest{Namespace: apart}),
		same("GetNodes, 20 nodes", 16, transcriptv1.TranscriptService_GetNodes_FullMethodName,
			&transcriptv1.GetNodesRequest{NodeIds: long.ids[500:520]}),
		same("Assemble, the last 20 of 1000 turns", 16, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: head, LastMessages: 20}),
		same("Assemble, 20 amid 1000 turns", 16, transcriptv1.TranscriptService_Assemble_FullMethodName,
			&transcriptv1.AssembleRequest{Head: head, LastMessages: 20, Before: &transcriptv1.MessagePlace{NodeId: long.ids[500]}}),
	}
}

// writes are calls that write, or might have.
func (c *conversations) writes() []*program {
	long := *c.long
	cost := &transcriptv1.MessageNote{
		Model: "model-1-2026-11-01", FinishReason: "stop",
		InputTokens: proto.Int32(20_000), CachedTokens: proto.Int32(19_000), OutputTokens: proto.Int32(300),
	}
	return []*program{
		same("PutNode, what is there", 16, transcriptv1.TranscriptService_PutNode_FullMethodName,
			&transcriptv1.PutNodeRequest{Parent: byID(c.long.ids[500]), Messages: turn(c.long.name, 500)}),
		{name: "PutNode, a turn and its alias", calls: 8, next: c.append},
		{name: "PutNodes, a chain of 100", calls: 1, next: c.chains()},
		{name: "Alias, a move", calls: 8, next: c.move()},
		{name: "PutNode, a turn that forks", calls: 8, next: counted(func(i int) call { return fork("", c.long.ids[500], i) })},
		{name: "PutNode, a turn and what it cost", calls: 8, next: func() call { return noted(&long, cost) }},
		{name: "PutNode, a turn", calls: 8, next: func() call { return noted(&long, nil) }},
		{name: "PutNode, a small message", calls: 8, next: c.small()},
		{name: "DeleteAlias", calls: 8, next: counted(c.deletion)},
		{name: "Compact, 100 turns", calls: 3, next: counted(c.compaction)},
	}
}

// append puts the next turn of a chain where nobody else has put one.
func (c *conversations) append() call {
	before := c.grown.head()
	node := c.grown.next()
	return unary(transcriptv1.TranscriptService_PutNode_FullMethodName, &transcriptv1.PutNodeRequest{
		Parent: node.Parent, Messages: node.Messages, Aliases: c.grown.moved(before),
	})
}

// small puts messages of a few words, one behind the other, each with a salt as a Thread gives it.
func (c *conversations) small() func() call {
	parent, salt, put := c.short.last, []byte("0123456789abcdef"), 100
	return func() call {
		put++
		messages := []*transcriptv1.Message{said(transcriptv1.Role_ROLE_USER, fmt.Sprintf("And what is in number %d?", put))}
		req := &transcriptv1.PutNodeRequest{Parent: byID(fmt.Sprintf("%x", parent)), Messages: messages, Salt: salt}
		parent = canonical.NodeID(canonical.NewNode(messages, nil, salt).Envelope(&parent, nil))
		return unary(transcriptv1.TranscriptService_PutNode_FullMethodName, req)
	}
}

// noted puts the next turn of a chain, with a note for each message of the model; nil: without notes.
func noted(c *chain, note *transcriptv1.MessageNote) call {
	node := c.next()
	for _, m := range node.Messages {
		switch {
		case note == nil:
		case m.Role == transcriptv1.Role_ROLE_ASSISTANT:
			node.Notes = append(node.Notes, note)
		default:
			node.Notes = append(node.Notes, &transcriptv1.MessageNote{})
		}
	}
	return unary(transcriptv1.TranscriptService_PutNode_FullMethodName,
		&transcriptv1.PutNodeRequest{Parent: node.Parent, Messages: node.Messages, Notes: node.Notes})
}

// chains puts new chains.
func (c *conversations) chains() func() call {
	put := 0
	return func() call {
		put++
		chain := &chain{name: fmt.Sprintf("chat/bulk-%03d", put)}
		return unary(transcriptv1.TranscriptService_PutNodes_FullMethodName, chain.nodes(100))
	}
}

// move moves an alias to and fro.
func (c *conversations) move() func() call {
	at, to := c.medium.head(), c.short.head()
	return func() call {
		at, to = to, at
		return unary(transcriptv1.TranscriptService_Alias_FullMethodName, &transcriptv1.AliasRequest{
			Aliases: []*transcriptv1.AliasMove{{Name: c.medium.name, Target: byID(at), Precondition: headIs(to)}},
		})
	}
}

// deletion deletes an alias.
func (c *conversations) deletion(i int) call {
	return unary(transcriptv1.TranscriptService_DeleteAlias_FullMethodName, &transcriptv1.DeleteAliasRequest{
		Namespace: apart, Name: doomedName(i), Precondition: headIs(c.forked.head()),
	})
}

// compaction condenses a chain, each time with another summary.
func (c *conversations) compaction(i int) call {
	return unary(transcriptv1.TranscriptService_Compact_FullMethodName, &transcriptv1.CompactRequest{
		Head: byID(c.medium.head()), ThroughId: c.medium.head(), Summary: fmt.Sprintf("What was said, for the %03dth time.", i),
	})
}

// counted makes calls by their number.
func counted(make func(i int) call) func() call {
	i := -1
	return func() call {
		i++
		return make(i)
	}
}

func unary(method string, req proto.Message) call {
	b, err := proto.Marshal(req)
	if err != nil {
		return call{method: "not encoded: " + err.Error()}
	}
	return call{method: method, request: b}
}
