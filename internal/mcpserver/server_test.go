package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// The secret is one by its shape, and by the name it stands under.
const secret = "sk-proj-Zk3TtQ9vXw7bNc5LrPfJmHgD2sAyUe8qVoBi6RxCzWnM1KdE"

// bench is a transcriptd with some conversations.
type bench struct {
	t      *testing.T
	client transcriptv1.TranscriptServiceClient
	heads  map[string]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, client: transcriptv1.NewTranscriptServiceClient(testserver.StartMemory(t)), heads: map[string]string{}}
	call := client.Call("call_1", "shell", `{"cmd":"env","api_key":"`+secret+`"}`)
	b.put("chat/a", client.System("Be kind."), client.User("What is the key? "+secret))
	b.put("chat/a", client.Assistant("I look.", call))
	b.put("chat/a", client.Result(call, "OPENAI_API_KEY="+secret+"\nHOME=/root\n"), client.Assistant("There is one."))
	b.put("other/b", client.User("other words"), client.Assistant("", client.Call("call_other", "shell", "{}")))
	b.put("other/b", client.Result(client.Call("call_other", "shell", "{}"), "hidden result"))
	return b
}

// put appends a node to a conversation.
func (b *bench) put(name string, messages ...*transcriptv1.Message) {
	b.t.Helper()
	req := &transcriptv1.PutNodeRequest{Messages: messages, Aliases: []*transcriptv1.AliasUpdate{{Name: name}}}
	if head := b.heads[name]; head != "" {
		req.Parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: head}}
	}
	got, err := b.client.PutNode(b.t.Context(), req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.heads[name] = got.GetNodeId()
}

// session is a client of a server.
type session struct {
	t *testing.T
	*mcp.ClientSession
}

func (b *bench) serve(cfg Config) *session {
	b.t.Helper()
	if cfg.Client == nil {
		cfg.Client = b.client
	}
	ours, theirs := mcp.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = New(cfg).Run(ctx, ours)
	}()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, theirs, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = s.Close()
		cancel()
		<-done
	})
	return &session{b.t, s}
}

// call is what a tool says, and whether that is an error. Whatever it is, it is bounded.
func (s *session) call(tool string, args map[string]any) (string, bool) {
	s.t.Helper()
	got, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s %v: %v", tool, args, err)
	}
	if len(got.Content) != 1 || got.StructuredContent != nil {
		s.t.Fatalf("%s: %d contents, structured %v", tool, len(got.Content), got.StructuredContent)
	}
	text, ok := got.Content[0].(*mcp.TextContent)
	if !ok {
		s.t.Fatalf("%s: a content of type %T", tool, got.Content[0])
	}
	if n := utf8.RuneCountInString(text.Text); n > MaxReplyChars {
		s.t.Fatalf("%s %v: %d characters", tool, args, n)
	}
	return text.Text, got.IsError
}

// must is the text of a call that works.
func (s *session) must(tool string, args map[string]any) string {
	s.t.Helper()
	text, failed := s.call(tool, args)
	if failed {
		s.t.Fatalf("%s %v: %s", tool, args, text)
	}
	return text
}

// refused is the text of a call that does not.
func (s *session) refused(tool string, args map[string]any) string {
	s.t.Helper()
	text, failed := s.call(tool, args)
	if !failed {
		s.t.Fatalf("%s %v: not refused: %s", tool, args, text)
	}
	return text
}

// pages calls a tool until no cursor is given.
func (s *session) pages(tool string, args map[string]any) (pages []string) {
	s.t.Helper()
	cursor := regexp.MustCompile(`(?m)^next: call \S+ with the same arguments and cursor=("(?:[^"\\]|\\.)*")`)
	args = clone(args)
	for range 1000 {
		text := s.must(tool, args)
		pages = append(pages, text)
		if tool == "recall_tool_call" { // what follows is the record
			text, _, _ = strings.Cut(text, "\n---\n")
		}
		found := cursor.FindStringSubmatch(text)
		if found == nil {
			return pages
		}
		var next string
		if err := json.Unmarshal([]byte(found[1]), &next); err != nil {
			s.t.Fatal(err)
		}
		args["cursor"] = next
	}
	s.t.Fatalf("%s: no end of pages", tool)
	return nil
}

