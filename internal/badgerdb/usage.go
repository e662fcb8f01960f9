package badgerdb

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Shape is how the database lies in levels.
type Shape struct {
	// Levels are those of tables, the first one first; the last one holds most of a large database.
	Levels []Level
	// WaitingBytes are those of tables that are to be merged into the next level: what a level has beyond what it is to hold, and
	// all of the first one from so many tables on as are merged at a time.
	WaitingBytes int64
	// DiskBytes is what the files take on disk, but for tables of a merge under way and those that it has replaced while they are still read.
	DiskBytes int64
}

// Level is a level of tables.
type Level struct{ Tables, Bytes int64 }

// Shape tells what the database knows of its tables, and looks at no file but the few others. It may be called at any time.
func (d *DB) Shape() Shape {
	levels := d.Levels()
	s := Shape{WaitingBytes: waitingBytes(levels, d.Opts().NumLevelZeroTables), DiskBytes: d.looseBytes()}
	for _, l := range levels {
		s.Levels = append(s.Levels, Level{Tables: int64(l.NumTables), Bytes: l.Size})
		s.DiskBytes += l.Size + int64(l.NumTables)*lastBlock
	}
	return s
}

// lastBlock is what the last block of a file takes on disk beyond the file's end, on average.
const lastBlock = 2 << 10

// waitingBytes are Shape.WaitingBytes, of a database that merges so many tables of level 0 at a time.
func waitingBytes(levels []badger.LevelInfo, merged int) (bytes int64) {
	if levels[0].NumTables >= merged {
		bytes = levels[0].Size
	}
	for _, l := range levels[1 : len(levels)-1] {
		bytes += max(0, l.Size-l.TargetSize)
	}
	return bytes
}

// maxLogs is more than how many logs there are at once: that which is written to, those of memtables that are not in tables yet,
// and numbers of logs that were empty between them.
const maxLogs = 8

// looseBytes is what the files take on disk that are no tables.
func (d *DB) looseBytes() (bytes int64) {
	for _, path := range d.others {
		bytes += allocatedAt(path)
	}
	newest := int(d.wal.newest.Load()) + 1
	for number := newest; number > max(0, newest-maxLogs); number-- {
		bytes += allocatedAt(d.wal.path(number))
	}
	return bytes
}

// otherFiles are the files of a database that was just opened that are neither tables nor logs; none where they cannot be listed.
func otherFiles(dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), tableSuffix) && !strings.HasSuffix(e.Name(), walSuffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// Descriptors are the file descriptors of the process. Where the system does not tell them, none are in use and there is no limit.
// It may be called at any time.
func (d *DB) Descriptors() Usage { return d.handles.usage(&d.handles.descriptors) }

// Maps are the memory maps of the process, as Descriptors are its descriptors.
func (d *DB) Maps() Usage { return d.handles.usage(&d.handles.maps) }
