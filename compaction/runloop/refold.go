package runloop

// Refold is the fold of the effective view behind a compaction node: the preamble, the node's messages, and the
// messages of the nodes between the last one that it covers and itself, other compaction nodes left out. What comes
// after the node continues the State that it ends in.
//
// Groups need not be paired again. No call is unanswered in the group at the covered node, so whatever becomes of that
// group, a later result answers a call behind it or nothing, and a later group begins behind it: a result is shown, and
// a stub due, exactly where they were before. Nor can run loops join or part: the node says where they begin and how the last
// of them stands. (Those of version 1 do not: there a loop of which the node keeps the question alone is asked again.)
type Refold struct {
	state State
	// tail says that a message that ends or begins a group was added behind the node, whose group is then the parent's.
	tail bool
}

// NewRefold begins with the fold through the last node that is preamble as a whole; the zero State where there is none.
func NewRefold(preamble State) *Refold { return &Refold{state: preamble} }

// Folded is a node that is folded already.
type Folded struct {
	Seq      uint32
	Times    Times
	Messages []Brief
	// Stubs are the calls whose stubs stand at its end, Outcome what ended the run there.
	Stubs   []Call
	Outcome Outcome
}

// Add continues over messages that are folded already, as their marks say they are shown: those of the node that the
// preamble ends in that come before its end, or, behind Compaction, a node after the one that is covered. They stay the
// caller's.
func (r *Refold) Add(n Folded) {
	r.state.Effective.Nodes++
	for i := range n.Messages {
		m := &n.Messages[i]
		r.stub(m.Mark.Stubs)
		if m.Mark.LeftOut != Shown {
			r.state.Repairs++
		}
		if !m.Shown() {
			continue
		}
		r.tail = r.tail || m.Role != Tool
		r.state.Effective.message(m, Place{Seq: n.Seq, Index: uint32(i)}, n.Times)
	}
	if n.Outcome != NoOutcome {
		r.stub(n.Stubs)
		r.state.Effective.Loop.End(n.Outcome)
		r.tail = true
	}
}

func (r *Refold) stub(calls []Call) {
	for _, c := range calls {
		r.state.Repairs++
		r.state.Effective.stub(c)
	}
}

// Compaction continues over the compaction node. Ids that repeat outside of it are not told of in its marks, for its
// messages are copies. ErrGroupTooLarge.
func (r *Refold) Compaction(n Node) ([]Mark, error) {
	marks, _, err := r.state.Fold(n, func(Optional) bool { return false })
	r.tail = false
	return marks, err
}

// End returns the state of the compaction node, whose parent's is given.
func (r *Refold) End(parent *State) State {
	s := *parent
	s.Effective, s.Repairs = r.state.Effective, r.state.Repairs
	if !r.tail {
		s.Group = r.state.Group
	}
	return s
}
