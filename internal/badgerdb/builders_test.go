package badgerdb

import (
	"reflect"
	"runtime"
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
