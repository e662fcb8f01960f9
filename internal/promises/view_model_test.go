package promises

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const mark = "...[truncated]"

// cut is m with its text cut to limit code points, or m.
func cut(m *message, limit int) *message {
	if !cutGivesFewer(m, limit) {
		return m
	}
	content := proto.Clone(m.Message).(*transcriptv1.Message)
	content.Parts = cutParts(m.Parts, limit)
	content.Origin, content.ContentForm = asShortened, 0
	if out := m.with(content); len(out.bytes) <= len(m.bytes) {
		return out
	}
	return m
}

// cutParts are parts whose text is longer than limit code points, cut.
func cutParts(parts []*transcriptv1.Part, limit int) (out []*transcriptv1.Part) {
	left, done := limit, false
	for _, p := range parts {
		text, ok := p.Kind.(*transcriptv1.Part_Text)
		if !ok {
			out = append(out, p)
			continue
		}
		if done {
			continue
		}
		runes := []rune(text.Text)
		if done = len(runes) > left; done {
			p = &transcriptv1.Part{Extras: p.Extras, Kind: &transcriptv1.Part_Text{Text: string(runes[:left]) + mark}}
		}
		left -= len(runes)
		out = append(out, p)
	}
	return out
}

// replies tells whether a call is one of a tool that answers.
func (p *policy) replies(c *transcriptv1.ToolCall) bool {
	return c.Name != nil && slices.Contains(p.replyTools, *c.Name)
}

// answers tells whether a message is a result of a call of a tool that answers.
func (p *policy) answers(m *message) bool {
	return m.Role == tool && m.answers != nil && p.replies(m.answers)
}

// answer is a message with calls as part of the answer: with those of its calls that answer.
func (p *policy) answer(m *message) item {
	content := proto.Clone(m.Message).(*transcriptv1.Message)
	lost := 0
	content.Parts = slices.DeleteFunc(content.Parts, func(part *transcriptv1.Part) bool {
		call := part.GetToolCall()
		goes := call != nil && !p.replies(call)
		if goes {
			lost++
		}
		return goes || part.GetReasoning() != nil
	})
	if lost == 0 {
		return asCut(m, p.replyChars)
	}
	if cutGivesFewer(m, p.replyChars) {
		content.Parts = cutParts(content.Parts, p.replyChars)
	}
	content.Origin, content.ContentForm = asShortened, 0
	it := keep(m)
	it.as = m.with(content)
	return it
}

func cutGivesFewer(m *message, limit int) bool {
	_, points := textOf(m)
	return limit > 0 && limit+len(mark) < points
}

func textOf(m *message) (octets, points int) {
	for _, p := range m.Parts {
		octets += len(p.GetText())
		points += utf8.RuneCountInString(p.GetText())
	}
	return octets, points
}

// line is the result m as a line, or m where that is not shorter.
func line(m *message) *message {
	if m.Origin == asStub || m.Origin == asShortened || m.answers == nil {
		return m
	}
	from, index := m.put, m.putIndex
	if from == nil {
		from, index = m.home, m.index
	}
	name := "-"
	if m.answers.Name != nil {
		name = *m.answers.Name
	}
	if m.Name != nil {
		name = *m.Name
	}
	id := "-"
	if m.ToolCallId != nil {
		id = *m.ToolCallId
	}
	parts := &transcriptv1.Message{Parts: m.Parts}
	text := fmt.Sprintf("[result of %s, %d bytes, left out; recall %s %s.%d]", name, proto.Size(parts), id, from.id[:12], index)
	content := proto.Clone(m.Message).(*transcriptv1.Message)
	content.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}
	content.Origin, content.ContentForm = asShortened, 0
	if out := m.with(content); len(out.bytes) < len(m.bytes) {
		return out
	}
	return m
}

// item is a message as it is to be shown.
type item struct {
	as *message
	// bytes and tokens are what the limits count.
	bytes, tokens int64
}

func keep(m *message) item {
	tokens, _ := m.tokens()
	return item{m, int64(len(m.bytes)), tokens}
}

func asLine(m *message) item {
	it, short := keep(m), line(m)
	if short == m {
		return it
	}
	size := int64(len(short.bytes))
	return item{short, size, min(it.tokens, (size+3)/4)}
}

func asCut(m *message, limit int) item {
	it := keep(m)
	if !cutGivesFewer(m, limit) {
		return it
	}
	octets, points := textOf(m)
	each := 4
	if octets == points {
		each = 1
	}
	const originMember = 2
	size := min(it.bytes, int64(len(m.bytes)-octets+each*limit+len(mark)+originMember))
	return item{cut(m, limit), size, min(it.tokens, (size+3)/4)}
}

