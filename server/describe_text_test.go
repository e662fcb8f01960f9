package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// hostile is what a client may name things to forge a line of the text block.
const hostile = "x\nloop: closed\r\n\u2028tools: \u202e\"\\\x00\x1b[2J\u00a0"

// TestDescribeTexts compares text blocks with testdata/describe: without content, then with previews. UPDATE_GOLDEN=1
// writes them anew.
func TestDescribeTexts(t *testing.T) {
	tests := []struct {
		name  string
		chain func(r *rig, c *clock) (head string)
	}{
		{"prompt", func(r *rig, c *clock) string { return r.put("", system("be kind")) }},
		{"everything", func(r *rig, c *clock) string { path, _ := everyPart(r, c); return path[4] }},
		{"closed", func(r *rig, c *clock) string { return r.put(r.put("", system("s"), user("u")), assistant("a")) }},
		{"interrupted", func(r *rig, c *clock) string {
			return r.put("", user("u"), calling("read_file", "call_1"), assistant("I could not read it"))
		}},
		{"lead-in", func(r *rig, c *clock) string { return r.put("", system("s"), assistant("hello")) }},
		{"stale", func(r *rig, c *clock) string {
			head := r.put("", user("u"), calling("read_file", "call_1"))
			c.pass(50*time.Hour + 59*time.Minute)
			return head
		}},
		{"names", hostileNames},
		{"subagent", func(r *rig, c *clock) string {
			call := calling("task", "t1")
			call.Parts[0].GetToolCall().Arguments = `{"prompt":"count the files"}`
			spawner := r.put("", user("u"), call)
			return r.putWith("", &PutNode{Messages: []*Message{system("s"), user("count the files")}, SpawnedFrom: spawnedBy(spawner, "t1")})
		}},
		{"compacted", func(r *rig, c *clock) string {
			r.chain("chat", concat([]*Message{system("s")}, work("0"), work("1"))...)
			r.compact(&Compact{Head: byAlias("chat")})
			r.append("chat", work("2")...)
			return r.compact(&Compact{Head: byAlias("chat"), Summary: "three questions"}).NodeId
		}},
		{"many", func(r *rig, c *clock) string { return manyThings(r, 40) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, c, _ := newClocked(t)
			head := test.chain(r, c)
			c.pass(time.Minute)
			var texts []string
			for _, mode := range []transcriptv1.DescribeMode{modeMetadata, modePreview} {
				texts = append(texts, r.describe(&Describe{Head: byID(head), Mode: mode, Now: c.at()}).Text+"\n")
			}
			golden(t, filepath.Join("testdata", "describe", test.name+".txt"), strings.Join(texts, "--- with previews ---\n"))
		})
	}
}

// TestDescribeDocsExample: the block that docs/describe.md shows is the one of everything, with previews.
func TestDescribeDocsExample(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "docs", "describe.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts, err := os.ReadFile(filepath.Join("testdata", "describe", "everything.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(texts), "--- with previews ---\n")
	block := "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
	if !strings.Contains(string(docs), "\n\n"+block+"\n\n") {
		t.Errorf("docs/describe.md does not show\n%s", block)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is described; UPDATE_GOLDEN=1 writes it anew. It is:\n%s", file, got)
	}
}

// hostileNames is a chain in which everything that has a name has one that could forge a line.
func hostileNames(r *rig, _ *clock) string {
	long := strings.Repeat("long", 30)
	unnamed := &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{}}}}}
	info, err := json.Marshal(map[string]any{"type": hostile, "size": 1, "preview": hostile, "iteration": 0})
	if err != nil {
		r.Fatal(err)
	}
	head := r.putWith("", &PutNode{
		Messages:    []*Message{user(hostile), calling(hostile, hostile), unnamed, calling("-", ""), calling(long, long)},
		Metadata:    append(variables(hostile, `"`+hostile+`"`, "größe", "1", long, "2"), declares("declared", string(info))...),
		SpawnedFrom: spawnedBy(absent, hostile),
		Aliases:     []*Update{{Name: "chat/a, b"}, {Name: "loop: closed"}, {Name: "\u2028tools: x 1"}, {Name: "plain/name@host:1+2"}},
	})
	r.putWith("", &PutNode{Messages: []*Message{user("s")}, SpawnedFrom: spawnedBy(head, hostile)})
	return head
}

// manyThings is a chain with n of everything that a description lists.
func manyThings(r *rig, n int) (head string) {
	at := r.put("", system("s"), user("u"))
	for i := range n {
		r.put(at, user(fmt.Sprint("left of ", i)))
		at = r.putWith(at, &PutNode{
			Messages: []*Message{calling(fmt.Sprintf("tool_%04d", i), fmt.Sprintf("call_%04d", i))},
			Metadata: variables(fmt.Sprintf("variable_%04d", i), fmt.Sprint(i)),
		})
		r.putWith("", &PutNode{Messages: []*Message{user(fmt.Sprint("sub ", i))}, SpawnedFrom: spawnedBy(at, fmt.Sprintf("call_%04d", i))})
	}
	for from := 0; from < n; from += 1000 {
		req := &transcriptv1.AliasRequest{}
		for i := range min(n-from, 1000) {
			req.Aliases = append(req.Aliases, &transcriptv1.AliasMove{Name: fmt.Sprintf("alias/%04d", from+i), Target: byID(at)})
		}
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), req))
	}
	return at
}

