package runloop

import (
	"errors"
	"slices"
)

// ErrGroupTooLarge says that the group at the head would be over MaxGroupCalls or MaxGroupBytes.
var ErrGroupTooLarge = errors.New("the open group of tool calls is too large")

// Node is one node's share of a fold.
type Node struct {
	// Seq is the number of its ancestors.
	Seq uint32
	// Prefix is the first 12 hex digits of its id.
	Prefix string
	// Times are those of its messages.
	Times Times
	// Messages are the facts of its messages, in order.
	Messages []Facts
	// PutAt has, for a compaction node, the index that each message had in the node that it was put in first; nil: they
	// were put in this node.
	PutAt []uint32
	// Outcome, if there is one, ends the run behind its messages.
	Outcome Outcome
	// Loops are, of a compaction node, the run loops of its messages as they were where they were put; nil: they are found in
	// the messages.
	Loops *Loops
}

// Loops are the run loops that copied messages begin and end in.
type Loops struct {
	// Begins has, for each message, whether a loop begins there.
	Begins []bool
	// Phase is where the last of them stands; None where there is none.
	Phase Phase
}

// LeftOut says why repair leaves a result out. Part of the storage format: must not change.
type LeftOut uint8

// Why a result is left out.
const (
	// Shown: it is not.
	Shown LeftOut = 0
	// Duplicate: the calls of its id in the open group are all answered.
	Duplicate LeftOut = 1
	// Late: not so, but a call with its id lies earlier on the path.
	Late LeftOut = 2
	// Orphan: neither.
	Orphan LeftOut = 3
)

// Mark is what the fold says of one message: nothing of an opaque one.
type Mark struct {
	// LeftOut says whether and why repair leaves it out.
	LeftOut LeftOut
	// Stubs are the calls without a result whose group it ends: their stubs stand before it, in this order.
	Stubs []Call
	// LineLength is, for a result that is shown, the encoded size with its parts replaced by a line; 0 where that is
	// not shorter, and on all other messages.
	LineLength int
	// Answers is, for a result that is shown, which call of its group it answers, counted from 1; 0 where that is not told: on all
	// other messages, and in a header of version 1.
	Answers int
	// RepeatedIDs counts its calls whose id an earlier call on the path has.
	RepeatedIDs int
	// BeginsLoop says that it begins a run loop of the effective view, the lead-in included; Interrupts, that the loop
	// before ends with it without a final reply or with an unanswered call; LeadIn, that the loop begun is the lead-in.
	// Without compaction the loops of the full view are the same; with it they are found by folding again.
	BeginsLoop, Interrupts, LeadIn bool
}

// Earlier tells whether a call with this id lies in an ancestor of the node being folded.
type Earlier func(id Optional) bool

// LoopsOf are the run loops that messages have by themselves: ErrGroupTooLarge.
func LoopsOf(messages []Facts) (*Loops, error) {
	var s State
	marks, _, err := s.Fold(Node{Messages: messages}, func(Optional) bool { return false })
	if err != nil {
		return nil, err
	}
	l := &Loops{Begins: make([]bool, len(marks)), Phase: s.Effective.Loop.Phase}
	for i := range marks {
		l.Begins[i] = marks[i].BeginsLoop
	}
	return l, nil
}

// Fold continues the fold over one node and returns a mark for each of its messages, and the calls without a result whose group
// the node's outcome ends: their stubs stand at its end. s is unchanged on error: ErrGroupTooLarge. earlier is asked only about
// present ids and about results that answer nothing in their group.
func (s *State) Fold(n Node, earlier Earlier) ([]Mark, []Call, error) {
	f := folder{State: *s, node: n, earlier: earlier}
	marks := make([]Mark, len(n.Messages))
	f.Full.Nodes++
	f.Effective.Nodes++
	for i := range n.Messages {
		if err := f.message(uint32(i), &n.Messages[i], &marks[i]); err != nil {
			return nil, nil, err
		}
	}
	var stubs []Call
	if n.Outcome != NoOutcome {
		stubs = f.end()
	}
	if n.Loops != nil && f.Effective.Loop.Phase != None {
		f.Effective.Loop.Phase = n.Loops.Phase
	}
	*s = f.State
	return marks, stubs, nil
}

