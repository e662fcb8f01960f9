package server_test

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// badRecalls are requests for calls that are not there, or that name none.
func badRecalls(w *planted) []bad {
	call := func(req *Recall) func(*rig) error { return asked((*rig).RecallToolCall, req) }
	head, one, id := byID(w.results), ptr("1"), w.results
	at := func(place string) func(*rig) error { return call(&Recall{Head: head, Place: place}) }
	cases := []bad{
		{"recall nothing", call(&Recall{}), invalid, badField, "head"},
		{"recall from a prefix", call(&Recall{Head: byID("x")}), invalid, badField, "head.node_id"},
		{"recall from what is not there", call(&Recall{Head: byID(absent), ToolCallId: one}), notFound, noNode, "head"},
		{"recall a place in what is not there", call(&Recall{Head: byID(absent), Place: id + ".1"}), notFound, noNode, "head"},
		{"recall from an alias that is not there", call(&Recall{Head: byAlias("nobody"), ToolCallId: one}), notFound, noAlias, "head"},
		{"recall from another namespace", call(&Recall{Head: head, Place: id + ".1", Namespace: "other"}), notFound, noNode, "head"},
		{"recall a negative occurrence", call(&Recall{Head: head, ToolCallId: one, Occurrence: -1}), invalid, badField, "occurrence"},
		{"recall an occurrence of a place", call(&Recall{Head: head, Place: id + ".1", Occurrence: 1}), invalid, badField, "occurrence"},
		{"recall negative pages", call(&Recall{Head: head, ToolCallId: one, PageBytes: -1}), invalid, badField, "page_bytes"},
		{"recall an occurrence too many", call(&Recall{Head: head, ToolCallId: one, Occurrence: 1}), notFound, noToolCall, ""},
		{"recall the last of all occurrences", call(&Recall{Head: head, ToolCallId: one, Occurrence: 1<<31 - 1}), notFound, noToolCall, ""},
		{"recall an orphan before an orphan", call(&Recall{Head: head, ToolCallId: ptr("9"), Occurrence: 1}), notFound, noToolCall, ""},
		{"recall a call without id", call(&Recall{Head: head}), notFound, noToolCall, ""},
		{"recall an empty id", call(&Recall{Head: head, ToolCallId: ptr("")}), notFound, noToolCall, ""},
		{"recall an id that is not there", call(&Recall{Head: head, ToolCallId: ptr("c")}), notFound, noToolCall, ""},
		{"recall an id that none can be", call(&Recall{Head: head, ToolCallId: ptr(strings.Repeat("x", 100_000))}), notFound, noToolCall, ""},
		{"recall a question", at(id + ".0"), notFound, noToolCall, ""},
		{"recall behind a node", at(id + ".5"), notFound, noToolCall, ""},
		{"recall far behind a node", at(id + ".2147483647"), notFound, noToolCall, ""},
		{"recall a place of another chain", at(w.chat[3] + ".0"), notFound, noToolCall, ""},
		{"recall a place that is not there", at(absent + ".0"), notFound, noToolCall, ""},
		{"recall a place with another id", call(&Recall{Head: head, Place: id + ".2", ToolCallId: ptr("2")}), notFound, noToolCall, ""},
		{"recall nothing redacted", call(&Recall{Redact: true}), invalid, badField, "head"},
		{"recall an id that is not there, redacted", call(&Recall{Head: head, ToolCallId: ptr("c"), Redact: true}), notFound, noToolCall, ""},
		{"recall what a secret is replaced by", call(&Recall{Head: head, ToolCallId: ptr("[redacted]"), Redact: true}), notFound, noToolCall, ""},
		{"recall a bad page redacted", call(&Recall{Head: head, ToolCallId: one, Redact: true, PageToken: "x"}), invalid, forged, "page_token"},
		{"recall one of two calls", call(&Recall{Head: byID(w.two), Place: w.two + ".0"}), invalid, badField, "tool_call_id"},
	}
	for _, place := range []string{
		".", ".1", id, id + ".", id[:11] + ".1", id + "0.1", id + ".01", id + ".+1", id + ".-1", id + ". 1", id + ".1 ", " " + id + ".1",
		id + ".1.1", id + ".2147483648", id + ".99999999999999999999", strings.ToUpper(id) + ".1", "x" + id[1:] + ".1", id + ":1", id + ".0x1", "-", "- -",
	} {
		cases = append(cases, bad{"recall a place that is none", at(place), invalid, badField, "place"})
	}
	return cases
}

