package compaction_test

import (
	"fmt"
	"slices"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The model says what the views must give, written from the rules as they are worded: it looks at whole lists of full
// messages, as often as it likes, and knows neither headers nor sums.

const (
	roleSystem    = transcriptv1.Role_ROLE_SYSTEM
	roleDeveloper = transcriptv1.Role_ROLE_DEVELOPER
	roleUser      = transcriptv1.Role_ROLE_USER
	roleAssistant = transcriptv1.Role_ROLE_ASSISTANT
	roleTool      = transcriptv1.Role_ROLE_TOOL
)

// said is a message of the repaired view behind the preamble.
type said struct {
	put
	time int64
	at   runloop.Place
	stub bool
	// ended says that an outcome stands behind it, before the next.
	ended bool
	line  *transcriptv1.Message // what a line makes of it, if that is shorter
	tool  runloop.Optional      // of the call that a result answers
}

func (s *said) isSummary() bool { return s.m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY }

func (s *said) isLeftOut() bool { return s.m.Origin == transcriptv1.Origin_ORIGIN_LEFT_OUT }

// aside tells whether a message changes no loop.
func (s *said) aside() bool {
	return s.m.Role == roleSystem || s.m.Role == roleDeveloper || s.isSummary() || s.isLeftOut()
}

func callsOf(m *transcriptv1.Message) (calls []*transcriptv1.ToolCall) {
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// speaks tells whether an assistant message can be a final reply.
func (s *said) speaks() bool {
	partial := s.m.State == transcriptv1.MessageState_MESSAGE_STATE_PARTIAL || s.m.State == transcriptv1.MessageState_MESSAGE_STATE_ABORTED
	if s.m.Role != roleAssistant || len(callsOf(s.m)) > 0 || partial {
		return false
	}
	for _, p := range s.m.Parts {
		switch k := p.Kind.(type) {
		case *transcriptv1.Part_Reasoning:
		case *transcriptv1.Part_Text:
			for _, r := range k.Text {
				if !unicode.Is(unicode.White_Space, r) {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// repaired lists what the effective view shows behind the preamble.
func repaired(v *view) []said {
	var out []said
	for i := range v.entries {
		e := &v.entries[i]
		stubs := func(calls []runloop.Call) {
			for _, c := range calls {
				out = append(out, said{put: put{m: canonical.Stub(c)}, at: e.at, stub: true, tool: c.Name})
			}
		}
		stubs(e.brief.Mark.Stubs)
		if e.brief.Shown() {
			out = append(out, saidOf(e))
		}
		for _, end := range e.ends {
			stubs(end.stubs)
			if n := len(out); n > 0 {
				out[n-1].ended = true
			}
		}
	}
	return out
}

// saidOf is an entry that is shown.
func saidOf(e *entry) said {
	s := said{put: e.put, at: e.at, time: e.times.FirstPut, tool: e.tool}
	if e.note.HasSentAt && (e.times.AsSent || e.note.SentAt < s.time) {
		s.time = e.note.SentAt
	}
	made := e.m.Origin == transcriptv1.Origin_ORIGIN_STUB || e.m.Origin == transcriptv1.Origin_ORIGIN_SHORTENED
	if e.m.Role == roleTool && !made {
		s.line = lineOf(e)
	}
	return s
}

// lineOf is the message with its line, or nil where that is not shorter.
func lineOf(e *entry) *transcriptv1.Message {
	m := proto.Clone(e.m).(*transcriptv1.Message)
	m.Parts = []*transcriptv1.Part{textPart(runloop.LineText(e.name, &e.facts, e.from))}
	m.Origin, m.ContentForm = transcriptv1.Origin_ORIGIN_SHORTENED, 0
	if encodedSize(m) >= encodedSize(e.m) {
		return nil
	}
	return m
}

// talk is a repaired list cut into what comes before the loops, the lead-in, and the loops that users began.
type talk struct {
	early  []said
	leadIn []said
	loops  [][]said
}

func talkOf(list []said) talk {
	var t talk
	users := false // the last of the messages that are not aside is a user's
	for _, s := range list {
		switch {
		case s.aside():
		case s.m.Role == roleUser && !users:
			users = true
			t.loops = append(t.loops, nil)
		default:
			users = s.m.Role == roleUser
		}
		switch {
		case len(t.loops) > 0:
			last := &t.loops[len(t.loops)-1]
			*last = append(*last, s)
		case s.aside() && len(t.leadIn) == 0:
			t.early = append(t.early, s)
		default:
			t.leadIn = append(t.leadIn, s)
		}
		if s.ended && len(t.loops) > 0 {
			users = false
		}
	}
	return t
}

// last is the last loop, the lead-in where there is no other.
func (t *talk) last() []said {
	if len(t.loops) == 0 {
		return t.leadIn
	}
	return t.loops[len(t.loops)-1]
}

// before are the loops before the last, the lead-in aside.
func (t *talk) before() [][]said {
	if len(t.loops) == 0 {
		return nil
	}
	return t.loops[:len(t.loops)-1]
}

// finalReply is the place of the final reply, or -1.
func finalReply(loop []said) int {
	for i := len(loop) - 1; i >= 0; i-- {
		if loop[i].speaks() {
			return i
		}
	}
	return -1
}

// closed tells whether the last loop is closed.
func (t *talk) closed() bool {
	if len(t.loops) == 0 {
		return false
	}
	last := t.last()
	end := len(last) - 1
	for end >= 0 && last[end].aside() && !last[end].ended {
		end--
	}
	return end >= 0 && (last[end].ended || end == finalReply(last))
}

// shown is a message that a view shows, with the sizes that the limits are held against.
type shown struct {
	m             *transcriptv1.Message
	bytes, tokens int64
}

func asPut(s said) shown { return shown{s.m, encodedSize(s.m), tokensOf(s.m, s.note)} }

func asMade(s said, m *transcriptv1.Message, bytes int64) shown {
	whole := asPut(s)
	bytes = min(bytes, whole.bytes)
	return shown{m, bytes, min((bytes+3)/4, whole.tokens)}
}

func asLine(s said) shown {
	if s.line == nil {
		return asPut(s)
	}
	return asMade(s, s.line, encodedSize(s.line))
}

// asCut cuts the text of all parts taken together.
func asCut(s said, limit int) shown {
	octets, all, wide := 0, []rune(nil), int64(1)
	for _, p := range s.m.Parts {
		octets += len(p.GetText())
		all = append(all, []rune(p.GetText())...)
	}
	if octets != len(all) {
		wide = 4
	}
	if limit == 0 || limit+len("...[truncated]") >= len(all) {
		return asPut(s)
	}
	m := proto.Clone(s.m).(*transcriptv1.Message)
	m.Parts, m.Origin, m.ContentForm = nil, transcriptv1.Origin_ORIGIN_SHORTENED, 0
	from, cut := 0, false // the place of the part's text in all
	for _, p := range s.m.Parts {
		t, isText := p.Kind.(*transcriptv1.Part_Text)
		p = proto.Clone(p).(*transcriptv1.Part)
		to := from + len([]rune(partText(t, isText)))
		if isText && cut {
			continue
		}
		if isText && to > limit {
			p.Kind = &transcriptv1.Part_Text{Text: string(all[from:limit]) + "...[truncated]"}
			cut = true
		}
		m.Parts = append(m.Parts, p)
		from = to
	}
	bytes := encodedSize(s.m) - int64(octets) + int64(limit)*wide + int64(len("...[truncated]")) + 2
	if encodedSize(m) > encodedSize(s.m) {
		m = s.m
	}
	return asMade(s, m, bytes)
}

func partText(t *transcriptv1.Part_Text, isText bool) string {
	if !isText {
		return ""
	}
	return t.Text
}

// replies tells whether a tool's calls are part of the answer.
func replies(p compaction.Policy, name runloop.Optional) bool {
	return name.Present && slices.Contains(p.ReplyTools, name.Value)
}

// answers tells whether the message is a result of such a call.
func (s *said) answers(p compaction.Policy) bool { return s.m.Role == roleTool && replies(p, s.tool) }

// answering are the calls of a message that are part of the answer.
func (s *said) answering(p compaction.Policy) (n int) {
	for _, c := range callsOf(s.m) {
		if c.Name != nil && replies(p, runloop.Some(*c.Name)) {
			n++
		}
	}
	return n
}

// asAnswer is a message with calls, of which those stay that are part of the answer.
func asAnswer(p compaction.Policy, s said) shown {
	if s.answering(p) == len(callsOf(s.m)) {
		return asCut(s, p.MaxReplyChars)
	}
	lost := s
	lost.m = proto.Clone(s.m).(*transcriptv1.Message)
	lost.m.Parts = nil
	for _, part := range s.m.Parts {
		call := part.GetToolCall()
		if part.GetReasoning() == nil && (call == nil || call.Name != nil && replies(p, runloop.Some(*call.Name))) {
			lost.m.Parts = append(lost.m.Parts, part)
		}
	}
	lost.m.Origin, lost.m.ContentForm = transcriptv1.Origin_ORIGIN_SHORTENED, 0
	all := asPut(s)
	all.m = asCut(lost, p.MaxReplyChars).m
	return all
}

// whole is a loop shown whole, but for what was cleared.
func whole(o compaction.Options, loop []said) []shown {
	less := slices.Concat(clearings(o, loop)...)
	var out []shown
	for i, s := range loop {
		switch {
		case s.isLeftOut():
		case slices.Contains(less, i):
			out = append(out, asShorter(o.Policy, s))
		default:
			out = append(out, asPut(s))
		}
	}
	return out
}

// condensed is a loop shown condensed, with its calls if that is asked for and it is recent.
func condensed(p compaction.Policy, loop []said, recent bool) []shown {
	var out []shown
	for i, s := range loop {
		switch {
		case s.isLeftOut():
		case s.aside():
			out = append(out, asPut(s))
		case s.m.Role == roleUser:
			out = append(out, asCut(s, p.MaxUserChars))
		case i == finalReply(loop):
			out = append(out, asCut(s, p.MaxReplyChars))
		case p.TraceRequests && recent && p.Clear.Arguments && len(callsOf(s.m)) > 0:
			out = append(out, asShort(p, s))
		case p.TraceRequests && recent && len(callsOf(s.m)) > 0:
			out = append(out, asPut(s))
		case s.answering(p) > 0:
			out = append(out, asAnswer(p, s))
		case s.answers(p) && s.m.Origin != 0:
			out = append(out, asPut(s))
		case s.answers(p):
			out = append(out, asCut(s, p.MaxReplyChars))
		case p.TraceRequests && recent && s.m.Role == roleTool:
			out = append(out, asLine(s))
		}
	}
	return out
}

// settled shows the first n loops from start on, condensed but for the newest.
func (t *talk) settled(o compaction.Options, start, n int) (out []shown) {
	for i := start; i < n; i++ {
		if t.keptWhole(o.Policy, i, n) {
			out = append(out, whole(o, t.loops[i])...)
		} else {
			out = append(out, condensed(o.Policy, t.loops[i], t.recent(o.Policy, i))...)
		}
	}
	return out
}

// keptWhole tells whether loop i, of n that are settled, is shown whole.
func (t *talk) keptWhole(p compaction.Policy, i, n int) bool {
	return i >= n-p.KeepWholeRunLoops && t.recent(p, i)
}

// timeOf is the latest user time through the first message of loop i.
func (t *talk) timeOf(i int) int64 {
	var times []int64
	for _, loop := range t.loops[:i] {
		for _, s := range loop {
			if s.m.Role == roleUser && !s.aside() {
				times = append(times, s.time)
			}
		}
	}
	return slices.Max(append(times, t.loops[i][0].time))
}

// recent tells whether max_age lets loop i be shown richer than condensed.
func (t *talk) recent(p compaction.Policy, i int) bool {
	return p.MaxAge == 0 || t.timeOf(i) >= t.timeOf(len(t.loops)-1)-p.MaxAge
}

// byCount is the start of max_run_loops.
func byCount(p compaction.Policy, n int) int {
	if p.MaxRunLoops == 0 || n <= p.MaxRunLoops {
		return 0
	}
	s := max(1, p.MaxRunLoops/2)
	start := 0
	for start < n-p.MaxRunLoops {
		start += s
	}
	return start
}

// bySize is the start of max_bytes and max_tokens: the list is read in order, and everything is measured again after each
// message.
func bySize(o compaction.Options, list []said) int {
	start := 0
	over := func(t talk, part int64) (bytes, tokens bool) {
		b, k := o.Preamble.Bytes, o.Preamble.Tokens
		all := t.settled(o, start, len(t.before()))
		for _, s := range t.early {
			if !replaced(o, s) && !s.isLeftOut() {
				all = append(all, asPut(s))
			}
		}
		if tellsLeftOut(o) {
			all = append(all, asPut(said{put: put{m: leftOut(2147483647)}}))
		}
		for _, s := range append(all, whole(o, t.last())...) {
			if o.Compact != nil && o.Compact.Summary != nil && s.m.Origin == transcriptv1.Origin_ORIGIN_SUMMARY {
				continue
			}
			b, k = b+s.bytes, k+s.tokens
		}
		if o.Compact != nil && o.Compact.Summary != nil {
			b, k = b+o.Compact.Summary.Bytes, k+o.Compact.Summary.Tokens
		}
		return o.Policy.MaxBytes > 0 && b > o.Policy.MaxBytes/part, o.Policy.MaxTokens > 0 && k > o.Policy.MaxTokens/part
	}
	for n := range list {
		t := talkOf(list[:n+1])
		start = max(start, byCount(o.Policy, len(t.before())))
		bytes, tokens := over(t, 1)
		for start < len(t.before()) {
			b, k := over(t, 2)
			if !(bytes && b) && !(tokens && k) {
				break
			}
			start++
		}
	}
	return start
}

// tellsLeftOut tells whether a left-out line is due where loops were dropped.
func tellsLeftOut(o compaction.Options) bool {
	return !o.Policy.OmitLeftOutLine && (o.Compact == nil || o.Compact.Summary == nil)
}

// leftOut is the left-out line.
func leftOut(loops int) *transcriptv1.Message {
	text := fmt.Sprintf("[%d earlier turns are not shown]", loops)
	return &transcriptv1.Message{Role: roleUser, Origin: transcriptv1.Origin_ORIGIN_LEFT_OUT, Parts: []*transcriptv1.Part{textPart(text)}}
}

// saysLeftOut is how many loops a left-out line says; 0 of another message.
func (s *said) saysLeftOut() (loops int) {
	if s.isLeftOut() {
		_, _ = fmt.Sscanf(s.m.Parts[0].GetText(), "[%d earlier", &loops)
	}
	return loops
}

// earlyOf is what comes before the loops where so many are dropped, the left-out line with it; line is nil or that.
func earlyOf(o compaction.Options, list []said, dropped int) (out []shown, line *transcriptv1.Message) {
	all := dropped
	for _, s := range list {
		all += s.saysLeftOut()
	}
	if all > 0 && tellsLeftOut(o) {
		line = leftOut(all)
	}
	t, stands := talkOf(list), false
	for _, s := range t.early {
		same := line != nil && s.isLeftOut() && s.saysLeftOut() == all
		if same || !replaced(o, s) && !s.isLeftOut() {
			out, stands = append(out, asPut(s)), stands || same
		}
	}
	if line != nil && !stands {
		out = append(out, asPut(said{put: put{m: line}}))
	}
	return out, line
}

func replaced(o compaction.Options, s said) bool {
	return s.isSummary() && o.Compact != nil && o.Compact.Summary != nil
}

// outcome is what a view shows behind the preamble.
type outcome struct {
	messages         []*transcriptv1.Message
	start            int
	from             runloop.Place // of the first loop shown
	loops            bool          // there is one
	exceeded         bool
	condensed, whole int64
}

func (o *outcome) add(some []shown) {
	for _, s := range some {
		o.messages = append(o.messages, s.m)
	}
}

// modelOf is what a conversation or a compaction must show.
func modelOf(o compaction.Options, list []said) outcome {
	t := talkOf(list)
	var out outcome
	settled, last := t.before(), t.last()
	if o.Compact != nil && t.closed() {
		settled, last = t.loops, nil
	}
	n := len(settled)
	out.start = max(byCount(o.Policy, n), bySize(o, list))
	if o.Compact != nil && o.Compact.SummaryOnly {
		out.start = n
	}
	early, line := earlyOf(o, list, out.start)
	out.add(early)
	for _, loop := range append(append([][]said{}, settled[out.start:]...), last) {
		if len(loop) > 0 {
			out.loops, out.from = true, loop[0].at
			break
		}
	}
	for i := out.start; i < n; i++ {
		if t.keptWhole(o.Policy, i, n) {
			out.whole++
		} else {
			out.condensed++
		}
	}
	out.add(t.settled(o, out.start, n))
	out.addLast(o, &t, last)
	if o.Compact != nil && o.Compact.Summary != nil {
		out.dropSummaries()
	}
	if o.Compact == nil {
		bytes, tokens := alwaysShown(o, &t, line)
		out.exceeded = o.Policy.MaxBytes > 0 && bytes > o.Policy.MaxBytes ||
			o.Policy.MaxTokens > 0 && tokens > o.Policy.MaxTokens
	}
	return out
}

// addLast adds the loop that is last, or open where a compaction is made.
func (o *outcome) addLast(opts compaction.Options, t *talk, last []said) {
	if len(last) == 0 {
		return
	}
	counted := int64(min(1, len(t.loops))) // the lead-in is not
	switch {
	case opts.Compact != nil && opts.Compact.Summary != nil:
		dropped := false
		for _, s := range last {
			switch {
			case s.isLeftOut():
			case s.aside() || s.m.Role == roleUser:
				o.add([]shown{asPut(s)})
			default:
				dropped = true
			}
		}
		if !dropped {
			o.whole += counted
		} else {
			o.condensed += counted
		}
	case opts.CondenseLast && t.closed():
		o.add(condensed(opts.Policy, last, true))
		o.condensed++
	default:
		o.add(whole(opts, last))
		o.whole += counted
	}
}

// dropSummaries: an old summary goes where a new one is given.
func (o *outcome) dropSummaries() {
	var kept []*transcriptv1.Message
	for _, m := range o.messages {
		if m.Origin != transcriptv1.Origin_ORIGIN_SUMMARY {
			kept = append(kept, m)
		}
	}
	o.messages = kept
}

func alwaysShown(o compaction.Options, t *talk, line *transcriptv1.Message) (bytes, tokens int64) {
	bytes, tokens = o.Preamble.Bytes, o.Preamble.Tokens
	all := whole(o, t.last())
	for _, s := range t.early {
		if !s.isLeftOut() {
			all = append(all, asPut(s))
		}
	}
	if line != nil {
		all = append(all, asPut(said{put: put{m: line}}))
	}
	for _, s := range all {
		bytes, tokens = bytes+s.bytes, tokens+s.tokens
	}
	return bytes, tokens
}