func clone(args map[string]any) map[string]any {
	c := map[string]any{}
	for name, value := range args {
		c[name] = value
	}
	return c
}

func has(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, one := range all {
		if !strings.Contains(text, one) {
			t.Errorf("no %q in:\n%s", one, text)
		}
	}
}

func hasNot(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, one := range all {
		if strings.Contains(text, one) {
			t.Errorf("%q in:\n%s", one, text)
		}
	}
}

// everyCall are calls of all reading tools about a conversation; "": the server's own.
func everyCall(name, callID string) map[string]map[string]any {
	all := map[string]map[string]any{
		"read_conversation": {}, "describe_chain": {}, "list_run_loops": {}, "search_history": {"query": "a"}, "recall_tool_call": {"call_id": callID},
	}
	if name != "" {
		for _, args := range all {
			args["conversation"] = name
		}
	}
	return all
}

func TestTools(t *testing.T) {
	s := newBench(t).serve(Config{Version: "1"})
	said, err := json.Marshal(s.InitializeResult())
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(said), "namespace default", `"tools":{}`)
	hasNot(t, string(said), `"logging"`)
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if a := tool.Annotations; !a.ReadOnlyHint || *a.DestructiveHint || *a.OpenWorldHint || tool.OutputSchema != nil {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	slices.Sort(names)
	want := []string{"describe_chain", "list_conversations", "list_run_loops", "read_conversation", "recall_tool_call", "search_history"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}
	has(t, s.must("list_conversations", nil), "chat/a  moved", "other/b  moved")
	hasNot(t, s.must("list_conversations", map[string]any{"prefix": "chat/"}), "other/b")
	a := map[string]any{"conversation": "chat/a"}
	read := s.must("read_conversation", a)
	has(t, read, "conversation chat/a: 5 messages in 3 nodes, head ", " Be kind.", "] user", "(tool call \"shell\", id \"call_1\")",
		"] tool \"shell\", result of call \"call_1\"", " HOME=/root", " There is one.")
	if strings.Index(read, "Be kind.") > strings.Index(read, "There is one.") {
		t.Error("not in the order in which it was said")
	}
	has(t, s.must("describe_chain", a), "aliases: chat/a", "tools: shell 1")
	has(t, s.must("list_run_loops", a), "closed", `call "shell", id "call_1"`, " reply: There is one.")
	has(t, s.must("search_history", map[string]any{"query": "home=/ROOT"}), "in chat/a", "HOME=/root")
	has(t, s.must("search_history", map[string]any{"query": "h.dden", "regexp": true, "role": "tool", "since": "24h"}), "in other/b")
	has(t, s.must("search_history", map[string]any{"query": "zzz"}), "nothing found")
	has(t, s.must("recall_tool_call", map[string]any{"conversation": "chat/a", "call_id": "call_1"}), "state ok", "arguments: {", "HOME=/root\n")
}

// TestRedaction: no tool shows a secret, in whatever field it stands, unless that is asked for.
func TestRedaction(t *testing.T) {
	b := newBench(t)
	call := client.Call(secret, secret, `{"password":"hunter2hunter2"}`)
	b.put("chat/a", client.User("again"), client.Assistant("", call), client.Result(call, `{"token":"`+secret+`"}`), client.Assistant("password: hunter2hunter2"))
	hidden, plain := b.serve(Config{}), b.serve(Config{Plain: true})
	for tool, args := range everyCall("chat/a", "call_1") {
		hasNot(t, hidden.must(tool, args), secret, "hunter2hunter2")
	}
	args := map[string]any{"query": "sk-proj", "conversation": "chat/a"}
	hasNot(t, hidden.must("search_history", args), secret)
	hasNot(t, hidden.must("recall_tool_call", map[string]any{"conversation": "chat/a", "call_id": secret}), secret, "hunter2")
	has(t, plain.must("search_history", args), secret)
	has(t, plain.must("read_conversation", map[string]any{"conversation": "chat/a"}), secret, "hunter2hunter2")
	has(t, plain.must("recall_tool_call", map[string]any{"conversation": "chat/a", "call_id": "call_1"}), secret)
	head := regexp.MustCompile(`\[([0-9a-f]{12}\.1)\] user`).FindStringSubmatch(hidden.must("read_conversation", map[string]any{"conversation": "chat/a"}))
	hasNot(t, hidden.must("read_conversation", map[string]any{"conversation": "chat/a", "message": head[1]}), secret)
}

