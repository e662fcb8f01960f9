package client_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Whatever the preview, what is declared is of the form that the service takes, and of a preview that is too long it has the longest
// beginning that fits.
func TestDeclaredVariables(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := client.DeclaredVariable{
			Type: "str", Size: rapid.Int64Range(0, canonical.MaxVariableNumber).Draw(rt, "size"),
			Iteration: rapid.Int64Range(0, canonical.MaxVariableNumber).Draw(rt, "iteration"),
			Preview:   strings.Repeat(rapid.String().Draw(rt, "text"), rapid.IntRange(1, 3000).Draw(rt, "times")),
		}
		text := v.Metadata()
		info, ok := canonical.ParseVariableInfo(text)
		if !ok || len(text) > canonical.MaxMetadataValueBytes || info.Size != v.Size || info.Iteration != v.Iteration || info.Type != v.Type {
			rt.Fatalf("%d bytes, parses %t: %.200s", len(text), ok, text)
		}
		if !strings.HasPrefix(v.Preview, info.Preview) {
			rt.Fatalf("the preview %q is no beginning of %q", info.Preview, v.Preview)
		}
		if info.Preview != v.Preview && len(text) < canonical.MaxMetadataValueBytes-11 { // a code point takes up to 12 bytes
			rt.Fatalf("%d bytes have %d of the %d of the preview", len(text), len(info.Preview), len(v.Preview))
		}
	})
}

// More names than a description lists are asked for one after the other, all of the node that an alias pointed to at first.
func TestVariablesByName(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	var names []string
	for i := range 3 {
		metadata := map[string]string{}
		for k := range 60 {
			name := fmt.Sprintf("v%d/%02d", i, k)
			names = append(names, name)
			metadata[client.VariableKey(name)] = fmt.Sprint(k)
		}
		must(thread.AppendNode(ctx, client.Node{Messages: messages{hello}, Metadata: metadata}))(t)
	}
	told := must(c.Variables(ctx, client.ByAlias(thread.Alias()), append(names, "never set")...))(t)
	if len(told) != len(names) {
		t.Errorf("%d of %d variables", len(told), len(names))
	}
	seen := map[string]string{}
	for _, v := range told {
		seen[v.Name] = v.Preview
	}
	for i, name := range names {
		if seen[name] != fmt.Sprint(i%60) {
			t.Errorf("%s is %q", name, seen[name])
		}
	}
	if none := must(c.Variables(ctx, client.ByAlias(thread.Alias())))(t); none != nil {
		t.Errorf("of no names it tells %v", none)
	}
	_, err := c.Variables(ctx, client.ByAlias(thread.Alias()), "")
	fails(t, err, client.ErrInvalidField)
	_, err = c.Variables(ctx, client.ByAlias(thread.Alias()), strings.Repeat("n", 253))
	fails(t, err, client.ErrLimitExceeded)
	_, err = c.Variables(ctx, client.ByAlias("nobody"), "v")
	fails(t, err, client.ErrAliasNotFound)
}

// recursive is an agent that answers a question about a text too large for any model, by asking itself about a part of it. The values of
// its variables are its own; a transcript has what it declares of them.
type recursive struct {
	*testing.T
	c *client.Client
	// kept are the values, by the thread that has them and their name.
	kept map[string]string
}

// declare is the metadata of a variable whose value the agent keeps.
func (a *recursive) declare(thread, name, value string, iteration int64) map[string]string {
	a.kept[thread+" "+name] = value
	d := client.DeclaredVariable{Type: "str", Size: int64(len(value)), Preview: value[:min(len(value), 5000)], Iteration: iteration}
	return map[string]string{client.VariableInfoKey(name): d.Metadata()}
}