// badLoops are listings of run loops that are refused.
func badLoops(w *planted) []bad {
	call := func(req *ListLoops) func(*rig) error { return asked((*rig).ListRunLoops, req) }
	head := byID(w.chat[9])
	return []bad{
		{"loops of nothing", call(&ListLoops{}), invalid, badField, "head"},
		{"loops of a prefix", call(&ListLoops{Head: byID("abc")}), invalid, badField, "head.node_id"},
		{"loops of what is not there", call(&ListLoops{Head: byID(absent)}), notFound, noNode, "head"},
		{"loops of an alias that is not there", call(&ListLoops{Head: byAlias("nobody")}), notFound, noAlias, "head"},
		{"loops in another namespace", call(&ListLoops{Head: head, Namespace: "other"}), notFound, noNode, "head"},
		{"negative pages of loops", call(&ListLoops{Head: head, PageSize: -1}), invalid, badField, "page_size"},
		{"negative previews", call(&ListLoops{Head: head, PreviewChars: -1}), invalid, badField, "preview_chars"},
		{"long previews", call(&ListLoops{Head: head, PreviewChars: 10_001}), invalid, overLimit, "preview_chars"},
		{"negative arguments", call(&ListLoops{Head: head, ArgumentChars: -1}), invalid, badField, "argument_chars"},
		{"the longest arguments", call(&ListLoops{Head: head, ArgumentChars: 2000}), codes.OK, "", ""},
		{"long arguments", call(&ListLoops{Head: head, ArgumentChars: 2001}), invalid, overLimit, "argument_chars"},
	}
}

// badReplays are replays that are refused.
func badReplays(w *planted) []bad {
	call := func(req *Replay) func(*rig) error { return asked((*rig).ReplayTools, req) }
	head := byID(w.chat[9])
	return []bad{
		{"replay nothing", call(&Replay{}), invalid, badField, "head"},
		{"replay a prefix", call(&Replay{Head: byID("abc")}), invalid, badField, "head.node_id"},
		{"replay what is not there", call(&Replay{Head: byID(absent)}), notFound, noNode, "head"},
		{"replay an alias that is not there", call(&Replay{Head: byAlias("nobody")}), notFound, noAlias, "head"},
		{"replay in another namespace", call(&Replay{Head: head, Namespace: "other"}), notFound, noNode, "head"},
		{"replay past loops of nothing", call(&Replay{PastLoopsOnly: true}), invalid, badField, "head"},
		{"replay past loops of what is not there", call(&Replay{Head: byID(absent), PastLoopsOnly: true}), notFound, noNode, "head"},
		{"replay 201 calls of past loops", call(&Replay{Head: head, MaxCalls: 201, PastLoopsOnly: true}), invalid, overLimit, "max_calls"},
		{"replay negative calls", call(&Replay{Head: head, MaxCalls: -1}), invalid, badField, "max_calls"},
		{"replay 201 calls", call(&Replay{Head: head, MaxCalls: 201}), invalid, overLimit, "max_calls"},
		{"replay negative items", call(&Replay{Head: head, MaxItemChars: -1}), invalid, badField, "max_item_chars"},
		{"replay long items", call(&Replay{Head: head, MaxItemChars: 10_001}), invalid, overLimit, "max_item_chars"},
		{"replay a negative text", call(&Replay{Head: head, MaxChars: -1}), invalid, badField, "max_chars"},
		{"replay a long text", call(&Replay{Head: head, MaxChars: 200_001}), invalid, overLimit, "max_chars"},
		{"replay a nameless tool", call(&Replay{Head: head, ToolNames: []string{"x", ""}}), invalid, badField, "tool_names"},
		{"replay 65 tools", call(&Replay{Head: head, ToolNames: slices.Repeat([]string{"x"}, 65)}), invalid, overLimit, "tool_names"},
		{"replay a tool of a long name", call(&Replay{Head: head, ToolNames: []string{"x", strings.Repeat("x", 1025)}}), invalid, overLimit, "tool_names[1]"},
	}
}
