package bench

import (
	"fmt"
	"slices"
)

// What fsync takes at least, in microseconds, where figures that depend on the disk tell something: where the disk syncs at
// all, and where it does so slowly enough for it to matter how often.
const (
	syncsAtAll  = 50
	syncsSlowly = 300
)

// fsync is the median of fsync now, for the figures of the row; 0 where none depends on this machine's disk.
func (e *env) fsync() (float64, error) {
	if e.Remote != "" || !slices.ContainsFunc(e.row.claims, func(c claim) bool { return c.target.syncs > 0 }) {
		return 0, nil
	}
	return medianSync(e.dir)
}

// onDisk adds to a claim's figure what fsync took before the row, where it depends on that, and voids it where that is too
// little.
func (f Figure) onDisk(c claim, fsync float64) Figure {
	if fsync == 0 || c.target.syncs == 0 || f.Void {
		return f
	}
	f.Measured = append(f.Measured, Measured{Name: "fsync before this row, median", Value: fsync, Unit: "us"})
	switch {
	case fsync < syncsAtAll:
		return f.voided(fmt.Sprintf("fsync takes %.0f us: this disk syncs nothing", fsync))
	case fsync < c.target.syncs:
		return f.voided(fmt.Sprintf("fsync takes %.0f us: under %.0f it hardly matters how often", fsync, c.target.syncs))
	}
	return f
}