// TestHostile: nobody comes out of the binding, and what is outside looks like what is nowhere.
func TestHostile(t *testing.T) {
	b := newBench(t)
	otherPlace := b.heads["other/b"] + ".0"
	outside := []string{"other/b", "chat/../other/b", "chat", "", "CHAT/a", " chat/a", "node:" + b.heads["other/b"], b.heads["other/b"], "alias:other/b", "none", "\x00", strings.Repeat("x", 100_000)}

	prefixed := b.serve(Config{Binding: Binding{Prefix: "chat/"}})
	for _, name := range outside {
		for tool, args := range everyCall("chat/a", "call_1") {
			if args["conversation"] = name; name == "" && tool == "search_history" {
				continue
			}
			hasNot(t, prefixed.refused(tool, args), "hidden", "other words", "call_other", "not found")
		}
	}
	nowhere := prefixed.refused("read_conversation", map[string]any{"conversation": "chat/nowhere"})
	if there := prefixed.refused("read_conversation", map[string]any{"conversation": "other/b"}); there != nowhere {
		t.Errorf("%q tells a name outside from %q, one that is nowhere", there, nowhere)
	}
	hasNot(t, prefixed.must("list_conversations", nil), "other/b")
	prefixed.refused("list_conversations", map[string]any{"prefix": "other/"})
	prefixed.refused("search_history", map[string]any{"query": "words", "prefix": "other/"})
	prefixed.refused("search_history", map[string]any{"query": "words", "prefix": "cha"})
	has(t, prefixed.must("search_history", map[string]any{"query": "hidden"}), "nothing found")

	// The same head has a name outside.
	if _, err := b.client.Alias(t.Context(), &transcriptv1.AliasRequest{
		Aliases: []*transcriptv1.AliasMove{{Name: "private/name", Target: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: b.heads["chat/a"]}}}},
	}); err != nil {
		t.Fatal(err)
	}
	chained := b.serve(Config{Binding: Binding{Chain: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "chat/a"}}}})
	for name, s := range map[string]*session{"prefix": prefixed, "chain": chained} {
		args := map[string]any{}
		if name == "prefix" {
			args["conversation"] = "chat/a"
		}
		hasNot(t, s.must("describe_chain", args), "private/name")
		for _, more := range []map[string]any{
			{"message": otherPlace}, {"message": otherPlace[:12] + ".0"}, {"cursor": otherPlace}, {"message": "../x.0"}, {"cursor": "\u0000"}, {"messages": 0}, {"messages": 1 << 40},
		} {
			for key, value := range args {
				more[key] = value
			}
			hasNot(t, s.refused("read_conversation", more), "hidden", "other")
		}
		for _, more := range []map[string]any{
			{"call_id": "call_other"}, {"place": otherPlace}, {"call_id": "call_other", "place": otherPlace}, {"cursor": "0.x"}, {"cursor": "x"}, {"occurrence": -1},
		} {
			for key, value := range args {
				more[key] = value
			}
			hasNot(t, s.refused("recall_tool_call", more), "hidden")
		}
		nowhere := clone(args)
		nowhere["message"] = strings.Repeat("0", 64) + ".0"
		there := clone(args)
		there["message"] = otherPlace
		if a, b := s.refused("read_conversation", nowhere), s.refused("read_conversation", there); a != b {
			t.Errorf("%s: %q tells a node elsewhere from one nowhere, %q", name, b, a)
		}
	}
	for tool, args := range everyCall("", "call_1") {
		has(t, chained.must(tool, args), "")
		args["conversation"] = "other/b"
		chained.refused(tool, args)
	}
	if _, err := chained.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_conversations"}); err == nil {
		t.Error("a server of one chain lists conversations")
	}

	// A cursor of another binding is none here.
	for i := range 150 {
		b.put(fmt.Sprintf("other/%03d", i), client.User(fmt.Sprintf("other words %d", i)))
	}
	for tool, args := range map[string]map[string]any{"list_conversations": {}, "search_history": {"query": "other"}} {
		cursor := regexp.MustCompile(`cursor="([^"]+)"`).FindStringSubmatch(b.serve(Config{}).must(tool, args))
		if cursor == nil {
			t.Fatalf("%s gives no cursor", tool)
		}
		args["cursor"] = cursor[1]
		hasNot(t, prefixed.refused(tool, args), "other")
	}
	// Another namespace is as if there were nothing.
	empty := b.serve(Config{Namespace: "elsewhere"})
	has(t, empty.must("list_conversations", nil), "no conversations")
	for tool, args := range everyCall("chat/a", "call_1") {
		has(t, empty.refused(tool, args), "no such conversation")
	}
}

