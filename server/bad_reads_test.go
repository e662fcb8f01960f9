package server_test

import (
	"strings"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// asked is a call of an rpc as the error walk makes it.
func asked[Req, Res any](rpc func(*rig, Req) (Res, error), req Req) func(*rig) error {
	return func(r *rig) error {
		_, err := rpc(r, req)
		return err
	}
}

func askCompact(r *rig, q *Compact) (*transcriptv1.CompactResponse, error) {
	return r.Compact(r.ctx(), q)
}

func askLoops(r *rig, q *transcriptv1.ListRunLoopsRequest) (*transcriptv1.ListRunLoopsResponse, error) {
	return r.ListRunLoops(r.ctx(), q)
}

func askRecall(r *rig, q *transcriptv1.RecallToolCallRequest) (*transcriptv1.RecallToolCallResponse, error) {
	return r.RecallToolCall(r.ctx(), q)
}

func askSearch(r *rig, q *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	return r.Search(r.ctx(), q)
}

func askReplay(r *rig, q *Replay) (*transcriptv1.ReplayToolsResponse, error) {
	return r.ReplayTools(r.ctx(), q)
}

func askDescribe(r *rig, q *transcriptv1.DescribeRequest) (*transcriptv1.DescribeResponse, error) {
	return r.Describe(r.ctx(), q)
}

// badRecollections are requests about what was said and compacted that are refused. The one node of the walk's store has
// neither calls nor aliases.
func badRecollections() []bad {
	const notFound, failed = codes.NotFound, codes.FailedPrecondition
	there := func(r *rig) *NodeRef { return byID(r.put("", user("x"))) }
	on := func(call func(*rig, *NodeRef) error) func(*rig) error {
		return func(r *rig) error { return call(r, there(r)) }
	}
	find := func(head *NodeRef, re string) *transcriptv1.SearchRequest {
		return &transcriptv1.SearchRequest{
			Scope: &transcriptv1.SearchRequest_Head{Head: head}, Pattern: &transcriptv1.SearchRequest_Regexp{Regexp: re},
		}
	}
	cases := []bad{
		{"compact nothing", asked(askCompact, &Compact{}), invalid, badField, "head"},
		{"compact what is not there", asked(askCompact, &Compact{Head: byID(absent)}), notFound, "NODE_NOT_FOUND", ""},
		{"compact with a salt too short", asked(askCompact, &Compact{Head: byID(absent), Salt: []byte("x")}), invalid, badField, "salt"},
		{"compact with a blank summary", asked(askCompact, &Compact{Head: byID(absent), Summary: " "}), invalid, badField, "summary"},
		{"compact through another chain", on(func(r *rig, head *NodeRef) error {
			_, err := askCompact(r, &Compact{Head: head, ThroughId: r.put(head.GetNodeId(), user("y"))})
			return err
		}), failed, "NOT_AN_ANCESTOR", ""},
		{"recall what is not there", on(func(r *rig, head *NodeRef) error {
			_, err := askRecall(r, &transcriptv1.RecallToolCallRequest{Head: head, ToolCallId: ptr("c")})
			return err
		}), notFound, "TOOL_CALL_NOT_FOUND", ""},
		{"recall a place that is none", on(func(r *rig, head *NodeRef) error {
			_, err := askRecall(r, &transcriptv1.RecallToolCallRequest{Head: head, Place: "x"})
			return err
		}), invalid, badField, "place"},
		{"search for nothing", asked(askSearch, &transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_Head{Head: byID(absent)}}), invalid, badField, "pattern"},
		{"search nowhere", asked(askSearch, &transcriptv1.SearchRequest{Pattern: &transcriptv1.SearchRequest_Text{Text: "x"}}), invalid, badField, "scope"},
		{"search for what does not compile", asked(askSearch, find(byID(absent), "(")), invalid, "INVALID_PATTERN", "regexp"},
		{"search for too large a pattern", asked(askSearch, find(byID(absent), strings.Repeat("(a?){999}", 100))), invalid, "INVALID_PATTERN", "regexp"},
		{"search for too long a pattern", asked(askSearch, find(byID(absent), strings.Repeat("a", 1025))), invalid, overLimit, "regexp"},
		{"replay too much", asked(askReplay, &Replay{Head: byID(absent), MaxCalls: 201}), invalid, overLimit, "max_calls"},
		{"describe too much", asked(askDescribe, &transcriptv1.DescribeRequest{Head: byID(absent), MaxItems: 65}), invalid, overLimit, "max_items"},
		{"describe in no mode", asked(askDescribe, &transcriptv1.DescribeRequest{Head: byID(absent), Mode: 9}), invalid, badField, "mode"},
		{"loops with too long previews", asked(askLoops, &transcriptv1.ListRunLoopsRequest{Head: byID(absent), PreviewChars: 10_001}), invalid, overLimit, "preview_chars"},
	}
	for _, forged := range []string{"x", "AQAAAAAAAAAA", strings.Repeat("A", 5000), "%%%"} {
		cases = append(cases,
			bad{"a forged page of loops", asked(askLoops, &transcriptv1.ListRunLoopsRequest{Head: byID(absent), PageToken: forged}), invalid, "INVALID_PAGE_TOKEN", "page_token"},
			bad{"a forged page of a result", asked(askRecall, &transcriptv1.RecallToolCallRequest{Head: byID(absent), ToolCallId: ptr("c"), PageToken: forged}), invalid, "INVALID_PAGE_TOKEN", "page_token"},
			bad{"a forged page of a search", func(r *rig) error {
				q := find(byID(absent), "x")
				q.PageToken = forged
				_, err := askSearch(r, q)
				return err
			}, invalid, "INVALID_PAGE_TOKEN", "page_token"},
		)
	}
	return cases
}