// folder is a fold under way in one node.
type folder struct {
	State
	node    Node
	earlier Earlier
	// seen are the ids of the calls of this node so far.
	seen map[Optional]bool
}

// end lets the node's outcome end the group and the run, and returns the calls that got no result.
func (f *folder) end() []Call {
	stubs := f.endGroup()
	f.stub(stubs)
	f.Full.Loop.End(f.node.Outcome)
	f.Effective.Loop.End(f.node.Outcome)
	return stubs
}

// stub adds the stubs of calls.
func (f *folder) stub(calls []Call) {
	for _, c := range calls {
		f.Repairs++
		f.Full.Loop.Stub()
		f.Effective.stub(c)
	}
}

func (f *folder) message(i uint32, m *Facts, mark *Mark) error {
	at := Place{Seq: f.node.Seq, Index: i}
	if m.Opaque {
		b := BriefOf(m, *mark)
		f.Full.count(&b)
		return nil
	}
	if err := f.pair(m, mark, i); err != nil {
		return err
	}
	f.stub(mark.Stubs)
	b := BriefOf(m, *mark)
	f.Full.count(&b)
	if mark.LeftOut != Shown {
		f.Repairs++
		return nil
	}
	f.preamble(m, at)
	f.Full.Hear(&b, f.node.Times)
	_, mark.Interrupts = f.Full.loop(&b, at)
	if f.node.Loops != nil {
		mark.BeginsLoop, mark.Interrupts = f.node.Loops.Begins[i], false
		f.Effective.copied(&b, at, f.node.Times, mark.BeginsLoop)
	} else {
		mark.BeginsLoop, _ = f.Effective.message(&b, at, f.node.Times)
	}
	mark.LeadIn = mark.BeginsLoop && f.Effective.Loop.LeadIn
	return nil
}

// pair finds what the message does to the group at the head.
func (f *folder) pair(m *Facts, mark *Mark, i uint32) error {
	if m.Role == Tool {
		f.result(m, mark, i)
		return nil
	}
	continues := len(m.Calls) > 0 && !f.Group.Results
	if !continues {
		mark.Stubs = f.endGroup()
	}
	if len(m.Calls) == 0 {
		return nil
	}
	f.Group.Calls = append(slices.Clip(f.Group.Calls), m.Calls...)
	f.Group.Answered = append(slices.Clip(f.Group.Answered), make([]bool, len(m.Calls))...)
	if len(f.Group.Calls) > MaxGroupCalls || f.Group.Size() > MaxGroupBytes {
		return ErrGroupTooLarge
	}
	for _, c := range m.Calls {
		if c.ID.Present && f.knows(c.ID) {
			mark.RepeatedIDs++
		}
		f.see(c.ID)
	}
	return nil
}

// result pairs a result with the first unanswered call of its id, or finds why it is left out.
func (f *folder) result(m *Facts, mark *Mark, i uint32) {
	inGroup := false
	for k, c := range f.Group.Calls {
		if c.ID != m.CallID {
			continue
		}
		if inGroup = true; f.Group.Answered[k] {
			continue
		}
		f.Group.Answered = slices.Clone(f.Group.Answered)
		f.Group.Answered[k] = true
		f.Group.Results = true
		mark.Answers = k + 1
		name := m.Name
		if !name.Present {
			name = c.Name
		}
		if !m.Made {
			mark.LineLength = lineLength(name, m, f.node.source(i))
		}
		return
	}
	switch {
	case inGroup:
		mark.LeftOut = Duplicate
	case f.knows(m.CallID):
		mark.LeftOut = Late
	default:
		mark.LeftOut = Orphan
	}
}