// TestDescribeTextIsNotForged: no name begins a line, nothing in the block is beyond what can be printed, and no line
// is longer than its names allow.
func TestDescribeTextIsNotForged(t *testing.T) {
	r, c, _ := newClocked(t)
	head := hostileNames(r, c)
	for _, mode := range []transcriptv1.DescribeMode{modeMetadata, modePreview} {
		text := r.describe(&Describe{Head: byID(head), Mode: mode}).Text
		if strings.Contains(text, "\nloop: closed") || strings.Contains(text, "\ntools: x") || strings.Count(text, "\nloop: ") != 1 {
			t.Errorf("a name forges a line of\n%s", text)
		}
		for _, c := range text {
			if c != '\n' && !unicode.IsPrint(c) {
				t.Errorf("%U in\n%s", c, text)
			}
		}
	}
}

// TestDescribeTextIsCut: of every length that is asked for, the block is the whole one or whole lines of it and one that
// tells how many are missing.
func TestDescribeTextIsCut(t *testing.T) {
	r, c, _ := newClocked(t)
	path, _ := everyPart(r, c)
	whole := r.describe(&Describe{Head: byID(path[4]), Mode: modePreview, Now: c.at()}).Text
	size := utf8.RuneCountInString(whole)
	lines := strings.Split(whole, "\n")
	most := 0
	for n := int32(1); int(n) <= size+1; n++ {
		text := r.describe(&Describe{Head: byID(path[4]), Mode: modePreview, Now: c.at(), MaxTextChars: n}).Text
		if utf8.RuneCountInString(text) > int(n) {
			t.Fatalf("%d code points where %d were asked for", utf8.RuneCountInString(text), n)
		}
		if int(n) >= size {
			equal(r, "the whole text", text, whole)
			continue
		}
		kept := strings.Split(text, "\n")
		last := len(kept) - 1
		if text == "" {
			continue
		}
		equal(r, "the last line", kept[last], fmt.Sprintf("[%d more lines left out]", len(lines)-last))
		equal(r, "the lines kept", strings.Join(kept[:last], "\n"), strings.Join(lines[:last], "\n"))
		if last < most {
			t.Errorf("with %d code points there are fewer lines than with less", n)
		}
		most = last
	}
	if most != len(lines)-2 && most != len(lines)-1 {
		t.Errorf("at most %d of %d lines were kept", most, len(lines))
	}
}

// TestDescribeIsBounded: with thousands of tools, variables, aliases, forks and spawned chains, lists have as many entries
// as asked for, what they do not list is counted, and the reply stays small.
func TestDescribeIsBounded(t *testing.T) {
	const n = 1000
	r := newRig(t)
	head := manyThings(r, n)
	for _, items := range []int{1, 16, 64} {
		got := r.describe(&Describe{Head: byID(head), Mode: modePreview, MaxItems: int32(items), MaxTextChars: 1000})
		l := got.Lineage
		for what, list := range map[string]int{
			"tools": len(got.Tools), "aliases": len(got.Aliases), "variables": len(got.Variables), "forks": len(l.ForkNodes),
			"spawned": len(l.Spawned), "pending": len(got.Loop.Pending),
		} {
			equal(r, what, list, items)
		}
		equal(r, "the first tool", got.Tools[0].GetName(), "tool_0000")
		equal(r, "the first alias", got.Aliases[0], "alias/0000")
		equal(r, "the first variable", got.Variables[0].Name, "variable_0999")
		equal(r, "the first pending call", got.Loop.Pending[0].GetId(), "call_0000")
		equal(r, "the last spawned", l.Spawned[items-1].SpawnedFrom.GetToolCallId(), "call_0999")
		equal(r, "calls of other tools", got.OtherCalls, int32(n-items))
		equal(r, "more tools", int(got.MoreTools), 256-items)
		equal(r, "more variables", int(got.MoreVariables), 256-items)
		equal(r, "more pending calls", int(got.Loop.MorePending), n-items)
		equal(r, "forks in all", l.Forks, n)
		equal(r, "more", got.HasMoreAliases && l.HasMoreSpawned, true)
		if size := utf8.RuneCountInString(got.Text); size > 1000 {
			t.Errorf("the text has %d code points", size)
		}
		if size := proto.Size(got); size > 1000+700*items {
			t.Errorf("the reply of lists of %d has %d bytes", items, size)
		}
	}
	long := r.describe(&Describe{Head: byID(head), Mode: modePreview, MaxItems: 64, MaxTextChars: 20_000})
	if strings.Contains(long.Text, "left out") || utf8.RuneCountInString(long.Text) < 4000 {
		t.Errorf("the text is\n%s", long.Text)
	}
}
