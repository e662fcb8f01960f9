package memstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/internal/pace"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// reportEvery is the nodes between two reports of Verify, at most; reportAfter the time.
const (
	reportEvery = chainstore.MaxProblems
	reportAfter = 300 * time.Millisecond
)

// Verify recomputes every node and looks at every alias, of one namespace or of all in the order of their names; see
// chainstore.Verifier. There are no files.
func (s *Store) Verify(ctx context.Context, check chainstore.Check, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	v := &verification{
		ctx: ctx, judge: judge, deliver: report, told: check.Cursor, now: s.now, reported: s.now(), pace: pace.Pace{Rate: check.BytesPerSecond},
		at: position{whole: check.WholeStore, namespace: check.Namespace},
	}
	if err := v.at.parse(check.Cursor); err != nil {
		return err
	}
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	if !check.WholeStore {
		names = []string{check.Namespace}
	}
	for _, name := range names {
		if err := s.verify(name, v); err != nil {
			return err
		}
	}
	v.told = nil
	return v.flush()
}

// names are those of the namespaces, in order.
func (s *Store) names(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, chainstore.ErrClosed
	}
	return slices.Sorted(maps.Keys(s.namespaces)), nil
}

// verify checks a namespace from where the position is: not at all where that lies behind.
func (s *Store) verify(name string, v *verification) error {
	if v.at.whole && name < v.at.namespace || name == v.at.namespace && v.at.passed {
		return nil
	}
	if name != v.at.namespace {
		v.at.namespace, v.at.next, v.at.end, v.at.passed = name, 0, 0, false
	}
	ns, unlock, err := s.read(v.ctx, name)
	if err != nil {
		return err
	}
	nodes, puts, aliases, receipts := slices.Clone(ns.order), ns.puts, ns.aliasProblems(), ns.receiptProblems()
	unlock()
	if v.at.end == 0 {
		v.at.end = puts
	}
	if v.at.next > v.at.end || v.at.end > puts {
		return chainstore.ErrBadCursor
	}
	if err := v.nodes(s, nodes); err != nil {
		return err
	}
	v.at.entries += aliases.states
	for _, what := range aliases.found {
		v.problem(chainstore.ProblemAlias, nil, what)
	}
	for _, p := range receipts {
		v.problem(chainstore.ProblemContent, p.node, p.what)
	}
	v.at.namespaces++
	v.at.passed = true
	return v.rest()
}

// nodes checks the nodes of a namespace from the position on.
func (v *verification) nodes(s *Store, nodes []*node) error {
	for _, n := range nodes {
		if n.number <= v.at.next || n.number > v.at.end {
			continue
		}
		_, unlock, err := s.read(v.ctx, "")
		if err != nil {
			return err
		}
		v.node(n)
		v.pace.Read(int64(len(n.raw) + len(n.payload) + len(n.metadata) + len(n.details)))
		unlock()
		v.at.next = n.number
		if err := v.rest(); err != nil {
			return err
		}
	}
	return nil
}

// aliasProblems are what is wrong with the aliases of a namespace, and how many states these have.
type aliasProblems struct {
	states uint64
	found  []string
}

func (ns *namespace) aliasProblems() (p aliasProblems) {
	for _, a := range ns.aliases {
		if !a.grows() {
			p.found = append(p.found, "the revisions of an alias do not grow from state to state")
		}
		for _, st := range a.states {
			p.states++
			if !st.Deleted && ns.nodes[st.Node] == nil {
				p.found = append(p.found, "an alias state names a node that is not there")
			}
		}
	}
	return p
}

// receiptProblem is a node of which it is wrong whether it has a receipt.
type receiptProblem struct {
	node *node
	what string
}

func (ns *namespace) receiptProblems() (found []receiptProblem) {
	for id, n := range ns.nodes {
		switch receipt, ok := ns.receipts[id]; {
		case n.header.Erased != nil && !ok:
			found = append(found, receiptProblem{n, "it was erased, and has no receipt"})
		case n.header.Erased == nil && ok:
			found = append(found, receiptProblem{n, fmt.Sprintf("it has a receipt of %d bytes, and was not erased", len(receipt.bytes))})
		}
	}
	if ns.erasures == 0 && len(ns.receipts) > 0 {
		found = append(found, receiptProblem{what: "there are no erasures, and there are receipts"})
	}
	return found
}

// grows tells whether revisions grow from state to state, up to the alias's.
func (a *alias) grows() bool {
	last := int64(0)
	for _, st := range a.states {
		if st.Revision <= last {
			return false
		}
		last = st.Revision
	}
	return a.revision >= last
}

type verification struct {
	ctx      context.Context
	judge    chainstore.Judge
	deliver  func(chainstore.VerifyReport) error
	pace     pace.Pace
	now      func() time.Time
	at       position
	problems []chainstore.Problem
	// reported is when there was a report last, with the cursor told, and after how many nodes.
	reported time.Time
	told     []byte
	after    uint64
}

