package compaction_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// resulting is a view as a reader gets it: what is behind the preamble, with the plan that it came from.
type resulting struct {
	*view
	options compaction.Options
	plan    *compaction.Plan
	shown   []put
}

func drawResult(t *rapid.T) *resulting { return resultOf(t, drawView(t)) }

func resultOf(t *rapid.T, v *view) *resulting {
	o := drawOptions(t, v)
	plan := v.plan(o)
	return &resulting{view: v, options: o, plan: plan, shown: v.apply(t, o.Policy, plan)}
}

// all are the messages with the preamble.
func (r *resulting) all() []put { return append(slices.Clone(r.preamble), r.shown...) }

// TestPairing is promise 1: no result without its call, no call without its result but in the head's group.
func TestPairing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawResult(t)
		again := viewOf(t, []node{{messages: r.all()}})
		if again.state.Repairs != 0 {
			t.Fatalf("%d repairs are needed in %v", again.state.Repairs, messagesOf(r.shown))
		}
		if n := again.state.Group.Unanswered(); n > r.state.Group.Unanswered() {
			t.Fatalf("%d calls are unanswered in %v", n, messagesOf(r.shown))
		}
	})
}

// TestUserFirst is promise 2: behind what comes early the user speaks first, if anyone asked; order is kept.
func TestUserFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawResult(t)
		asked := slices.ContainsFunc(r.entries, func(e entry) bool { return e.brief.Role == runloop.User && !e.brief.Aside() && !e.brief.Opaque })
		early := 0
		for _, e := range r.plan.Early {
			if e.Action != compaction.Drop {
				early++
			}
		}
		if r.plan.LeftOut > 0 {
			early++
		}
		if loops := r.shown[early:]; asked && len(loops) > 0 && loops[0].m.Role != roleUser {
			t.Fatalf("the first is %v", loops[0].m)
		}
		if !slices.IsSortedFunc(r.shown, func(a, b put) int { return a.entry - b.entry }) {
			t.Fatalf("the order is not kept: %v", messagesOf(r.shown))
		}
	})
}

// TestIdempotent is promise 3: a view of a view is itself, and so is what a compaction without a summary keeps of what it
// kept. Not promised: with max_tokens, where notes gave counts to messages that were cut, which a view has no more; with max_age,
// where a user of a loop that is gone was later than those of the loops that are left; where a loop that nobody answered, and an
// outcome ended, is one with the next in the messages alone.
func TestIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawNodes(t, drawPuts(t))
		rising := rapid.Bool().Draw(t, "rising")
		if rising {
			rise(nodes)
		}
		r := resultOf(t, viewOf(t, nodes))
		if r.options.Compact != nil && r.options.Compact.Summary != nil {
			return
		}
		policy := r.options.Policy
		counted := slices.ContainsFunc(r.entries, func(e entry) bool { return e.note.HasTokens })
		if policy.MaxAge > 0 && !rising || policy.MaxTokens > 0 && counted {
			return
		}
		v := viewOf(t, []node{{times: runloop.Times{AsSent: true}, messages: r.all()}})
		if loops := talkOf(repaired(v)).loops; int64(len(loops)) < r.plan.Condensed+r.plan.Whole {
			return
		}
		o := r.options
		o.Preamble = sizeOf(v.preamble)
		again := append(slices.Clone(v.preamble), v.apply(t, o.Policy, v.plan(o))...)
		if got, want := messagesOf(again), messagesOf(r.all()); !same(got, want) {
			t.Fatalf("under %+v the view\n%v\nof itself is\n%v", o.Policy, want, got)
		}
	})
}

// rise gives every message a time, none before that of another in front of it.
func rise(nodes []node) {
	latest := int64(0)
	for k, n := range nodes {
		nodes[k].times.AsSent = true
		for i := range n.messages {
			note := &n.messages[i].note
			latest = max(latest, n.times.Of(&runloop.Brief{Note: *note}))
			note.HasSentAt, note.SentAt = true, latest
		}
	}
}

// TestAgeOfAView: a view of a view is not itself where a user of a loop that is gone was later than those of the loops that are left.
func TestAgeOfAView(t *testing.T) {
	policy := compaction.Unbounded()
	policy.MaxAge, policy.KeepWholeRunLoops, policy.MaxRunLoops, policy.OmitLeftOutLine = 10_000, 1, 1, true
	v := parse(t, "u@12 a | u@3 e a | u@20")
	if got := show(t, v, policy, v.plan(v.options(policy))); got != "2 3 4 5" {
		t.Errorf("the view is %q", got)
	}
	v = parse(t, "u@3 e a | u@20")
	if got := show(t, v, policy, v.plan(v.options(policy))); got != "0 2 3" {
		t.Errorf("the view of the view is %q", got)
	}
}

// TestLimits is promise 3: no view exceeds max_bytes while a loop could still go.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawResult(t)
		limit := r.options.Policy.MaxBytes
		if limit == 0 {
			return
		}
		bytes := sizeOf(r.all()).Bytes
		if s := r.options.Compact; s != nil && s.Summary != nil {
			bytes += s.Summary.Bytes
		}
		talk := talkOf(repaired(r.view))
		if bytes > limit && r.plan.Dropped < int64(len(talk.before())) {
			t.Fatalf("%d bytes, limit %d, and loops are left", bytes, limit)
		}
		if bytes > limit && r.options.Compact == nil && !r.plan.LimitExceeded {
			t.Fatalf("%d bytes, limit %d, and it is not told", bytes, limit)
		}
	})
}