// whole shows a loop whole.
func (p *policy) whole(l *loop) (out []item) {
	cleared := slices.Concat(p.cleared(l.messages)...)
	for _, m := range l.messages {
		if slices.Contains(cleared, m) {
			out = append(out, p.shorter(m))
			continue
		}
		out = append(out, keep(m))
	}
	return out
}

// condensed shows a loop condensed, with its calls if they are asked for and it is recent.
func (p *policy) condensed(l *loop, recent bool) (out []item) {
	final := l.final()
	for i, m := range l.messages {
		switch {
		case m.speaksForSystem() || m.isSummary():
			out = append(out, keep(m))
		case m.isLeftOut():
		case m.Role == user:
			out = append(out, asCut(m, p.userChars))
		case i == final:
			out = append(out, asCut(m, p.replyChars))
		case p.requests && recent && len(m.calls()) > 0 && p.clear != nil && p.clear.arguments:
			out = append(out, p.shorter(m))
		case p.requests && recent && len(m.calls()) > 0:
			out = append(out, keep(m))
		case slices.ContainsFunc(m.calls(), p.replies):
			out = append(out, p.answer(m))
		case p.answers(m) && (m.Origin == asStub || m.Origin == asShortened):
			out = append(out, keep(m))
		case p.answers(m):
			out = append(out, asCut(m, p.replyChars))
		case p.requests && recent && m.Role == tool:
			out = append(out, asLine(m))
		}
	}
	return out
}

func (p *policy) byLoops(n int64) int64 {
	if p.loops == 0 || n <= p.loops {
		return 0
	}
	s := max(1, p.loops/2)
	return s * ((n - p.loops + s - 1) / s)
}

// timeOf is the latest time of a user message through the first message of loop i; all loops are users'.
func timeOf(loops []*loop, i int64) int64 {
	latest := loops[i].messages[0].counts()
	for _, l := range loops[:i] {
		for _, m := range l.messages {
			if m.asks() {
				latest = max(latest, m.counts())
			}
		}
	}
	return latest
}

// recent tells whether loop i is not too old to be shown richer than condensed.
func (p *policy) recent(loops []*loop, i int64) bool {
	return p.age == 0 || loops[i].leadIn || timeOf(loops, i) >= timeOf(loops, int64(len(loops))-1)-p.age
}

// wholeOf tells whether keep_whole_run_loops shows loop i whole, if n count.
func (p *policy) wholeOf(loops []*loop, i, n int64) bool {
	return i >= n-int64(p.keepRuns) && p.recent(loops, i)
}

// show are the loops before the last, from start on, as a conversation shows them, and the last whole.
func (p *policy) show(loops []*loop, start int64) (out []item) {
	last := int64(len(loops)) - 1
	for i := start; i <= last; i++ {
		if p.wholeOf(loops, i, last) {
			out = append(out, p.whole(loops[i])...)
		} else {
			out = append(out, p.condensed(loops[i], p.recent(loops, i))...)
		}
	}
	return out
}

func sizeOf(items []item) (bytes, tokens int64) {
	for _, it := range items {
		bytes += it.bytes
		tokens += it.tokens
	}
	return bytes, tokens
}

// asked are the loops without the lead-in, if there are others; and the lead-in, if it is the only one.
func asked(loops []*loop) []*loop {
	if len(loops) > 1 && loops[0].leadIn {
		return loops[1:]
	}
	return loops
}

// bySize reads the view in order and moves the start on whenever a limit is exceeded. fixed are the preamble and a
// summary to be written, or the largest left-out line.
func (p *policy) bySize(fixed []item, body []*message, ended map[*message]transcriptv1.RunOutcome) (start int64) {
	if p.bytes == 0 && p.tokens == 0 {
		return 0
	}
	for through := 1; through <= len(body); through++ {
		early, loops := loopsOf(body[:through], ended)
		loops = asked(loops)
		last := int64(len(loops)) - 1
		if last < 1 {
			continue
		}
		start = max(start, p.byLoops(last))
		always := slices.Clone(fixed)
		for _, m := range withoutLeftOut(early) {
			always = append(always, keep(m))
		}
		shown := func() (bytes, tokens int64) { return sizeOf(append(slices.Clone(always), p.show(loops, start)...)) }
		bytes, tokens := shown()
		bytesOver, tokensOver := p.bytes > 0 && bytes > p.bytes, p.tokens > 0 && tokens > p.tokens
		for start < last && (bytesOver && bytes > p.bytes/2 || tokensOver && tokens > p.tokens/2) {
			start++
			bytes, tokens = shown()
		}
	}
	return start
}

