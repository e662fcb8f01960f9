package compaction_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// parse reads a chain of one node. A word is a message: p s system, u user, m summary, l:N left-out line, a assistant, e empty assistant,
// c:1,2 assistant with calls, one of the tool "reply" with ! before its id, r:1 result, R:1 one that was made shorter; behind it ^N
// gives each call an argument of N letters, *N gives it N letters of text (else 1, a result 300), =N makes it
// N bytes long as encoded, @N is when it was sent, in seconds, #N its tokens. | means nothing.
func parse(t *testing.T, chain string) *view {
	t.Helper()
	n := node{times: runloop.Times{AsSent: true}}
	for _, word := range strings.Fields(chain) {
		if word != "|" {
			n.messages = append(n.messages, parseWord(t, word, len(n.messages)))
		}
	}
	return viewOf(t, []node{n})
}

func parseWord(t *testing.T, word string, number int) put {
	t.Helper()
	value := func(mark string) (int, bool) {
		before, after, found := strings.Cut(word, mark)
		n := 0
		if found {
			word = before
			var err error
			if n, err = strconv.Atoi(after); err != nil {
				t.Fatalf("what is %q?", after)
			}
		}
		return n, found
	}
	if says, ok := strings.CutPrefix(word, "l:"); ok {
		loops, err := strconv.Atoi(says)
		if err != nil {
			t.Fatalf("what is %q?", word)
		}
		return put{m: leftOut(loops)}
	}
	tokens, noted := value("#")
	seconds, timed := value("@")
	length, exact := value("=")
	letters, counted := value("*")
	argument, argued := value("^")
	kind, ids, _ := strings.Cut(word, ":")
	if !counted && !exact {
		letters = map[string]int{"r": 300, "e": 0}[kind]
		if letters == 0 && kind != "e" {
			letters = 1
		}
	}
	roles := map[string]transcriptv1.Role{
		"p": roleSystem, "s": roleSystem, "d": roleDeveloper, "u": roleUser, "m": roleUser, "a": roleAssistant,
		"e": roleAssistant, "c": roleAssistant, "r": roleTool, "R": roleTool,
	}
	m := &transcriptv1.Message{Role: roles[kind], Extras: fmt.Sprintf(`{"n":%d}`, number)}
	m.Parts = []*transcriptv1.Part{textPart(strings.Repeat("x", letters))}
	switch kind {
	case "m":
		m.Origin = transcriptv1.Origin_ORIGIN_SUMMARY
	case "c":
		for _, id := range strings.Split(ids, ",") {
			c := &transcriptv1.ToolCall{Id: &id, Name: proto.String("tool")}
			if reply, is := strings.CutPrefix(id, "!"); is {
				c.Id, c.Name = &reply, proto.String("reply")
			}
			if argued {
				c.Arguments = `{"text":"` + strings.Repeat("x", argument) + `"}`
			}
			m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: c}})
		}
	case "r":
		m.ToolCallId = &ids
	case "R":
		m.ToolCallId, m.Origin = &ids, transcriptv1.Origin_ORIGIN_SHORTENED
	}
	for exact && encodedSize(m) < int64(length) {
		letters++
		m.Parts[0] = textPart(strings.Repeat("x", letters))
	}
	if m.Role == 0 || exact && encodedSize(m) != int64(length) {
		t.Fatalf("what is %q?", word)
	}
	p := put{m: m}
	p.note.HasSentAt, p.note.SentAt = timed, int64(seconds)*1000
	p.note.HasTokens, p.note.Tokens = noted, uint32(tokens)
	return p
}

// show writes what a plan shows behind the preamble: each message by its number in the chain, x behind one that was cut,
// l behind a line; a stub as + and its id, a left-out line as l: and what it says.
func show(t *testing.T, v *view, policy compaction.Policy, plan *compaction.Plan) string {
	t.Helper()
	var out []string
	for _, p := range v.apply(t, policy, plan) {
		var number int
		if s := (&said{put: p}); s.isLeftOut() {
			out = append(out, "l:"+strconv.Itoa(s.saysLeftOut()))
			continue
		}
		if p.m.Origin == transcriptv1.Origin_ORIGIN_STUB {
			out = append(out, "+"+p.m.GetToolCallId())
			continue
		}
		if _, err := fmt.Sscanf(p.m.Extras, `{"n":%d}`, &number); err != nil {
			t.Fatal(err)
		}
		word := strconv.Itoa(number)
		switch {
		case p.m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED && p.m.Role == roleTool && strings.HasPrefix(p.m.Parts[0].GetText(), "[result of "):
			word += "l"
		case p.m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED:
			word += "x"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
