package badgerdb

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// Space is what the tables take, and how much of that is of rows that were deleted or written over, of deletions and of what has expired: about what
// Reclaim gives back.
type Space struct{ Tables, Dead int64 }

// DefaultSpaceSamples tell Dead within 3 % of Tables, nineteen times of twenty.
const DefaultSpaceSamples = 1200

// Space looks at so many places of the tables, evenly over what they take on disk, and asks of the row at each whether it is what its key has.
// Badger keeps no count of that: what it tells of a table as stale are deletions and versions that a merge saw and had to keep. It reads files, a
// block for each place, and may be called at any time. Errors: the context's, those of the file system.
func (d *DB) Space(ctx context.Context, samples int) (Space, error) {
	keys, err := keysOf(d.Opts().Dir, d.Opts().EncryptionKey)
	if err != nil {
		return Space{}, err
	}
	r, err := newTableReader()
	if err != nil {
		return Space{}, err
	}
	defer r.close()
	s := spaceSampler{r: r, keys: keys, txn: d.NewTransactionAt(math.MaxUint64, false), dir: d.Opts().Dir}
	defer s.txn.Discard()
	tables := d.Tables()
	slices.SortFunc(tables, func(a, b badger.TableInfo) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), y.CompareKeys(a.Left, b.Left))
	})
	total := int64(0)
	for i := range tables {
		total += int64(tables[i].OnDiskSize)
	}
	every := float64(total) / float64(max(1, samples))
	at := rand.Float64() * every // from the beginning of the table on
	for i := range tables {
		size := float64(tables[i].OnDiskSize)
		var places []float64
		for ; at < size; at += every {
			places = append(places, at/size)
		}
		at -= size
		if ctx.Err() != nil {
			return Space{}, ctx.Err()
		}
		if err := s.look(tables[i].ID, places); err != nil {
			return Space{}, fmt.Errorf("look at table %d: %w", tables[i].ID, err)
		}
	}
	return Space{Tables: total, Dead: int64(float64(total) * float64(s.dead) / float64(max(1, s.looked)))}, nil
}

// spaceSampler counts places, and those with dead rows.
type spaceSampler struct {
	r            *tableReader
	keys         keyring
	txn          *badger.Txn
	dir          string
	looked, dead int
}

// look looks at places of a table, which are parts of its size. A table that is gone, since it was merged, has none.
func (s *spaceSampler) look(id uint64, places []float64) error {
	if len(places) == 0 {
		return nil
	}
	f, err := os.Open(filepath.Join(s.dir, table.IDToFilename(id)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.r.file, s.r.size, s.r.compression = f, info.Size(), options.ZSTD
	err = s.blocks(places)
	if after, statErr := os.Stat(f.Name()); err != nil && (statErr != nil || after.Size() != s.r.size) {
		return nil // Badger cuts a file before it removes it
	}
	return err
}

func (s *spaceSampler) blocks(places []float64) error {
	_, blocks, err := s.r.readWith(s.keys, s.keys.newestFirst())
	if err != nil {
		return err
	}
	last := blocks[len(blocks)-1]
	size := float64(last.offset + last.length)
	for _, place := range places {
		offset := int64(place * size)
		n, _ := slices.BinarySearchFunc(blocks, offset, func(b block, offset int64) int {
			if b.offset+b.length <= offset {
				return -1
			}
			return 1
		})
		b, err := s.r.readBlock(blocks[min(n, len(blocks)-1)])
		if err != nil {
			return err
		}
		if err := s.entry(b); err != nil {
			return err
		}
	}
	return nil
}

// entry looks at the row at a random byte of a block.
func (s *spaceSampler) entry(b []byte) error {
	entries, ok := splitBlock(b)
	if !ok {
		return tableError("a block of it cannot be read")
	}
	bytes := 0
	for _, e := range entries {
		bytes += len(e)
	}
	n := 0
	for at := rand.IntN(bytes); at >= len(entries[n]); n++ {
		at -= len(entries[n])
	}
	key, ok := entryKeyOf(entries[0], entries[n])
	if !ok {
		return tableError("a block of it cannot be read")
	}
	item, err := s.txn.Get(y.ParseKey(key))
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		s.dead++
	case err != nil:
		return err
	case item.Version() != y.ParseTs(key):
		s.dead++
	}
	s.looked++
	return nil
}

// entryKeyOf is the key, and its number, of an entry of a block that begins with first; false: it has none.
func entryKeyOf(first, e []byte) (key []byte, ok bool) {
	overlap, rest := int(binary.LittleEndian.Uint16(e)), int(binary.LittleEndian.Uint16(e[2:]))
	own := int(binary.LittleEndian.Uint16(first[2:]))
	if overlap > own || entryKey+own > len(first) || entryKey+rest > len(e) || overlap+rest <= keyNumber {
		return nil, false
	}
	return slices.Concat(first[entryKey:entryKey+overlap], e[entryKey:entryKey+rest]), true
}
