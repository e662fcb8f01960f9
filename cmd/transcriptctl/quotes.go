package main

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// quoteChars is how many characters in a row, code points, make a quote.
const quoteChars = 24

// quotes follows a conversation, message by message, and tells which results an assistant message quotes: it has 24 characters in a
// row that stood in results and nowhere else before. A quote is of the newest result with these characters.
//
//	r "…port 7420 is in use by transcriptd…"   a "Port 7420 is in use by transcriptd, so I take another."   quotes r
type quotes struct {
	// owners has each run of characters so far by its hash: the number of the newest result that has it, or elsewhere. Hashes of
	// 64 bits stand for the runs: among a million two are equal once in 30 million times.
	owners map[uint64]int
	// results are the results so far, encoded.
	results [][]byte
}

// elsewhere is the owner of what has stood in another message than a result.
const elsewhere = -1

func newQuotes() *quotes { return &quotes{owners: map[uint64]int{}} }

// add adds the next message as it was put, and gives the results that it quotes, encoded, each once, oldest first.
func (q *quotes) add(m *transcriptv1.Message) (quoted [][]byte) {
	texts := textsOf(m)
	if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
		q.own(texts, len(q.results))
		q.results = append(q.results, canonical.AppendMessage(nil, m))
		return nil
	}
	if m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
		for _, n := range q.find(texts) {
			quoted = append(quoted, q.results[n])
		}
	}
	q.own(texts, elsewhere)
	return quoted
}

// addNode adds the messages of a node, and gives the results that the first of them quotes.
func (q *quotes) addNode(node []*transcriptv1.Message) (quoted [][]byte) {
	for i, m := range node {
		if found := q.add(m); i == 0 {
			quoted = found
		}
	}
	return quoted
}

// find gives the numbers of the results that texts quote, in order.
func (q *quotes) find(texts []string) []int {
	found := map[int]bool{}
	for _, text := range texts {
		eachRun(text, func(hash uint64) {
			if owner, ok := q.owners[hash]; ok && owner != elsewhere {
				found[owner] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// own makes owner that of all runs of texts which never stood in another message than a result.
func (q *quotes) own(texts []string, owner int) {
	for _, text := range texts {
		eachRun(text, func(hash uint64) {
			if last, ok := q.owners[hash]; !ok || last != elsewhere {
				q.owners[hash] = owner
			}
		})
	}
}

// Hashes are polynomials in quoteBase, modulo 2^64; quoteOut is what the character before a run counts in them.
const quoteBase uint64 = 0x9e3779b97f4a7c15

var quoteOut = func() uint64 {
	power := uint64(1)
	for range quoteChars {
		power *= quoteBase
	}
	return power
}()

// eachRun yields the hash of every run of quoteChars characters of a text.
func eachRun(text string, yield func(hash uint64)) {
	var last [quoteChars]rune // a ring of the latest
	var hash uint64
	n := 0
	for _, r := range text {
		hash = hash*quoteBase + uint64(r) - quoteOut*uint64(last[n%quoteChars])
		last[n%quoteChars] = r
		if n++; n >= quoteChars {
			yield(hash)
		}
	}
}

// textsOf are what a message says in characters: its texts, its provider's own parts, and of the arguments of its calls the string
// values where they are JSON, else all. Reasoning is left out: it is not what was answered.
func textsOf(m *transcriptv1.Message) (texts []string) {
	for _, part := range m.GetParts() {
		switch kind := part.GetKind().(type) {
		case *transcriptv1.Part_Text:
			texts = append(texts, kind.Text)
		case *transcriptv1.Part_Json:
			texts = append(texts, kind.Json)
		case *transcriptv1.Part_ToolCall:
			var arguments any
			if json.Unmarshal([]byte(kind.ToolCall.GetArguments()), &arguments) != nil {
				texts = append(texts, kind.ToolCall.GetArguments())
			}
			texts = append(texts, stringsIn(arguments)...)
		}
	}
	return texts
}

// stringsIn are the strings among the values of what was read from JSON; keys are none.
func stringsIn(value any) (found []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			found = append(found, stringsIn(one)...)
		}
	case map[string]any:
		for _, one := range value {
			found = append(found, stringsIn(one)...)
		}
	}
	return found
}
