package compaction_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestModel compares the planner with the model, over random views, policies, conversations and compactions.
func TestModel(t *testing.T) {
	cleared, again := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		for range 6 {
			o := drawOptions(t, v)
			checkModel(t, v, o)
			last := talkOf(repaired(v))
			switch steps := len(clearings(o, last.last())); {
			case steps > 1:
				again++
				cleared++
			case steps > 0:
				cleared++
			}
		}
	})
	if !testing.Short() && (cleared == 0 || again == 0) { // -short tries a fifth
		t.Fatalf("%d last loops were cleared, %d more than once: too few to tell", cleared, again)
	}
}

func checkModel(t *rapid.T, v *view, o compaction.Options) {
	plan := v.plan(o)
	got, want := messagesOf(v.apply(t, o.Policy, plan)), modelOf(o, repaired(v))
	if !same(got, want.messages) {
		t.Fatalf("under %+v: got %v\nwant %v", o, got, want.messages)
	}
	if plan.HasLoops != want.loops || plan.HasLoops && plan.Start != want.from {
		t.Fatalf("under %+v: loops: %t from %v, want %t from %v", o, plan.HasLoops, plan.Start, want.loops, want.from)
	}
	if plan.Dropped != int64(want.start) || plan.Condensed != want.condensed || plan.Whole != want.whole {
		t.Fatalf("under %+v: %d dropped, %d condensed, %d whole, want %d, %d, %d", o, plan.Dropped, plan.Condensed,
			plan.Whole, want.start, want.condensed, want.whole)
	}
	if plan.LimitExceeded != want.exceeded {
		t.Fatalf("under %+v: limit exceeded: %t, want %t", o, plan.LimitExceeded, want.exceeded)
	}
}

// skipPlan plans as a caller does that finds the start by itself: of the loops before it it adds no more than tells that
// a loop has begun.
func (v *view) skipPlan(o compaction.Options) *compaction.Plan {
	t := talkOf(repaired(v))
	n := len(t.before())
	if o.Compact != nil && t.closed() {
		n++
	}
	start := int(o.Policy.FirstLoop(int64(n)))
	if o.Compact != nil && o.Compact.SummaryOnly {
		start = n
	}
	p := compaction.NewPlanner(o)
	i := 0
	for ; i < len(v.entries) && !p.Begun(); i++ {
		v.add(p, i)
	}
	if len(t.loops) > 0 {
		latest, heard := v.latestBefore(t.loops, start)
		p.Skip(int64(start), latest, heard)
		i = len(v.entries)
		if start < len(t.loops) {
			i = slices.IndexFunc(v.entries, func(e entry) bool { return e.at == t.loops[start][0].at })
		}
	}
	for ; i < len(v.entries); i++ {
		v.add(p, i)
	}
	l := v.loopBehind(len(v.entries))
	return p.Plan(l.Closed())
}

// latestBefore is the latest time of a user before a loop.
func (v *view) latestBefore(loops [][]said, start int) (latest int64, heard bool) {
	for _, loop := range loops[:start] {
		for _, s := range loop {
			if s.m.Role == roleUser && !s.aside() && (!heard || s.time > latest) {
				latest, heard = s.time, true
			}
		}
	}
	return latest, heard
}

// TestSkip: beginning at the start that FirstLoop tells gives what adding everything gives.
func TestSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		o := drawOptions(t, v)
		o.Policy.MaxBytes, o.Policy.MaxTokens = 0, 0
		want, got := v.plan(o), v.skipPlan(o)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
	})
	policy := compaction.Unbounded()
	policy.MaxAge, policy.MaxRunLoops, policy.KeepWholeRunLoops, policy.OmitLeftOutLine = 10_000, 1, 1, true
	v := parse(t, "u@3 a | u@12 a | u@3 e a | u@20")
	if got := show(t, v, policy, v.skipPlan(v.options(policy))); got != "4 5 6 7" {
		t.Errorf("with a later user passed over: %q", got)
	}
}

// TestPlanIsRepeatable: asking for a plan on the way, or twice, changes nothing.
func TestPlanIsRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		o := drawOptions(t, v)
		p := compaction.NewPlanner(o)
		for i := range v.entries {
			v.add(p, i)
			if got, want := p.Plan(v.entries[i].loop.Closed()), v.planThrough(o, i+1); !reflect.DeepEqual(got, want) {
				t.Fatalf("after %d: got %+v\nwant %+v", i+1, got, want)
			}
		}
	})
}

// TestLeadInIsNotClosed: work that goes on from a loop of which nothing was kept is a lead-in, however that loop stands.
func TestLeadInIsNotClosed(t *testing.T) {
	v := parse(t, "p a e")
	for _, o := range []compaction.Options{{CondenseLast: true}, {Compact: &compaction.Compact{}}} {
		o.Policy = compaction.Unbounded()
		p := compaction.NewPlanner(o)
		for i := range v.entries {
			v.add(p, i)
		}
		if got := show(t, v, o.Policy, p.Plan(true)); got != "1 2" {
			t.Errorf("%+v: %q is shown", o, got)
		}
	}
}

func TestBegun(t *testing.T) {
	for chain, want := range map[string]bool{
		"": false, "s": false, "m s": false, "r:1": false, "m u": true, "a": true, "s u": true,
	} {
		v := parse(t, "p "+chain)
		p := compaction.NewPlanner(v.options(compaction.Unbounded()))
		for i := range v.entries {
			v.add(p, i)
		}
		if p.Begun() != want {
			t.Errorf("%q: begun is %t", chain, p.Begun())
		}
		if p.Skip(0, 0, false); !p.Begun() {
			t.Errorf("%q: not begun behind Skip", chain)
		}
	}
}

// TestNoLoops: without a loop there is nothing to show but what comes early.
func TestNoLoops(t *testing.T) {
	plan := parse(t, "m s").plan(compaction.Options{})
	want := &compaction.Plan{Early: []compaction.Planned{
		{At: runloop.Place{Seq: 1}, Action: compaction.Keep}, {At: runloop.Place{Seq: 1, Index: 1}, Action: compaction.Keep},
	}}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("got %+v", plan)
	}
}
