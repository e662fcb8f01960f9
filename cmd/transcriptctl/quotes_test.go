package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// modelQuotes gives the indexes of the results that the last message quotes, found as the rule says it.
func modelQuotes(messages []*transcriptv1.Message) (quoted []int) {
	last := len(messages) - 1
	if messages[last].GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
		return nil
	}
	for _, text := range textsOf(messages[last]) {
		characters := []rune(text)
		for i := range max(0, len(characters)-quoteChars+1) {
			if n := modelOwner(messages[:last], string(characters[i:i+quoteChars])); n >= 0 && !slices.Contains(quoted, n) {
				quoted = append(quoted, n)
			}
		}
	}
	slices.Sort(quoted)
	return quoted
}

// modelOwner is the index of the newest result that has characters which stood in results alone; -1: there is none.
func modelOwner(messages []*transcriptv1.Message, characters string) int {
	owner := -1
	for i, m := range messages {
		if !slices.ContainsFunc(textsOf(m), func(text string) bool { return strings.Contains(text, characters) }) {
			continue
		}
		if m.GetRole() != transcriptv1.Role_ROLE_TOOL {
			return -1
		}
		owner = i
	}
	return owner
}

// says is a message with a text.
func says(role transcriptv1.Role, text string) *transcriptv1.Message {
	return modelText(&transcriptv1.Message{Role: role}, text)
}

// calls is an assistant message with a call.
func calls(arguments string) *transcriptv1.Message {
	call := &transcriptv1.ToolCall{Arguments: arguments}
	return &transcriptv1.Message{
		Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: call}}},
	}
}

// reasons is an assistant message that has reasoning and no text.
func reasons(text string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{
		{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: text}}},
	}}
}

const (
	byUser, byModel  = transcriptv1.Role_ROLE_USER, transcriptv1.Role_ROLE_ASSISTANT
	bySystem, byTool = transcriptv1.Role_ROLE_SYSTEM, transcriptv1.Role_ROLE_TOOL
)

// TestQuotes: what is a quote, and whose.
func TestQuotes(t *testing.T) {
	const found = "24 characters: äöü 漢字 😀x" // 24 of them
	if n := len([]rune(found)); n != quoteChars {
		t.Fatal(n)
	}
	inside, short := "before "+found+" behind", found[1:]
	for name, test := range map[string]struct {
		messages []*transcriptv1.Message
		want     []int // the results that the last message quotes, counted from 0
	}{
		"as it is":                          {[]*transcriptv1.Message{says(byTool, found), says(byModel, found)}, []int{0}},
		"within other text":                 {[]*transcriptv1.Message{says(byTool, inside), says(byModel, "So: "+found+".")}, []int{0}},
		"one character short":               {[]*transcriptv1.Message{says(byTool, found), says(byModel, short)}, nil},
		"the newest has it":                 {[]*transcriptv1.Message{says(byTool, found), says(byTool, inside), says(byModel, found)}, []int{1}},
		"two results":                       {[]*transcriptv1.Message{says(byTool, found), says(byTool, strings.ToUpper(found)), says(byModel, strings.ToUpper(found)+found)}, []int{0, 1}},
		"twice is once":                     {[]*transcriptv1.Message{says(byTool, inside), says(byModel, inside+inside)}, []int{0}},
		"the user said it before":           {[]*transcriptv1.Message{says(byUser, inside), says(byTool, found), says(byModel, found)}, nil},
		"the user said it since":            {[]*transcriptv1.Message{says(byTool, found), says(byUser, inside), says(byModel, found)}, nil},
		"the system said it":                {[]*transcriptv1.Message{says(bySystem, found), says(byTool, found), says(byModel, found)}, nil},
		"it is quoted already":              {[]*transcriptv1.Message{says(byTool, found), says(byModel, found), says(byModel, found)}, nil},
		"it was asked for":                  {[]*transcriptv1.Message{calls(`{"find": ["` + found + `"]}`), says(byTool, inside), says(byModel, found)}, nil},
		"said and found again":              {[]*transcriptv1.Message{says(byTool, found), says(byModel, found), says(byTool, found), says(byModel, found)}, nil},
		"in arguments":                      {[]*transcriptv1.Message{says(byTool, found), calls(`{"a": {"b": [1, "` + found + `"]}}`)}, []int{0}},
		"in arguments, with escapes":        {[]*transcriptv1.Message{says(byTool, "\"quoted\" and\n\\ on two lines"), calls(`{"a": "\"quoted\" and\n\\ on two l\u0069nes"}`)}, []int{0}},
		"a key is no quote":                 {[]*transcriptv1.Message{says(byTool, found), calls(`{"` + found + `": 1}`)}, nil},
		"arguments that are no JSON":        {[]*transcriptv1.Message{says(byTool, found), calls(`{"a": ` + found)}, []int{0}},
		"reasoning is no quote":             {[]*transcriptv1.Message{says(byTool, found), reasons(found)}, nil},
		"reasoned of, then quoted":          {[]*transcriptv1.Message{says(byTool, found), reasons(found), says(byModel, found)}, []int{0}},
		"a result of a provider's own kind": {[]*transcriptv1.Message{{Role: byTool, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Json{Json: inside}}}}, says(byModel, found)}, []int{0}},
		"the user quotes":                   {[]*transcriptv1.Message{says(byTool, found), says(byUser, found)}, nil},
		"a text in two parts":               {[]*transcriptv1.Message{says(byTool, found), {Role: byModel, Parts: append(says(byModel, found[:9]).Parts, says(byModel, found[9:]).Parts...)}}, nil},
	} {
		q := newQuotes()
		var results, quoted [][]byte
		for _, m := range test.messages {
			if quoted = q.add(m); m.GetRole() == byTool {
				results = append(results, canonical.AppendMessage(nil, m))
			}
		}
		if len(quoted) != len(test.want) {
			t.Errorf("%s: %d quotes, want %v", name, len(quoted), test.want)
			continue
		}
		for i, n := range test.want {
			if string(quoted[i]) != string(results[n]) {
				t.Errorf("%s: quote %d is not of result %d", name, i, n)
			}
		}
	}
}

// TestQuotesOfAnyConversation holds quotes against their rule on conversations of few words.
func TestQuotesOfAnyConversation(t *testing.T) {
	words := []string{"one ", "zwölf ", "漢字漢字 ", "a longer word ", "this has twenty-four in it ", "-", "--------------------------"}
	quoting := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "words"), "")
		})
		var messages []*transcriptv1.Message
		q := newQuotes()
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			role := rapid.SampledFrom([]transcriptv1.Role{byTool, byTool, byModel, byModel, byUser}).Draw(t, "role")
			m := says(role, text.Draw(t, "text"))
			if role == byModel && rapid.Bool().Draw(t, "calls") {
				value, _ := json.Marshal(text.Draw(t, "value")) // a string always encodes
				m.Parts = append(m.Parts, calls(fmt.Sprintf(`{"value": %s}`, value)).GetParts()...)
			}
			messages = append(messages, m)
			var want [][]byte
			for _, n := range modelQuotes(messages) {
				want = append(want, canonical.AppendMessage(nil, messages[n]))
			}
			got := q.add(m)
			if !slices.EqualFunc(got, want, slices.Equal[[]byte]) {
				t.Fatalf("%d quotes, want %d", len(got), len(want))
			}
			quoting += len(got)
		}
	})
	if quoting == 0 {
		t.Error("nothing was quoted")
	}
}
