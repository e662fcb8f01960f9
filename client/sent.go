package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A message that is seen inside a run is the run: its alias moves along with each append, until the run ends. Which aliases do is kept
// where a crash leaves it, in labels of the thread's alias: "sent/ID" has the id of the node that msg/ID was moved to last.

const (
	sentLabel = "sent/"
	// maxSent is how many messages of a run move along.
	maxSent = 16
	// maxAliases is how many aliases a call of the service sets.
	maxAliases = 1000
	// maxLabels and maxLabelKey are the service's limits.
	maxLabels   = 64
	maxLabelKey = 256
)

// sent is a message whose alias moves along.
type sent struct {
	at string // the node that its alias points to
	// saved tells that the label says so.
	saved bool
}

// Sent gives the head the alias msg/REPLYID, by which later messages reply to it; ErrAliasExists where that names another node. While
// the run is open, what was sent is not all of it: the alias then moves along with each append, the last of which is the one that ends
// the run, also over a crash (the thread's alias has a label "sent/REPLYID" until then). So a later reply finds the run as it ended.
// At most 16 messages of a run move along; others stay where they are, and so does an alias that somebody else moves.
func (t *Thread) Sent(ctx context.Context, replyID string) error {
	if replyID == "" {
		return fault(ErrNoName, "")
	}
	if t.follows(replyID) {
		return nil
	}
	at, err := t.standing(ctx)
	if err != nil {
		return err
	}
	alias := MessageAlias(replyID)
	if _, err := t.c.SetAliases(ctx, AliasMove{Name: alias, Target: ByID(at.head), If: MustNotExist()}); err != nil {
		return err
	}
	t.remember(alias)
	if alias == t.alias || alias == t.chat || !isOpen(&at.run) {
		return nil
	}
	last := t.moveAlong(replyID, at)
	if last == "" {
		return nil
	}
	// An append ended the run meanwhile.
	_, err = t.c.SetAliases(ctx, AliasMove{Name: alias, Target: ByID(last), If: HeadIs(at.head)})
	if refusedForAnAlias(err) {
		err = nil // somebody else moved it
	}
	return err
}

// follows tells whether the alias of a message moves along.
func (t *Thread) follows(replyID string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.sent[replyID]
	return ok
}

// moveAlong makes the alias of a message move along from a head on. Where the run has ended since, it gives the last node of it.
func (t *Thread) moveAlong(replyID string, from standing) (last string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends != from.ends {
		return t.end
	}
	t.move(replyID, sent{at: from.head})
	return ""
}

// standing is where the last run stands at a head.
type standing struct {
	head string
	run  runloop.State
	// ends is how many runs had ended by then.
	ends int
}

// isOpen tells whether the last run is open.
func isOpen(run *runloop.State) bool {
	return run.Full.Loop.Phase != runloop.None && !run.Full.Loop.Closed()
}

// standing tells where the last run stands at the head, which the service is asked where the thread has not seen it.
func (t *Thread) standing(ctx context.Context) (standing, error) {
	for {
		t.mu.Lock()
		now, known := standing{t.head, t.run, t.ends}, t.runKnown
		t.mu.Unlock()
		if known {
			return now, nil
		}
		described, err := t.c.Describe(ctx, ByID(now.head), &transcriptv1.DescribeRequest{MaxItems: 1})
		if err != nil {
			return standing{}, err
		}
		t.mu.Lock()
		if t.head == now.head && !t.runKnown {
			t.run, t.runKnown = runOf(described.GetLoop()), true
		}
		t.mu.Unlock()
	}
}

// runOf is a run as Describe tells it. Whether an open one was answered yet is not told: it counts as answered, so that a question
// begins another.
func runOf(status *transcriptv1.LoopStatus) (s runloop.State) {
	var loop runloop.Loop
	switch status.GetState() {
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED:
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN:
		loop = runloop.Loop{Phase: runloop.Working, LeadIn: status.GetLeadIn()}
	default:
		loop.Phase = runloop.Ended
	}
	s.Full.Loop, s.Effective.Loop = loop, loop
	return s
}

