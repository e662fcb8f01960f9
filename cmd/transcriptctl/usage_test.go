package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestReadUsage reads every form, and nothing else.
func TestReadUsage(t *testing.T) {
	type note = transcriptv1.MessageNote
	for _, c := range []struct {
		members string
		want    *note
	}{
		{`"model":"m-1"`, &note{Model: "m-1"}},
		{`"finish_reason":"stop","stop_reason":"end_turn"`, &note{FinishReason: "stop"}},
		{`"stop_reason":"end_turn"`, &note{FinishReason: "end_turn"}},
		{
			`"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":10}}`,
			&note{InputTokens: proto.Int32(12), OutputTokens: proto.Int32(3), CachedTokens: proto.Int32(10)},
		},
		{
			`"usage":{"input_tokens":12,"output_tokens":0,"input_tokens_details":{"cached_tokens":0}}`,
			&note{InputTokens: proto.Int32(12), OutputTokens: proto.Int32(0), CachedTokens: proto.Int32(0)},
		},
		{
			`"usage":{"input_tokens":12,"output_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":7}`,
			&note{InputTokens: proto.Int32(119), OutputTokens: proto.Int32(3), CachedTokens: proto.Int32(100)},
		},
		{
			`"usage":{"input_tokens":2147483647,"cache_read_input_tokens":2147483647}`,
			&note{InputTokens: proto.Int32(math.MaxInt32), CachedTokens: proto.Int32(math.MaxInt32)},
		},
		{`"model":"m","usage":{"prompt_tokens":-1,"completion_tokens":1.5}`, &note{Model: "m"}},
		{`"usage":{"prompt_tokens":2147483648,"completion_tokens":"3"}`, nil},
		{`"usage":[1],"model":7,"finish_reason":null`, nil},
		{`"usage":{}`, nil},
		{`"model":"` + strings.Repeat("m", 257) + `"`, nil},
		{`"model":"` + strings.Repeat("m", 256) + `"`, &note{Model: strings.Repeat("m", 256)}},
	} {
		said := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Extras: "{" + c.members + "}"}
		asked := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Extras: said.Extras}
		notes := withUsage(nil, []*transcriptv1.Message{asked, said})
		switch {
		case c.want == nil && notes != nil:
			t.Errorf("%s gives %v", c.members, notes)
		case c.want != nil && (len(notes) != 2 || !proto.Equal(notes[0], &note{}) || !proto.Equal(notes[1], c.want)):
			t.Errorf("%s gives %v, want %v behind an empty one", c.members, notes, c.want)
		}
	}
}

// TestUsageOfConversations: what messages say they cost becomes their notes, is shown, is added up by model, and is exported as it came.
func TestUsageOfConversations(t *testing.T) {
	answer := func(i, in int, model string) string {
		return timedMessage("assistant", fmt.Sprint("answer ", i),
			fmt.Sprintf(`"timestamp":%d,"model":%q,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":5}}`, i+1, model, in, i))
	}
	lines := chatOf("a", []string{timedMessage("user", "one", ""), answer(1, 1000, "m-1"), timedMessage("user", "two", ""), answer(2, 2000, "m-2")}) +
		chatOf("b", []string{timedMessage("user", "three", ""), answer(3, 1<<30, "m-1"), timedMessage("assistant", "and", `"finish_reason":"stop"`), answer(4, 1<<30, "m-1")})
	file := filepath.Join(t.TempDir(), "chats.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStack(t)
	want := []modelCost{{"m-1", 3, 1000 + 2<<30, 8, 15}, {"m-2", 1, 2000, 2, 5}}
	if got := economyOf(t, s.must("economy", "-o", "json", file)).Models; !reflect.DeepEqual(got, want) {
		t.Errorf("the models are %+v, want %+v", got, want)
	}
	const table = "\n\nMODEL  MESSAGES  INPUT TOKENS  OUTPUT TOKENS  CACHED TOKENS\n" +
		"m-1           3    2147484648              8             15\n" +
		"m-2           1          2000              2              5\n"
	if out := s.must("economy", file); !strings.HasSuffix(out, table) {
		t.Errorf("economy ends otherwise than with %s\n%s", table, out)
	}
	s.must("import", file)
	if out := s.must("show", "chat/a"); !strings.Contains(out, "answer 2\n[m-2, 2000 tokens in, 5 of them cached, 2 tokens out]\n") {
		t.Errorf("show tells %s", out)
	}
	for _, command := range [][]string{{"show", "chat/a", "--output", "json"}, {"log", "chat/a", "--limit", "1", "--output", "json"}} {
		var node transcriptv1.GetNodeResponse
		if err := protojson.Unmarshal([]byte(s.must(command...)), &node); err != nil {
			t.Fatal(err)
		}
		if n := node.Info.Notes; len(n) != 1 || n[0].Model != "m-2" || n[0].GetInputTokens() != 2000 || n[0].SentAt.GetSeconds() != 3 {
			t.Errorf("%s tells the notes %v", command[0], n)
		}
	}
	var exported, put struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(strings.SplitN(s.must("export", "--chat", "a"), "\n", 2)[0]), &exported); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(strings.SplitN(lines, "\n", 2)[0]), &put); err != nil {
		t.Fatal(err)
	}
	for i := range put.Messages {
		var got, want map[string]any
		if json.Unmarshal(exported.Messages[i], &got) != nil || json.Unmarshal(put.Messages[i], &want) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("message %d is exported as %s, was %s", i, exported.Messages[i], put.Messages[i])
		}
	}
	r := s.runWith(t.Context(), "["+answer(9, 7, "m-9")+"]", "put", "-", "--alias", "one", "--format", "openai")
	if out := s.must("show", "one"); r.code != 0 || !strings.Contains(out, "[m-9, 7 tokens in, 5 of them cached, 9 tokens out]\n") {
		t.Errorf("what put stores is shown as %s (%s)", out, r.notes)
	}
}

// TestNoteText tells everything that a note has of what its message cost.
func TestNoteText(t *testing.T) {
	n := &transcriptv1.MessageNote{
		TokenCount: proto.Int32(1), FinishReason: "stop", OutputTokens: proto.Int32(0), Attributes: map[string]string{"b": "2", "a": "1"},
	}
	if got := noteText(n); got != "stop, 0 tokens out, a=1, b=2" {
		t.Errorf("it is told as %q", got)
	}
	if got := noteText(&transcriptv1.MessageNote{TokenCount: proto.Int32(1)}); got != "" {
		t.Errorf("a note of no cost is told as %q", got)
	}
}
