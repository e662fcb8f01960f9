package badgerdb

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
)

// A MANIFEST as Badger 4 writes it (manifest.go there):
//
//	manifest    "Bdgr" external_magic:2 version:2 change_set...
//	change_set  length:4 crc32c:4 bytes                              a pb.ManifestChangeSet
//
// Each change set is synced before a file is removed for it.
const (
	manifestHead  = 4 + 2 + 2
	changeSetHead = 4 + 4
	maxLevels     = 7
	// maxManifest is far above what a MANIFEST has, which is written anew when most of its changes are undone: 10 MB of 36,000 tables.
	maxManifest = 256 << 20
)

// manifest is what a MANIFEST names.
type manifest struct {
	tables map[uint64]badger.TableManifest
	// end is the offset behind the last whole change set, size that of the file: more, where the last is torn.
	end, size int64
}

// checkManifest reads the MANIFEST. Its last change set may be one that was being written when the process or the machine ended: it is
// not whole, and nothing was done for it yet. Whether something was, the tables tell.
func (i *inspection) checkManifest() error {
	f, size, err := i.open(badger.ManifestFilename)
	if err != nil {
		return err
	}
	defer f.Close()
	if size > maxManifest {
		i.damaged(badger.ManifestFilename, -1, noRemedy, fmt.Sprintf("it has %d bytes, and that of no store has more than %d", size, maxManifest))
		return nil
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	m, what := readManifest(b)
	if what != "" {
		i.damaged(badger.ManifestFilename, m.end, noRemedy, what)
	}
	for _, t := range i.adopted {
		m.tables[t.id] = badger.TableManifest{Compression: options.ZSTD, KeyID: t.keyID}
	}
	i.manifest = m
	return nil
}

// readManifest reads a MANIFEST up to its last whole change set, and tells what is wrong with the next one if more than its
// being the last keeps it from being whole. Of a change set that was being written any page may be missing: zeros, which read as sets
// without a change, before what cannot be read.
func readManifest(b []byte) (m *manifest, what string) {
	m = &manifest{tables: map[uint64]badger.TableManifest{}, size: int64(len(b)), end: manifestHead}
	if len(b) < manifestHead {
		m.end = 0
		return m, "it is cut short"
	}
	end := int64(manifestHead)
	for rest := b[manifestHead:]; len(rest) > 0; rest = b[end:] {
		set, whole, last := firstChangeSet(rest)
		switch {
		case !whole && (last || !hasChangeSet(rest[1:])):
			return m, ""
		case !whole:
			m.end = end
			return m, "a change does not match its checksum, and others lie behind it"
		}
		if err := m.apply(set); err != nil {
			m.end = end
			return m, err.Error()
		}
		first := end == manifestHead // which may have no change: that of a new store
		if end += int64(changeSetHead + len(set)); len(set) > 0 || first {
			m.end = end
		}
	}
	m.end = end
	return m, ""
}

// hasChangeSet tells whether a whole change set, with a change, lies anywhere in b.
func hasChangeSet(b []byte) bool {
	for ; len(b) > changeSetHead; b = b[1:] {
		if set, whole, _ := firstChangeSet(b); whole && len(set) > 0 {
			return true
		}
	}
	return false
}

// firstChangeSet returns the bytes of the first change set; or tells that it is not whole, and whether nothing lies behind it. Zeros are
// sets without a change.
func firstChangeSet(b []byte) (set []byte, whole, last bool) {
	if len(b) < changeSetHead {
		return nil, false, true
	}
	length := uint64(binary.BigEndian.Uint32(b))
	if length > uint64(len(b)-changeSetHead) {
		return nil, false, true
	}
	set = b[changeSetHead:][:length]
	whole = crc32.Checksum(set, y.CastagnoliCrcTable) == binary.BigEndian.Uint32(b[4:])
	return set, whole, len(b) == changeSetHead+len(set)
}

// changeSetBytes are a change set as it is written.
func changeSetBytes(set []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(set)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(set, y.CastagnoliCrcTable))
	return append(b, set...)
}

// apply takes over the changes of a set.
func (m *manifest) apply(set []byte) error {
	var changes pb.ManifestChangeSet
	if err := proto.Unmarshal(set, &changes); err != nil {
		return fmt.Errorf("a change cannot be read")
	}
	for _, c := range changes.GetChanges() {
		_, exists := m.tables[c.GetId()]
		switch {
		case c.GetOp() == pb.ManifestChange_DELETE:
			delete(m.tables, c.GetId())
		case c.GetOp() != pb.ManifestChange_CREATE || exists || c.GetLevel() >= maxLevels:
			return fmt.Errorf("a change makes no sense: table %d in level %d", c.GetId(), c.GetLevel())
		default:
			m.tables[c.GetId()] = badger.TableManifest{
				Level: uint8(c.GetLevel()), KeyID: c.GetKeyId(), Compression: options.CompressionType(c.GetCompression()),
			}
		}
	}
	return nil
}

// torn tells whether the last change set is not whole.
func (m *manifest) torn() bool { return m.end < m.size }
