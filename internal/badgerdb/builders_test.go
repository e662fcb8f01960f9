package badgerdb

import (
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// TestBuildersKeepNoMemory: what comes into the database's pool leaves it. A version of Badger in which there is no pool of
// that name fails here.
func TestBuildersKeepNoMemory(t *testing.T) {
	d := openDatabase(t, t.TempDir())
	defer d.Close()
	buildersKeepNoMemory(t, d.DB)
}

func buildersKeepNoMemory(t *testing.T, db *badger.DB) {
	t.Helper()
	pool, ok := builderPool(db)
	if !ok {
		t.Fatal("Badger keeps builders elsewhere now")
	}
	deadline := time.Now().Add(10 * time.Second)
	for sent := 0; sent < 10*pool.Cap() || pool.Len() > 0; runtime.Gosched() {
		if sent < 10*pool.Cap() && pool.TrySend(reflect.New(pool.Type().Elem().Elem())) {
			sent++
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d builders the pool has %d", sent, pool.Len())
		}
	}
}

// TestBuildersElsewhere: a database that keeps builders under another name, or of another kind, is told of in the log, and left alone.
func TestBuildersElsewhere(t *testing.T) {
	for name, db := range map[string]any{
		"no pool": &struct{ other int }{},
		"a pool that is nil": &struct {
			allocPool *struct{ allocCh chan releaser }
		}{},
		"no channel":        &struct{ allocPool *struct{ allocCh int } }{allocPool: &struct{ allocCh int }{}},
		"of something else": &struct{ allocPool *struct{ allocCh chan int } }{allocPool: &struct{ allocCh chan int }{}},
	} {
		if _, ok := builderPool(db); ok {
			t.Errorf("%s: it is taken for the pool", name)
		}
		var log strings.Builder
		if freeBuilders(db, slog.New(slog.NewTextHandler(&log, nil))); strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("%s: the log says %q", name, log.String())
		}
	}
}
