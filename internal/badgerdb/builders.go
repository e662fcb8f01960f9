package badgerdb

import (
	"reflect"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
)

// freeBuilders gives the memory that the database builds a table in back to the runtime once the table is written, until
// the database is closed.
//
// The database itself keeps that of eight tables for later ones, each grown to the largest table that was ever built in it:
// a whole memtable, before and after compression, so a gigabyte, for as long as tables are written at all. No option bounds
// that. This takes out of its pool whatever comes into it, and does nothing where there is no such pool.
func freeBuilders(db *badger.DB) {
	builders, ok := builderPool(db)
	if !ok {
		return
	}
	go func() {
		for builder, open := builders.Recv(); open; builder, open = builders.Recv() {
			if memory, ok := builder.Interface().(interface{ Release() }); ok {
				memory.Release()
			}
		}
	}()
}

// builderPool is the channel in which the database keeps the memory of builders. It is found by names that are Badger's
// own, and only read: it is made when the database is opened, never replaced, and closed with it.
func builderPool(db *badger.DB) (builders reflect.Value, ok bool) {
	kept := pointee(reflect.ValueOf(db).Elem(), "allocPool").FieldByName("allocCh")
	if kept.Kind() != reflect.Chan {
		return reflect.Value{}, false
	}
	return reflect.NewAt(kept.Type(), unsafe.Pointer(kept.UnsafeAddr())).Elem(), true
}