// endGroup ends the group at the head and returns its calls without a result.
func (f *folder) endGroup() []Call {
	var due []Call
	for k, answered := range f.Group.Answered {
		if !answered {
			due = append(due, f.Group.Calls[k])
		}
	}
	f.Group = Group{}
	return due
}

func (f *folder) knows(id Optional) bool { return f.seen[id] || f.earlier(id) }

func (f *folder) see(id Optional) {
	if f.seen == nil {
		f.seen = make(map[Optional]bool)
	}
	f.seen[id] = true
}

func (f *folder) preamble(m *Facts, at Place) {
	if !f.PreambleClosed && m.Role != System && m.Role != Developer {
		f.PreambleClosed, f.PreambleEnd = true, at
	}
}

// source is where message i was put first.
func (n *Node) source(i uint32) Source {
	if n.PutAt != nil {
		i = n.PutAt[i]
	}
	return Source{Node: n.Prefix, Index: int(i)}
}

// message lets a message that a view shows act on it.
func (v *View) message(m *Brief, at Place, times Times) (begins, interrupts bool) {
	v.count(m)
	v.Hear(m, times)
	return v.loop(m, at)
}

// copied lets a copied message act on a view, which begins a loop if it is said to.
func (v *View) copied(m *Brief, at Place, times Times, begins bool) {
	v.count(m)
	v.Hear(m, times)
	if !begins {
		return
	}
	v.Loop = Loop{Phase: Asked, Start: at, LeadIn: m.Role != User}
	if m.Role == User {
		v.Loops++
	}
}

// count adds a message to the totals.
func (v *View) count(m *Brief) {
	length, tokens, estimated := m.Counted()
	v.add(!m.Opaque && (m.Role == User || m.Role == Assistant), length, tokens, estimated)
}

// stub adds the stub for a call to a view; it is a tool message of the loop that its group belongs to.
func (v *View) stub(c Call) {
	length := StubLength(c)
	v.add(false, length, EstimateTokens(int64(length)), true)
	v.Loop.Stub()
}

// Hear lets a message that a view shows act on the latest time of a user.
func (v *View) Hear(m *Brief, times Times) {
	if m.Role != User || m.Aside() {
		return
	}
	if at := times.Of(m); !v.HasLatestUser || at > v.LatestUser {
		v.LatestUser, v.HasLatestUser = at, true
	}
}

// loop lets a shown message act on the last loop of a view.
func (v *View) loop(m *Brief, at Place) (begins, interrupts bool) {
	begins, interrupts = v.Loop.Next(m, at)
	if begins && m.Role == User {
		v.Loops++
	}
	return begins, interrupts
}

// Next lets the next message that a view shows act on its last loop, and tells whether it begins one, and then whether
// the one before is interrupted. Stubs are told by Stub.
func (l *Loop) Next(m *Brief, at Place) (begins, interrupts bool) {
	switch {
	case m.Role == System || m.Role == Developer || m.Aside():
	case m.Role == User && l.Phase == Asked:
	case m.Role == User:
		interrupts = l.Interrupted()
		*l = Loop{Phase: Asked, Start: at}
		return true, interrupts
	default:
		if begins = l.Phase == None; begins {
			*l = Loop{LeadIn: true, Start: at}
		}
		l.Phase, l.Outcome = Working, NoOutcome
		l.ReplyLast = m.CanReply()
		l.Replied = l.Replied || l.ReplyLast
	}
	return begins, interrupts
}

// End lets an outcome act on the last loop: what got no result before it is told by it. It closes neither the lead-in nor no loop.
func (l *Loop) End(o Outcome) {
	l.Unanswered = false
	if l.Phase != None && !l.LeadIn {
		l.Phase, l.Outcome = Ended, o
	}
}

// Stub lets a stub act on the last loop, if there is one.
func (l *Loop) Stub() { l.Unanswered, l.ReplyLast = l.Phase != None, false }

// CanReply tells whether the message is a final reply where no later one of its loop is.
func (b *Brief) CanReply() bool { return b.Role == Assistant && b.Calls == 0 && !b.Empty && !b.Partial }
