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
	// FirstPut is when it was first put, in milliseconds since the epoch.
	FirstPut int64
	// Messages are the facts of its messages, in order.
	Messages []Facts
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

// Mark is what the fold says of one message.
type Mark struct {
	// LeftOut says whether and why repair leaves it out.
	LeftOut LeftOut
	// Stubs are the calls without a result whose group it ends: their stubs stand before it, in this order.
	Stubs []Call
	// LineLength is, for a result that is shown, the encoded size with its parts replaced by a line; 0 where that is
	// not shorter, and on all other messages.
	LineLength int
	// RepeatedIDs counts its calls whose id an earlier call on the path has.
	RepeatedIDs int
	// BeginsLoop says that it begins a run loop of the effective view, the lead-in included; Interrupts, that the loop
	// before ends with it without a final reply or with an unanswered call; LeadIn, that the loop begun is the lead-in.
	// Without compaction the loops of the full view are the same; with it they are found by folding again.
	BeginsLoop, Interrupts, LeadIn bool
}

// Earlier tells whether a call with this id lies in an ancestor of the node being folded.
type Earlier func(id Optional) bool

// Fold continues the fold over one node and returns a mark for each of its messages. s is unchanged on error:
// ErrGroupTooLarge. earlier is asked only about present ids and about results that answer nothing in their group.
func (s *State) Fold(n Node, earlier Earlier) ([]Mark, error) {
	f := folder{State: *s, node: n, earlier: earlier}
	marks := make([]Mark, len(n.Messages))
	f.Full.Nodes++
	f.Effective.Nodes++
	for i := range n.Messages {
		if err := f.message(uint32(i), &n.Messages[i], &marks[i]); err != nil {
			return nil, err
		}
	}
	*s = f.State
	return marks, nil
}

// folder is a fold under way in one node.
type folder struct {
	State
	node    Node
	earlier Earlier
	// seen are the ids of the calls of this node so far.
	seen map[Optional]bool
}

func (f *folder) message(i uint32, m *Facts, mark *Mark) error {
	at := Place{Seq: f.node.Seq, Index: i}
	if err := f.pair(m, mark, i); err != nil {
		return err
	}
	for _, c := range mark.Stubs {
		f.stub(c)
	}
	tokens, estimated := m.Tokens()
	f.Full.add(m.Role, m.Length, tokens, estimated)
	if mark.LeftOut != Shown {
		f.Repairs++
		return nil
	}
	f.preamble(m, at)
	f.Effective.add(m.Role, m.Length, tokens, estimated)
	if m.Role == User && !m.Summary {
		at := m.sentAt(f.node.FirstPut)
		f.Full.user(at)
		f.Effective.user(at)
	}
	f.Full.loop(m, at)
	begins, interrupts := f.Effective.loop(m, at)
	mark.BeginsLoop, mark.Interrupts = begins, interrupts
	mark.LeadIn = begins && f.Effective.Loop.LeadIn
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
		name := m.Name
		if !name.Present {
			name = c.Name
		}
		mark.LineLength = lineLength(name, m, Source{Node: f.node.Prefix, Index: int(i)})
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

// stub adds a stub to the effective view; it is a tool message of the loop that its group belongs to.
func (f *folder) stub(c Call) {
	length := StubLength(c)
	f.Repairs++
	f.Effective.add(Tool, length, tokensOf(length), true)
	f.Full.Loop.stub()
	f.Effective.Loop.stub()
}

func (l *Loop) stub() { l.Unanswered, l.ReplyLast = true, false }

func (f *folder) preamble(m *Facts, at Place) {
	if !f.PreambleClosed && m.Role != System && m.Role != Developer {
		f.PreambleClosed, f.PreambleEnd = true, at
	}
}

// sentAt is when the message was sent, else when its node was first put.
func (f *Facts) sentAt(firstPut int64) int64 {
	if f.Note.HasSentAt {
		return f.Note.SentAt
	}
	return firstPut
}

// user lets a user message of that time act on the latest time of a view.
func (v *View) user(at int64) {
	if !v.HasLatestUser || at > v.LatestUser {
		v.LatestUser, v.HasLatestUser = at, true
	}
}

// loop lets a shown message act on the last loop of a view.
func (v *View) loop(m *Facts, at Place) (begins, interrupts bool) {
	l := &v.Loop
	switch {
	case m.Role == System || m.Role == Developer || m.Summary:
	case m.Role == User && l.Phase == Asked:
	case m.Role == User:
		interrupts = l.Interrupted()
		*l = Loop{Phase: Asked, Start: at}
		v.Loops++
		return true, interrupts
	default:
		if begins = l.Phase == None; begins {
			*l = Loop{LeadIn: true, Start: at}
		}
		l.Phase = Working
		l.ReplyLast = m.Role == Assistant && len(m.Calls) == 0 && !m.Empty
		l.Replied = l.Replied || l.ReplyLast
	}
	return begins, interrupts
}