// step is what a node does to a run.
type step struct {
	run runloop.State
	// part tells that the run goes on in the node, ended that it ends there or has ended before.
	part, ended bool
}

// stepBy folds a node, which is valid, as the service does.
func stepBy(run runloop.State, n *Node) step {
	open := isOpen(&run)
	next := step{run: run}
	facts := canonical.Facts(n.Messages)
	marks, _, err := next.run.Fold(runloop.Node{Messages: facts, Outcome: canonical.Outcome(n.wire().Metadata)}, never)
	if err != nil { // too many open calls: it will be refused
		return step{run: run, part: open, ended: !open}
	}
	own := slices.IndexFunc(marks, func(m runloop.Mark) bool { return m.BeginsLoop })
	begins := own >= 0
	if !begins {
		own = len(facts)
	}
	said := slices.ContainsFunc(facts[:own], func(f runloop.Facts) bool { return f.Role >= runloop.User && !f.Opaque })
	next.part = open && (said || !begins)
	next.ended = !open || begins || next.run.Full.Loop.Closed()
	return next
}

// never says of no id that a call with it lies earlier.
func never(runloop.Optional) bool { return false }

// ran notes what a node that was put at the head did to the run. t.mu is held.
func (t *Thread) ran(n *Node) {
	if !t.runKnown { // a question tells where a run stands, whatever was before
		t.runKnown = slices.ContainsFunc(n.Messages, func(m *transcriptv1.Message) bool {
			return m.GetRole() == transcriptv1.Role_ROLE_USER && !canonical.IsOpaque(m)
		})
		t.run = runloop.State{}
	}
	if !t.runKnown {
		return
	}
	at := stepBy(t.run, n)
	if isOpen(&t.run) && at.ended {
		t.ends++
		if t.end = n.Parent.ref.GetNodeId(); at.part {
			t.end = t.head
		}
	}
	t.run = at.run
}

// moving is what moves along with a node.
type moving struct {
	step
	sent map[string]sent
	// labels tells that the node sets the labels that tell of it.
	labels bool
}

// withSent is a node of a thread with the aliases that move along with it, and the labels that tell which do.
func (t *Thread) withSent(ctx context.Context, node Node) (Node, *moving, error) {
	m := t.movingWith(&node)
	if !m.labels || !valid(&node) {
		return node, &moving{}, nil
	}
	at, err := t.standing(ctx)
	if err != nil {
		return node, nil, err
	}
	m.step = stepBy(at.run, &node)
	m.fit(maxAliases - len(node.Aliases))
	found, err := t.c.Resolve(ctx, t.alias)
	if err != nil && !errors.Is(err, ErrAliasNotFound) {
		return node, nil, err
	}
	id, _ := identify(node.wire(), node.Parent.ref.GetNodeId())
	node.Aliases = slices.Clone(node.Aliases)
	node.Aliases[0].Labels = m.labelled(found.GetAlias().GetLabels(), id)
	if m.part {
		for _, replyID := range slices.Sorted(maps.Keys(m.sent)) {
			node.Aliases = append(node.Aliases, AliasUpdate{Name: MessageAlias(replyID), If: HeadIs(m.sent[replyID].at)})
		}
	}
	return node, m, nil
}

// fit leaves behind, until the next append, what a call has no room for.
func (m *moving) fit(room int) {
	ids := slices.Sorted(maps.Keys(m.sent))
	for _, replyID := range ids[max(0, min(len(ids), room)):] {
		delete(m.sent, replyID)
	}
}

// valid tells whether a node can be folded; the service refuses any other.
func valid(n *Node) bool { return canonical.Validate(n.Messages, n.wire().Metadata, n.Salt) == nil }

// labelled are the labels of the thread's alias at a node, others kept.
func (m *moving) labelled(now map[string]string, id string) map[string]string {
	labels := map[string]string{}
	for key, value := range now {
		if !strings.HasPrefix(key, sentLabel) {
			labels[key] = value
		}
	}
	for _, replyID := range slices.Sorted(maps.Keys(m.sent)) {
		if key := sentLabel + replyID; !m.ended && len(key) <= maxLabelKey && len(labels) < maxLabels {
			labels[key] = id
		}
	}
	return labels
}

