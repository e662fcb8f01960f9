package badgerdb

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// checkTables sees that the tables that the MANIFEST names are there, are whole as far as their index and their last block
// tell, and are different ones. Badger reads as much when it opens them, and where it does not find what it expects, it
// ends the process, or goes on without the table.
func (i *inspection) checkTables() error {
	var missing []*Damage
	named := make([]*tableFile, 0, len(i.manifest.tables))
	for id, t := range i.manifest.tables {
		name, ok := i.files.tables[id]
		if !ok {
			missing = append(missing, &Damage{File: table.IDToFilename(id), Offset: -1, What: "the MANIFEST names it, and it is not there"})
			continue
		}
		named = append(named, &tableFile{id: id, name: name, level: t.Level})
	}
	damages, err := i.readTables(named)
	if err != nil {
		return err
	}
	for n, t := range named {
		if damages[n] != nil {
			missing = append(missing, damages[n])
			continue
		}
		i.tables = append(i.tables, t)
		i.inTables = max(i.inTables, t.maxVersion)
	}
	missing = append(missing, i.misplaced()...)
	if len(missing) > 0 && i.manifest.torn() { // it may be the change that no longer named them
		i.damaged(badger.ManifestFilename, i.manifest.end, noRemedy, "its last change is cut, and tables are not there or not whole without it")
	}
	slices.SortFunc(missing, func(a, b *Damage) int { return cmp.Compare(a.File, b.File) })
	i.damages = append(i.damages, missing...)
	i.known, i.highest = i.inTables, i.inTables
	return nil
}

// readTables reads tables, several at a time, since of a large store they are thousands: a damage, or nil, for each.
func (i *inspection) readTables(tables []*tableFile) ([]*Damage, error) {
	readers := min(8, len(tables))
	damages, errs := make([]*Damage, len(tables)), make([]error, readers)
	var running sync.WaitGroup
	for n := range readers {
		running.Go(func() {
			r, err := newTableReader()
			if err != nil {
				errs[n] = err
				return
			}
			defer r.close()
			for at := n; at < len(tables) && errs[n] == nil; at += readers {
				damages[at], errs[n] = i.readTable(r, tables[at])
			}
		})
	}
	running.Wait()
	return damages, errors.Join(errs...)
}

// readTable fills in what a table tells, or says what is wrong with it.
func (i *inspection) readTable(r *tableReader, t *tableFile) (*Damage, error) {
	f, size, err := i.open(t.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	keys, compression := i.keys.newestFirst(), options.ZSTD // of a store's tables
	if manifest, named := i.manifest.tables[t.id]; named {
		keys, compression = []uint64{manifest.KeyID}, manifest.Compression
	}
	damage := &Damage{File: t.name, Offset: -1}
	if _, err := i.keys.DataKey(keys[0]); err != nil {
		damage.What = "it is encrypted with a data key that KEYREGISTRY does not have"
		return damage, nil
	}
	r.file, r.size, r.compression = f, size, compression
	read, blocks, err := r.readWith(i.keys, keys)
	if err == nil {
		_, err = r.readBlock(blocks[len(blocks)-1])
	}
	var what tableError
	switch {
	case errors.As(err, &what):
		damage.What = what.Error()
		return damage, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	i.peek.table(r, read.smallest, blocks)
	t.size, t.raw, t.sum, t.maxVersion = read.size, read.raw, read.sum, read.maxVersion
	t.smallest, t.lastBlock, t.keyID = read.smallest, read.lastBlock, read.keyID
	return nil, nil
}

// misplaced finds tables that are what another is, and those whose keys another of their level has too: below level 0 none
// does.
func (i *inspection) misplaced() (found []*Damage) {
	slices.SortFunc(i.tables, func(a, b *tableFile) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.id, b.id))
	})
	for n, t := range i.tables {
		if n > 0 && i.tables[n-1].sum == t.sum && i.tables[n-1].size == t.size {
			found = append(found, &Damage{File: t.name, Offset: -1, What: "it is the same as " + i.tables[n-1].name})
		}
	}
	slices.SortFunc(i.tables, func(a, b *tableFile) int {
		return cmp.Or(cmp.Compare(a.level, b.level), y.CompareKeys(a.smallest, b.smallest), cmp.Compare(a.id, b.id))
	})
	for n, t := range i.tables {
		if n > 0 && t.level > 0 && i.tables[n-1].level == t.level && y.CompareKeys(i.tables[n-1].lastBlock, t.smallest) >= 0 {
			found = append(found, &Damage{File: t.name, Offset: -1,
				What: fmt.Sprintf("its keys are not those of a table of level %d beside %s", t.level, i.tables[n-1].name)})
		}
	}
	return found
}

// checkOrphans looks for what would be lost with the tables that the MANIFEST does not name, which Badger's open removes. One
// that was being written when the process ended has nothing that is not in a log or in another table, whole or not.
func (i *inspection) checkOrphans() error {
	var orphans []*tableFile
	for id, name := range i.files.tables {
		if _, named := i.manifest.tables[id]; !named {
			orphans = append(orphans, &tableFile{id: id, name: name})
		}
	}
	damages, err := i.readTables(orphans)
	if err != nil {
		return err
	}
	for n, t := range orphans {
		if damages[n] == nil && t.maxVersion > i.known {
			i.orphans = append(i.orphans, t)
		}
	}
	slices.SortFunc(i.orphans, func(a, b *tableFile) int { return cmp.Compare(a.id, b.id) })
	for _, t := range i.orphans {
		i.damaged(badger.ManifestFilename, i.manifest.end, adoptTables, fmt.Sprintf(
			"it has lost its last changes: it does not name %s, which holds transactions up to number %d, and nothing else that is whole has those from %d on",
			t.name, t.maxVersion, i.known+1))
	}
	return nil
}
