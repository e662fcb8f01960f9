package badgerdb

import (
	"log/slog"
	"reflect"
	"unsafe"
)

// releaser is what Badger builds a table in.
type releaser interface{ Release() }

// freeBuilders gives the memory that the database builds a table in back to the runtime once the table is written, until
// the database is closed.
//
// The database itself keeps that of eight tables for later ones, each grown to the largest table that was ever built in it:
// a whole memtable, before and after compression, so a gigabyte, for as long as tables are written at all. No option bounds
// that. This takes out of its pool whatever comes into it. Where this version of Badger has no such pool, one line of the log says so.
func freeBuilders(db any, log *slog.Logger) {
	builders, ok := builderPool(db)
	if !ok {
		if log != nil {
			log.Warn("this version of Badger keeps the memory of table builders elsewhere: the process may take a gigabyte more than it is told to")
		}
		return
	}
	go func() {
		for builder, open := builders.Recv(); open; builder, open = builders.Recv() {
			if memory, ok := builder.Interface().(releaser); ok {
				memory.Release()
			}
		}
	}()
}

// builderPool is the channel in which the database keeps the memory of builders. It is found by names that are Badger's
// own, as of version 4.9.6, and only read: it is made when the database is opened, never replaced, and closed with it. ok is false
// where there is none of that name and type.
func builderPool(db any) (builders reflect.Value, ok bool) {
	owner := reflect.ValueOf(db).Elem().FieldByName("allocPool")
	if owner.Kind() != reflect.Pointer || owner.IsNil() || owner.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	kept := owner.Elem().FieldByName("allocCh")
	if kept.Kind() != reflect.Chan || !kept.Type().Elem().Implements(reflect.TypeFor[releaser]()) {
		return reflect.Value{}, false
	}
	return reflect.NewAt(kept.Type(), unsafe.Pointer(kept.UnsafeAddr())).Elem(), true
}