// load takes over what labels tell, beside what none tells yet. t.mu is held.
func (t *Thread) load(labels map[string]string) {
	maps.DeleteFunc(t.sent, func(_ string, s sent) bool { return s.saved })
	t.labelled = false
	for key, value := range labels {
		if replyID, ok := strings.CutPrefix(key, sentLabel); ok && replyID != "" && isNodeID(value) {
			t.labelled = true
			t.move(replyID, sent{at: value, saved: true})
		}
	}
}

// isNodeID tells whether a label holds a node's id. Labels are anybody's to set: one that holds something else says nothing of a message.
func isNodeID(label string) bool {
	return len(label) == 64 && strings.Trim(label, "0123456789abcdef") == ""
}

// move makes a message move along, if there is room. t.mu is held.
func (t *Thread) move(replyID string, s sent) {
	if t.sent == nil {
		t.sent = map[string]sent{}
	}
	if _, ok := t.sent[replyID]; ok || len(t.sent) < maxSent {
		t.sent[replyID] = s
	}
}

// movingWith is what moves along with a node, but for messages whose aliases the node sets itself.
func (t *Thread) movingWith(node *Node) *moving {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &moving{sent: maps.Clone(t.sent)}
	maps.DeleteFunc(m.sent, func(replyID string, _ sent) bool { return names(node, MessageAlias(replyID)) })
	m.labels = len(m.sent) > 0 || t.labelled
	return m
}

// names tells whether a node sets an alias.
func names(node *Node, alias string) bool {
	return slices.ContainsFunc(node.Aliases, func(a AliasUpdate) bool { return a.Name == alias })
}

// drop takes from what moves along the aliases that somebody else moved, as the refusal of a node tells whose own aliases come first,
// and tells whether it was refused for nothing else. Where it was, whoever moved the thread's alias may have moved them along, and they stay.
func (t *Thread) drop(err error, node *Node, own int) bool {
	var e *Error
	if !refusedForAnAlias(err) || !errors.As(err, &e) || len(e.Conflicts) == 0 {
		return false
	}
	others := map[string]bool{}
	e.Conflicts = slices.DeleteFunc(e.Conflicts, func(c Conflict) bool {
		for i := own; i < len(node.Aliases); i++ {
			if c.Field == fmt.Sprintf("aliases[%d]", i) {
				others[node.Aliases[i].Name] = true
				return true
			}
		}
		return false
	})
	if len(e.Conflicts) > 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.sent, func(replyID string, _ sent) bool { return others[MessageAlias(replyID)] })
	return true
}

// settle moves what moves along to a node of which it is not known what was moved with it.
func (t *Thread) settle(ctx context.Context, id string, m *moving) error {
	if !m.part {
		return nil
	}
	for replyID, s := range m.sent {
		_, err := t.c.SetAliases(ctx, AliasMove{Name: MessageAlias(replyID), Target: ByID(id), If: HeadIs(s.at)})
		if err != nil && !refusedForAnAlias(err) {
			return happened(err, true) // the node is there: that may be asked again
		}
		if err != nil {
			t.mu.Lock()
			if t.sent[replyID].at == s.at { // else an append of this thread moved it along since
				delete(t.sent, replyID)
			}
			t.mu.Unlock()
		}
	}
	return nil
}

// movedAlong notes what moved along with a node. t.mu is held.
func (t *Thread) movedAlong(id string, node *Node, m *moving) {
	maps.DeleteFunc(t.sent, func(replyID string, _ sent) bool { return names(node, MessageAlias(replyID)) })
	if m.labels {
		t.labelled = !m.ended && len(m.sent) > 0
	}
	for replyID := range m.sent {
		if _, ok := t.sent[replyID]; !ok {
			continue
		}
		if t.sent[replyID] = (sent{at: id, saved: true}); m.ended {
			delete(t.sent, replyID)
		}
	}
}
