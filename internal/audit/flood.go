package audit

import (
	"sync"
	"time"
)

// So many calls that changed nothing, and came to the same code and reason, are told one by one: burst at once, and perSecond for long. One line a
// second counts what is beyond.
const (
	burst     = 100
	perSecond = 10
)

// summedPrincipals is how many principals a line that sums up names, so that it is no longer than a line may be.
const summedPrincipals = 32

// floods keep calls that change nothing from filling the disk. There are as many as codes and reasons. Their methods may run at once, and do
// not wait for the disk.
type floods struct {
	mu  sync.Mutex
	all map[outcome]*flood
}

// outcome is what calls have in common that are summed up.
type outcome struct{ code, reason string }

type flood struct {
	// left is how many are told one by one yet, as of a time.
	left float64
	asOf time.Time
	// more is how many of each method are not told yet, the first of them at since; by is whose they are, and others is how many are of
	// those who are not in it.
	more, by map[string]uint64
	others   uint64
	since    time.Time
}

// count counts a call that is not told by itself.
func (f *flood) count(r *Record, now time.Time) {
	if len(f.more) == 0 {
		f.since = now
	}
	f.more[cut(r.Method)]++
	who := cut(r.Principal)
	if _, known := f.by[who]; known || len(f.by) < summedPrincipals {
		f.by[who]++
	} else {
		f.others++
	}
}

// single tells whether a call is told by itself; else it is counted.
func (f *floods) single(r *Record, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := outcome{r.Code, r.Reason}
	one := f.all[o]
	if one == nil {
		one = &flood{left: burst, asOf: now, more: map[string]uint64{}, by: map[string]uint64{}}
		f.all[o] = one
	}
	one.left = min(burst, one.left+max(0, now.Sub(one.asOf).Seconds())*perSecond)
	one.asOf = now
	if one.left >= 1 {
		one.left--
		return true
	}
	one.count(r, now)
	return false
}

// sums are the calls that were counted since they were asked for last.
func (f *floods) sums() (all []*sum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for o, one := range f.all {
		if len(one.more) > 0 {
			all = append(all, &sum{
				Code: cut(o.code), Reason: cut(o.reason), Since: stamp(one.since), Methods: one.more, Principals: one.by, Others: one.others,
			})
			one.more, one.by, one.others = map[string]uint64{}, map[string]uint64{}, 0
		}
	}
	return all
}

// stamp is a time as lines have it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
