package badgerstore

import (
	"context"
	"sync/atomic"
	"time"
)

// pace holds writers back a little while tables of memtables gather, instead of all of them for long once there are too many.
//
// The database merges all tables of its first level at once, and not before the level below has room for them. Where more is
// written than is merged, they reach the number at which memtables, and then writers, wait: for a merge of all of them, which takes
// tens of seconds. So the more wait to be merged, the longer a commit puts off the next. Of w tables that wait, each of
// which takes m to merge, and with room for r more, the next table is filled in no less than
//
//	w * m / 2r
//
// With m = 2 s and room for 16: at 8 waiting tables 1 s, at 12, 3 s, at 15, 15 s: from 6 to 16 it takes 36 s, in which a
// merge of 16 would end. Half of w*m/r, since memtables hold two tables more; without it writers were held back more, and
// merges spent on fewer tables at a time.
//
// It belongs to one goroutine at a time, but for paused.
type pace struct {
	// waiting counts the tables of the first level; writers stand still from limit on. tableBytes is what is written for each.
	waiting    func() int
	limit      int
	tableBytes int64

	// tables is what waiting told when it was looked at last; written, what was written since.
	tables  int
	looked  time.Time
	written int64
	// perTable is what a table took to merge lately; gathered, for how long there have been enough of them for a merge. Both are
	// of the time in which something was written.
	perTable, gathered time.Duration
	// due is when the next commit may begin.
	due time.Time
	// paused is for how long commits were held back, in nanoseconds. It may be read at any time.
	paused atomic.Int64
}

const (
	// lookEvery is how much is written between two looks at the tables.
	lookEvery = 256 << 10
	// firstPerTable is taken for perTable until there was a merge, which then is in between the other two.
	firstPerTable = 500 * time.Millisecond
	leastPerTable = 50 * time.Millisecond
	mostPerTable  = 5 * time.Second
)

func newPace(waiting func() int, limit int, tableBytes int64) *pace {
	return &pace{
		waiting: waiting, limit: limit, tableBytes: tableBytes,
		tables: waiting(), looked: time.Now(), perTable: firstPerTable,
	}
}

// wrote counts what a commit wrote.
func (p *pace) wrote(bytes int64) {
	p.written += bytes
	if p.written < lookEvery {
		return
	}
	now := time.Now()
	p.look(now)
	if p.due.Before(p.looked) {
		p.due = p.looked // nothing is saved up by writing less for a while
	}
	p.due = p.due.Add(time.Duration(float64(p.table()) * float64(p.written) / float64(p.tableBytes)))
	p.looked, p.written = now, 0
}

// look counts the tables. When they have become fewer, it learns from how long that took. A time in which little was written
// counts as mostPerTable.
func (p *pace) look(now time.Time) {
	before := p.tables
	p.tables = p.waiting()
	if before >= mergedTables {
		p.gathered += min(now.Sub(p.looked), mostPerTable)
	}
	if merged := before - p.tables; merged > 0 && p.gathered > 0 {
		took := p.gathered / time.Duration(merged)
		p.perTable = min(max((p.perTable+took)/2, leastPerTable), mostPerTable)
		p.gathered = 0
	}
}

// table is how long it takes to fill the next table, at least.
func (p *pace) table() time.Duration {
	if p.tables <= mergedTables {
		return 0
	}
	return p.perTable * time.Duration(p.tables) / time.Duration(2*max(1, p.limit-p.tables))
}

// wait returns once the next commit may begin, or the context ended.
func (p *pace) wait(ctx context.Context) {
	begin := time.Now()
	pause := p.due.Sub(begin)
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	p.paused.Add(int64(time.Since(begin)))
}
