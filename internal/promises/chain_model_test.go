package promises

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The model: design 6 read literally, over whole messages, with lists made anew for each question. It shares no code with
// compaction/, runloop and server/.

const (
	system    = transcriptv1.Role_ROLE_SYSTEM
	developer = transcriptv1.Role_ROLE_DEVELOPER
	user      = transcriptv1.Role_ROLE_USER
	assistant = transcriptv1.Role_ROLE_ASSISTANT
	tool      = transcriptv1.Role_ROLE_TOOL

	asSummary   = transcriptv1.Origin_ORIGIN_SUMMARY
	asStub      = transcriptv1.Origin_ORIGIN_STUB
	asShortened = transcriptv1.Origin_ORIGIN_SHORTENED
	asLeftOut   = transcriptv1.Origin_ORIGIN_LEFT_OUT
)

// node is a node of a tree.
type node struct {
	id       string
	parent   *node
	depth    int
	firstPut int64
	messages []*message
	// put is what was put; nil on compaction nodes.
	put *transcriptv1.NewNode
	// covers is what a compaction node covers; nil on others.
	covers *node
	// outcome is how the run ended there.
	outcome transcriptv1.RunOutcome
	// awaits says of a compaction node that its last run loop awaits a first answer, closed that it is closed.
	awaits, closed bool

	// asked answers what was asked already.
	effectiveView *chain
	fullView      *chain
}

// message is a message of a chain or of a view of one. It is never changed.
type message struct {
	*transcriptv1.Message
	// bytes are the message as an entry of a payload.
	bytes []byte
	// note is nil for none.
	note *transcriptv1.MessageNote
	// home and index are where it lies; home is nil on stubs and on left-out lines that a view makes. put and putIndex are where it was put first; put is nil for
	// what the server made of nothing.
	home, put       *node
	index, putIndex int
	// answers is the call that a result answers.
	answers *transcriptv1.ToolCall
	// due is the message that a stub, or a left-out line, stands before; at the end of a node, one of no list that lies there.
	due *message
	// begins says of a message of a compaction node that a run loop began with it where it was put.
	begins bool
}

// copied tells whether the message is one of a compaction node.
func (m *message) copied() bool { return m.home != nil && m.home.covers != nil }

// belongs is the node that a message of a view is told of.
func (m *message) belongs() *node {
	if m.home == nil {
		return m.due.home
	}
	return m.home
}

func encoded(m *transcriptv1.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&transcriptv1.Payload{Messages: []*transcriptv1.Message{m}})
	if err != nil {
		panic(err)
	}
	return b
}

func newMessage(m *transcriptv1.Message, note *transcriptv1.MessageNote) *message {
	return &message{Message: m, bytes: encoded(m), note: note}
}

// with is m with another content, made by the server.
func (m *message) with(content *transcriptv1.Message) *message {
	out := *m
	out.Message, out.bytes = content, encoded(content)
	out.note = m.noted()
	out.note.TokenCount, out.note.TokenCountEstimated = nil, false
	return &out
}

// noted is a copy of its note, an empty one for none.
func (m *message) noted() *transcriptv1.MessageNote {
	if m.note == nil {
		return &transcriptv1.MessageNote{}
	}
	return proto.CloneOf(m.note)
}

func (m *message) calls() []*transcriptv1.ToolCall {
	var out []*transcriptv1.ToolCall
	for _, p := range m.Parts {
		if c := p.GetToolCall(); c != nil {
			out = append(out, c)
		}
	}
	return out
}

func (m *message) speaksForSystem() bool { return m.Role == system || m.Role == developer }
func (m *message) isSummary() bool       { return m.Origin == asSummary }
func (m *message) isLeftOut() bool       { return m.Origin == asLeftOut }
func (m *message) aside() bool           { return m.isSummary() || m.isLeftOut() }
func (m *message) isOpaque() bool        { return len(m.Parts) == 1 && isOpaque(m.Parts[0]) }
func (m *message) asks() bool            { return m.Role == user && !m.aside() }

// counts is the time that it counts with, in milliseconds: when it was sent, but not later than first put, unless a compaction
// copied it; else when it was first put.
func (m *message) counts() int64 {
	if at := m.note.GetSentAt(); at != nil && (m.home.covers != nil || at.AsTime().UnixMilli() < m.home.firstPut) {
		return at.AsTime().UnixMilli()
	}
	return m.home.firstPut
}

