package mcpserver

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func byAlias(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}

func headIn(t *testing.T, text string) string {
	t.Helper()
	head := regexp.MustCompile(`head (?:is now )?([0-9a-f]{64})`).FindStringSubmatch(text)
	if head == nil {
		t.Fatalf("no head in %s", text)
	}
	return head[1]
}

func TestWrite(t *testing.T) {
	b := newBench(t)
	s := b.serve(Config{Write: true, Binding: Binding{Prefix: "chat/"}})
	put := func(name, role, text, head string) map[string]any {
		args := map[string]any{"conversation": name, "role": role, "text": text}
		if head != "" {
			args["head"] = head
		}
		return args
	}
	first := headIn(t, s.must("put_message", put("chat/new", "user", "hello", "")))
	if other := headIn(t, s.must("put_message", put("chat/new2", "user", "hello", ""))); other == first {
		t.Error("two conversations that begin alike are one")
	}
	second := s.must("put_message", put("chat/new", "assistant", "hi", first))
	if again := s.must("put_message", put("chat/new", "assistant", "hi", first)); again != second {
		t.Errorf("a repeat says %q, not %q", again, second)
	}
	has(t, second, "2 messages")
	has(t, s.refused("put_message", put("chat/new", "user", "late", first)), "head: the conversation has moved on")
	has(t, s.refused("put_message", put("chat/new", "user", "late", "")), "head: the conversation has moved on")
	// A head elsewhere, and one that is nowhere, look the same.
	there, nowhere := s.refused("put_message", put("chat/new", "user", "x", b.heads["other/b"])), s.refused("put_message", put("chat/new", "user", "x", strings.Repeat("0", 64)))
	if there != nowhere {
		t.Errorf("%q, %q", there, nowhere)
	}
	for _, args := range []map[string]any{
		put("other/b", "user", "x", b.heads["other/b"]), put("other/new", "user", "x", ""), put("chat/x", "tool", "x", ""), put("chat/x", "user", " ", ""),
		put("chat/x", "user", "x", "abc"), put("chat/\x00", "user", "x", ""), put("chat/x", "user", strings.Repeat("x", 5<<20), ""),
	} {
		s.refused("put_message", args)
	}
	fork := map[string]any{"conversation": "chat/a", "new_name": "chat/fork"}
	has(t, s.must("fork_conversation", fork), "forked")
	s.must("fork_conversation", fork) // a repeat changes nothing
	fork["new_name"] = "chat/new"
	has(t, s.refused("fork_conversation", fork), "new_name: a conversation of that name exists")
	places := regexp.MustCompile(`\[([0-9a-f]{12}\.\d)\] assistant`).FindStringSubmatch(s.must("read_conversation", map[string]any{"conversation": "chat/a"}))
	s.must("fork_conversation", map[string]any{"conversation": "chat/a", "new_name": "chat/short", "message": places[1]})
	short := s.must("read_conversation", map[string]any{"conversation": "chat/short"})
	has(t, short, "3 messages", "I look.")
	hasNot(t, short, "There is one.")
	for _, more := range []map[string]any{
		{"new_name": "other/fork"}, {"new_name": ""}, {"new_name": "chat/x", "message": b.heads["other/b"] + ".0"}, {"new_name": "chat/x", "message": "x"},
		{"new_name": "chat/x", "conversation": "other/b"}, {"new_name": "chat/x", "conversation": "chat/none"},
	} {
		args := map[string]any{"conversation": "chat/a"}
		for key, value := range more {
			args[key] = value
		}
		s.refused("fork_conversation", args)
	}
	has(t, s.must("list_conversations", nil), "chat/fork", "chat/short", "chat/new")
	hasNot(t, s.must("list_conversations", nil), "chat/x")

	chain := b.serve(Config{Write: true, Binding: Binding{Chain: byAlias("chat/new")}})
	head := headIn(t, chain.must("read_conversation", nil))
	has(t, chain.must("put_message", map[string]any{"role": "user", "text": "more", "head": head}), "3 messages")
	chain.refused("put_message", map[string]any{"role": "user", "text": "more", "head": b.heads["other/b"]})
	listed, err := chain.ListTools(t.Context(), nil)
	if err != nil || slices.ContainsFunc(listed.Tools, func(x *mcp.Tool) bool { return x.Name == "fork_conversation" }) {
		t.Errorf("%v, %v", listed, err)
	}
}

