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
const mutants = 1000

// TestRule: nothing is lost and nothing is left, in any schedule.
func TestRule(t *testing.T) {
	var mu sync.Mutex
	var all counts
	var wg sync.WaitGroup
	last := *schedules
	if testing.Short() {
		last = min(last, 1000)
	}
	workers := uint64(runtime.GOMAXPROCS(0))
	for worker := range workers {
		wg.Go(func() {
			var mine counts
			for number := worker; number < last && !t.Failed(); number += workers {
				m := schedule(number, unchanged, asks{named: true, left: true}, false)
				if m.wrong != "" {
					t.Errorf("schedule %d: %s\n%s", number, m.wrong, traceOf(number, unchanged, asks{named: true, left: true}))
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
func traceOf(number uint64, without mutation, asks asks) string {
	return strings.Join(schedule(number, without, asks, true).trace, "\n")
}

// TestMutations: each fault of the rule is found.
func TestMutations(t *testing.T) {
	lost, named, left := asks{}, asks{named: true}, asks{left: true}
	for _, row := range []struct {
		mutation
		// asks has what is asked beside that nothing is lost.
		asks
	}{
		{notesBeginLate, lost}, {answersEarly, lost}, {parentNotNamed, lost}, {targetNotNamed, lost}, {headLeftNotNamed, named},
		{newNotNamed, lost}, {repeatNotNamed, lost}, {closureNotTaken, lost}, {namedWithoutAncestors, lost}, {ancestorsLost, lost},
		{firstSegmentsFirst, lost}, {headsFirst, lost}, {laterSegmentsSwept, lost}, {sweptWithOthers, lost}, {noEmptyRow, lost},
		{untoldStays, left}, {untoldKeeps, left}, {statesByNumber, lost}, {historyKeepsNothing, lost}, {historyOutlivesForget, lost},
		{linksKeep, left}, {cutoffOfGraceAlone, lost}, {lastPutsPassedOver, lost}, {oldPutsOld, lost}, {cachesNotTold, lost},
		{cachesToldLate, lost}, {lateOffers, lost}, {restoreLooksOnce, lost}, {restoreCountsEarly, lost}, {restoreNotNamed, lost},
		{holdsIgnored, lost}, {gateLookedAt, lost}, {holdsDoNotWait, lost}, {leavesGateEarly, lost}, {killSurvived, lost},
	} {
		t.Run(string(row.mutation), func(t *testing.T) {
			t.Parallel()
			for number := range uint64(mutants) {
				if m := schedule(number, row.mutation, row.asks, false); m.wrong != "" {
					t.Logf("%s: schedule %d: %s", row.mutation, number, m.wrong)
					return
				}
			}
			t.Errorf("%d schedules do not find it", mutants)
		})
	}
}
