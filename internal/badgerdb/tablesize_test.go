package badgerdb

import (
	"testing"
)

// modelTables is how many tables a database of a size has whose base level has tables of a size: its levels, as Badger lays them out
// (levelTargets in its levels.go), each full, and its tables filled as far as they are in practice, where each part of a merge ends
// in a table that is not full.
func modelTables(database, base int64) (tables int64) {
	const (
		levels   = 7
		multiple = 10 // from one level to the next
		filled   = 0.65
	)
	target := [levels]int64{levels - 1: database * (multiple - 1) / multiple}
	first := levels - 1
	for l := levels - 1; l > 0 && target[l] > baseLevelBytes; l-- {
		target[l-1] = max(baseLevelBytes, target[l]/multiple)
		first = l - 1
	}
	for l := max(first, 1); l < levels; l++ {
		tables += int64(float64(target[l]) / (float64(base) * filled))
		base *= 2
	}
	return tables
}

func TestModelOfTables(t *testing.T) {
	// 10,008,545 nodes had 2,143 tables.
	if n := modelTables(6_600<<20, baseTableBytes); n < 1_900 || n > 2_400 {
		t.Errorf("6.6 GiB have %d tables by the model, and 2,143 in fact", n)
	}
	if n := modelTables(660e9, baseTableBytes); n < 30_000 {
		t.Errorf("660 GB would have %d tables", n)
	}
}

// A store of a thousand million nodes, 660 GB, and every smaller one, has fewer than 20,000 tables; a small one has what it had.
func TestTablesOfALargeStore(t *testing.T) {
	most := int64(0)
	for size := int64(1 << 30); size < 1000e9; size += size / 16 {
		most = max(most, modelTables(size, tableBytes(size)))
		if size < 32<<30 && tableBytes(size) != baseTableBytes {
			t.Errorf("tables of %d bytes at %d", tableBytes(size), size)
		}
	}
	for _, gigabytes := range []int64{7, 33, 66, 132, 264, 660, 1000} {
		size := gigabytes * 1e9
		t.Logf("%4d GB: %6d tables, %6d of those of a small store", gigabytes, modelTables(size, tableBytes(size)), modelTables(size, baseTableBytes))
	}
	if most >= 20_000 {
		t.Errorf("%d tables", most)
	}
}

// The size of the tables that are there decides how large new ones are.
func TestALargeStoreHasLargerTables(t *testing.T) {
	for size, want := range map[int64]int64{0: baseTableBytes, 33 << 30: 2 * baseTableBytes, 257 << 30: 4 * baseTableBytes} {
		found := &inspection{tables: []*tableFile{{size: size / 2}, {size: size - size/2}}}
		if got := optionsFor(t.TempDir(), &Options{MemtableBytes: 1 << 20}, found).BaseTableSize; got != want {
			t.Errorf("with %d bytes of tables new ones have %d, want %d", size, got, want)
		}
	}
}
