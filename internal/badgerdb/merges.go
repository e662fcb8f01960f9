package badgerdb

import (
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// tableSize is what a table takes in its file.
func tableSize(t *badger.TableInfo) int64 { return int64(t.OnDiskSize) + int64(t.IndexSz) }

// largestMerges bounds how many bytes engine compactions (merges of SSTables) write before they delete anything, while nothing
// is put. Two of them run side by side; a merge writes no more than the tables that it takes, and takes
//
//   - all of level 0 and what it overlaps of the base level; or
//   - one table of a level and what it overlaps of the next one.
//
// The tables that a merge makes may lie across two neighbours of the level, never across more: each neighbour holds a table's
// worth of what is merged. So the second kind is counted for pairs of neighbours, which bounds the tables to come too. A table can
// overlap far more than its size: one with the last of the indexes and the first of the newest rows spans all the older rows.
//
// base is the number of the base level. The tables are in any order.
func largestMerges(tables []badger.TableInfo, base int) int64 {
	levels := byLevel(tables)
	first := levelBytes(levels, 0) + levelBytes(levels, base)
	var other int64
	if levelBytes(levels, base) == 0 { // the first tables of that level may overlap all of the next one
		other = levelBytes(levels, base+1)
	}
	for level := 1; level+1 < len(levels); level++ {
		other = max(other, largestPair(levels[level], levels[level+1]))
	}
	return max(first, other) + other
}

// byLevel sorts tables into levels, each by keys.
func byLevel(tables []badger.TableInfo) (levels [][]badger.TableInfo) {
	for _, t := range tables {
		for len(levels) <= t.Level {
			levels = append(levels, nil)
		}
		levels[t.Level] = append(levels[t.Level], t)
	}
	for _, l := range levels {
		slices.SortFunc(l, func(a, b badger.TableInfo) int { return y.CompareKeys(a.Left, b.Left) })
	}
	return levels
}

func levelBytes(levels [][]badger.TableInfo, level int) (n int64) {
	if level >= len(levels) {
		return 0
	}
	for i := range levels[level] {
		n += tableSize(&levels[level][i])
	}
	return n
}

// largestPair is the most bytes of a table among two neighbours of a level, and of what these two overlap of the next level.
func largestPair(level, next []badger.TableInfo) (most int64) {
	upTo := make([]int64, len(next)+1) // the bytes of the next level's tables before each
	for i := range next {
		upTo[i+1] = upTo[i] + tableSize(&next[i])
	}
	for i := range level {
		left, right, size := level[i].Left, level[i].Right, tableSize(&level[i])
		if i+1 < len(level) {
			right, size = level[i+1].Right, max(size, tableSize(&level[i+1]))
		}
		begin := sort.Search(len(next), func(k int) bool { return y.CompareKeys(next[k].Right, left) >= 0 })
		end := sort.Search(len(next), func(k int) bool { return y.CompareKeys(next[k].Left, right) > 0 })
		most = max(most, size+upTo[max(begin, end)]-upTo[begin])
	}
	return most
}
