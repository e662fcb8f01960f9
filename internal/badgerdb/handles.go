package badgerdb

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Usage is how much of something is in use, how much may be, and how much of that is kept: writes are refused while less is left.
type Usage struct{ Used, Limit, Kept int64 }

// Left is how much may yet be used.
func (u Usage) Left() int64 { return u.Limit - u.Used }

// handles are what the process has of the two things of which each table takes one: file descriptors and memory maps. Without
// a descriptor the database cannot begin a log, and takes no write until it is opened again; without a map Go's runtime ends
// the process. So a few are kept: see check.
type handles struct {
	log *slog.Logger
	// levels are those of the database.
	levels            func() []badger.LevelInfo
	descriptors, maps handle
}

// handle is one of them.
type handle struct {
	name, raise string
	*tally
	// warned says that more than half of them were in use at the last check.
	warned bool
}

// How many descriptors, and maps, are kept.
const (
	// handlesToOpen are what opening takes beside the tables that are there: logs, the manifest, a first merge.
	handlesToOpen = 64
	// handlesToWrite are what commits leave, beside what merges make: for logs, and what else is opened.
	handlesToWrite = 200
	// plentyOfHandles are more than any merge takes.
	plentyOfHandles = 1 << 14
)

// RaiseDescriptors says how the number of file descriptors is raised that a process may have.
const RaiseDescriptors = "ulimit -n, LimitNOFILE= of systemd, or prlimit while it runs"

func newHandles(log *slog.Logger) *handles {
	return &handles{
		log:         log,
		levels:      func() []badger.LevelInfo { return nil },
		descriptors: handle{name: "file descriptors", raise: RaiseDescriptors, tally: newTally(descriptorUsage, 0)},
		maps:        handle{name: "memory maps", raise: "sysctl vm.max_map_count", tally: newTally(mapUsage, time.Second)},
	}
}

// checkOpen refuses to open a database of so many tables where they would be too many: ErrTooManyFiles. The database would fail
// halfway, with an error that does not tell what to do.
func (h *handles) checkOpen(tables int) error {
	for _, one := range []*handle{&h.descriptors, &h.maps} {
		u := one.measured()
		if need := int64(tables) + handlesToOpen; u.Left() < need {
			return fmt.Errorf("%w: the store has %d tables, each of which takes one of the process's %s; of %d that it may have %d are in use: it needs %d to start, and %d to work: raise the limit (%s)",
				chainstore.ErrTooManyFiles, tables, one.name, u.Limit, u.Used, u.Used+need, u.Used+2*int64(tables)+2*handlesToWrite, one.raise)
		}
	}
	return nil
}

// check is the error that keeps a commit from being written while few are left: ErrTooManyFiles. It is called by one goroutine at a
// time.
func (h *handles) check() error {
	for _, one := range []*handle{&h.descriptors, &h.maps} {
		u := one.measured()
		one.warnAtHalf(h.log, u)
		if u.Left() >= plentyOfHandles {
			continue
		}
		if u = h.usage(one); u.Left() < u.Kept {
			return one.few(u)
		}
	}
	return nil
}

// checkMerge is the error that keeps merges from being asked for while few are left: ErrTooManyFiles. It may be called at any time.
func (h *handles) checkMerge() error {
	for _, one := range []*handle{&h.descriptors, &h.maps} {
		if u := h.usage(one); u.Left() < u.Kept {
			return one.few(u)
		}
	}
	return nil
}

// few is ErrTooManyFiles.
func (one *handle) few(u Usage) error {
	return fmt.Errorf("%w: %d of %d %s are in use, and writes leave %d: raise the limit (%s)",
		chainstore.ErrTooManyFiles, u.Used, u.Limit, one.name, u.Kept, one.raise)
}

// usage is of one of them. It may be called at any time.
func (h *handles) usage(one *handle) Usage {
	u := one.measured()
	u.Kept = largestMerge(h.levels()) + min(handlesToWrite, u.Limit/4)
	return u
}

// mayMerge tells whether a database of so many tables, and so many bytes of them in level 0, can create all tables of a merge once it
// is open.
func (h *handles) mayMerge(tables int, level0, tableBytes int64) bool {
	need := int64(tables) + mergedInto(tables, level0, tableBytes) + handlesToOpen
	for _, one := range []*handle{&h.descriptors, &h.maps} {
		if one.measured().Left() < need {
			return false
		}
	}
	return true
}

// warnAtHalf logs a line when more than half are in use, and again only once it was less than three eighths meanwhile.
func (one *handle) warnAtHalf(log *slog.Logger, u Usage) {
	switch {
	case u.Used > u.Limit/2 && !one.warned:
		one.warned = true
		if log != nil {
			log.Warn("more than half of a limit is in use, near which writes are refused",
				"limit_of", one.name, "used", u.Used, "limit", u.Limit, "raise", one.raise)
		}
	case u.Used < u.Limit/8*3:
		one.warned = false
	}
}

// largestMerge is how many tables merges make at most before they delete any. One may take nearly all tables (see tableSizes.merges), and
// makes about as many; a table of level 0 becomes several. Where they run out, what was to be in a table is lost (see room).
func largestMerge(levels []badger.LevelInfo) (tables int64) {
	below := 0
	var fileBytes int64
	for i, l := range levels {
		if l.IsBaseLevel {
			fileBytes = l.TargetFileSize
		}
		if i > 0 {
			below += l.NumTables
		}
	}
	if fileBytes == 0 {
		return 0
	}
	return mergedInto(below, levels[0].Size, fileBytes)
}

// mergedInto is how many tables merges make of so many tables and the bytes of level 0.
func mergedInto(tables int, level0, tableBytes int64) int64 {
	return int64(tables+tables/8) + level0/(tableBytes*9/10)
}

// tally measures a usage, which takes the longer the more is in use: again only once a hundred times as long has passed as it took,
// so that it takes a hundredth of the time at most, and no sooner than after least.
type tally struct {
	measure func() (u Usage, ok bool)
	least   time.Duration
	mu      sync.Mutex
	known   Usage
	next    time.Time
}

func newTally(measure func() (Usage, bool), least time.Duration) *tally {
	return &tally{measure: measure, least: least, known: Usage{Limit: math.MaxInt64}}
}

// measured is what was measured lately; nothing is in use where it cannot be measured.
func (t *tally) measured() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin := time.Now()
	if begin.Before(t.next) {
		return t.known
	}
	if u, ok := t.measure(); ok {
		t.known = u
	}
	t.next = time.Now().Add(max(t.least, 100*time.Since(begin)))
	return t.known
}
