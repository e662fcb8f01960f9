package promises

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// clears is what clear_tool_results says.
type clears struct {
	keep      int
	arguments bool
	cached    int64
}

// leastSaved is the fewest bytes that a line saves where results are cleared, and that the marks of a call save.
const leastSaved = 200

// cleared are the messages that become shorter in a loop shown whole, in the steps in which they do.
func (p *policy) cleared(loop []*message) (steps [][]*message) {
	var debt int64
	for n := range loop {
		through := loop[:n+1]
		if p.clear == nil || !isPoint(through) {
			continue
		}
		gone := slices.Concat(steps...)
		e := slices.DeleteFunc(p.couldGo(through), func(m *message) bool { return slices.Contains(gone, m) })
		if len(e) == 0 {
			continue
		}
		gain, suffix := p.gain(e), p.suffix(through[slices.Index(through, e[0]):], e)
		debt += p.clear.cached * gain
		if debt >= (100-p.clear.cached)*suffix {
			steps, debt = append(steps, e), 0
		}
	}
	return steps
}

// isPoint tells whether a point lies behind messages of a loop: behind a user message, and behind a result or stub after which no call of
// its group is open.
func isPoint(through []*message) bool {
	last := through[len(through)-1]
	if last.Role != tool {
		return last.asks()
	}
	at, open := len(through), 0
	for ; at > 0 && through[at-1].Role == tool; at-- {
		open--
	}
	for ; at > 0 && len(through[at-1].calls()) > 0; at-- {
		open += len(through[at-1].calls())
	}
	return open == 0
}

// couldGo are the messages of a loop so far that could be shorter: the results that were seen and are not kept, and calls before those kept.
func (p *policy) couldGo(loop []*message) (out []*message) {
	spoken := 0 // how many messages stand before the last of the assistant
	for i, m := range loop {
		if m.Role == assistant {
			spoken = i
		}
	}
	var seen []*message
	for _, m := range loop[:spoken] {
		if m.Role == tool && !p.answers(m) {
			seen = append(seen, m)
		}
	}
	kept := seen[max(0, len(seen)-p.clear.keep):]
	before := spoken // the calls among so many messages go
	switch {
	case p.clear.keep == 0:
	case len(kept) == 0:
		before = 0
	default:
		before = slices.Index(loop, kept[0])
	}
	for i, m := range loop {
		seenAndNotKept := slices.Contains(seen, m) && !slices.Contains(kept, m)
		switch {
		case m.Role == tool && seenAndNotKept && keep(m).bytes-p.shorter(m).bytes >= leastSaved:
			out = append(out, m)
		case p.clear.arguments && i < before && len(m.calls()) > 0 && p.shorter(m).as != m:
			out = append(out, m)
		}
	}
	return out
}

// gain is what messages save.
func (p *policy) gain(of []*message) (n int64) {
	for _, m := range of {
		n += keep(m).bytes - p.shorter(m).bytes
	}
	return n
}

// suffix is what messages take if some of them are shorter.
func (p *policy) suffix(all, shorter []*message) (n int64) {
	for _, m := range all {
		if slices.Contains(shorter, m) {
			n += p.shorter(m).bytes
		} else {
			n += keep(m).bytes
		}
	}
	return n
}

// shorter is a result as a line, or a message with calls with marks in their arguments.
func (p *policy) shorter(m *message) item {
	if it, known := p.shorts[m]; known {
		return it
	}
	it := p.asMarked(m)
	if m.Role == tool {
		it = asLine(m)
	}
	p.shorts[m] = it
	return it
}

// asMarked is a message with calls with marks in the arguments of those that do not answer. What it counts is from above.
func (p *policy) asMarked(m *message) item {
	content := proto.CloneOf(m.Message)
	saved := 0
	for _, part := range content.Parts {
		if c := part.GetToolCall(); c != nil && !p.replies(c) {
			short := marked(c.Arguments)
			saved += len(c.Arguments) - len(short)
			c.Arguments = short
		}
	}
	it := keep(m)
	if saved == 0 {
		return it
	}
	content.Origin = asShortened
	const originMember = 2
	size := it.bytes - int64(saved) + originMember
	return item{m.with(content), size, min(it.tokens, (size+3)/4)}
}

// jsonString is a string within valid JSON, and the colon behind it if it is a key.
var jsonString = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"(\s*:)?`)

// marked are arguments with marks in the place of long strings, or as they are where that saves too little.
func marked(arguments string) string {
	short := fmt.Sprintf(`{"left_out": "%d bytes"}`, len(arguments))
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err == nil && object != nil {
		short = jsonString.ReplaceAllStringFunc(arguments, func(s string) string {
			found := jsonString.FindStringSubmatch(s)
			if found[2] != "" || len(found[1]) <= 200 {
				return s
			}
			return fmt.Sprintf(`"[%d bytes left out]"`, len(found[1]))
		})
	}
	if len(arguments)-len(short) < leastSaved {
		return arguments
	}
	return short
}

// resolved is a policy as reports tell it.
func (p *policy) resolved() *transcriptv1.Policy {
	out := &transcriptv1.Policy{
		MaxRunLoops: proto.Int32(int32(p.loops)), MaxAge: milliseconds(p.age), MaxBytes: &p.bytes, MaxTokens: &p.tokens,
		MaxUserChars: proto.Int32(int32(p.userChars)), MaxReplyChars: proto.Int32(int32(p.replyChars)),
		KeepWholeRunLoops: proto.Int32(int32(p.keepRuns)), ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_DROP,
		OmitLeftOutLine: p.omitLine, ClearToolResults: &transcriptv1.ClearToolResults{},
	}
	if p.requests {
		out.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	}
	if c := p.clear; c != nil {
		out.ClearToolResults = &transcriptv1.ClearToolResults{
			Keep: proto.Int32(int32(c.keep)), ClearArguments: &c.arguments, CachedPercent: proto.Int32(int32(c.cached)),
		}
	}
	return out
}
