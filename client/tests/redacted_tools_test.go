package client_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const githubKey = "ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B"

// secretly is a thread with a call whose id, name, arguments and result hold a secret; found is the node with the result.
func secretly(t *testing.T, c *client.Client) (thread *client.Thread, call *transcriptv1.ToolCall, found string) {
	t.Helper()
	thread = begun(t, c)
	call = client.Call("id:"+githubKey, "tool:"+githubKey, `{"key":"`+githubKey+`","for":"needle"}`)
	made := client.Result(call, "a needle, key "+githubKey+", and password:")
	made.Parts = append(made.Parts, client.User(" hunter2xyz9").Parts...)
	note := &transcriptv1.MessageNote{SentAt: timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	for _, m := range []*transcriptv1.Message{client.Assistant("", call), made} {
		found = must(thread.AppendNode(t.Context(), client.Node{Messages: messages{m}, Notes: []*transcriptv1.MessageNote{note}}))(t).NodeId
	}
	return thread, call, found
}

func TestRecallRedacts(t *testing.T) {
	c := newLink(t).client()
	thread, call, _ := secretly(t, c)
	for redact, want := range map[bool]int{false: 4, true: 0} {
		got := must(c.Recall(t.Context(), client.ByID(thread.Head()), client.Recall{ID: call.GetId(), HasID: true, Redact: redact}))(t)
		text := fmt.Sprint(got.Call.GetId(), got.Call.GetName(), got.Call.Arguments, got.Parts[0].GetText())
		if n := strings.Count(text, githubKey); n != want {
			t.Errorf("redact %t: the secret is there %d times", redact, n)
		}
	}
}

// Text that a redacting tool gives has no secret, neither of a part, nor of two of them together, nor one that is cut at its end.
func TestRedactedRecallTool(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread, call, found := secretly(t, c)
	tool := thread.RedactedRecallTool()
	want := "call: tool:[redacted] {\"key\":\"[redacted]\",\"for\":\"needle\"}\nresult:\na needle, key [redacted], and password: [redacted]"
	says(t, tool, fmt.Sprintf(`{"call_id":%q}`, call.GetId()), want)
	says(t, tool, fmt.Sprintf(`{"call_id":"id:[redacted]","place":"%s.0"}`, found[:12]), want)
	says(t, tool, fmt.Sprintf(`{"call_id":%q,"arguments":true}`, call.GetId()),
		"call: tool:[redacted], with the arguments:\n{\"key\":\"[redacted]\",\"for\":\"needle\"}")
	says(t, tool, `{"call_id":"id:[redacted]"}`, "There is no such tool call in this conversation.")
	says(t, thread.RecallTool(), fmt.Sprintf(`{"call_id":"id:[redacted]","place":"%s.0"}`, found[:12]), "There is no such tool call in this conversation.")

	long := client.Call("long", "read", "{}")
	ok(t, thread.Append(ctx, client.Assistant("", long)))
	ok(t, thread.AppendResults(ctx, client.Result(long, strings.Repeat("é", 19_990)+" "+githubKey+" "+githubKey+strings.Repeat("é", 100))))
	whole := ""
	for _, offset := range []string{"", `,"offset":20000`} {
		_, text, _ := strings.Cut(runs(t, tool, `{"call_id":"long"`+offset+`}`), "result:\n")
		text, _, _ = strings.Cut(text, "\n[")
		whole += text
	}
	if strings.Contains(whole, "ghp_") || !strings.HasPrefix(whole, strings.Repeat("é", 19_990)+" [redacted] [redacted]") {
		t.Errorf("both parts are %q", whole[len(whole)-300:])
	}
}

// What a redacting search gives has no secret, and it does not tell that one is there; what stands beside a secret is found.
func TestRedactedSearchTool(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread, _, found := secretly(t, c)
	const head = "2026-03-01 12:00"
	tool := thread.RedactedSearchTool()
	says(t, tool, `{"query":"needle"}`, "- tool tool:[redacted] "+head+" (recall id:[redacted] "+found[:12]+".0): a needle, key [redacted], and password:\n"+
		"- assistant tool:[redacted] "+head+`: {"key":"[redacted]","for":"needle"}`+"\n")
	for _, query := range []string{githubKey, githubKey[:20], "(?i)hp_9s"} {
		says(t, tool, fmt.Sprintf(`{"query":%q,"regexp":true}`, query), "Nothing was found.")
		if got := runs(t, thread.SearchTool(), fmt.Sprintf(`{"query":%q,"regexp":true}`, query)); !strings.Contains(got, githubKey) {
			t.Errorf("without redaction %q finds %q", query, got)
		}
	}

	// Behind the tool's own call, and behind a part that matches in its secret alone.
	search := client.Call("s", "search_history", `{"query":"9sKq"}`)
	other := client.Call("o", "tool:"+githubKey, `{"key":"`+githubKey+`","for":"9sKq here"}`)
	note := &transcriptv1.MessageNote{SentAt: timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	put := func(m *transcriptv1.Message) {
		must(thread.AppendNode(ctx, client.Node{Messages: messages{m}, Notes: []*transcriptv1.MessageNote{note}}))(t)
	}
	put(client.Assistant("key "+githubKey, search, other))
	put(&transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: proto.String("o"), Parts: append(
		client.User("key "+githubKey).Parts, client.User("and 9sKq").Parts...)})
	for _, query := range []string{`{"query":"9SKQ"}`, `{"query":"9sKq","regexp":true}`} {
		got := runs(t, tool, query)
		if strings.Contains(got, "ghp_") || strings.Count(got, "\n") != 2 || !strings.Contains(got, "and 9sKq\n") ||
			!strings.Contains(got, `- assistant tool:[redacted] `+head+`: {"key":"[redacted]","for":"9sKq here"}`+"\n") || !strings.Contains(got, "(recall o ") {
			t.Errorf("%s finds\n%s", query, got)
		}
	}
}
