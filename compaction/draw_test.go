package compaction_test

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// text draws texts around the small limits that drawPolicy draws.
func text(t *rapid.T) string {
	letter := rapid.SampledFrom([]string{"a", "a", "é", "😀", "a😀", " "}).Draw(t, "letter")
	return strings.Repeat(letter, rapid.SampledFrom([]int{0, 1, 2, 5, 14, 15, 17, 20, 60, 130, 400}).Draw(t, "times"))
}

// output draws the text of a result around the lengths where a line saves enough.
func output(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "short") == 0 {
		return text(t)
	}
	return strings.Repeat("r", rapid.IntRange(250, 3000).Draw(t, "output"))
}

// arguments draws arguments of calls: mostly objects with long strings somewhere.
func arguments(t *rapid.T) string {
	switch rapid.IntRange(0, 9).Draw(t, "arguments") {
	case 0, 1, 2:
		return "{}"
	case 3:
		return "[" + jsonValue(t, 2) + "]"
	case 4:
		return jsonValue(t, 0)
	case 5:
		whole := jsonObject(t, 3)
		return strings.ToValidUTF8(whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "truncated")], "")
	case 6:
		return strings.Repeat(`{"`, rapid.IntRange(0, 300).Draw(t, "broken"))
	default:
		return space(t) + jsonObject(t, 3) + space(t)
	}
}

func space(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n\t\r "}).Draw(t, "space")
}

func jsonObject(t *rapid.T, depth int) string {
	var members []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		members = append(members, space(t)+jsonText(t)+space(t)+":"+space(t)+jsonValue(t, depth-1)+space(t))
	}
	return "{" + strings.Join(members, ",") + space(t) + "}"
}

func jsonValue(t *rapid.T, depth int) string {
	switch kind := rapid.IntRange(0, 9).Draw(t, "value"); {
	case kind < 2 && depth > 0:
		return jsonObject(t, depth)
	case kind < 4 && depth > 0:
		return "[" + space(t) + jsonValue(t, depth-1) + "," + jsonValue(t, depth-1) + "]"
	case kind == 4:
		return rapid.SampledFrom([]string{"null", "true", "-1.5e+300", "0", strings.Repeat("9", 300)}).Draw(t, "word")
	default:
		return jsonText(t)
	}
}

// jsonText draws a string of JSON around the lengths where marks are shorter.
func jsonText(t *rapid.T) string {
	unit := rapid.SampledFrom([]string{"x", "é", `\"`, `\\`, `\u0022`, ":", "{", " "}).Draw(t, "unit")
	bytes := rapid.SampledFrom([]int{0, 3, 199, 200, 201, 210, 230, 400, 1000}).Draw(t, "bytes")
	return `"` + strings.Repeat(unit, bytes/len(unit)) + strings.Repeat("y", bytes%len(unit)) + `"`
}

func textPart(text string) *transcriptv1.Part {
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}
}

func part(t *rapid.T) *transcriptv1.Part {
	p := textPart(text(t))
	switch rapid.IntRange(0, 9).Draw(t, "part") {
	case 0:
		p.Kind = &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: text(t)}}
	case 1:
		p.Kind = &transcriptv1.Part_Json{Json: `{"a":"` + text(t) + `"}`}
	case 2:
		p.Kind = &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png"}}
	case 3:
		p.Extras = `{"cache":true}`
	}
	return p
}

// optional draws an absent, empty or short string: few, so that they repeat.
func optional(t *rapid.T) *string {
	s := rapid.SampledFrom([]string{"-", "", "1", "1", "2", "3"}).Draw(t, "id")
	if s == "-" {
		return nil
	}
	return &s
}

