package groups_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/groups"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// chain makes messages of words: "u" a user, "a" an assistant, "a:x,y" an assistant with calls x and y, "t:x" a result
// of x; "-" is an absent id.
func chain(words string) []*transcriptv1.Message {
	var messages []*transcriptv1.Message
	for _, w := range strings.Fields(words) {
		kind, ids, _ := strings.Cut(w, ":")
		m := &transcriptv1.Message{Role: map[string]transcriptv1.Role{
			"u": transcriptv1.Role_ROLE_USER, "a": transcriptv1.Role_ROLE_ASSISTANT, "t": transcriptv1.Role_ROLE_TOOL,
		}[kind]}
		for _, id := range strings.FieldsFunc(ids, func(c rune) bool { return c == ',' }) {
			given := &id
			if id == "-" {
				given = nil
			}
			if kind == "t" {
				m.ToolCallId = given
				continue
			}
			m.Parts = append(m.Parts, &transcriptv1.Part{
				Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: given}},
			})
		}
		messages = append(messages, m)
	}
	return messages
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"u a", "0 1 []"},
		{"u a:x t:x a", "0 [1]x=2 3 []"},
		{"a:x a:y t:y t:x u", "[0 1]y=2,x=3 4 []"},
		{"a:x t:x a:y t:y", "[0]x=1 [2]y=3 []"},
		{"a:x,x t:x t:x t:x", "[0]x=1,x=2 [3]"},
		{"a:- t:-", "[0]-=1 []"},
		{"a:- t:x", "[0] [1]"},
		{"a:x u t:x", "[0] 1 [2]"},
		{"t:x a:x t:y a:z t:z", "[1 3]z=4 [0 2]"},
		{"a:x a t:x", "[0] 1 [2]"},
	} {
		if got := describe(groups.Split(chain(c.words))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.words, got, c.want)
		}
	}
}

func describe(steps []groups.Step, leftOut []int) string {
	var out []string
	for _, s := range steps {
		if len(s.Calls) == 0 {
			out = append(out, fmt.Sprint(s.Message))
			continue
		}
		var answered []string
		for _, k := range s.Answered {
			id := "-"
			if s.Calls[k].Call.Id != nil {
				id = s.Calls[k].Call.GetId()
			}
			answered = append(answered, fmt.Sprintf("%s=%d", id, s.Calls[k].Result))
		}
		out = append(out, fmt.Sprint(s.Assistants)+strings.Join(answered, ","))
	}
	return strings.Join(append(out, fmt.Sprint(leftOut)), " ")
}

// What answers nothing, and which calls get no answer, are as the server's repair has them.
func TestSplitAgreesWithRepair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		steps, leftOut := groups.Split(messages)
		unanswered := 0
		for _, s := range steps {
			unanswered += len(s.Calls) - len(s.Answered)
		}
		wantLeftOut, wantStubs := convtest.Repairs(messages)
		if len(leftOut) != wantLeftOut || unanswered != wantStubs {
			t.Fatalf("left out %d, unanswered %d, want %d, %d", len(leftOut), unanswered, wantLeftOut, wantStubs)
		}
	})
}

func TestNames(t *testing.T) {
	n := groups.Names{Max: 8, Default: "call"}
	for _, c := range []struct{ name, want string }{
		{"a", "a"}, {"a", "a_2"}, {"a", "a_3"}, {"a_2", "a_2_2"}, {"a|b", "a_b"}, {"a:b", "a_b_2"},
		{"", "call"}, {"", "call_2"}, {"0123456789", "01234567"}, {"0123456780", "012345_2"}, {"é", "__"},
	} {
		if got := n.Unique(c.name); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		want bool
	}{{"b", true}, {"b", false}, {"a", false}, {"", false}, {"c|d", false}, {"012345678", false}, {"c_d", true}} {
		if got := n.Take(c.name); got != c.want {
			t.Errorf("%q is taken: %t", c.name, got)
		}
	}
	if got := n.Unique("c|d"); got != "c_d_2" {
		t.Errorf("after it was taken: %q", got)
	}
}
