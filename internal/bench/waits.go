package bench

import (
	"slices"
	"sync"
	"time"
)

// waits are times that callers waited. Several may add at once.
type waits struct {
	mu   sync.Mutex
	took []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took = append(w.took, d)
}

// sample is all of them, as of calls in a while. Nobody adds any more.
func (w *waits) sample(while time.Duration) *sample {
	slices.Sort(w.took)
	return &sample{took: w.took, while: while}
}

// waited tells what so many callers waited for a call, the longest wait too: medians hide that all of them were held up now
// and then. There is a call at least.
func (s *sample) waited(name string, callers int) []Measured {
	o := &outcome{side: &side{name: name, callers: callers}, rounds: []*sample{s}}
	return []Measured{o.measured(), {Name: name + ": the longest", Value: milliseconds(at(s.took, 1)), Unit: "ms"}}
}