// drawPut draws a message of any role. A summary may stand anywhere: rarely.
func drawPut(t *rapid.T) put {
	const s, d, u, a, r = 1, 2, 3, 4, 5
	m := &transcriptv1.Message{
		Role: transcriptv1.Role(rapid.SampledFrom([]int{s, d, u, u, u, a, a, a, a, a, r, r, r}).Draw(t, "role")),
	}
	if m.Role != r && rapid.IntRange(0, 11).Draw(t, "opaque") == 11 {
		state := &transcriptv1.Opaque{Type: "t", Data: []byte(text(t))}
		m.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: state}}}
		return put{m: m, note: drawNote(t)}
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "parts") {
		m.Parts = append(m.Parts, part(t))
	}
	switch m.Role {
	case a:
		drawCalls(t, m, 0, 0, 1, 1, 2, 3)
	case r:
		m.ToolCallId, m.Name, m.IsError = optional(t), optional(t), rapid.Bool().Draw(t, "error")
	}
	switch rapid.IntRange(0, 15).Draw(t, "member") {
	case 0:
		m.Extras = `{"n":1}`
	case 1:
		m.Joined = true
	case 2:
		m.State = transcriptv1.MessageState_MESSAGE_STATE_ABORTED
	case 3:
		m.Origin = transcriptv1.Origin_ORIGIN_SHORTENED
	case 4:
		m.ContentForm = transcriptv1.ContentForm_CONTENT_FORM_PARTS
	case 5:
		if m.Role == u {
			m.Origin = transcriptv1.Origin_ORIGIN_SUMMARY
		}
	}
	return put{m: m, note: drawNote(t)}
}

func drawNote(t *rapid.T) (n runloop.Note) {
	if rapid.Bool().Draw(t, "timed") {
		n.HasSentAt, n.SentAt = true, rapid.Int64Range(0, 20_000).Draw(t, "sent at")
	}
	if rapid.IntRange(0, 3).Draw(t, "counted") == 0 {
		n.HasTokens, n.Tokens = true, uint32(rapid.IntRange(0, 100).Draw(t, "tokens"))
	}
	return n
}

// drawAssistant draws one that calls tools.
func drawAssistant(t *rapid.T) *transcriptv1.Message {
	m := &transcriptv1.Message{Role: roleAssistant}
	if rapid.IntRange(0, 3).Draw(t, "says") == 0 {
		m.Parts = append(m.Parts, part(t))
	}
	drawCalls(t, m, 1, 1, 1, 2, 3)
	return m
}

// drawCalls adds as many calls as one of some numbers says.
func drawCalls(t *rapid.T, m *transcriptv1.Message, of ...int) {
	for range rapid.SampledFrom(of).Draw(t, "calls") {
		c := &transcriptv1.ToolCall{Id: optional(t), Name: optional(t), Arguments: arguments(t)}
		m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: c}})
	}
}

// drawPuts draws messages that are sometimes in order: each call with a result directly after. Now and then they begin as a
// compaction's do, with a left-out line, and often they end with an agent's long work.
func drawPuts(t *rapid.T) []put {
	var out []put
	if rapid.IntRange(0, 3).Draw(t, "a line") == 0 {
		out = append(out, put{m: leftOut(rapid.SampledFrom([]int{1, 9, 2147483640}).Draw(t, "says"))})
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 4, 8, 12, 16, 20}).Draw(t, "length") {
		p := drawPut(t)
		out = append(out, p)
		if rapid.Bool().Draw(t, "leave") {
			continue
		}
		out = drawResults(t, out, 0)
	}
	if rapid.Bool().Draw(t, "work") {
		out = drawWork(t, out)
	}
	return out
}

// drawResults answers the calls of the last message, some not and in any order at times.
func drawResults(t *rapid.T, out []put, odd int) []put {
	calls := callsOf(out[len(out)-1].m)
	if odd > 0 && rapid.IntRange(0, odd).Draw(t, "odd") == 0 {
		calls = rapid.Permutation(calls).Draw(t, "order")
		calls = calls[:rapid.IntRange(0, len(calls)).Draw(t, "answered")]
	}
	for _, c := range calls {
		answer := &transcriptv1.Message{
			Role: roleTool, ToolCallId: c.Id, Parts: []*transcriptv1.Part{textPart(output(t))},
		}
		out = append(out, put{m: answer, note: drawNote(t)})
	}
	return out
}

