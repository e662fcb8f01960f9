package runloop_test

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The model says what the folds must give, written from the rules as they are worded and not as a fold: it looks at a
// whole chain at once, as often as it likes.

// put is a message of a chain.
type put struct {
	*runloop.Facts
	node  *runloop.Node
	place runloop.Place
}

// putAt is the index that the message had where it was put first.
func (p put) putAt() uint32 {
	if p.node.PutAt != nil {
		return p.node.PutAt[p.place.Index]
	}
	return p.place.Index
}

// group is a run of assistant messages with calls, and the results that answer them.
type group struct {
	calls, results []int // places in the list of messages
	ended          int   // the message that ended it, or -1
	outcome        int   // the end of a node whose outcome ended it, or -1
	due            []callAt
	answered       map[callAt]int // the result that answers a call
}

// callAt is a call: of message m the k-th.
type callAt struct{ m, k int }

// ending is the outcome of a node. It acts behind the message before place at in the list of messages.
type ending struct {
	at      int
	node    int
	outcome runloop.Outcome
}

type model struct {
	nodes   []runloop.Node
	all     []put
	endings []ending
	leftOut map[int]bool
	groups  []*group
	marks   []runloop.Mark
	stubs   [][]runloop.Call // at the end of each node
	state   runloop.State
}

func newModel(nodes []runloop.Node) *model {
	m := &model{nodes: nodes, leftOut: map[int]bool{}}
	for i := range nodes {
		for k := range nodes[i].Messages {
			m.all = append(m.all, put{&nodes[i].Messages[k], &nodes[i], runloop.Place{Seq: nodes[i].Seq, Index: uint32(k)}})
		}
		if o := nodes[i].Outcome; o != runloop.NoOutcome {
			m.endings = append(m.endings, ending{len(m.all), i, o})
		}
	}
	m.stubs = make([][]runloop.Call, len(nodes))
	for {
		bad := m.findGroups()
		if bad < 0 {
			break
		}
		m.leftOut[bad] = true
	}
	m.marks = make([]runloop.Mark, len(m.all))
	m.state.Full.Nodes, m.state.Effective.Nodes = int64(len(nodes)), int64(len(nodes))
	m.markRepairs()
	m.markLines()
	m.loops()
	m.totals()
	m.others()
	return m
}

// shown lists the messages that are neither opaque nor left out.
func (m *model) shown() []int {
	var out []int
	for i := range m.all {
		if !m.all[i].Opaque && !m.leftOut[i] {
			out = append(out, i)
		}
	}
	return out
}

// between is the first outcome behind message a and before message b of the list, or -1.
func (m *model) between(a, b int) int {
	for k, e := range m.endings {
		if a < e.at && e.at <= b {
			return k
		}
	}
	return -1
}

// findGroups divides the shown messages into groups, and returns the first result that answers nothing, or -1.
func (m *model) findGroups() int {
	m.groups = nil
	list := m.shown()
	for i := 0; i < len(list); i++ {
		if m.all[list[i]].Role == runloop.Tool {
			return list[i]
		}
		if len(m.all[list[i]].Calls) == 0 {
			continue
		}
		g := &group{ended: -1, outcome: -1, answered: map[callAt]int{}}
		last := list[i]
		goesOn := func() bool { return i < len(list) && m.between(last, list[i]) < 0 }
		for ; goesOn() && len(m.all[list[i]].Calls) > 0; i++ {
			last = list[i]
			g.calls = append(g.calls, last)
		}
		for ; goesOn() && m.all[list[i]].Role == runloop.Tool; i++ {
			if !m.answer(g, list[i]) {
				return list[i]
			}
			last = list[i]
			g.results = append(g.results, last)
		}
		if i < len(list) {
			g.ended = list[i]
		}
		if k := m.between(last, len(m.all)); k >= 0 && (g.ended < 0 || m.endings[k].at <= g.ended) {
			g.ended, g.outcome = -1, k
		}
		for _, c := range m.callsOf(g) {
			if _, ok := g.answered[c]; !ok {
				g.due = append(g.due, c)
			}
		}
		m.groups = append(m.groups, g)
		i--
	}
	return -1
}

func (m *model) callsOf(g *group) []callAt {
	var out []callAt
	for _, i := range g.calls {
		for k := range m.all[i].Calls {
			out = append(out, callAt{i, k})
		}
	}
	return out
}

func (m *model) call(c callAt) runloop.Call { return m.all[c.m].Calls[c.k] }

// answer lets a result answer the first unanswered call with its id.
func (m *model) answer(g *group, result int) bool {
	for _, c := range m.callsOf(g) {
		if _, ok := g.answered[c]; !ok && m.call(c).ID == m.all[result].CallID {
			g.answered[c] = result
			return true
		}
	}
	return false
}

