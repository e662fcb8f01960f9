package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const recallJSON = `{"type":"object","properties":{` +
	`"call_id":{"type":"string","description":"The id of the tool call, as the line names it after 'recall'. '-' where it has none."},` +
	`"place":{"type":"string","description":"What stands behind the id in the line, such as 3f2a9c0d1e4b.0: names exactly that result."},` +
	`"arguments":{"type":"boolean","description":"Whether to get the arguments of the call in place of its result. Default false."},` +
	`"offset":{"type":"integer","description":"Where to go on in a long text, in characters. Default 0."}},"required":["call_id"]}`

const searchJSON = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"The text to find, in any case of its letters; or an RE2 pattern where regexp is true."},` +
	`"regexp":{"type":"boolean","description":"Whether query is an RE2 pattern. Default false."}},"required":["query"]}`

const (
	recallSays = "Get back the full result of an earlier tool call of this conversation. Results that were left out are shown " +
		"as a line '[result of NAME, B bytes, left out; recall CALL_ID PLACE]'. Where arguments of a call show '[N bytes left out]', " +
		"get them back with its id and arguments true."
	searchSays = "Search everything that was said earlier in this conversation, also what is no longer shown. Newest first."
)

// What a provider is sent, byte for byte: equal tools keep its cache.
func TestToolsInBothForms(t *testing.T) {
	thread := begun(t, newLink(t).client())
	for _, tool := range []struct {
		*client.Tool
		name, says, schema string
	}{
		{thread.RecallTool(), "recall_tool_call", recallSays, recallJSON},
		{thread.SearchTool(), "search_history", searchSays, searchJSON},
		{thread.RedactedRecallTool(), "recall_tool_call", recallSays, recallJSON},
		{thread.RedactedSearchTool(), "search_history", searchSays, searchJSON},
	} {
		openAI := fmt.Sprintf(`{"function":{"description":%q,"name":%q,"parameters":%s},"type":"function"}`, tool.says, tool.name, tool.schema)
		if got := string(tool.OpenAI()); got != openAI {
			t.Errorf("OpenAI:\n%s\nwant\n%s", got, openAI)
		}
		anthropic := fmt.Sprintf(`{"description":%q,"input_schema":%s,"name":%q}`, tool.says, tool.schema, tool.name)
		if got := string(tool.Anthropic()); got != anthropic {
			t.Errorf("Anthropic:\n%s\nwant\n%s", got, anthropic)
		}
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		ok(t, json.Unmarshal(tool.Parameters, &schema))
		for name, p := range schema.Properties {
			if !slices.Contains([]string{"string", "integer", "boolean"}, p.Type) || p.Description == "" {
				t.Errorf("%s.%s: %v", tool.name, name, p)
			}
		}
		for _, name := range schema.Required {
			if schema.Properties[name].Type == "" || schema.Type != "object" {
				t.Errorf("%s requires %q, which it has not", tool.name, name)
			}
		}
	}
}

// runs calls a tool, which must not fail.
func runs(t *testing.T, tool *client.Tool, arguments string) string {
	t.Helper()
	return must(tool.Call(t.Context(), arguments))(t)
}

// says holds a tool's text to one.
func says(t *testing.T, tool *client.Tool, arguments, want string) {
	t.Helper()
	if got := runs(t, tool, arguments); got != want {
		t.Errorf("%s gives\n%.300q\nwant\n%.300q", arguments, got, want)
	}
}

func TestRecallTool(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := worked(t, c, 1)
	bare := &transcriptv1.ToolCall{Name: proto.String("look"), Arguments: "{}"}
	failed := client.Result(call, "no such file")
	failed.IsError = true
	picture := client.Result(call, "")
	picture.Parts = []*transcriptv1.Part{
		{Kind: &transcriptv1.Part_Json{Json: `{"a":1}`}},
		{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png", Source: &transcriptv1.Media_Uri{Uri: "u"}}}},
	}
	for _, m := range []*transcriptv1.Message{
		client.Assistant("", bare), client.Result(bare, "nameless"), hello, asks, failed, answer,
		client.Assistant("", client.Call("later", "wait", strings.Repeat("ä", 3000))),
	} {
		ok(t, thread.Append(ctx, m))
	}
	tool := thread.RecallTool()
	says(t, tool, `{"call_id":"work-0"}`, "call: read {}\nresult:\n"+bulk)
	says(t, tool, `{"call_id":"work-0","offset":995}`, "call: read {}\nresult:\n"+bulk[995:])
	says(t, tool, `{"call_id":"work-0","offset":-5}`, "call: read {}\nresult:\n"+bulk)
	says(t, tool, `{"call_id":"work-0","offset":5000}`, "call: read {}\nresult:\n[it has 1000 characters: there is nothing at offset 5000]")
	says(t, tool, `{"call_id":"-"}`, "call: look {}\nresult:\nnameless")
	says(t, tool, `{"call_id":"call-1"}`, "call: read {\"path\":\"a\"}\nresult, an error:\nno such file")
	says(t, tool, `{"call_id":"later"}`, "call: wait "+strings.Repeat("ä", 2000)+"...\nIt has no result.")
	says(t, tool, `{"call_id":"later","arguments":true}`, "call: wait, with the arguments:\n"+strings.Repeat("ä", 3000))
	says(t, tool, `{"call_id":"later","arguments":true,"offset":2998}`, "call: wait, with the arguments:\nää")
	ok(t, thread.Append(ctx, client.Result(client.Call("later", "wait", ""), "done")))
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.AppendResults(ctx, picture))
	says(t, tool, `{"call_id":"call-1"}`, "call: read {\"path\":\"a\"}\nresult:\n{\"a\":1}[image/png]")

	const wrong = "The arguments have to be a JSON object with call_id and, where the line has one, place, both texts; offset is a whole number, " +
		"arguments true or false."
	for arguments, want := range map[string]string{
		``: wrong, `null`: wrong, `{}`: wrong, `[]`: wrong, `{"call_id":7}`: wrong, `{"call_id":"a","offset":"b"}`: wrong, `{"call_id":"a","arguments":"b"}`: wrong,
		`{"call_id":`:         wrong,
		`{"call_id":"other"}`: "There is no such tool call in this conversation.",
		`{"call_id":"work-0","place":"000000000000.0"}`:   "There is no such tool call in this conversation.",
		`{"call_id":"work-0","place":"there"}`:            "That is not the id and place of a tool call: copy both from the line.",
		`{"call_id":"` + strings.Repeat("x", 2000) + `"}`: "There is no such tool call in this conversation.",
	} {
		says(t, tool, arguments, want)
	}
}

// A long result comes in parts, cut between characters, which laid end to end are the result.
func TestRecallToolGivesLongResultsInParts(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	long := strings.Repeat("ä€x", 200_000) // more than a page of the server
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.AppendResults(ctx, client.Result(call, long)))
	recalled := must(c.Recall(ctx, client.ByID(thread.Head()), client.Recall{ID: "call-1", HasID: true}))(t)
	if len(recalled.Parts) != 1 || recalled.Parts[0].GetText() != long || recalled.NextPageToken != "" {
		t.Errorf("%d parts", len(recalled.Parts))
	}
	tool, offset, whole := thread.RecallTool(), 0, ""
	for offset < 60_000 {
		text := runs(t, tool, fmt.Sprintf(`{"call_id":"call-1","offset":%d}`, offset))
		if n := utf8.RuneCountInString(text); n > 20_000+200 {
			t.Fatalf("%d characters", n)
		}
		_, text, _ = strings.Cut(text, "result:\n")
		text, more, _ := strings.Cut(text, "\n[")
		var left int
		if _, err := fmt.Sscanf(more, "%d more characters: ask again with offset %d]", &left, &offset); err != nil || left+offset != 600_000 {
			t.Fatalf("it ends in %q: %v", more, err)
		}
		whole += text
	}
	if !strings.HasPrefix(long, whole) || utf8.RuneCountInString(whole) != 60_000 {
		t.Errorf("%d characters came", utf8.RuneCountInString(whole))
	}
}

// A model that sees a call shortened gets its arguments back, whole, in parts.
func TestRecallToolGivesArgumentsBack(t *testing.T) {
	ctx, thread := t.Context(), begun(t, newLink(t).client())
	arguments := `{"path":"a.go","text":"` + strings.Repeat("é", 30_000) + `"}`
	for i := range 12 {
		c := client.Call(fmt.Sprint("write-", i), "write", arguments)
		ok(t, thread.Append(ctx, client.Assistant("", c)))
		ok(t, thread.AppendResults(ctx, client.Result(c, "done")))
	}
	shown := must(thread.Messages(ctx, client.Frugal()))(t)
	first := client.Calls(shown[slices.IndexFunc(shown, func(m *transcriptv1.Message) bool { return len(client.Calls(m)) > 0 })])[0]
	if first.Arguments != `{"path":"a.go","text":"[60000 bytes left out]"}` {
		t.Fatalf("it is shown with the arguments %.100q", first.Arguments)
	}
	begins, rest := "call: write, with the arguments:\n", []rune(arguments)
	says(t, thread.RecallTool(), `{"call_id":"`+first.GetId()+`","arguments":true}`,
		begins+string(rest[:20_000])+"\n[10025 more characters: ask again with offset 20000]")
	says(t, thread.RecallTool(), `{"call_id":"`+first.GetId()+`","arguments":true,"offset":20000}`, begins+string(rest[20_000:]))
}

// What a line of a conversation says leads to just the result that it stands for, whatever was compacted.
func TestRecallToolTakesWhatALineSays(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	bare := &transcriptv1.ToolCall{Name: proto.String("look"), Arguments: "{}"}
	said := map[string]bool{}
	for i := range 4 {
		one := client.Result(call, fmt.Sprint("contents ", i, bulk)) // all of the same id
		if i == 3 {
			one = client.Result(bare, fmt.Sprint("contents ", i, bulk))
			ok(t, thread.Append(ctx, client.Assistant("", bare)))
		} else {
			ok(t, thread.Append(ctx, asks))
		}
		ok(t, thread.AppendResults(ctx, one))
		said[client.Text(one)] = true
	}
	ok(t, thread.Append(ctx, client.Assistant("On with it."), asks))
	ok(t, thread.AppendResults(ctx, client.Result(call, "what no model has seen")))
	lines := &transcriptv1.Policy{ClearToolResults: clears(proto.Int32(0))}
	for round := range 2 {
		tool := thread.RecallTool()
		for _, m := range must(thread.Messages(ctx, lines))(t) {
			if m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED {
				continue
			}
			_, behind, found := strings.Cut(strings.TrimSuffix(client.Text(m), "]"), "; recall ")
			id, place, _ := strings.Cut(behind, " ")
			if !found || (id == "-") != (m.ToolCallId == nil) {
				t.Fatalf("a line %q", client.Text(m))
			}
			text := runs(t, tool, fmt.Sprintf(`{"call_id":%q,"place":%q}`, id, place))
			_, text, _ = strings.Cut(text, "result:\n")
			if !said[text] {
				t.Errorf("%s leads to %.40q", behind, text)
			}
			delete(said, text)
		}
		if len(said) != 0 {
			t.Errorf("round %d: %d results were not found", round, len(said))
		}
		for i := range 4 {
			said[fmt.Sprint("contents ", i, bulk)] = true
		}
		res := must(thread.Compact(ctx, client.Compaction{Policy: lines}))(t)
		if round == 0 && !res.Written {
			t.Error("nothing was compacted")
		}
	}
}

func TestSearchTool(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := worked(t, c, 0)
	at := &transcriptv1.MessageNote{SentAt: timestamppb.New(timestamppb.Now().AsTime().AddDate(-1, 0, 0))}
	when := at.SentAt.AsTime().UTC().Format("2006-01-02 15:04")
	noted := func(m *transcriptv1.Message) string {
		return must(thread.AppendNode(ctx, client.Node{Messages: messages{m}, Notes: []*transcriptv1.MessageNote{at}}))(t).NodeId
	}
	noted(client.User("Where is the\n  Needle?"))
	noted(client.Assistant("", client.Call("look-1", "look", `{"for":"needle"}`)))
	found := noted(client.Result(client.Call("look-1", "look", ""), "In the hay: needle."))
	nameless := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, Parts: answer.Parts}
	nameless.Parts = client.User("a needle of nobody").Parts
	orphan := noted(nameless)
	tool := thread.SearchTool()
	want := "- tool " + when + " (recall - " + orphan[:12] + ".0): a needle of nobody\n" +
		"- tool look " + when + " (recall look-1 " + found[:12] + ".0): In the hay: needle.\n" +
		"- assistant look " + when + `: {"for":"needle"}` + "\n" +
		"- user " + when + ": Where is the Needle?\n"
	says(t, tool, `{"query":"needle"}`, want)
	must(thread.Compact(ctx, client.Compaction{Summary: "They sewed.", SummaryOnly: true}))(t)
	says(t, tool, `{"query":"needle"}`, want)
	says(t, tool, `{"query":"[Nn]eedle\\?","regexp":true}`, "- user "+when+": Where is the Needle?\n")
	says(t, tool, `{"query":"pin"}`, "Nothing was found.")

	// A model's searches, and what it recalled, are not found by its next search.
	looks := client.Call("s-1", "search_history", `{"query":"needle"}`)
	ok(t, thread.Append(ctx, client.Assistant("", looks)))
	ok(t, thread.AppendResults(ctx, client.Result(looks, want)))
	back := client.Call("r-1", "recall_tool_call", `{"call_id":"look-1"}`)
	ok(t, thread.Append(ctx, client.Assistant("", back)))
	ok(t, thread.AppendResults(ctx, client.Result(back, "In the hay: needle.")))
	says(t, tool, `{"query":"needle"}`, want)

	const wrong = "The arguments have to be a JSON object with query, a text; regexp is true or false."
	for arguments, want := range map[string]string{
		``: wrong, `null`: wrong, `{}`: wrong, `{"query":""}`: wrong, `{"query":7}`: wrong, `{"query":"a","regexp":"yes"}`: wrong,
		`{"query":"(","regexp":true}`:                   "That is not an RE2 pattern, or one that is too large.",
		`{"query":"` + strings.Repeat("x", 2000) + `"}`: "That cannot be searched for: query has to be 1 byte to 1 KiB of text.",
	} {
		says(t, tool, arguments, want)
	}
}

// What a model said or called beside its own search is found, though the search itself, which matches first, is not.
func TestSearchToolFindsWhatStandsBesideItsCall(t *testing.T) {
	type parts = []*transcriptv1.Part
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	note := &transcriptv1.MessageNote{SentAt: timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	part := func(m *transcriptv1.Message) *transcriptv1.Part { return m.Parts[0] }
	call := func(name, arguments string) *transcriptv1.Part {
		return part(client.Assistant("", client.Call(name, name, arguments)))
	}
	reasoning := &transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "A NEEDLE, then"}}}
	media := &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
		MediaType: "needle/png", Source: &transcriptv1.Media_Uri{Uri: "needle"},
	}}}
	long := strings.Repeat("ä", 500)
	search, recall := call("search_history", `{"query":"needle"}`), call("recall_tool_call", `{"call_id":"needle"}`)
	const head = "2026-03-01 12:00: "
	for _, test := range []struct {
		name  string
		parts parts
		want  string
	}{
		{"nothing else", parts{search}, "Nothing was found."},
		{"both tools", parts{search, recall}, "Nothing was found."},
		{"media, which is not looked at", parts{search, media}, "Nothing was found."},
		{"another call that does not match", parts{search, call("look", `{"for":"pins"}`)}, "Nothing was found."},
		{"another call", parts{search, recall, call("look", `{"for":"a Needle"}`)}, "- assistant look " + head + `{"for":"a Needle"}` + "\n"},
		{"another call's name", parts{recall, call("needle", "{}")}, "- assistant needle " + head + "needle\n"},
		{"a text before", parts{part(client.User("The needle?")), search}, "- assistant " + head + "The needle?\n"},
		{"a text behind", parts{search, part(client.User("The\n needle?"))}, "- assistant " + head + "The needle?\n"},
		{"reasoning behind", parts{search, reasoning}, "- assistant " + head + "A NEEDLE, then\n"},
		{"JSON behind", parts{search, {Kind: &transcriptv1.Part_Json{Json: `{"needle":1}`}}}, "- assistant " + head + `{"needle":1}` + "\n"},
		{"a long text behind", parts{search, part(client.User(long + "needle" + long))},
			"- assistant " + head + strings.Repeat("ä", 66) + "needle" + strings.Repeat("ä", 128) + "\n"},
	} {
		at := must(thread.Fork(ctx, "beside/"+test.name))(t)
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: test.parts}
		must(at.AppendNode(ctx, client.Node{Messages: messages{hello, m}, Notes: []*transcriptv1.MessageNote{note, note}}))(t)
		for _, arguments := range []string{`{"query":"nEEdle"}`, `{"query":"(?i)n[e]{2}dle","regexp":true}`} {
			if got := runs(t, at.SearchTool(), arguments); got != test.want {
				t.Errorf("%s, %s: %q, want %q", test.name, arguments, got, test.want)
			}
		}
	}
}

func TestSearchToolIsBounded(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	name := strings.Repeat("n", 1000)
	for range 15 {
		long := client.Call(name, name, strings.Repeat("needle ", 1000))
		ok(t, thread.Append(ctx, client.Assistant("", long)))
		ok(t, thread.AppendResults(ctx, client.Result(long, strings.Repeat("needle ", 1000))))
	}
	text := runs(t, thread.SearchTool(), `{"query":"needle"}`)
	if n := strings.Count(text, "\n"); n != 11 || !strings.HasSuffix(text, "\n[there is more: use a narrower query]\n") || len(text) > 40_000 {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
}

// What goes wrong at the service is the agent's to know, not the model's.
func TestToolsPassTheServicesErrors(t *testing.T) {
	l := newLink(t)
	thread := begun(t, l.client())
	for _, tool := range []*client.Tool{thread.RecallTool(), thread.SearchTool(), thread.RedactedRecallTool(), thread.RedactedSearchTool()} {
		l.refused[transcriptv1.TranscriptService_RecallToolCall_FullMethodName] = 4
		l.refused[transcriptv1.TranscriptService_Search_FullMethodName] = 4
		if text, err := tool.Call(t.Context(), `{"call_id":"x","query":"x"}`); err == nil || text != "" {
			t.Errorf("%s gives %q", tool.Name, text)
		}
		l.reset()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := tool.Call(ended, `{"call_id":"x","query":"x"}`)
		fails(t, err, context.Canceled)
	}
}

// clears keeps so many results, and clears others at once.
func clears(keep *int32) *transcriptv1.ClearToolResults {
	return &transcriptv1.ClearToolResults{Keep: keep, CachedPercent: proto.Int32(100)}
}
