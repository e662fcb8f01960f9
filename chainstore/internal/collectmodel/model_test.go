package collectmodel

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var schedules = flag.Uint64("collectmodel.schedules", 10000, "how many schedules the rule is run through")

// mutants says in how many schedules each mutation is to be caught.
const mutants = 3000

// TestRule: nothing is lost and nothing is left, in any schedule.
func TestRule(t *testing.T) {
	var mu sync.Mutex
	var all counts
	var wg sync.WaitGroup
	workers := uint64(runtime.GOMAXPROCS(0))
	for worker := range workers {
		wg.Go(func() {
			var mine counts
			for number := worker; number < *schedules && !t.Failed(); number += workers {
				m := schedule(number, unchanged, true, false)
				if m.wrong != "" {
					t.Errorf("schedule %d: %s\n%s", number, m.wrong, traceOf(number, unchanged, true))
				}
				mine.add(&m.did)
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(&mine)
		})
	}
	wg.Wait()
	t.Logf("%+v", all)
	if all.puts == 0 || all.repeats == 0 || all.sweeps == 0 || all.forgotten == 0 || all.restores == 0 || all.holds == 0 || all.kills == 0 ||
		all.cancels == 0 || all.collections == 0 || all.refused == 0 {
		t.Errorf("schedules do not do all that they are for: %+v", all)
	}
}

// traceOf is what a schedule did.
func traceOf(number uint64, without mutation, strict bool) string {
	return strings.Join(schedule(number, without, strict, true).trace, "\n")
}

// TestMutations: each fault of the rule is found.
func TestMutations(t *testing.T) {
	for _, row := range []struct {
		mutation
		// strict: nothing is lost by it, but what a change names while a collection runs goes in that.
		strict bool
	}{
		{notesBeginLate, false}, {answersEarly, false}, {parentNotNamed, false}, {targetNotNamed, false}, {headLeftNotNamed, true},
		{newNotNamed, false}, {repeatNotNamed, false}, {closureNotTaken, false}, {namedWithoutAncestors, false}, {ancestorsLost, false},
		{firstSegmentsFirst, false}, {headsFirst, false}, {laterSegmentsSwept, false}, {sweptWithOthers, false}, {noEmptyRow, false},
		{untoldStays, false}, {untoldKeeps, false}, {statesByNumber, false}, {historyKeepsNothing, false}, {historyOutlivesForget, false},
		{linksKeep, false}, {cutoffOfGraceAlone, false}, {lastPutsPassedOver, false}, {oldPutsOld, false}, {cachesNotTold, false},
		{cachesToldLate, false}, {lateOffers, false}, {restoreLooksOnce, false}, {restoreCountsEarly, false}, {restoreNotNamed, false},
		{holdsIgnored, false}, {gateLookedAt, false}, {holdsDoNotWait, false}, {leavesGateEarly, false}, {killSurvived, false},
	} {
		t.Run(string(row.mutation), func(t *testing.T) {
			t.Parallel()
			for number := range uint64(mutants) {
				if m := schedule(number, row.mutation, row.strict, false); m.wrong != "" {
					t.Logf("schedule %d: %s", number, m.wrong)
					return
				}
			}
			t.Errorf("%d schedules do not find it", mutants)
		})
	}
}