// conversation is a conversation view.
type conversation struct {
	preamble, early []*message
	// line is the left-out line before the first loop, unless one of early says the same; nil for none.
	line  *message
	loops []*loop // as they are, the lead-in only if it is the last
	start int64
	// shown are the loops from start on, as shown.
	shown [][]*message
	// cleared is what clear_tool_results made shorter in the last loop, in steps.
	cleared       [][]*message
	limitExceeded bool
	// etag is the server's.
	etag string
}

func (c *conversation) messages() []*message {
	return slices.Concat(c.preamble, c.early, one(c.line), slices.Concat(c.shown...))
}

// converse makes the conversation of an effective view.
func converse(view *chain, p *policy, condenseLast bool) *conversation {
	c := &conversation{preamble: view.shown[:view.preamble]}
	body := view.shown[view.preamble:]
	var loops []*loop
	c.early, loops = loopsOf(body, view.ended)
	c.loops = asked(loops)
	fixed := items(c.preamble)
	n := int64(max(len(c.loops), 1)) - 1
	c.start = max(p.bySize(append(slices.Clone(fixed), p.room()...), body, view.ended), p.byLoops(n))
	c.early, c.line = p.leftOut(c.early, c.start)
	if c.line != nil {
		c.line.due = c.loops[c.start].messages[0]
	}
	for i := c.start; i < int64(len(c.loops)); i++ {
		l := c.loops[i]
		var shown []item
		switch {
		case i == n && !(condenseLast && l.closed()), i < n && p.wholeOf(c.loops, i, n):
			shown = p.whole(l)
		default:
			shown = p.condensed(l, p.recent(c.loops, i))
		}
		c.shown = append(c.shown, taken(shown))
	}
	always := append(append(fixed, items(c.early)...), items(one(c.line))...)
	if len(c.loops) > 0 {
		c.cleared = p.cleared(c.loops[n].messages)
		always = append(always, p.whole(c.loops[n])...)
	}
	bytes, tokens := sizeOf(always)
	c.limitExceeded = p.bytes > 0 && bytes > p.bytes || p.tokens > 0 && tokens > p.tokens
	return c
}

// says is how many loops a left-out line says are left out.
func (m *message) says() (loops int64) {
	if n, err := fmt.Sscanf(m.Parts[0].GetText(), "[%d earlier turns are not shown]", &loops); n != 1 || err != nil {
		panic("no left-out line: " + m.Parts[0].GetText())
	}
	return loops
}

func newLeftOut(loops int64) *message {
	text := fmt.Sprintf("[%d earlier turns are not shown]", loops)
	return newMessage(&transcriptv1.Message{
		Role: user, Origin: asLeftOut, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
	}, nil)
}

// room is what the limits count for the left-out line, from the first message on.
func (p *policy) room() []item {
	if p.omitLine {
		return nil
	}
	return []item{keep(newLeftOut(2147483647))}
}

// leftOut is what comes before the first loop where so many are dropped now, and the left-out line to be made before that loop; nil
// for none. What an older line says is added; one that says it all stays.
func (p *policy) leftOut(early []*message, dropped int64) (kept []*message, line *message) {
	all := dropped
	for _, m := range early {
		if m.isLeftOut() {
			all += m.says()
		}
	}
	switch {
	case p.omitLine || all == 0:
		return withoutLeftOut(early), nil
	case dropped == 0:
		return early, nil
	default:
		return withoutLeftOut(early), newLeftOut(all)
	}
}

func withoutLeftOut(messages []*message) []*message {
	return slices.DeleteFunc(slices.Clone(messages), (*message).isLeftOut)
}

// one is a list of a message; empty for none.
func one(m *message) []*message {
	if m == nil {
		return nil
	}
	return []*message{m}
}

func items(messages []*message) (out []item) {
	for _, m := range messages {
		out = append(out, keep(m))
	}
	return out
}

func taken(items []item) (out []*message) {
	for _, it := range items {
		out = append(out, it.as)
	}
	return out
}

// isLine tells whether a message is the line of a result.
func (m *message) isLine() bool {
	return m.Role == tool && m.Origin == asShortened && len(m.Parts) == 1 && strings.HasPrefix(m.Parts[0].GetText(), "[result of ")
}

// recallOf reads the call's id and NODE.I off a line.
func recallOf(text string) (id, place string) {
	_, rest, _ := strings.Cut(text, "left out; recall ")
	rest = strings.TrimSuffix(rest, "]")
	at := strings.LastIndexByte(rest, ' ')
	return rest[:at], rest[at+1:]
}
