package badgerdb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
)

// TableFiles are the names of the tables' files. Not to be called when Close was.
func (b *Bare) TableFiles() (files []string) {
	for _, t := range b.Tables() {
		files = append(files, table.IDToFilename(t.ID))
	}
	return files
}

// CheckTable reads the file of a table, block by block, and tells what is wrong with it; nil where it is no table's any more, since
// that was merged into others. It calls step before each block, with its bytes, and ends where that fails, with that error. Not to be called when
// Close was. Badger's own check ends at the first damaged block of any table, holds all blocks of a table in memory, and panics on
// one that it cannot decode.
func (b *Bare) CheckTable(file string, step func(bytes int) error) (damage, err error) {
	keys, err := keysOf(b.Opts().Dir, b.Opts().EncryptionKey)
	if err != nil {
		return err, nil
	}
	damage, err = checkTable(filepath.Join(b.Opts().Dir, file), keys, step)
	if damage != nil && !slices.Contains(b.TableFiles(), file) {
		damage = nil
	}
	return damage, err
}

// checkTable tells what is wrong with a file; err is step's. It reads without a map of the file: Badger cuts files that it removes,
// and to read behind their ends in memory would end the process.
func checkTable(path string, keys keyring, step func(bytes int) error) (damage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return err, nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err, nil
	}
	r, err := newTableReader()
	if err != nil {
		return err, nil
	}
	defer r.close()
	r.file, r.size, r.compression = f, info.Size(), options.ZSTD
	_, blocks, err := r.readWith(keys, keys.newestFirst())
	if err != nil {
		return err, nil
	}
	for i, at := range blocks {
		if err := step(int(at.length)); err != nil {
			return nil, err
		}
		if _, err := r.readBlock(at); err != nil {
			return fmt.Errorf("block %d of %d: %w", i+1, len(blocks), err), nil
		}
	}
	return nil, nil
}