// ask works on the context of a thread until it knows the answer, a level deeper as long as there are any.
func (a *recursive) ask(t *client.Thread, depth, levels int) string {
	a.Helper()
	ctx := a.Context()
	a.holds(t, depth, "context", 0)
	if depth == levels {
		answer := fmt.Sprint(strings.Count(a.kept[t.Alias()+" context"], "times"), " times")
		ok(a.T, t.Reply(ctx, t.Alias()+" reply", client.Assistant(answer)))
		return answer
	}
	// What it found goes into a large variable of its own, which it changes as it works; a small one has its value in the transcript.
	for i := range int64(3) {
		metadata := a.declare(t.Alias(), "notes", strings.Repeat(fmt.Sprint("note ", i, "; "), 25_000), i)
		metadata[client.VariableKey("step")] = fmt.Sprint(i)
		must(t.AppendNode(ctx, client.Node{Messages: messages{client.Assistant("", client.Call(fmt.Sprint("look", i), "look", "{}"))}, Metadata: metadata}))(a.T)
		ok(a.T, t.AppendResults(ctx, client.Result(client.Call(fmt.Sprint("look", i), "look", ""), "seen")))
		a.holds(t, depth, "notes", i)
	}
	call := client.Call(fmt.Sprint("ask", depth), "llm_query", `{"variable":"context"}`)
	ok(a.T, t.Append(ctx, client.Assistant("", call)))
	name := fmt.Sprint("sub/", depth+1)
	child := must(t.Spawn(ctx, client.Spawn{
		CallID: call.GetId(), Alias: name, Inherit: client.InheritArguments,
		Messages: messages{client.User("Count the times.")}, Metadata: a.declare(name, "context", a.kept[t.Alias()+" context"], 0),
	}))(a.T)
	answer := a.ask(child, depth+1, levels)
	// The large notes are of no use any more.
	must(t.AppendNode(ctx, client.Node{Messages: messages{client.Result(call, answer)}, Metadata: map[string]string{
		client.VariableInfoKey("notes"): "", client.VariableKey("answer"): `"` + answer + `"`,
	}}))(a.T)
	ok(a.T, t.Reply(ctx, t.Alias()+" reply", client.Assistant(answer)))
	return answer
}

// holds asserts what Describe tells at a depth: how deep it is, what is inherited, and of a variable what the agent keeps.
func (a *recursive) holds(t *client.Thread, depth int, name string, iteration int64) {
	a.Helper()
	value := a.kept[t.Alias()+" "+name]
	d := must(a.c.Describe(a.Context(), client.ByAlias(t.Alias()), &transcriptv1.DescribeRequest{
		Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW, Names: &transcriptv1.VariableNames{Exact: []string{name}},
	}))(a.T)
	inherits := inheritsArguments
	if depth == 0 {
		inherits = inheritsUnsaid
	}
	if l := d.Lineage; int(l.SpawnDepth) != depth || l.SpawnDepthAtLeast || l.Inheritance != inherits {
		a.Errorf("at depth %d: %v", depth, l)
	}
	if len(d.Variables) != 1 {
		a.Fatalf("at depth %d the variables are %v", depth, d.Variables)
	}
	v := d.Variables[0]
	if v.Type != "str" || int(v.SizeBytes) != len(value) || v.Iteration == nil || *v.Iteration != iteration || v.Preview != value[:200] {
		a.Errorf("at depth %d, %s of %d bytes at iteration %d is %v", depth, name, len(value), iteration, v)
	}
	line := fmt.Sprintf("variable %s: str, %d bytes, iteration %d, set ", name, len(value), iteration)
	if !strings.Contains(d.Text, line) || depth > 0 && !strings.Contains(d.Text, fmt.Sprintf(", inherits arguments, %d spawn", depth)) {
		a.Errorf("at depth %d the text is\n%s", depth, d.Text)
	}
}

// TestRecursionThreeDeepWithLargeVariables: an agent with variables of 200 kB that it keeps itself calls itself three deep, each time with a
// variable of that size. Describe tells of them at each depth, and the transcript stays small.
func TestRecursionThreeDeepWithLargeVariables(t *testing.T) {
	c := newLink(t).client(client.WithVerification())
	a := &recursive{T: t, c: c, kept: map[string]string{}}
	book := strings.Repeat("It was the best of times. ", 8000)
	thread := must(c.Start(t.Context(), client.Turn{
		MessageID: "m1", System: messages{system}, Messages: messages{client.User("How many times?")},
		Metadata: a.declare("msg/m1", "context", book, 0),
	}))(t)
	if got := a.ask(thread, 0, 3); got != "8000 times" {
		t.Errorf("it answers %q", got)
	}
	// Everything is closed, the notes are gone at each level, and answers and contexts are there.
	for depth, alias := range []string{"msg/m1", "sub/1", "sub/2", "sub/3"} {
		d := must(c.Describe(t.Context(), client.ByAlias(alias), nil))(t)
		var names []string
		for _, v := range d.Variables {
			names = append(names, v.Name)
		}
		want := "[answer step context]"
		if depth == 3 {
			want = "[context]"
		}
		if fmt.Sprint(names) != want || d.Loop.Outcome != transcriptv1.RunOutcome_RUN_OUTCOME_REPLIED {
			t.Errorf("%s has the variables %v, want %s, and its loop is %v", alias, names, want, d.Loop)
		}
		if size := d.Counters.Full.Bytes; size > 2000 || strings.Contains(d.Text, "best of times") {
			t.Errorf("%s has %d bytes, and is described as\n%s", alias, size, d.Text)
		}
	}
	for key, value := range a.kept {
		if len(value) < 200_000 {
			t.Errorf("%s has only %d bytes", key, len(value))
		}
	}
}