func isOpaque(p *transcriptv1.Part) bool { _, ok := p.Kind.(*transcriptv1.Part_Opaque); return ok }

// tokens are what a model counts: none of an opaque message.
func (m *message) tokens() (n int64, estimated bool) {
	if m.isOpaque() {
		return 0, false
	}
	if m.note != nil && m.note.TokenCount != nil {
		return int64(*m.note.TokenCount), m.note.TokenCountEstimated
	}
	return int64(len(m.bytes)+3) / 4, true
}

// isReply tells whether it can be a final reply: no calls, and a part other than reasoning and blank text.
func (m *message) isReply() bool {
	partial := m.State == transcriptv1.MessageState_MESSAGE_STATE_PARTIAL || m.State == transcriptv1.MessageState_MESSAGE_STATE_ABORTED
	if m.Role != assistant || len(m.calls()) > 0 || partial {
		return false
	}
	return slices.ContainsFunc(m.Parts, func(p *transcriptv1.Part) bool {
		switch k := p.Kind.(type) {
		case *transcriptv1.Part_Reasoning:
			return false
		case *transcriptv1.Part_Text:
			return strings.ContainsFunc(k.Text, func(r rune) bool { return !unicode.Is(unicode.White_Space, r) })
		default:
			return true
		}
	})
}

func sameOptional(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// chain is a list of messages, repaired.
type chain struct {
	// all has every message in order, opaque ones and those left out too; out tells which are left out.
	all []*message
	out map[*message]bool
	// shown is what repair leaves, with stubs; open are the calls that await a result at the end.
	shown []*message
	open  []*pairedCall
	// calls are all calls in order.
	calls []*pairedCall
	// preamble is how many of shown are the preamble. Not of bodies.
	preamble int
	// findings are what is found, in order.
	findings []finding
	// ended has the outcomes that stand behind messages of shown, and stubs how many of these they added, by node.
	ended map[*message]transcriptv1.RunOutcome
	stubs map[*node]int
}

// finding is what was found at a message.
type finding struct {
	at    *message
	kind  transcriptv1.FindingKind
	count int
}

func (c *chain) find(at *message, kind transcriptv1.FindingKind, count int) {
	if count > 0 {
		c.findings = append(c.findings, finding{at, kind, count})
	}
}

// pairedCall is a call and what answers it.
type pairedCall struct {
	call   *transcriptv1.ToolCall
	in     *message
	result *message
}

// put is what a node put, in part or whole.
type put struct {
	messages []*message
	outcome  transcriptv1.RunOutcome
	node     *node
}

// repairAlone is repair of messages without the nodes that they come from.
func repairAlone(all []*message) *chain { return repair([]put{{messages: all}}) }

// repair pairs calls with results.
func repair(puts []put) *chain {
	c := &chain{out: map[*message]bool{}, ended: map[*message]transcriptv1.RunOutcome{}, stubs: map[*node]int{}}
	for _, p := range puts {
		c.all = append(c.all, p.messages...)
	}
	var group []*pairedCall
	answered := false
	end := func(at *message) {
		before := len(c.shown)
		for _, p := range group {
			if p.result == nil {
				c.shown = append(c.shown, stubFor(p.call, at))
			}
		}
		if at.Message == nil { // the end of a node: its outcome tells of them
			c.stubs[at.home] = len(c.shown) - before
		} else {
			c.find(at, transcriptv1.FindingKind_FINDING_KIND_UNANSWERED_CALL, len(c.shown)-before)
		}
		group, answered = nil, false
	}
	take := func(m *message) {
		switch calls := m.calls(); {
		case m.isOpaque():
			return
		case m.Role == tool:
			at := slices.IndexFunc(group, func(p *pairedCall) bool { return p.result == nil && sameOptional(p.call.Id, m.ToolCallId) })
			if at < 0 {
				c.out[m] = true
				c.find(m, whyLeftOut(m, group, c.calls), 1)
				return
			}
			group[at].result, answered = m, true
			m.answers = group[at].call
		default:
			if len(calls) == 0 || answered {
				end(m)
			}
			repeated := 0
			for _, call := range calls {
				if call.Id != nil && slices.ContainsFunc(c.calls, func(p *pairedCall) bool { return sameOptional(p.call.Id, call.Id) }) {
					repeated++
				}
				p := &pairedCall{call: call, in: m}
				group, c.calls = append(group, p), append(c.calls, p)
			}
			c.find(m, transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_CALL_ID, repeated)
		}
		c.shown = append(c.shown, m)
	}
	for _, p := range puts {
		for _, m := range p.messages {
			take(m)
		}
		if p.outcome == 0 {
			continue
		}
		end(&message{home: p.node})
		if n := len(c.shown); n > 0 {
			c.ended[c.shown[n-1]] = p.outcome
		}
	}
	for _, p := range group {
		if p.result == nil {
			c.open = append(c.open, p)
		}
	}
	for c.preamble < len(c.shown) && c.shown[c.preamble].speaksForSystem() {
		c.preamble++
	}
	return c
}

// whyLeftOut tells why a result that answers nothing in its group is left out.
func whyLeftOut(m *message, group, calls []*pairedCall) transcriptv1.FindingKind {
	same := func(p *pairedCall) bool { return sameOptional(p.call.Id, m.ToolCallId) }
	switch {
	case slices.ContainsFunc(group, same):
		return transcriptv1.FindingKind_FINDING_KIND_DUPLICATE_RESULT
	case slices.ContainsFunc(calls, same):
		return transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT
	default:
		return transcriptv1.FindingKind_FINDING_KIND_ORPHAN_RESULT
	}
}

func stubFor(call *transcriptv1.ToolCall, due *message) *message {
	m := newMessage(&transcriptv1.Message{
		Role: tool, ToolCallId: call.Id, Name: call.Name, Origin: asStub,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "[no result: the call was interrupted]"}}},
	}, nil)
	m.answers, m.due = call, due
	return m
}