// TestMistakes: wrong arguments are named, with what to do.
func TestMistakes(t *testing.T) {
	s := newBench(t).serve(Config{})
	for _, c := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"read_conversation", nil, "conversation: is needed"},
		{"read_conversation", map[string]any{"conversation": nil}, "conversation: is needed"},
		{"read_conversation", map[string]any{"conversation": 7}, "conversation: must be of type string"},
		{"read_conversation", map[string]any{"conversation": "chat/a", "messages": "many"}, "messages: must be of type integer"},
		{"read_conversation", map[string]any{"conversation": "chat/a", "messages": 1.5}, "messages: must be of type integer"},
		{"read_conversation", map[string]any{"conversation": "chat/a", "limit": 1}, `"limit": there is no such argument; there are conversation, messages, message, cursor`},
		{"read_conversation", map[string]any{"conversation": "a"}, "no such conversation: call list_conversations"},
		{"search_history", map[string]any{"query": ""}, "query: must not be empty"},
		{"search_history", map[string]any{"query": "(", "regexp": true}, "query: not a regular expression of RE2"},
		{"search_history", map[string]any{"query": "a", "role": "boss"}, "role: must be one of system, developer"},
		{"search_history", map[string]any{"query": "a", "since": "yesterday"}, "since: must be a date such as"},
		{"search_history", map[string]any{"query": strings.Repeat("a", 5000)}, "refused: "},
		{"search_history", map[string]any{"query": "a", "cursor": "x"}, "cursor: it is not of this call"},
		{"recall_tool_call", map[string]any{"conversation": "chat/a", "call_id": "none"}, "call list_run_loops"},
		{"recall_tool_call", map[string]any{"conversation": "chat/a"}, "call_id: is needed, or place"},
		{"recall_tool_call", map[string]any{"conversation": "chat/a", "place": "x"}, "place: must be the place"},
		{"list_conversations", map[string]any{"cursor": "x"}, "cursor: it is not of this call"},
	} {
		has(t, s.refused(c.tool, c.args), c.says)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "put_message"}); err == nil {
		t.Error("a writing tool is there without being asked for")
	}
}

