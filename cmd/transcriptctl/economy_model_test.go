package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// bounds is what the model of this test knows of a policy; whole shows everything.
type bounds struct {
	whole        bool
	loops, chars int // 0: all
	clear        *clears
}

// clears is when results become lines.
type clears struct {
	keep, percent int
	arguments     bool
}

// modelRow is what economy tells of the file; OfNaive is the cost, and Saved is missing.
func modelRow(t *testing.T, b bounds) (row economyRow) {
	t.Helper()
	content, err := os.ReadFile(economyFile)
	if err != nil {
		t.Fatal(err)
	}
	reused, forgotten := 0, 0
	for line := range bytes.Lines(content) {
		var chat struct{ Messages json.RawMessage }
		if err := json.Unmarshal(line, &chat); err != nil {
			t.Fatal(err)
		}
		messages, _, err := openai.Parse(chat.Messages)
		if err != nil {
			t.Fatal(err)
		}
		ids := newChain(messages, nil).ids
		var last []string
		for i, m := range messages {
			if i == 0 || m.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
				continue
			}
			shown := modelView(messages[:i], ids, b)
			same := true
			for k, one := range shown {
				row.InputBytes += int64(len(one))
				if same = same && k < len(last) && last[k] == one; same {
					reused += len(one)
				}
			}
			last = shown
			for _, n := range modelQuotes(messages[:i+1]) {
				row.Quoted++
				if !slices.Contains(shown, modelEncode(messages[n])) {
					forgotten++
				}
			}
		}
	}
	row.Reused = float64(reused) / float64(row.InputBytes)
	row.OfNaive = float64(row.InputBytes) - 0.9*float64(reused)
	row.Forgotten = float64(forgotten) / float64(row.Quoted)
	return row
}

// modelView is what a request has of messages.
func modelView(messages []*transcriptv1.Message, ids []string, b bounds) (shown []string) {
	show := func(m *transcriptv1.Message) { shown = append(shown, modelEncode(m)) }
	var loops []int // where each begins
	for i, m := range messages {
		if m.GetRole() == transcriptv1.Role_ROLE_USER {
			loops = append(loops, i)
		}
	}
	if b.whole {
		for _, m := range messages {
			show(m)
		}
		return shown
	}
	for _, m := range messages[:loops[0]] {
		show(m)
	}
	before := len(loops) - 1
	start := 0
	if step := max(1, b.loops/2); b.loops > 0 && before > b.loops {
		start = step * ((before - b.loops + step - 1) / step)
	}
	if start > 0 {
		line := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin_ORIGIN_LEFT_OUT}
		line.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprintf("[%d earlier turns are not shown]", start)}}}
		show(line)
	}
	for i := start; i < before; i++ {
		show(modelCut(messages[loops[i]], b.chars))
		show(modelCut(messages[loops[i+1]-1], b.chars))
	}
	open := messages[loops[before]:]
	shorter := map[int]*transcriptv1.Message{}
	if b.clear != nil {
		shorter = b.clear.model(open, ids[loops[before]:])
	}
	for i, m := range open {
		if short := shorter[i]; short != nil {
			m = short
		}
		show(m)
	}
	return shown
}

// model gives what messages of a loop become, by their indexes.
func (c *clears) model(loop []*transcriptv1.Message, ids []string) map[int]*transcriptv1.Message {
	done, debt := map[int]*transcriptv1.Message{}, 0
	for point := range loop {
		if loop[point].GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
			continue
		}
		could, gain := c.could(loop[:point+1], ids, done)
		if len(could) == 0 {
			continue
		}
		suffix, first := 0, slices.Min(slices.Collect(maps.Keys(could)))
		for i := first; i <= point; i++ {
			shown := loop[i]
			for _, short := range []*transcriptv1.Message{done[i], could[i]} {
				if short != nil {
					shown = short
				}
			}
			suffix += len(modelEncode(shown))
		}
		if debt += c.percent * gain; debt >= (100-c.percent)*suffix {
			maps.Copy(done, could)
			debt = 0
		}
	}
	return done
}

// could gives what messages would become at a point behind them, but those that are done, and what that saves.
func (c *clears) could(loop []*transcriptv1.Message, ids []string, done map[int]*transcriptv1.Message) (could map[int]*transcriptv1.Message, gain int) {
	could = map[int]*transcriptv1.Message{}
	var results []int // before the last assistant message
	for i, m := range loop {
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL && i+1 < len(loop) {
			results = append(results, i)
		}
	}
	if len(results) == 0 {
		return nil, 0
	}
	for i, m := range loop[:results[max(0, len(results)-c.keep)]] {
		var short *transcriptv1.Message
		switch {
		case m.GetRole() == transcriptv1.Role_ROLE_TOOL:
			short = modelLine(m, ids[i])
		case m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT && c.arguments:
			short = modelMarks(m)
		}
		if done[i] == nil && short != nil && len(modelEncode(m))-len(modelEncode(short)) >= 200 {
			could[i], gain = short, gain+len(modelEncode(m))-len(modelEncode(short))
		}
	}
	return could, gain
}

func modelCut(m *transcriptv1.Message, chars int) *transcriptv1.Message {
	text := m.GetParts()[0].GetText()
	if chars == 0 || len(text) <= chars+len("...[truncated]") { // ASCII
		return m
	}
	return modelText(m, text[:chars]+"...[truncated]")
}

func modelEncode(m *transcriptv1.Message) string { return string(canonical.AppendMessage(nil, m)) }

// modelMarks is a message with a call of note, whose text is long and plain; nil: it has none.
func modelMarks(m *transcriptv1.Message) *transcriptv1.Message {
	made := proto.CloneOf(m)
	made.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
	call := made.GetParts()[len(made.GetParts())-1].GetToolCall()
	before, text, found := strings.Cut(call.GetArguments(), `"text": "`)
	if text = strings.TrimSuffix(text, `"}`); !found || len(text) <= 200 {
		return nil
	}
	call.Arguments = fmt.Sprintf(`%s"text": "[%d bytes left out]"}`, before, len(text))
	return made
}

func modelLine(m *transcriptv1.Message, id string) *transcriptv1.Message {
	parts := len(canonical.AppendMessage(nil, &transcriptv1.Message{Parts: m.GetParts()})) - 2
	if parts > 127 {
		parts-- // the length of the message takes a byte more
	}
	line := modelText(m, fmt.Sprintf("[result of %s, %d bytes, left out; recall %s %s.0]", m.GetName(), parts, m.GetToolCallId(), id[:12]))
	return line
}

func modelText(m *transcriptv1.Message, text string) *transcriptv1.Message {
	made := proto.CloneOf(m)
	made.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
	made.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}
	return made
}
