package badgerdb

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// firstLevelModel is a database that fills a table in no less than a time and, once there are enough, merges all that there are
// at once, each in another time.
type firstLevelModel struct {
	fills, merges time.Duration
	tables        int
	bytes         int64
	// merging are those that are merged until ends.
	merging int
	ends    time.Time
}

const (
	modelTable  = 32 << 20
	modelCommit = 700 << 10
	modelLimit  = stalledTables
)

func (m *firstLevelModel) waiting() int {
	if m.merging > 0 && !time.Now().Before(m.ends) {
		m.tables, m.merging = m.tables-m.merging, 0
	}
	if m.merging == 0 && m.tables >= mergedTables {
		m.merging, m.ends = m.tables, time.Now().Add(time.Duration(m.tables)*m.merges)
	}
	return m.tables
}

// commit takes as long as the database does, which waits for the end of a merge where there are too many tables.
func (m *firstLevelModel) commit() {
	time.Sleep(m.fills * modelCommit / modelTable) // on the fake clock
	if m.bytes += modelCommit; m.bytes < modelTable {
		return
	}
	if m.waiting() >= modelLimit {
		time.Sleep(time.Until(m.ends)) // on the fake clock
	}
	m.waiting()
	m.tables, m.bytes = m.tables+1, m.bytes-modelTable
}

// write commits for a while, and tells how often, and the longest time from the begin of a commit to that of the next.
func (m *firstLevelModel) write(p *pace, while time.Duration) (commits int, longest time.Duration) {
	for begin := time.Now(); time.Since(begin) < while; commits++ {
		at := time.Now()
		m.commit()
		p.wrote(modelCommit)
		p.wait(context.Background())
		longest = max(longest, time.Since(at))
	}
	return commits, longest
}

// Where more is written than is merged, writers wait a little again and again, and no less is written.
func TestPaceKeepsWritersGoing(t *testing.T) {
	for _, merges := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		for _, times := range []time.Duration{2, 8} {
			t.Run(fmt.Sprintf("%v a table, filled %d times as fast", merges, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					model := func() *firstLevelModel { return &firstLevelModel{fills: merges / times, merges: merges} }
					free := model()
					most, stood := free.write(newPace(func() int { return 0 }, modelLimit, modelTable), 300*merges)
					held := model()
					p := newPace(held.waiting, modelLimit, modelTable)
					commits, longest := held.write(p, 300*merges)
					t.Logf("%d commits instead of %d, the longest %v instead of %v, a table merged in %v", commits, most, longest, stood, p.perTable)
					if longest > stood/5 {
						t.Errorf("a commit took %v, without a pace %v", longest, stood)
					}
					if commits < most*9/10 {
						t.Errorf("%d commits, without a pace %d", commits, most)
					}
				})
			})
		}
	}
}

// Nobody is held back before enough tables for a merge are there, for what was written long ago, or once there was a merge.
func TestPaceHoldsNobodyBackWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables := mergedTables
		merged := time.Now().Add(24 * time.Hour)
		p := newPace(func() int {
			if time.Now().After(merged) {
				return 2
			}
			return tables
		}, modelLimit, modelTable)
		held := func(bytes int64) time.Duration {
			begin := time.Now()
			p.wrote(bytes)
			p.wait(context.Background())
			return time.Since(begin)
		}
		for range 100 {
			if d := held(modelTable); d != 0 {
				t.Fatalf("held back for %v with %d tables", d, tables)
			}
		}
		tables = modelLimit - 1
		time.Sleep(time.Hour) // on the fake clock
		if d := held(modelTable / 100); d != 0 {
			t.Errorf("held back for %v by the first write after an hour", d)
		}
		want := p.perTable * (modelLimit - 1) / 2 // as long as a table takes
		if d := held(modelTable); d < want*9/10 || d > want+lookAgain {
			t.Errorf("held back for %v with %d tables of %d, want about %v", d, tables, modelLimit, want)
		}
		merged = time.Now().Add(time.Second)
		if d := held(modelTable); d > time.Second+lookAgain {
			t.Errorf("held back for %v where tables were merged after a second", d)
		}
		if told := time.Duration(p.paused.Load()); told < want*9/10 || told > want+time.Second+lookAgain {
			t.Errorf("%v are told", told)
		}
	})
}

// A time in which nothing was written is none that a merge took.
func TestPaceLearnsNothingWhileNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tables := modelLimit - 1
		p := newPace(func() int { return tables }, modelLimit, modelTable)
		time.Sleep(time.Hour) // on the fake clock
		tables = 0
		p.wrote(modelTable)
		if p.wait(context.Background()); p.perTable > 1500*time.Millisecond {
			t.Errorf("it believes that a merge takes %v a table", p.perTable)
		}
	})
}

// What is counted are the tables of Badger's level 0, and the limit is its own.
func TestPaceKnowsTheDatabase(t *testing.T) {
	d := openWithTables(t, 2)
	if p := d.pace; p.waiting() != 2 || p.limit != stalledTables+2 || p.limit != d.Opts().NumLevelZeroTablesStall ||
		p.tableBytes != d.Opts().MemTableSize {
		t.Errorf("%d tables wait, writers stand still at %d, a table takes %d bytes", p.waiting(), p.limit, p.tableBytes)
	}
}
