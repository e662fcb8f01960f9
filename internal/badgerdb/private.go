package badgerdb

import (
	"bytes"
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
)

// private are functions of Badger that it keeps to itself: what old versions and space are given back with (decision 0110). They are bound
// by their names when the program is linked, which fails where one is gone. What they take is that of checkedVersion, so of another
// version none is called.
type private struct {
	db *badger.DB
	// levels is the *levelsController of db.
	levels unsafe.Pointer
}

// checkedVersion is the version whose levels.go and db.go these functions were compared with. Whoever raises it compares them.
const checkedVersion = "github.com/dgraph-io/badger/v4@v4.9.6/"

// privateOf are those of a database, of a Badger whose source is a file of a name; nil: the program is built with another version than the one that
// was looked at.
func privateOf(db *badger.DB, source string) *private {
	levels := reflect.ValueOf(db).Elem().FieldByName("lc")
	if !strings.Contains(source, checkedVersion) ||
		levels.Kind() != reflect.Pointer || levels.Type().Elem().Name() != "levelsController" || levels.IsNil() {
		return nil
	}
	return &private{db, levels.UnsafePointer()}
}

// badgerSource is the file that a part of Badger was built from: its path has the version, as the names of modules do in the cache of these, which
// is cut off before them where the program is built with -trimpath. Of one that was put in its place, it has another name or none.
func badgerSource() string {
	open := reflect.ValueOf(badger.OpenManaged).Pointer()
	file, _ := runtime.FuncForPC(open).FileLine(open)
	return filepath.ToSlash(file)
}

// dropPrefixes merges every table that has keys with one of some prefixes, without these, while nothing else is merged; before that, level 0. It
// swallows what fails in level 0. Each row that it merges is compared with each prefix, so it takes maxDropped at a time, of neighbours: their
// tables are the fewest. The context ends it between these.
func (p *private) dropPrefixes(ctx context.Context, prefixes [][]byte) error {
	stopCompactions(p.db)
	defer startCompactions(p.db)
	sorted := slices.SortedFunc(slices.Values(prefixes), bytes.Compare)
	for some := range slices.Chunk(sorted, maxDropped) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := dropPrefixes(p.levels, some); err != nil {
			return err
		}
	}
	return nil
}

const maxDropped = 256

// mergeNext merges the table of a level that was written longest ago into the next level; of level 0 all that overlap with the oldest one. It fails
// where Badger merges what it would take.
func (p *private) mergeNext(level int) error {
	return doCompact(p.levels, explicitMerge, compactionPriority{level: level, score: forced, adjusted: forced})
}

// isTaken tells whether mergeNext failed since Badger merges what it would take, or there is nothing to take: errFillTables, which Badger keeps to itself.
func isTaken(err error) bool { return err.Error() == "Unable to fill tables" }

const (
	// explicitMerge stands for the number of the compactor in Badger's log: 0 alone may merge level 0 into itself.
	explicitMerge = 176
	// forced is a score from which on Badger merges.
	forced = 1.72
)

// compactionPriority and targets are laid out as Badger's are.
type compactionPriority struct {
	level        int
	score        float64
	adjusted     float64
	dropPrefixes [][]byte //nolint:unused // Badger reads it
	t            targets  //nolint:unused // Badger reads it
}

type targets struct { //nolint:unused // a part of compactionPriority
	baseLevel int
	targetSz  []int64
	fileSz    []int64
}

//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)

//go:linkname dropPrefixes github.com/dgraph-io/badger/v4.(*levelsController).dropPrefixes
func dropPrefixes(levels unsafe.Pointer, prefixes [][]byte) error

//go:linkname doCompact github.com/dgraph-io/badger/v4.(*levelsController).doCompact
func doCompact(levels unsafe.Pointer, id int, p compactionPriority) error