// path is the chain from the root through n.
func (n *node) path() []*node {
	if n == nil {
		return nil
	}
	return append(n.parent.path(), n)
}

// isAncestorOf tells whether n lies on the path of h, which h does too.
func (n *node) isAncestorOf(h *node) bool {
	for ; h != nil; h = h.parent {
		if h == n {
			return true
		}
	}
	return false
}

// full is everything that was put.
func (n *node) full() *chain {
	if n.fullView == nil {
		var all []put
		for _, x := range n.path() {
			if x.covers == nil {
				all = append(all, put{x.messages, x.outcome, x})
			}
		}
		n.fullView = repair(all)
	}
	return n.fullView
}

// compaction is the nearest compaction node on the path; nil without one.
func (n *node) compaction() *node {
	for ; n != nil; n = n.parent {
		if n.covers != nil {
			return n
		}
	}
	return nil
}

// compactedBetween tells whether a compaction node lies behind a, through h.
func compactedBetween(a, h *node) bool {
	for ; h != a; h = h.parent {
		if h.covers != nil {
			return true
		}
	}
	return false
}

// effective is the effective view: its preamble, then its body.
func (n *node) effective() *chain {
	if n.effectiveView == nil {
		full := n.full()
		body := n.body(n)
		view := &chain{preamble: full.preamble, open: body.open, calls: body.calls, all: body.all, out: body.out, ended: body.ended, stubs: body.stubs}
		view.shown = append(slices.Clone(full.shown[:full.preamble]), body.shown...)
		n.effectiveView = view
	}
	return n.effectiveView
}

// body is what the effective view has behind the preamble, through a node on the path.
func (n *node) body(through *node) *chain {
	c := n.compaction()
	if c == nil {
		whole := through.full()
		body := *whole
		body.shown, body.preamble = whole.shown[whole.preamble:], 0
		return &body
	}
	all := []put{{messages: c.messages}}
	for _, x := range through.path() {
		if x.depth > c.covers.depth && x.covers == nil {
			all = append(all, put{x.messages, x.outcome, x})
		}
	}
	body := repair(all)
	body.preamble = 0
	return body
}

func joined(messages []*message) []byte {
	var out [][]byte
	for _, m := range messages {
		out = append(out, m.bytes)
	}
	return bytes.Join(out, nil)
}
