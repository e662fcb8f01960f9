package agents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestRecursionThreeDeep: an agent that is asked about a text of 200 kB. It keeps the text in a variable of its own, says so in its
// transcript, and calls itself on halves of it, three deep. Whoever looks sees at each depth which variable it works on and how deep it is;
// in no transcript does the text lie.
func TestRecursionThreeDeep(t *testing.T) {
	s := start(t)
	r := &recursive{service: s, c: s.agent("reader"), book: strings.Repeat("It was the best of times.", 8000)}

	chat := must[*client.Thread](s)(r.c.Chat(s.ctx(), "book", client.System("You read long texts in parts.")))
	answer := r.reads(chat, "How often does it say times?", r.book, 0)
	equal(s, "the answer", answer, "8000 times")

	// What was said at the top: the question, one call, its result, the answer.
	equal(s, "the top", s.sends(chat, nil), lines(
		"system: You read long texts in parts.", "user: How often does it say times?",
		`assistant: recurse{"from":0,"to":100000} recurse{"from":100000,"to":200000}`,
		"tool: 4000 times", "tool: 4000 times", "assistant: 8000 times"))
	equal(s, "the deepest", r.deepest, 3)
	equal(s, "the runs", r.runs, 1+2+4+8)
	whole := must[*client.Assembly](s)(r.c.Assemble(s.ctx(), client.ByAlias(chat.Alias()), client.Query{View: transcriptv1.View_VIEW_FULL}))
	if n := whole.Bytes(); n > 4096 {
		t.Errorf("the transcript of a text of %d bytes has %d", len(r.book), n)
	}
}

// recursive is an agent that calls itself.
type recursive struct {
	*service
	c       *client.Client
	book    string
	runs    int
	deepest int
}

// reads is a run on a thread: it declares its variable with the question, calls itself on each half, and gives the sum.
func (r *recursive) reads(thread *client.Thread, question, text string, depth int) string {
	r.Helper()
	r.runs, r.deepest = r.runs+1, max(r.deepest, depth)
	declared := client.DeclaredVariable{Type: "str", Size: int64(len(text)), Preview: text[:60], Iteration: int64(depth)}
	must[*client.PutResult](r.service)(thread.AppendNode(r.ctx(), client.Node{
		Messages: []*message{client.User(question)},
		Metadata: map[string]string{client.VariableInfoKey("context"): declared.Metadata(), client.VariableKey("depth"): fmt.Sprint(depth)},
	}))
	r.seen(thread, text, depth)
	sum := strings.Count(text, "times")
	if depth < 3 {
		sum = r.halves(thread, text, depth)
	}
	answer := fmt.Sprintf("%d times", sum)
	// The variable goes with the run.
	must[*client.PutResult](r.service)(thread.AppendNode(r.ctx(), client.Node{
		Messages: []*message{client.Assistant(answer)},
		Metadata: map[string]string{client.OutcomeKey: string(client.Replied), client.VariableInfoKey("context"): ""},
	}))
	equal(r.service, "the variables left", len(must[[]*transcriptv1.VariableInfo](r.service)(r.c.Variables(r.ctx(), client.ByID(thread.Head()), "context"))), 0)
	return answer
}

// halves calls the agent itself on both halves.
func (r *recursive) halves(thread *client.Thread, text string, depth int) (sum int) {
	r.Helper()
	middle := len(text) / 2
	halves := []string{text[:middle], text[middle:]}
	first := client.Call(fmt.Sprintf("%s/0", thread.Alias()), "recurse", fmt.Sprintf(`{"from":0,"to":%d}`, middle))
	second := client.Call(fmt.Sprintf("%s/1", thread.Alias()), "recurse", fmt.Sprintf(`{"from":%d,"to":%d}`, middle, len(text)))
	r.ok(thread.Append(r.ctx(), client.Assistant("", first, second)))
	var results []*message
	for i, call := range []*transcriptv1.ToolCall{first, second} {
		child := must[*client.Thread](r.service)(thread.Spawn(r.ctx(), client.Spawn{
			CallID: call.GetId(), Alias: call.GetId(), Messages: []*message{client.System("You read a part of a text.")}, Inherit: client.InheritArguments,
		}))
		answer := r.reads(child, call.Arguments, halves[i], depth+1)
		var n int
		if _, err := fmt.Sscanf(answer, "%d times", &n); err != nil {
			r.Fatal(err)
		}
		results, sum = append(results, client.Result(call, answer)), sum+n
	}
	r.ok(thread.AppendResults(r.ctx(), results...))
	return sum
}

// seen holds what somebody sees who looks at a run from outside: how deep it is, and what it works on.
func (r *recursive) seen(thread *client.Thread, text string, depth int) {
	r.Helper()
	d := must[*transcriptv1.DescribeResponse](r.service)(r.c.Describe(r.ctx(), client.ByAlias(thread.Alias()), &transcriptv1.DescribeRequest{
		Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW, PreviewChars: 60,
	}))
	equal(r.service, "how deep it is", int(d.Lineage.SpawnDepth), depth)
	want := transcriptv1.Inheritance_INHERITANCE_UNSPECIFIED
	if depth > 0 {
		want = transcriptv1.Inheritance_INHERITANCE_ARGUMENTS
	}
	equal(r.service, "what it was given", d.Lineage.Inheritance, want)
	for _, v := range d.Variables {
		if v.Name == "context" {
			equal(r.service, "its variable", fmt.Sprint(v.Type, v.SizeBytes, v.Preview), fmt.Sprint("str", len(text), text[:60]))
			return
		}
	}
	r.Fatalf("depth %d: no variable context in %v", depth, d.Variables)
}
