package badgerdb

import (
	"context"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// firstLevel is the database's list of the tables of its first level, each a memtable that was written, and the lock that the
// database guards it with.
//
// Where the level below is too full to take them, the database merges such tables among themselves once four of them are ten
// seconds old, with one goroutine: all of them into one table, which it builds in memory, 40 to 60 MiB for each, again and again,
// while other merges drain the level below anyway. No option forbids it. So its tables are kept from growing old, which
// nothing else asks about a table of this level.
type firstLevel struct {
	lock   *sync.RWMutex
	tables *[]*table.Table
}

// youngFor is for how long a table of the first level is made to be young: longer than any is there. renewEvery is less than
// what it takes to grow old.
const (
	youngFor   = 100 * 365 * 24 * time.Hour
	renewEvery = 4 * time.Second
)

// firstLevelOf finds the list by names that are Badger's own.
func firstLevelOf(db *badger.DB) (l firstLevel, ok bool) {
	levels := pointee(reflect.ValueOf(db).Elem(), "lc").FieldByName("levels")
	if levels.Kind() != reflect.Slice || levels.Len() == 0 {
		return l, false
	}
	first := target(levels.Index(0))
	lock, tables := first.FieldByName("RWMutex"), first.FieldByName("tables")
	if !is[sync.RWMutex](lock) || !is[[]*table.Table](tables) {
		return l, false
	}
	l.lock = (*sync.RWMutex)(unsafe.Pointer(lock.UnsafeAddr()))
	l.tables = (*[]*table.Table)(unsafe.Pointer(tables.UnsafeAddr()))
	return l, true
}

// renew makes the tables young.
func (l firstLevel) renew() {
	l.lock.Lock()
	defer l.lock.Unlock()
	young := time.Now().Add(youngFor)
	for _, t := range *l.tables {
		t.CreatedAt = young
	}
}

// keepYoung keeps the tables of the first level young until it is stopped. It does nothing where Badger keeps them under other
// names.
func keepYoung(db *badger.DB) (stop func()) {
	l, ok := firstLevelOf(db)
	if !ok {
		return func() {}
	}
	l.renew()
	return inBackground(func(ctx context.Context) {
		for sleep(ctx, renewEvery); ctx.Err() == nil; sleep(ctx, renewEvery) {
			l.renew()
		}
	})
}

// pointee is the struct that a field of a struct points to, target the one that v points to, is whether v is of a type. v may be
// no value, and where there is no such struct the result is an empty one.
func pointee(v reflect.Value, field string) reflect.Value { return target(v.FieldByName(field)) }

func target(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.ValueOf(struct{}{})
	}
	return v.Elem()
}

func is[T any](v reflect.Value) bool { return v.IsValid() && v.Type() == reflect.TypeFor[T]() }
