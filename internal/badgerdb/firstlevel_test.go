package badgerdb

import (
	"fmt"
	"testing"
	"time"
)

// TestTablesOfTheFirstLevelStayYoung: those that are there when a store is opened are young at once, others when they are renewed.
// A version of Badger in which there is no such list fails here; whether age still is what it asks for has to be looked at.
func TestTablesOfTheFirstLevelStayYoung(t *testing.T) {
	d := openWithTables(t, 2)
	l, ok := firstLevelOf(d.DB)
	if !ok {
		t.Fatal("Badger keeps the tables of its first level elsewhere now")
	}
	if n := l.youngTables(); n != 2 {
		t.Fatalf("%d tables are young at the start, want 2", n)
	}
	l.lock.Lock()
	(*l.tables)[0].CreatedAt = time.Now().Add(-time.Hour)
	l.lock.Unlock()
	if l.renew(); l.youngTables() != 2 {
		t.Error("a table stays old")
	}
}

// youngTables counts them.
func (l firstLevel) youngTables() (n int) {
	l.lock.RLock()
	defer l.lock.RUnlock()
	for _, table := range *l.tables {
		if time.Until(table.CreatedAt) > youngFor/2 {
			n++
		}
	}
	return n
}

// openWithTables opens a database with so many tables in its first level: one that is closed leaves a table.
func openWithTables(t *testing.T, tables int) *DB {
	t.Helper()
	dir := t.TempDir()
	for i := range tables {
		d := openDatabase(t, dir)
		commit(t, d, fmt.Sprint("key ", i), nil)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d := openDatabase(t, dir)
	t.Cleanup(func() { _ = d.Close() })
	return d
}
