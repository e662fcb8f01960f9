package badgerdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
)

// discardFile counts what can be collected of value logs: nothing, in a store. Badger ends the process where it cannot open it.
const discardFile = "DISCARD"

// maxRegistry is far above what a key registry has: a key of 100 bytes for each ten days of a store that is encrypted.
const maxRegistry = 1 << 20

// noKeys is a key registry without keys.
type noKeys struct{}

func (noKeys) DataKey(id uint64) (*pb.DataKey, error) {
	if id == 0 {
		return nil, nil
	}
	return nil, badger.ErrInvalidDataKeyID
}

// checkRegistry reads the data keys. Of a store that is not encrypted the registry holds none, and is made anew where it is missing.
func (i *inspection) checkRegistry() error {
	i.keys = noKeys{}
	f, size, err := i.open(badger.KeyRegistryFileName)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, min(size, maxRegistry+1))
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if size > maxRegistry || !registryIsWhole(b) {
		i.damaged(badger.KeyRegistryFileName, -1, setAside, "it is cut or damaged")
		return nil
	}
	keys, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: i.dir, ReadOnly: true, EncryptionKey: i.encryptionKey})
	if err != nil {
		i.damaged(badger.KeyRegistryFileName, -1, setAside, "it is damaged, or of a store that is encrypted otherwise")
		return nil
	}
	i.keys = keys
	return nil
}

// registryIsWhole tells whether a key registry consists of what Badger writes (key_registry.go there), which reads it without
// a look at its length:
//
//	registry  iv:16 text:12 key...
//	key       length:4 crc32c:4 bytes
func registryIsWhole(b []byte) bool {
	if len(b) < 28 {
		return false
	}
	for b = b[28:]; len(b) > 0; {
		if len(b) < 8 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-8) {
			return false
		}
		key := b[8:][:binary.BigEndian.Uint32(b)]
		if crc32.Checksum(key, y.CastagnoliCrcTable) != binary.BigEndian.Uint32(b[4:]) {
			return false
		}
		b = b[8+len(key):]
	}
	return true
}

// checkDiscards sees that Badger can open the file.
func (i *inspection) checkDiscards() error {
	f, _, err := i.open(discardFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkValueLogs sees that the value logs hold nothing, as those of a store do (see valueThreshold). One that is empty was
// made and not sized yet, or was about to be removed.
func (i *inspection) checkValueLogs() error {
	for _, name := range i.files.valueLogs {
		s, err := i.scanLog(name, 0)
		switch {
		case err != nil:
			return err
		case s == nil:
			i.leftovers = append(i.leftovers, name)
		case !s.clean() || s.first != 0:
			i.damaged(name, s.end, setAside, "it is damaged: there is something in it, or its header names a data key that KEYREGISTRY does not have")
		}
	}
	return nil
}