// TestPages: what is larger than a reply is all there in its pages, each message and each line once.
func TestPages(t *testing.T) {
	b := newBench(t)
	var long strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&long, "line %05d <🂡>\n", i)
	}
	call := client.Call("call_long", "shell", `{"script":"`+strings.Repeat("argument ", 6000)+`END"}`)
	for i := range 300 {
		b.put("long", client.User(fmt.Sprintf("question %03d", i)), client.Assistant(fmt.Sprintf("reply %03d %s", i, strings.Repeat("word ", 50))))
	}
	b.put("long", client.User(long.String()), client.Assistant("", call), client.Result(call, long.String()), client.Assistant("end"))
	group := make([]*transcriptv1.ToolCall, 30)
	for i := range group {
		group[i] = client.Call(strings.Repeat("i", 1000)+fmt.Sprint(i), strings.Repeat("n", 1000), "{}")
	}
	b.put("wide", client.User("go"), client.Assistant("", group...))
	for i := range group {
		b.put("wide", client.Result(group[i], strings.Repeat("x\n", 5000)))
	}
	s := b.serve(Config{})
	all := strings.Join(s.pages("read_conversation", map[string]any{"conversation": "long"}), "\n")
	for i := range 300 {
		for _, text := range []string{fmt.Sprintf("question %03d", i), fmt.Sprintf("reply %03d", i)} {
			if n := strings.Count(all, text); n != 1 {
				t.Fatalf("%q is there %d times", text, n)
			}
		}
	}
	if n := strings.Count(all, "to read it whole"); n != 3 {
		t.Fatalf("%d messages are cut", n)
	}
	lines := func(pages []string) {
		t.Helper()
		all := strings.Join(pages, "\n")
		for i := range 4000 {
			if text := fmt.Sprintf("line %05d <🂡>", i); strings.Count(all, text) != 1 {
				t.Fatalf("%q is there %d times", text, strings.Count(all, text))
			}
		}
	}
	for _, index := range []string{".0", ".2"} { // the user's message and the result; .1 has the call
		lines(s.pages("read_conversation", map[string]any{"conversation": "long", "message": b.heads["long"] + index}))
	}
	recalled := s.pages("recall_tool_call", map[string]any{"conversation": "long", "call_id": "call_long"})
	for i, page := range recalled { // a page of a result may end within a line
		_, recalled[i], _ = strings.Cut(page, "\n---\n")
	}
	lines([]string{strings.Join(recalled, "")})
	if n := strings.Count(strings.Join(recalled, ""), "argument "); n < 5990 {
		t.Errorf("%d arguments", n)
	}
	loops := strings.Join(s.pages("list_run_loops", map[string]any{"conversation": "long"}), "\n")
	if n := strings.Count(loops, " user: question "); n != 300 {
		t.Errorf("%d run loops", n)
	}
	if n := strings.Count(strings.Join(s.pages("search_history", map[string]any{"query": "question", "conversation": "long"}), "\n"), "question "); n != 300 {
		t.Errorf("%d hits", n)
	}
	for tool, args := range everyCall("wide", group[0].GetId()) {
		s.pages(tool, args)
	}
	for i := range 250 {
		b.put(fmt.Sprintf("%s/%03d", strings.Repeat("n", 500), i), client.User("x"))
	}
	for _, prefix := range []string{"", "n", strings.Repeat("n", 500) + "/"} {
		if n := strings.Count(strings.Join(s.pages("list_conversations", map[string]any{"prefix": prefix}), "\n"), "nnn/"); n != 250 {
			t.Errorf("prefix %.3q: %d conversations", prefix, n)
		}
	}
}

// TestForeignCursors: a cursor that another conversation's pages gave leads nowhere, least of all into that conversation.
func TestForeignCursors(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"chat/mine", "other/theirs"} {
		call := client.Call("call_x", "shell", `{}`)
		for i := range 60 {
			b.put(name, client.User(fmt.Sprintf("%s asks %d", name, i)), client.Assistant(fmt.Sprintf("%s replies %d", name, i)))
		}
		b.put(name, client.User("go"), client.Assistant("", call), client.Result(call, strings.Repeat(name+" has this\n", 5000)), client.Assistant("done"))
	}
	all, mine := b.serve(Config{}), b.serve(Config{Binding: Binding{Prefix: "chat/"}})
	chained := b.serve(Config{Binding: Binding{Chain: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "chat/mine"}}}})
	for tool, more := range map[string]map[string]any{
		"read_conversation": {}, "list_run_loops": {}, "recall_tool_call": {"call_id": "call_x"}, "search_history": {"query": "asks"},
	} {
		args := clone(more)
		args["conversation"] = "other/theirs"
		cursor := regexp.MustCompile(`cursor="([^"]+)"`).FindStringSubmatch(all.must(tool, args))
		if cursor == nil {
			t.Fatalf("%s gives no cursor", tool)
		}
		args["conversation"], args["cursor"] = "chat/mine", cursor[1]
		text, _ := mine.call(tool, args)
		hasNot(t, text, "theirs")
		delete(args, "conversation")
		text, _ = chained.call(tool, args)
		hasNot(t, text, "theirs")
	}
}
