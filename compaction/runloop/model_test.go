package runloop_test

import (
	"encoding/binary"
	"fmt"

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
	due            []callAt
	answered       map[callAt]int // the result that answers a call
}

// callAt is a call: of message m the k-th.
type callAt struct{ m, k int }

type model struct {
	all     []put
	leftOut map[int]bool
	groups  []*group
	marks   []runloop.Mark
	state   runloop.State
}

func newModel(nodes []runloop.Node) *model {
	m := &model{leftOut: map[int]bool{}}
	for i := range nodes {
		for k := range nodes[i].Messages {
			m.all = append(m.all, put{&nodes[i].Messages[k], &nodes[i], runloop.Place{Seq: nodes[i].Seq, Index: uint32(k)}})
		}
	}
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

// shown lists the messages that are not left out.
func (m *model) shown() []int {
	var out []int
	for i := range m.all {
		if !m.leftOut[i] {
			out = append(out, i)
		}
	}
	return out
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
		g := &group{ended: -1, answered: map[callAt]int{}}
		for ; i < len(list) && len(m.all[list[i]].Calls) > 0; i++ {
			g.calls = append(g.calls, list[i])
		}
		for ; i < len(list) && m.all[list[i]].Role == runloop.Tool; i++ {
			if !m.answer(g, list[i]) {
				return list[i]
			}
			g.results = append(g.results, list[i])
		}
		if i < len(list) {
			g.ended = list[i]
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
	for before >= 0 && m.leftOut[before] {
		before--
	}
	id := m.all[result].CallID
	for _, g := range m.groups {
		open := false
		for _, member := range append(append([]int{}, g.calls...), g.results...) {
			open = open || member == before
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

// spoken is an entry of the repaired list: message i, or a stub before it.
type spoken struct {
	i    int
	stub bool
	runloop.Facts
}

func (m *model) repaired() []spoken {
	var out []spoken
	for _, i := range m.shown() {
		for _, c := range m.marks[i].Stubs {
			out = append(out, spoken{i, true, runloop.Facts{Role: runloop.Tool, Length: len(stubBytes(c)), CallID: c.ID}})
		}
		out = append(out, spoken{i, false, *m.all[i].Facts})
	}
	return out
}

// loops finds the run loops of the repaired list: first where they begin, then what each is like.
func (m *model) loops() {
	var talk []spoken // without what changes no loop
	for _, s := range m.repaired() {
		if s.Role >= runloop.User && !s.Summary {
			talk = append(talk, s)
		}
	}
	var starts []int
	for k, s := range talk {
		if k == 0 || s.Role == runloop.User && talk[k-1].Role != runloop.User {
			starts = append(starts, k)
		}
	}
	var last runloop.Loop
	users := int64(0)
	for n, k := range starts {
		mark := &m.marks[talk[k].i]
		mark.BeginsLoop = true
		mark.LeadIn = talk[k].Role != runloop.User
		mark.Interrupts = n > 0 && (!last.Replied || last.Unanswered)
		end := len(talk)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		if last = m.loop(talk[k:end]); !last.LeadIn {
			users++
		}
	}
	m.state.Full.Loop, m.state.Effective.Loop = last, last
	m.state.Full.Loops, m.state.Effective.Loops = users, users
}

func (m *model) loop(talk []spoken) runloop.Loop {
	l := runloop.Loop{Phase: runloop.Asked, Start: m.all[talk[0].i].place, LeadIn: talk[0].Role != runloop.User}
	reply := -1
	for k, s := range talk {
		if s.Role != runloop.User {
			l.Phase = runloop.Working
		}
		if s.Role == runloop.Assistant && len(s.Calls) == 0 && !s.Empty {
			reply = k
		}
		l.Unanswered = l.Unanswered || s.stub
	}
	l.Replied, l.ReplyLast = reply >= 0, reply >= 0 && reply == len(talk)-1
	return l
}

func (m *model) totals() {
	for i := range m.all {
		sum(&m.state.Full.Totals, m.all[i].Facts)
	}
	for _, s := range m.repaired() {
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
		if p.Role == runloop.User && !p.Summary {
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
		if g.ended >= 0 {
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
