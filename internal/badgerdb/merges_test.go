package badgerdb

import (
	"encoding/binary"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
	"pgregory.net/rapid"
)

func tableOf(level int, left, right uint64, size uint32) badger.TableInfo {
	key := func(k uint64) []byte { return y.KeyWithTs(binary.BigEndian.AppendUint64(nil, k), 1) }
	return badger.TableInfo{Level: level, Left: key(left), Right: key(right), OnDiskSize: size}
}

func keyOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

// Level 0 is merged as a whole; a table that spans far more of the next level than its size is found; two merges run at a time.
func TestLargestMerges(t *testing.T) {
	level0 := []badger.TableInfo{tableOf(0, 0, 100, 30), tableOf(0, 50, 60, 20)}
	level5 := []badger.TableInfo{tableOf(5, 0, 9, 4), tableOf(5, 10, 90, 5), tableOf(5, 91, 92, 3)}
	level6 := []badger.TableInfo{tableOf(6, 0, 9, 100), tableOf(6, 10, 20, 200), tableOf(6, 60, 70, 300), tableOf(6, 95, 99, 50)}
	for _, c := range []struct {
		name   string
		tables [][]badger.TableInfo
		base   int
		want   int64
	}{
		{"nothing", nil, 6, 0},
		{"level 0 alone", [][]badger.TableInfo{level0}, 6, 50},
		{"level 0 and the base level", [][]badger.TableInfo{level0, level6}, 6, 700},
		{"a base level that is empty", [][]badger.TableInfo{level0, level6}, 5, 650 + 650},
		{"a table that spans most of the next level", [][]badger.TableInfo{level0, level5, level6}, 5, 605 + 605},
		{"neighbours of which neither spans much", [][]badger.TableInfo{{tableOf(5, 0, 1, 7), tableOf(5, 93, 94, 2)}, level6}, 5, 607 + 607},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []badger.TableInfo
			for _, tables := range c.tables {
				all = append(all, tables...)
			}
			if n := largestMerges(all, c.base); n != c.want {
				t.Errorf("%d bytes, want %d", n, c.want)
			}
		})
	}
}

// largestPair is what looking at all pairs of tables finds.
func TestLargestPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level, next := drawLevel(t, 5), drawLevel(t, 6)
		var want int64
		for i := range level {
			pair := level[i:min(i+2, len(level))]
			var size, overlap int64
			for k := range pair {
				size = max(size, tableSize(&pair[k]))
			}
			for k := range next {
				if keyOf(next[k].Right) >= keyOf(pair[0].Left) && keyOf(next[k].Left) <= keyOf(pair[len(pair)-1].Right) {
					overlap += tableSize(&next[k])
				}
			}
			want = max(want, size+overlap)
		}
		if n := largestPair(level, next); n != want {
			t.Fatalf("%d bytes, want %d", n, want)
		}
	})
}

// drawLevel draws tables that do not overlap.
func drawLevel(t *rapid.T, level int) (tables []badger.TableInfo) {
	at := uint64(0)
	for range rapid.IntRange(0, 12).Draw(t, "tables") {
		left := at + rapid.Uint64Range(1, 10).Draw(t, "gap")
		at = left + rapid.Uint64Range(0, 10).Draw(t, "width")
		tables = append(tables, tableOf(level, left, at, rapid.Uint32Range(1, 100).Draw(t, "size")))
	}
	return tables
}
