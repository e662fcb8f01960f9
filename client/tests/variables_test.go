package client_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
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

// A preview that was cut by bytes ends with the last whole code point.
func TestPreviewsEndBetweenCodePoints(t *testing.T) {
	value := "añ日🙂"
	for n := range len(value) + 1 {
		want := strings.ToValidUTF8(value[:n], "")
		info, _ := canonical.ParseVariableInfo(client.DeclaredVariable{Type: "str", Preview: value[:n]}.Metadata())
		if info.Preview != want {
			t.Errorf("of %q it has %q, want %q", value[:n], info.Preview, want)
		}
	}
	info, _ := canonical.ParseVariableInfo(client.DeclaredVariable{Type: "str", Preview: "a\xffb\xff"}.Metadata())
	if info.Preview != "a\ufffdb\ufffd" {
		t.Errorf("bytes that are no text become %q", info.Preview)
	}
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

// A value of 2,000 code points comes whole, so that an agent finds its variables again; the rest of a longer one is in its node.
func TestVariablesComeWhole(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	whole, long := `"`+strings.Repeat("é", 1998)+`"`, `"`+strings.Repeat("x", 4000)+`"`
	must(thread.AppendNode(ctx, client.Node{Metadata: map[string]string{client.VariableKey("a"): whole, client.VariableKey("b"): long}}))(t)
	told := must(c.Variables(ctx, client.ByAlias(thread.Alias()), "a", "b"))(t)
	if len(told) != 2 || told[0].Preview != whole || told[1].Preview != long[:2000] || told[1].SizeBytes != int64(len(long)) {
		t.Fatalf("got %v", told)
	}
	node := must(c.NodeInfo(ctx, client.ByID(told[1].SetBy.NodeId)))(t)
	if got := node.Metadata.Entries[1]; got.Key != client.VariableKey("b") || got.Value != long {
		t.Errorf("the node has %v", node.Metadata)
	}
}
