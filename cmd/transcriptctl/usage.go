package main

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// maxUsageText is how long the name of a model, or a reason, may be that is read from a message.
const maxUsageText = 256

// withUsage adds to notes, nil or one for each message, what assistant messages tell of what they cost: their members model,
// finish_reason or stop_reason, and usage, in the forms of OpenAI and Anthropic. What is in another form is not read.
func withUsage(notes []*transcriptv1.MessageNote, messages []*transcriptv1.Message) []*transcriptv1.MessageNote {
	for i, m := range messages {
		if m.GetRole() != transcriptv1.Role_ROLE_ASSISTANT || m.GetExtras() == "" {
			continue
		}
		var note transcriptv1.MessageNote
		if !readUsage(m.GetExtras(), &note) {
			continue
		}
		if notes == nil {
			notes = make([]*transcriptv1.MessageNote, len(messages))
			for k := range notes {
				notes[k] = &transcriptv1.MessageNote{}
			}
		}
		n := notes[i]
		n.Model, n.FinishReason = note.Model, note.FinishReason
		n.InputTokens, n.OutputTokens, n.CachedTokens = note.InputTokens, note.OutputTokens, note.CachedTokens
	}
	return notes
}

// readUsage reads what a message's further members tell of what it cost, and whether they tell anything.
func readUsage(extras string, note *transcriptv1.MessageNote) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(extras), &members) != nil {
		return false
	}
	note.Model = usageText(members["model"])
	if note.FinishReason = usageText(members["finish_reason"]); note.FinishReason == "" {
		note.FinishReason = usageText(members["stop_reason"])
	}
	var usage map[string]json.RawMessage
	if json.Unmarshal(members["usage"], &usage) == nil {
		readTokens(usage, note)
	}
	return note.Model != "" || note.FinishReason != "" || note.InputTokens != nil || note.OutputTokens != nil || note.CachedTokens != nil
}

// readTokens reads the counts of a usage. Anthropic's input_tokens are those that were neither read from a cache nor written to one:
// the sum is told.
func readTokens(usage map[string]json.RawMessage, note *transcriptv1.MessageNote) {
	note.InputTokens = firstTokens(usage["prompt_tokens"], usage["input_tokens"])
	note.OutputTokens = firstTokens(usage["completion_tokens"], usage["output_tokens"])
	for _, name := range []string{"prompt_tokens_details", "input_tokens_details"} {
		var details map[string]json.RawMessage
		if json.Unmarshal(usage[name], &details) == nil && note.CachedTokens == nil {
			note.CachedTokens = firstTokens(details["cached_tokens"])
		}
	}
	read, written := firstTokens(usage["cache_read_input_tokens"]), firstTokens(usage["cache_creation_input_tokens"])
	if read != nil && note.CachedTokens == nil {
		note.CachedTokens = read
	}
	if note.InputTokens == nil || read == nil && written == nil {
		return
	}
	all := int64(*note.InputTokens)
	for _, n := range []*int32{read, written} {
		if n != nil {
			all += int64(*n)
		}
	}
	sum := int32(min(all, math.MaxInt32))
	note.InputTokens = &sum
}

// firstTokens is the first of some values that is a count; nil for none.
func firstTokens(values ...json.RawMessage) *int32 {
	for _, v := range values {
		if n, err := strconv.ParseInt(string(v), 10, 32); err == nil && n >= 0 {
			tokens := int32(n)
			return &tokens
		}
	}
	return nil
}

// usageText is a value that is a text of a length that a note holds; empty for another.
func usageText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil || len(text) > maxUsageText {
		return ""
	}
	return text
}

// modelCost is what economy prints of a model: the sums of what the notes of its messages tell.
type modelCost struct {
	// Model is empty for messages that tell tokens and no model.
	Model string `json:"model"`
	// Messages are those that tell how many tokens they took.
	Messages     int64 `json:"messages,string"`
	InputTokens  int64 `json:"inputTokens,string"`
	OutputTokens int64 `json:"outputTokens,string"`
	CachedTokens int64 `json:"cachedTokens,string"`
}

// modelSums are the sums of each model.
type modelSums map[string]*modelCost

// add adds what notes tell.
func (s modelSums) add(notes []*transcriptv1.MessageNote) {
	for _, n := range notes {
		if n.InputTokens == nil && n.OutputTokens == nil && n.CachedTokens == nil {
			continue
		}
		row := s[n.GetModel()]
		if row == nil {
			row = &modelCost{Model: n.GetModel()}
			s[row.Model] = row
		}
		row.Messages++
		row.InputTokens += int64(n.GetInputTokens())
		row.OutputTokens += int64(n.GetOutputTokens())
		row.CachedTokens += int64(n.GetCachedTokens())
	}
}

// rows are the models in the order of their names; an empty list for none.
func (s modelSums) rows() []modelCost {
	rows := make([]modelCost, 0, len(s))
	for _, row := range s {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b modelCost) int { return strings.Compare(a.Model, b.Model) })
	return rows
}

// printModels prints a table of models, below an empty line; nothing where there are none.
func (s *session) printModels(rows []modelCost) error {
	if len(rows) == 0 {
		return nil
	}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{orDash(name(r.Model)), decimal(r.Messages), decimal(r.InputTokens), decimal(r.OutputTokens), decimal(r.CachedTokens)}
	}
	t := s.table(left("MODEL"), right("MESSAGES"), right("INPUT TOKENS"), right("OUTPUT TOKENS"), right("CACHED TOKENS"))
	return errors.Join(s.printLine(""), t.printAll(lines))
}

// noteText is what a note tells of what its message cost, for people; empty for nothing.
func noteText(n *transcriptv1.MessageNote) string {
	var words []string
	for _, text := range []string{n.GetModel(), n.GetFinishReason()} {
		if text != "" {
			words = append(words, name(text))
		}
	}
	for _, c := range []struct {
		tokens *int32
		what   string
	}{{n.InputTokens, "tokens in"}, {n.CachedTokens, "of them cached"}, {n.OutputTokens, "tokens out"}} {
		if c.tokens != nil {
			words = append(words, strconv.Itoa(int(*c.tokens))+" "+c.what)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.GetAttributes())) {
		words = append(words, name(key+"="+n.GetAttributes()[key]))
	}
	return strings.Join(words, ", ")
}