func (s *session) resource(uri string) (string, error) {
	got, err := s.ReadResource(s.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	if len(got.Contents) != 1 || got.Contents[0].MIMEType != plainText || chars(got.Contents[0].Text) > MaxReplyChars || got.CacheScope == "public" {
		s.t.Errorf("%s: %+v", uri, got)
	}
	return got.Contents[0].Text, nil
}

// TestResources: each conversation is listed once and can be read by its address; nothing else can.
func TestResources(t *testing.T) {
	b := newBench(t)
	var want []string
	for _, name := range []string{"a b", "é/%2F", "x/../y", "../z", "q?x=1#f", "{+name}", "slash/", "//"} {
		want = append(want, "chat/"+name)
		b.put("chat/"+name, client.User("says chat/"+name))
	}
	for i := range 150 {
		name := "chat/" + strings.Repeat("n", 400) + string(rune('a'+i%26)) + strings.Repeat("m", i)
		want = append(want, name[:min(len(name), 500)])
		b.put(want[len(want)-1], client.User("says "+want[len(want)-1]))
	}
	b.put("chat/"+secret, client.User("x"))
	s := b.serve(Config{Binding: Binding{Prefix: "chat/"}})
	got := map[string]bool{}
	for r, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got[r.Name] || strings.Contains(r.URI, secret) {
			t.Errorf("%s is listed again, or is a secret", r.Name)
		}
		got[r.Name] = true
		if _, err := url.Parse(r.URI); err != nil {
			t.Error(err)
		}
		if text, err := s.resource(r.URI); err != nil || r.Name != "chat/a" && !strings.Contains(text, " says "+r.Name[:min(len(r.Name), 400)]) {
			t.Errorf("%s: %v, %.300s", r.URI, err, text)
		}
	}
	for _, name := range append(want, "chat/a") {
		if !got[name] {
			t.Errorf("%.60s is not listed", name)
		}
	}
	for _, uri := range []string{
		"transcript://default/other/b", "transcript://default/chat/../other/b", "transcript://default/chat%2F..%2Fother/b", "transcript://other/chat/a",
		"transcript://default/", "transcript://default/chat/%zz", "file:///etc/passwd", "transcript://default/chat/none", "", "transcript://default/chat/" + strings.Repeat("x", 50_000),
	} {
		if text, err := s.resource(uri); err == nil || len(err.Error()) > MaxReplyChars || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%.80s: %s, %v", uri, text, err)
		}
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "transcript://default/{+name}" {
		t.Errorf("%+v, %v", templates, err)
	}
	for typed, n := range map[string]int{"": 32, "ch": 32, "chat/a": 2, "chat/../": 1, "other/": 0, "chat/zzz": 0} {
		got, err := s.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/resource", URI: templates.ResourceTemplates[0].URITemplate}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: typed},
		})
		if err != nil || n < 32 && len(got.Completion.Values) != n || len(got.Completion.Values) < n || slices.ContainsFunc(got.Completion.Values, func(v string) bool {
			return !strings.HasPrefix(v, "chat/") || strings.Contains(v, secret)
		}) {
			t.Errorf("%q: %.300v, %v", typed, got, err)
		}
	}
	if _, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "x"}); err == nil {
		t.Error("a cursor that is none is taken")
	}
	for _, ref := range []*transcriptv1.NodeRef{byAlias("chat/a"), {Ref: &transcriptv1.NodeRef_NodeId{NodeId: b.heads["chat/a"]}}} {
		chain := b.serve(Config{Binding: Binding{Chain: ref}})
		listed, err := chain.ListResources(t.Context(), nil)
		if err != nil || len(listed.Resources) != 1 || listed.CacheScope != "private" {
			t.Fatalf("%+v, %v", listed, err)
		}
		if text, err := chain.resource(listed.Resources[0].URI); err != nil || !strings.Contains(text, "There is one.") {
			t.Errorf("%s, %v", text, err)
		}
		if _, err := chain.resource("transcript://default/other/b"); err == nil {
			t.Error("another conversation is read")
		}
	}
}
