package badgerdb

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// Tables whose keys are not those of their level are told of by their names, and not by their keys, as Badger would.
func TestTablesOfALevel(t *testing.T) {
	image := killed(t, func(*DB) {})
	createTables(t, image, 1, 3, 6)
	createTables(t, image, 4, 1, 5)
	name := func(dir string, id uint64) string { return table.NewFilename(id, dir) }
	swap := func(dir string, a, b uint64) error {
		return errors.Join(os.Rename(name(dir, a), name(dir, 9)), os.Rename(name(dir, b), name(dir, a)), os.Rename(name(dir, 9), name(dir, b)))
	}
	for damage, c := range map[string]struct {
		do   func(dir string) error
		file string // "": it opens
	}{
		"none":           {func(string) error { return nil }, ""},
		"two of a level": {func(dir string) error { return swap(dir, 1, 3) }, ""},
		"one that another is": {func(dir string) error {
			return errors.Join(os.Remove(name(dir, 4)), os.Link(name(dir, 2), name(dir, 4)))
		}, "000004.sst"},
		"one that is the same": {func(dir string) error {
			return errors.Join(os.Remove(name(dir, 3)), os.Link(name(dir, 2), name(dir, 3)))
		}, "000003.sst"},
	} {
		t.Run(damage, func(t *testing.T) {
			dir := copyStore(t, image)
			must(t, c.do(dir))
			if c.file != "" {
				if d := mustRefuse(t, dir, c.file); d.remedy != noRemedy {
					t.Errorf("%v can be repaired", d)
				}
				return
			}
			d, err := Open(dir, smallStore())
			must(t, err)
			must(t, d.Close())
		})
	}
	overlapping := copyStore(t, image)
	createTables(t, overlapping, 5, 1, 6)
	change(t, name(overlapping, 5), func([]byte) []byte { return tableImage(t, 2, 7) })
	if d := mustRefuse(t, overlapping, "000002.sst"); !strings.Contains(d.What, "000005.sst") {
		t.Errorf("%v does not name the other table", d)
	}
}

// createTables makes tables in a level of a store that has none yet, each with keys behind those of the one before.
func createTables(tb testing.TB, dir string, first, tables uint64, level uint32) {
	tb.Helper()
	set := &pb.ManifestChangeSet{}
	for id := first; id < first+tables; id++ {
		createTable(tb, dir, id)
		set.Changes = append(set.Changes, &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE, Level: level, Compression: uint32(options.ZSTD)})
	}
	changes, err := proto.Marshal(set)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, badger.ManifestFilename), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(changeSetBytes(changes)); err != nil {
		tb.Fatal(err)
	}
}

// createTable makes a table of 7,500 keys that no other has.
func createTable(tb testing.TB, dir string, id uint64) {
	tb.Helper()
	if err := os.WriteFile(table.NewFilename(id, dir), tableImage(tb, id, id), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// tableImage is a table with the keys of an id, each from a transaction.
func tableImage(tb testing.TB, id, number uint64) []byte {
	tb.Helper()
	builder := table.NewTableBuilder(table.Options{
		TableSize: 8 << 20, BlockSize: blockSize, Compression: options.ZSTD, ZSTDCompressionLevel: compressionLevel, BloomFalsePositive: 0.01,
	})
	defer builder.Close()
	value := make([]byte, 200)
	for n := range uint64(7500) {
		randomize(value)
		key := binary.BigEndian.AppendUint64(make([]byte, 20), id<<32|n)
		builder.Add(y.KeyWithTs(key, number), y.ValueStruct{Value: value}, 0)
	}
	return builder.Finish()
}

// The last change set of a MANIFEST may lack any page that it lies on, and is torn then, not damaged; one before it is damaged.
func TestPagesOfTheManifest(t *testing.T) {
	const page = 4096
	set := func(first, last uint64) []byte {
		changes := &pb.ManifestChangeSet{}
		for id := first; id <= last; id++ {
			changes.Changes = append(changes.Changes, &pb.ManifestChange{Id: id, Op: pb.ManifestChange_CREATE, Level: 6})
		}
		b, err := proto.Marshal(changes)
		must(t, err)
		return changeSetBytes(b)
	}
	head := append(manifestMagic(), 0, 8)
	head = append(head, changeSetBytes(nil)...) // of a new store
	for before := uint64(600); before < 700; before++ {
		whole := append(append([]byte{}, head...), set(1, before)...)
		end := len(whole)
		all := append(whole, set(before+1, before+200)...)
		border := (end/page + 1) * page
		if border >= len(all) {
			continue
		}
		torn := append([]byte{}, all...)
		clear(torn[end:border])
		if m, what := readManifest(torn); what != "" || int(m.end) != end || len(m.tables) != int(before) || !m.torn() {
			t.Fatalf("without a page of the last set, %d tables: %q, it ends at %d of %d, with %d", before, what, m.end, end, len(m.tables))
		}
		damaged := append([]byte{}, all...)
		clear(damaged[len(head)+100 : len(head)+200])
		if _, what := readManifest(damaged); what == "" {
			t.Fatal("a set before the last one has lost its changes, and nobody minds")
		}
	}
}
