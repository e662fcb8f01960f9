package badgerdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/dgraph-io/badger/v4"
)

// checkRegistry reads the data keys. A store that does not go with the key that was given, or with none, is refused before anything else
// is said of it: ErrKey. Of a store that is not encrypted the registry holds nothing, and is made anew where it is missing; of one that is,
// nothing can be read without it.
func (i *inspection) checkRegistry() error {
	i.keys = nil
	b, err := i.readRegistryFile()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	missing := err != nil
	marks, err := i.encryptionMarks()
	if err != nil {
		return err
	}
	r := readRegistry(b)
	if len(b) > maxRegistry {
		r = nil
	}
	switch {
	case r == nil:
		return i.withoutRegistry(missing, marks)
	case r.plain():
		return i.plainRegistry(r)
	default:
		return i.sealedRegistry(r, b, marks)
	}
}

// readRegistryFile reads no more of the registry than one byte beyond what any has.
func (i *inspection) readRegistryFile() ([]byte, error) {
	f, size, err := i.open(badger.KeyRegistryFileName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(size, maxRegistry+1))
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return b, nil
}

// encryptionMarks are what the other files say of the store: some are encrypted, or some are not. A store that was just begun has
// neither.
type encryptionMarks struct{ encrypted, plain bool }

// encryptionMarks reads the headers of the logs, and the MANIFEST.
func (i *inspection) encryptionMarks() (m encryptionMarks, err error) {
	if i.manifest != nil {
		for _, t := range i.manifest.tables {
			m.encrypted = m.encrypted || t.KeyID != 0
			m.plain = m.plain || t.KeyID == 0
		}
	}
	for _, names := range [][]string{i.files.logs, i.files.valueLogs} {
		for _, name := range names {
			if err := i.markOfLog(name, &m); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// markOfLog notes what the header of a log says. One that was made, and got no header yet, says nothing.
func (i *inspection) markOfLog(name string, m *encryptionMarks) error {
	f, size, err := i.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if size < logHeader {
		return nil
	}
	head := make([]byte, logHeader)
	if _, err := f.ReadAt(head, 0); err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	encrypted := binary.BigEndian.Uint64(head) != 0
	m.encrypted = m.encrypted || encrypted
	m.plain = m.plain || !encrypted && !allZero(head)
	return nil
}

// withoutRegistry judges a store whose registry is not there, or cut or zeroed.
func (i *inspection) withoutRegistry(missing bool, m encryptionMarks) error {
	hasKey := len(i.encryptionKey) > 0
	switch {
	case m.encrypted && !hasKey:
		return errNoKey
	case m.encrypted:
		i.damaged(badger.KeyRegistryFileName, -1, noRemedy, "it is missing, cut or zeroed, and the keys are in it that everything else is encrypted with: put back a copy of it")
	case m.plain && hasKey:
		return errNotEncrypted
	case !missing:
		i.damaged(badger.KeyRegistryFileName, -1, setAside, "it is cut or damaged")
	}
	return nil
}

// plainRegistry judges a store that says that it is not encrypted.
func (i *inspection) plainRegistry(r *registry) error {
	if len(i.encryptionKey) > 0 {
		return errNotEncrypted
	}
	if r.end != r.size || len(r.keys) > 0 {
		i.damaged(badger.KeyRegistryFileName, -1, setAside, "it is cut or damaged")
	}
	return nil
}

// sealedRegistry judges a store that says that it is encrypted; or that it is neither, where its head is damaged.
func (i *inspection) sealedRegistry(r *registry, b []byte, m encryptionMarks) error {
	keys, ok := keyring(nil), false
	if len(i.encryptionKey) > 0 {
		keys, ok = r.unlock(i.encryptionKey)
	}
	plain := len(r.keys) == 0 && m.plain && !m.encrypted
	switch {
	case ok:
		i.keys = keys
	case plain && len(i.encryptionKey) > 0:
		return errNotEncrypted
	case plain:
		i.damaged(badger.KeyRegistryFileName, -1, setAside, "it is damaged")
		return nil
	case len(i.encryptionKey) > 0:
		return errKeyMismatch
	default:
		return errNoKey
	}
	switch {
	case r.end == r.size:
	case r.torn(b):
		i.torn = append(i.torn, tornEnd{badger.KeyRegistryFileName, r.end, r.size})
	default:
		i.damaged(badger.KeyRegistryFileName, r.end, noRemedy, "a data key is damaged there: put back a copy of the file")
	}
	return nil
}