// drawWork adds the work of an agent: calls and their results, hardly anybody else.
func drawWork(t *rapid.T, out []put) []put {
	out = append(out, put{m: &transcriptv1.Message{Role: roleUser, Parts: []*transcriptv1.Part{part(t)}}})
	for range rapid.IntRange(2, 10).Draw(t, "steps") {
		p := drawPut(t)
		if rapid.IntRange(0, 30).Draw(t, "other") > 0 {
			p.m = drawAssistant(t)
		}
		out = drawResults(t, append(out, p), 6)
	}
	return out
}

// drawNodes puts messages into nodes.
func drawNodes(t *rapid.T, puts []put) []node {
	var nodes []node
	for len(puts) > 0 {
		k := rapid.IntRange(1, min(4, len(puts))).Draw(t, "messages")
		nodes = append(nodes, node{times: drawTimes(t), messages: puts[:k], outcome: drawOutcome(t)})
		puts = puts[k:]
	}
	return nodes
}

func drawTimes(t *rapid.T) runloop.Times {
	return runloop.Times{FirstPut: rapid.Int64Range(0, 20_000).Draw(t, "first put"), AsSent: rapid.Bool().Draw(t, "as sent")}
}

// drawOutcome is none, mostly.
func drawOutcome(t *rapid.T) runloop.Outcome {
	return runloop.Outcome(max(0, rapid.IntRange(-14, 4).Draw(t, "outcome")))
}

func drawView(t *rapid.T) *view { return viewOf(t, drawNodes(t, drawPuts(t))) }

// drawPolicy draws every field, often unbounded; limits are mostly shares of what the view has.
func drawPolicy(t *rapid.T, v *view) compaction.Policy {
	count := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name) }
	share := func(name string, all int64) int64 {
		return rapid.SampledFrom([]int64{0, 0, 1, 200, all - 1, all * 3 / 4, all / 2, all / 3, all / 4, all / 6}).Draw(t, name)
	}
	all := sizeOf(v.preamble)
	for i := range v.entries {
		all.Bytes += encodedSize(v.entries[i].m)
		all.Tokens += tokensOf(v.entries[i].m, v.entries[i].note)
	}
	return compaction.Policy{
		MaxRunLoops:       count("max_run_loops", 0, 0, 0, 1, 2, 3, 4, 5),
		MaxAge:            int64(count("max_age", 0, 0, 0, 1001, 4000, 11_000)),
		MaxBytes:          share("max_bytes", max(1, all.Bytes)),
		MaxTokens:         share("max_tokens", max(1, all.Tokens)),
		MaxUserChars:      count("max_user_chars", 0, 1, 2, 20, 100),
		MaxReplyChars:     count("max_reply_chars", 0, 1, 3, 20, 100),
		KeepWholeRunLoops: count("keep_whole_run_loops", 0, 0, 1, 2, 50),
		Clear:             drawClear(t),
		TraceRequests:     rapid.Bool().Draw(t, "tool_trace"),
		OmitLeftOutLine:   rapid.IntRange(0, 3).Draw(t, "omit") == 0,
		ReplyTools:        rapid.SampledFrom([][]string{nil, nil, {"1"}, {"1", "3"}, {"2", "another"}}).Draw(t, "reply_tools"),
	}
}

// drawClear is off now and then.
func drawClear(t *rapid.T) compaction.Clear {
	if rapid.IntRange(0, 4).Draw(t, "clear") == 0 {
		return compaction.Clear{}
	}
	return compaction.Clear{
		On: true, Keep: rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5}).Draw(t, "keep"),
		Arguments:     rapid.Bool().Draw(t, "arguments"),
		CachedPercent: rapid.SampledFrom([]int{0, 1, 10, 10, 50, 50, 100, 100}).Draw(t, "cached_percent"),
	}
}

// drawOptions draws a conversation or a compaction of a view.
func drawOptions(t *rapid.T, v *view) compaction.Options {
	o := v.options(drawPolicy(t, v))
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		o.CondenseLast = true
	case 1:
		o.Compact = &compaction.Compact{SummaryOnly: rapid.Bool().Draw(t, "summary_only")}
	case 2:
		s := sizeOf([]put{{m: compaction.Summary(text(t))}})
		o.Compact = &compaction.Compact{Summary: &s, SummaryOnly: rapid.Bool().Draw(t, "summary_only")}
	}
	return o
}