func (m *model) markRepairs() {
	for i := range m.leftOut {
		m.marks[i].LeftOut = m.why(i)
	}
	for _, g := range m.groups {
		if g.ended >= 0 {
			for _, c := range g.due {
				m.marks[g.ended].Stubs = append(m.marks[g.ended].Stubs, m.call(c))
			}
		}
		if g.outcome >= 0 {
			for _, c := range g.due {
				node := m.endings[g.outcome].node
				m.stubs[node] = append(m.stubs[node], m.call(c))
			}
		}
	}
	earlier := map[runloop.Optional]bool{}
	for i := range m.all {
		for _, c := range m.all[i].Calls {
			if c.ID.Present && earlier[c.ID] {
				m.marks[i].RepeatedIDs++
			}
			earlier[c.ID] = true
		}
	}
}

// why says why a result is left out: its place tells what the open group is.
func (m *model) why(result int) runloop.LeftOut {
	before := result - 1
	for before >= 0 && (m.all[before].Opaque || m.leftOut[before]) {
		before--
	}
	id := m.all[result].CallID
	for _, g := range m.groups {
		open := false
		for _, member := range append(append([]int{}, g.calls...), g.results...) {
			open = open || member == before && m.between(before, result) < 0
		}
		for _, c := range m.callsOf(g) {
			if open && c.m < result && m.call(c).ID == id {
				return runloop.Duplicate
			}
		}
	}
	for _, p := range m.all[:result] {
		for _, c := range p.Calls {
			if c.ID == id {
				return runloop.Late
			}
		}
	}
	return runloop.Orphan
}

// field is an entry of a length-delimited field with a small number.
func field(number int, body []byte) []byte {
	b := binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(body)))
	return append(b, body...)
}

// stubBytes is a stub as design 6 words it, encoded.
func stubBytes(c runloop.Call) []byte {
	body := []byte{1 << 3, 5} // role TOOL
	body = append(body, field(2, field(8, []byte("[no result: the call was interrupted]")))...)
	if c.ID.Present {
		body = append(body, field(3, []byte(c.ID.Value))...)
	}
	if c.Name.Present {
		body = append(body, field(5, []byte(c.Name.Value))...)
	}
	return field(1, append(body, 9<<3, 2)) // origin STUB
}

// lineBytes is the message that a line makes of a result, with zeros for what stays.
func lineBytes(f *runloop.Facts, name runloop.Optional, prefix string, index uint32) []byte {
	dash := func(o runloop.Optional) string {
		if o.Present {
			return o.Value
		}
		return "-"
	}
	text := fmt.Sprintf("[result of %s, %d bytes, left out; recall %s %s.%d]", dash(name), f.PartsLength, dash(f.CallID), prefix, index)
	body := append(make([]byte, f.BareLength), field(2, field(8, []byte(text)))...)
	return field(1, append(body, 9<<3, 3)) // origin SHORTENED
}

func (m *model) markLines() {
	for _, g := range m.groups {
		for c, i := range g.answered {
			m.marks[i].Answers = 1 + slices.Index(m.callsOf(g), c)
			if m.all[i].Made {
				continue
			}
			name := m.all[i].Name
			if !name.Present {
				name = m.call(c).Name
			}
			line := len(lineBytes(m.all[i].Facts, name, m.all[i].node.Prefix, m.all[i].putAt()))
			if line < m.all[i].Length {
				m.marks[i].LineLength = line
			}
		}
	}
}

// spoken is an entry of the repaired list: message i, or what has none: a stub, an outcome, the end of copies.
type spoken struct {
	i       int
	stub    bool
	outcome runloop.Outcome
	copies  *runloop.Loops
	runloop.Facts
}

// message tells whether it is one, no stub, that changes loops.
func (s *spoken) message() bool {
	return s.i >= 0 && s.Role >= runloop.User && !s.Summary && !s.LeftOutLine
}

func (m *model) repaired() []spoken {
	var out []spoken
	stubs := func(calls []runloop.Call) {
		for _, c := range calls {
			out = append(out, spoken{i: -1, stub: true, Facts: runloop.Facts{Role: runloop.Tool, Length: len(stubBytes(c)), CallID: c.ID}})
		}
	}
	i := 0
	for n := range m.nodes {
		for range m.nodes[n].Messages {
			if !m.all[i].Opaque && !m.leftOut[i] {
				stubs(m.marks[i].Stubs)
				out = append(out, spoken{i: i, Facts: *m.all[i].Facts})
			}
			i++
		}
		if o := m.nodes[n].Outcome; o != runloop.NoOutcome {
			stubs(m.stubs[n])
			out = append(out, spoken{i: -1, outcome: o})
		}
		if l := m.nodes[n].Loops; l != nil {
			out = append(out, spoken{i: -1, copies: l})
		}
	}
	return out
}

// loop is a run loop: its first message and all that was said in it since; copied messages say nothing.
type loop struct {
	first  put
	leadIn bool
	said   []spoken
	// copied says that it was copied, and stood so at the end of the copies.
	copied bool
	stood  runloop.Phase
}