// TestPrefixes is promise 4: the conversation of an ancestor A agrees with that of H up to A's last loop less
// keep_whole_run_loops, and is a prefix of it while that loop is H's last too, unless a step was taken; a start never moves back.
// A loop that grows too old for max_age is a step, of those that show more than condensed loops.
func TestPrefixes(t *testing.T) {
	steps, agreed, prefixes := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawView(t)
		o := h.options(drawPolicy(t, h))
		planH := h.plan(o)
		shownH, talkH := messagesOf(h.apply(t, o.Policy, planH)), talkOf(repaired(h))
		for k := range h.entries {
			a := &view{preamble: h.preamble, entries: h.entries[:k]}
			planA := a.plan(o)
			if planA.Dropped > planH.Dropped {
				t.Fatalf("the start moved back from %d to %d", planA.Dropped, planH.Dropped)
			}
			if planA.Dropped < planH.Dropped {
				steps++
				continue
			}
			shownA, talkA := messagesOf(a.apply(t, o.Policy, planA)), talkOf(repaired(a))
			if n := settledMessages(&talkA, o.Policy, planA); n > 0 && !aged(o.Policy, &talkA, &talkH) {
				agreed++
				if len(shownH) < n || !same(shownA[:n], shownH[:n]) {
					t.Fatalf("they do not agree up to %d: %v and %v", n, shownA, shownH)
				}
			}
			lastA, lastH := talkA.last(), talkH.last()
			if len(lastA) == 0 || lastA[0].at != lastH[0].at || shorterOf(o, lastA) != shorterOf(o, lastH) {
				continue
			}
			prefixes++
			if len(shownH) < len(shownA) || !same(shownA, shownH[:len(shownA)]) {
				t.Fatalf("%v is no prefix of %v", shownA, shownH)
			}
		}
	})
	if !testing.Short() && (steps == 0 || agreed == 0 || prefixes == 0) { // -short tries a fifth
		t.Fatalf("%d steps, %d agreed, %d prefixes: too few to tell", steps, agreed, prefixes)
	}
}

// aged tells whether a loop before a's last is too old by now to be shown richer than condensed.
func aged(p compaction.Policy, a, h *talk) bool {
	for i := range a.before() {
		if a.recent(p, i) && !h.recent(p, i) {
			return true
		}
	}
	return false
}

// settledMessages counts what a view shows before its last loop less keep_whole_run_loops.
func settledMessages(a *talk, p compaction.Policy, plan *compaction.Plan) int {
	n := 0
	for _, e := range plan.Early {
		if e.Action != compaction.Drop {
			n++
		}
	}
	if plan.LeftOut > 0 {
		n++
	}
	for i, loop := range a.before() {
		if int64(i) >= plan.Dropped && i < len(a.before())-p.KeepWholeRunLoops {
			n += len(condensed(p, loop, a.recent(p, i)))
		}
	}
	return n
}

// TestClearingsStay: what is cleared in a chain is cleared in every chain that continues it, and no result goes that no model has seen.
func TestClearingsStay(t *testing.T) {
	stayed := 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawView(t)
		o := h.options(drawPolicy(t, h))
		o.Policy = compaction.Policy{KeepWholeRunLoops: 1000, Clear: o.Policy.Clear, ReplyTools: o.Policy.ReplyTools}
		var before map[int]*transcriptv1.Message
		leadIn := false
		for k := range h.entries {
			a := &view{preamble: h.preamble, entries: h.entries[:k+1]}
			now := a.cleared(t, o)
			if now := len(talkOf(repaired(a)).leadIn) > 0; leadIn != now || now {
				leadIn, before = now, nil // the lead-in goes once somebody asks
			}
			for i, m := range before {
				if stayed++; now[i] == nil || !proto.Equal(now[i], m) {
					t.Fatalf("behind %d entries %v is %v", k, m, now[i])
				}
			}
			before = now
		}
	})
	if !testing.Short() && stayed == 0 {
		t.Fatal("nothing was cleared")
	}
}

// cleared are the messages that got shorter in a view that shows all loops whole, by their entry.
func (v *view) cleared(t failer, o compaction.Options) map[int]*transcriptv1.Message {
	shown, asked := v.apply(t, o.Policy, v.plan(o)), 0
	for _, p := range shown {
		if p.m.Role == roleAssistant {
			asked = p.entry
		}
	}
	out := map[int]*transcriptv1.Message{}
	for _, p := range shown {
		if p.m.Origin != transcriptv1.Origin_ORIGIN_SHORTENED || proto.Equal(p.m, v.entries[p.entry].m) {
			continue
		}
		if out[p.entry] = p.m; p.entry >= asked {
			t.Fatalf("%v became %v, which no model has seen", v.entries[p.entry].m, p.m)
		}
	}
	if o.Policy.Clear.CachedPercent == 0 && len(out) > 0 {
		t.Fatalf("cleared, though cached bytes cost nothing: %v", out)
	}
	return out
}

// shorterOf is how many messages of a loop shown whole are shorter.
func shorterOf(o compaction.Options, loop []said) int {
	return len(slices.Concat(clearings(o, loop)...))
}

// TestBorrowed: the bytes of a message that is cut stay as they were.
func TestBorrowed(t *testing.T) {
	entry := canonical.EncodePayload([]*transcriptv1.Message{{
		Role: roleUser, Parts: []*transcriptv1.Part{textPart(strings.Repeat("0123456789", 4)), textPart("more")},
	}})
	before := bytes.Clone(entry)
	if _, cut := compaction.AppendCut(nil, entry, 5); !cut || !bytes.Equal(entry, before) {
		t.Errorf("what was only read was changed: %x", entry)
	}
}