// rest reports where it is time to, and waits as long as the pace says. It is called where a check can go on.
func (v *verification) rest() error {
	for {
		if v.at.nodes-v.after >= reportEvery || len(v.problems) >= reportEvery || v.now().Sub(v.reported) >= reportAfter {
			v.told = v.at.append(nil)
			if err := v.flush(); err != nil {
				return err
			}
		}
		if !v.pace.Due() {
			return nil
		}
		if err := v.pace.Rest(v.ctx, reportAfter); err != nil {
			return err
		}
	}
}

func (v *verification) flush() error {
	out := chainstore.VerifyReport{
		Namespaces: int64(v.at.namespaces), Nodes: int64(v.at.nodes), Entries: int64(v.at.entries), Problems: v.problems, Cursor: v.told,
	}
	if !v.at.whole {
		out.Namespaces = 0
	}
	if !v.at.whole || !v.at.passed {
		out.Namespace = v.at.namespace
	}
	v.problems, v.reported, v.after = nil, v.now(), v.at.nodes
	return v.deliver(out)
}

func (v *verification) problem(kind chainstore.ProblemKind, n *node, what string) {
	p := chainstore.Problem{Kind: kind, Namespace: v.at.namespace, What: what}
	if n != nil {
		p.HasNode, p.Node = true, n.id()
	}
	v.problems = append(v.problems, p)
}

// position is how far a check has come. A cursor is one, encoded.
type position struct {
	// whole says that the store is checked; namespace is the one that is being checked or, where it has passed, that was last.
	whole     bool
	namespace string
	passed    bool
	// next is the number of the last node of the namespace that was checked, end that of the last that it ever had when its check began.
	next, end uint64
	// namespaces, nodes and entries are those checked so far.
	namespaces, nodes, entries uint64
}

func (p *position) fields() []*uint64 {
	return []*uint64{&p.next, &p.end, &p.namespaces, &p.nodes, &p.entries}
}

func (p *position) append(b []byte) []byte {
	b = append(b, flags(p.whole, p.passed))
	for _, n := range p.fields() {
		b = binary.AppendUvarint(b, *n)
	}
	return append(b, p.namespace...)
}

func flags(whole, passed bool) (f byte) {
	if whole {
		f |= 1
	}
	if passed {
		f |= 2
	}
	return f
}

// parse reads a cursor, or none, into a position that says what is to be checked.
func (p *position) parse(cursor []byte) error {
	if cursor == nil {
		return nil
	}
	if len(cursor) == 0 || cursor[0]|2 != flags(p.whole, true) {
		return chainstore.ErrBadCursor
	}
	p.passed = cursor[0]&2 != 0
	cursor = cursor[1:]
	for _, n := range p.fields() {
		size := 0
		if *n, size = binary.Uvarint(cursor); size <= 0 {
			return chainstore.ErrBadCursor
		}
		cursor = cursor[size:]
	}
	if !p.whole && p.namespace != string(cursor) {
		return chainstore.ErrBadCursor
	}
	p.namespace = string(cursor)
	return nil
}

func (v *verification) node(n *node) {
	v.at.nodes++
	found, err := v.judge(n.header, n.payload, n.metadata, idOf(n.parent), idOf(n.covers))
	if err != nil {
		v.problem(chainstore.ProblemContent, n, err.Error())
		return
	}
	if found.ID != n.id() {
		v.problem(chainstore.ProblemContent, n, "the bytes give another id")
	}
	if len(found.Messages) != len(n.header.Messages) {
		v.problem(chainstore.ProblemContent, n, "the header has another number of messages")
		return
	}
	if _, err := chainstore.DecodeDetails(n.details, len(n.header.Messages)); err != nil {
		v.problem(chainstore.ProblemContent, n, "the details of the messages are damaged")
	}
	if n.compaction != nil && len(n.compaction.Provenance) != len(n.facts) {
		v.problem(chainstore.ProblemContent, n, "a compaction node does not tell where each of its messages was put")
		return
	}
	again := *n
	again.facts, again.variables, again.outcome = withNotes(found.Messages, n.facts), found.Variables, found.Outcome
	old := n.header
	if old.Erased != nil {
		again.variables, again.outcome = old.Erased.Variables, old.Outcome
	}
	h := &chainstore.Header{ID: old.ID, FirstPut: old.FirstPut, Salt: old.Salt, SpawnedFrom: old.SpawnedFrom, Erased: old.Erased}
	if err := again.derive(h, n.forks()); err != nil {
		v.problem(chainstore.ProblemContent, n, err.Error())
	} else if !bytes.Equal(chainstore.AppendHeader(nil, h), n.raw) {
		v.problem(chainstore.ProblemFold, n, "the header differs from what follows from the bytes and the parent")
	}
}

// withNotes is what the bytes tell of the messages, with the notes, and the lengths from before an erasure, that only the store knows.
func withNotes(found, stored []runloop.Facts) []runloop.Facts {
	out := slices.Clone(found)
	for i := range out {
		out[i].Note, out[i].Was = stored[i].Note, stored[i].Was
	}
	return out
}
