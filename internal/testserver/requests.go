package testserver

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// requestQueries are what a model can be sent: the effective view, and conversations without bounds, under the default policy, with
// lines, and of each preset that clears results.
func requestQueries() []client.Query {
	conversation := transcriptv1.View_VIEW_CONVERSATION
	lines := client.Unbounded()
	lines.ClearToolResults, lines.ToolTrace = &transcriptv1.ClearToolResults{Keep: proto.Int32(1)}, transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	queries := []client.Query{
		{}, {View: conversation, Policy: client.Unbounded()}, {View: conversation}, {View: conversation, Policy: lines},
	}
	for _, p := range []transcriptv1.Preset{transcriptv1.Preset_PRESET_CODING, transcriptv1.Preset_PRESET_LONG, transcriptv1.Preset_PRESET_FRUGAL} {
		queries = append(queries, client.Query{View: conversation, Policy: &transcriptv1.Policy{Preset: p}})
	}
	return queries
}

// Requests puts messages one by one and yields, before each assistant message at which no call is unanswered, what a
// model can be sent there, in several views. What was put before is not asked for again. The messages are yield's.
func Requests(t *testing.T, c *client.Client, messages []*transcriptv1.Message, yield func(query int, messages []*transcriptv1.Message)) {
	t.Helper()
	queries := requestQueries()
	var state runloop.State
	var head string
	fresh := false
	for i, m := range messages {
		if fresh && m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT && state.Group.Unanswered() == 0 {
			for k, q := range queries {
				a, err := c.Assemble(t.Context(), client.ByID(head), q)
				if err != nil {
					t.Fatal(err)
				}
				view, err := a.Messages()
				if err != nil {
					t.Fatal(err)
				}
				yield(k, view)
			}
		}
		node := client.Node{Messages: messages[i : i+1]}
		if head != "" {
			node.Parent = client.ByID(head)
		}
		put, err := c.Put(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		head, fresh = put.NodeId, put.Created
		n := runloop.Node{Seq: uint32(i), Messages: []runloop.Facts{canonical.FactsOf(m)}}
		if _, _, err := state.Fold(n, func(runloop.Optional) bool { return false }); err != nil {
			t.Fatal(err)
		}
	}
}