// loops finds the run loops of the repaired list, and what the last of them is like.
func (m *model) loops() {
	var all []*loop
	last := func() *loop { return all[len(all)-1] }
	begin := func(s spoken, copied bool) {
		mark := &m.marks[s.i]
		mark.BeginsLoop, mark.LeadIn = true, s.Role != runloop.User
		if len(all) > 0 && !copied {
			before := last().state()
			mark.Interrupts = before.Unanswered || before.Phase != runloop.Ended && !before.Replied
		}
		all = append(all, &loop{first: m.all[s.i], leadIn: mark.LeadIn, copied: copied, stood: runloop.Asked})
	}
	for _, s := range m.repaired() {
		switch {
		case s.copies != nil:
			if len(all) > 0 {
				last().stood = s.copies.Phase
			}
			continue
		case s.message() && m.all[s.i].node.Loops != nil:
			if m.all[s.i].node.Loops.Begins[m.all[s.i].place.Index] {
				begin(s, true)
			}
			continue
		case s.message() && (len(all) == 0 || s.Role == runloop.User && last().state().Phase != runloop.Asked):
			begin(s, false)
		}
		if len(all) > 0 && (s.message() || s.stub || s.outcome != 0) {
			last().said = append(last().said, s)
		}
	}
	users := int64(0)
	for _, l := range all {
		if !l.leadIn {
			users++
		}
	}
	var end runloop.Loop
	if len(all) > 0 {
		end = last().state()
	}
	m.state.Full.Loop, m.state.Effective.Loop = end, end
	m.state.Full.Loops, m.state.Effective.Loops = users, users
}

// state is how the loop stands.
func (l *loop) state() runloop.Loop {
	out := runloop.Loop{Phase: l.stood, LeadIn: l.leadIn, Start: l.first.place}
	for _, s := range l.said {
		switch {
		case s.outcome != 0 && !l.leadIn:
			out.Phase, out.Outcome = runloop.Ended, s.outcome
		case s.message() && s.Role != runloop.User:
			out.Phase, out.Outcome = runloop.Working, runloop.NoOutcome
		}
	}
	reply, spoke := -1, -1
	for k, s := range l.said {
		if s.Role == runloop.Assistant && len(s.Calls) == 0 && !s.Empty && !s.Partial {
			reply = k
		}
		if s.outcome == 0 {
			spoke = k
		}
		if s.stub && !slices.ContainsFunc(l.said[k:], func(later spoken) bool { return later.outcome != 0 }) {
			out.Unanswered = true
		}
	}
	out.Replied, out.ReplyLast = reply >= 0, reply >= 0 && reply == spoke
	return out
}

func (m *model) totals() {
	for i := range m.all {
		sum(&m.state.Full.Totals, m.all[i].Facts)
	}
	for _, s := range m.repaired() {
		if s.i < 0 && !s.stub {
			continue
		}
		sum(&m.state.Effective.Totals, &s.Facts)
		if s.stub {
			m.state.Repairs++
		}
	}
	m.state.Repairs += int64(len(m.leftOut))
}

func sum(t *runloop.Totals, f *runloop.Facts) {
	t.Messages++
	t.Bytes += int64(f.Length)
	if f.Opaque {
		return
	}
	if f.Role == runloop.User || f.Role == runloop.Assistant {
		t.Depth++
	}
	switch {
	case f.Note.HasTokens:
		t.Tokens += int64(f.Note.Tokens)
		t.Estimated = t.Estimated || f.Note.Estimated
	default:
		t.Tokens += int64(f.Length / 4)
		if f.Length%4 > 0 {
			t.Tokens++
		}
		t.Estimated = true
	}
}

// others finds the preamble's end, the latest user time and the group at the head.
func (m *model) others() {
	s := &m.state
	for _, i := range m.shown() {
		p := m.all[i]
		if p.Role != runloop.System && p.Role != runloop.Developer && !s.PreambleClosed {
			s.PreambleClosed, s.PreambleEnd = true, p.place
		}
		if p.Role == runloop.User && !p.Summary && !p.LeftOutLine {
			t := p.node.Times.FirstPut
			if p.Note.HasSentAt && (p.node.Times.AsSent || p.Note.SentAt < t) {
				t = p.Note.SentAt
			}
			for _, v := range []*runloop.View{&s.Full, &s.Effective} {
				if !v.HasLatestUser || v.LatestUser < t {
					v.HasLatestUser, v.LatestUser = true, t
				}
			}
		}
	}
	for _, g := range m.groups {
		if g.ended >= 0 || g.outcome >= 0 {
			continue
		}
		s.Group.Results = len(g.results) > 0
		for _, c := range m.callsOf(g) {
			_, answered := g.answered[c]
			s.Group.Calls = append(s.Group.Calls, m.call(c))
			s.Group.Answered = append(s.Group.Answered, answered)
		}
	}
}
