package search

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// reportedRuns are the nodes that a search has looked at: of each run, the Seq through which. A part of a run stands for all that
// lies before it on a chain too, so any of them can be forgotten, and what it stood for is then reported again.
type reportedRuns struct {
	runs map[uint64]reportedRun
	// uses counts what was added, and added again.
	uses uint64
}

// reportedRun is a run through a Seq, and when a chain came to it last.
type reportedRun struct {
	through uint32
	used    uint64
}

func newReportedRuns() *reportedRuns { return &reportedRuns{runs: map[uint64]reportedRun{}} }

// end is the Seq of the first node of a chain that was not reported; behind the head's where all were.
func (r *reportedRuns) end(chain chainstore.Chain) (first uint32) {
	eachRun(chain, func(run chainstore.Run) bool {
		known, ok := r.runs[run.Key]
		if ok {
			first = min(known.through, run.Through) + 1
		}
		return !ok
	})
	return first
}

// add adds the nodes of a chain.
func (r *reportedRuns) add(chain chainstore.Chain) {
	eachRun(chain, func(run chainstore.Run) bool {
		known, ok := r.runs[run.Key]
		r.uses++
		r.runs[run.Key] = reportedRun{max(known.through, run.Through), r.uses}
		return !ok
	})
}

// append appends those used last, at most so many, the last of all last: the key of each and its Seq.
func (r *reportedRuns) append(b []byte, most int) []byte {
	byUse := func(x, y uint64) int { return cmp.Compare(r.runs[x].used, r.runs[y].used) }
	keys := slices.SortedFunc(maps.Keys(r.runs), byUse)
	for _, key := range keys[max(0, len(keys)-most):] {
		b = binary.AppendUvarint(binary.AppendUvarint(b, key), uint64(r.runs[key].through))
	}
	return b
}

func parseReportedRuns(b []byte) (*reportedRuns, error) {
	r := newReportedRuns()
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, wire.BadToken()
		}
		through, m := binary.Uvarint(b[n:])
		if m <= 0 || through >= math.MaxUint32 {
			return nil, wire.BadToken()
		}
		r.uses++
		r.runs[key] = reportedRun{uint32(through), r.uses}
		b = b[n+m:]
	}
	return r, nil
}

// runsAtOnce is how many runs of a chain are asked for at first.
const runsAtOnce = 64

// eachRun calls f with the runs of a chain, nearest to the head first, until it returns false.
func eachRun(chain chainstore.Chain, f func(chainstore.Run) bool) {
	for done, limit := 0, runsAtOnce; ; limit = min(4*limit, math.MaxInt32) {
		runs := chain.Runs(limit)
		for _, r := range runs[min(done, len(runs)):] {
			if !f(r) {
				return
			}
		}
		if len(runs) < limit {
			return
		}
		done = len(runs)
	}
}
