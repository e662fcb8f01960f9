package badgerdb

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pace holds writers back a little while tables of level 0 gather, instead of all of them for long once there are too many.
//
// The database merges all tables of level 0 at once, and not before the level below has room for them. Where more is
// written than is merged, they reach the number at which memtables, and then writers, wait: for a merge of all of them, which takes
// tens of seconds. So the more wait to be merged, the longer a commit puts off the next. Of w tables that wait, each of
// which takes m to merge, and with room for r more, the next table is filled in no less than
//
//	w * m / 2r
//
// With m = 2 s and room for 19: at 11 waiting tables 1.4 s, at 15, 4 s, at 18, 18 s: from 9 to 19 it takes 45 s, in which a
// merge of 19 would end. Half of w*m/r, since memtables hold two tables more; without it writers were held back more, and
// merges spent on fewer tables at a time.
//
// It belongs to one goroutine, but for written and paused, which anybody may look at and add to at any time.
type pace struct {
	// waiting counts the tables of level 0; writers stand still from limit on. tableBytes is what is written for each.
	waiting    func() int
	limit      int
	tableBytes int64

	// written is what was written since wait was called last, and debtBytes what was before and time has not paid for yet.
	written   atomic.Int64
	debtBytes float64
	// tables is what waiting told at the last look.
	tables int
	looked time.Time
	// perTable is what a table took to merge lately; gathered, for how long there have been enough of them for a merge. Both are
	// of the time in which something was written.
	perTable, gathered time.Duration
	// paused is for how long commits were held back, in nanoseconds.
	paused atomic.Int64
}

const (
	// checkEvery is the share of a table that may be written between two looks at the tables; lookAgain, how long a pause may last
	// without one.
	checkEvery = 1. / 128
	lookAgain  = 100 * time.Millisecond
	// What a merge takes for each byte of a table: at first, and what is believed at least and at most. Of a table of 32 MiB
	// they are 1 s, 67 ms and 5.4 s.
	firstPerByte = 32 * time.Nanosecond
	leastPerByte = 2 * time.Nanosecond
	mostPerByte  = 160 * time.Nanosecond
)

func newPace(waiting func() int, limit int, tableBytes int64) *pace {
	return &pace{
		waiting: waiting, limit: limit, tableBytes: tableBytes,
		tables: waiting(), looked: time.Now(), perTable: firstPerByte * time.Duration(tableBytes),
	}
}

// wrote counts what a commit wrote.
func (p *pace) wrote(bytes int64) { p.written.Add(bytes) }

// wait returns once the next commit may begin, or the context ended.
func (p *pace) wait(ctx context.Context) {
	if p.debtBytes += float64(p.written.Swap(0)); p.debtBytes < checkEvery*float64(p.tableBytes) {
		return
	}
	begin := time.Now()
	pause := p.pay(begin)
	if pause == 0 {
		return
	}
	for pause > 0 && ctx.Err() == nil {
		sleep(ctx, min(pause, lookAgain))
		pause = p.pay(time.Now())
	}
	p.paused.Add(int64(time.Since(begin)))
}

// pay looks at the tables, takes off the debt what the time since the last look has paid, and returns how long the
// rest takes. Nothing is saved up by writing less for a while.
func (p *pace) pay(now time.Time) time.Duration {
	passed := now.Sub(p.looked)
	p.look(now)
	table := p.table()
	if table == 0 {
		p.debtBytes = 0
		return 0
	}
	if p.debtBytes -= float64(p.tableBytes) * float64(passed) / float64(table); p.debtBytes < 1 {
		p.debtBytes = 0
	}
	return time.Duration(float64(table) * p.debtBytes / float64(p.tableBytes))
}

// look counts the tables. When they have become fewer, it learns from how long that took, which is for how long they waited for
// the level below too. Of the time between two looks no more counts than is believed at most: nothing may have been written.
func (p *pace) look(now time.Time) {
	least, most := leastPerByte*time.Duration(p.tableBytes), mostPerByte*time.Duration(p.tableBytes)
	before := p.tables
	p.tables = p.waiting()
	if before >= mergedTables {
		p.gathered += min(now.Sub(p.looked), most)
	}
	if merged := before - p.tables; merged > 0 && p.gathered > 0 {
		took := p.gathered / time.Duration(merged)
		p.perTable = min(max((p.perTable+took)/2, least), most)
		p.gathered = 0
	}
	p.looked = now
}

// table is how long it takes to fill the next table, at least.
func (p *pace) table() time.Duration {
	if p.tables <= mergedTables {
		return 0
	}
	return p.perTable * time.Duration(p.tables) / time.Duration(2*max(1, p.limit-p.tables))
}

// sleep returns after a time, or when the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// inBackground runs f until stop is called, which waits for its end.
func inBackground(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}
