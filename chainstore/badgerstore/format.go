package badgerstore

import (
	"errors"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

var (
	formatKey = layout.TableKey(layout.OwnNamespace, layout.TableFormat)
	headerKey = layout.HeaderKey()
)

// Repair is badgerdb.Repair of a store of this version or an earlier one; of another: ErrFormat. Of the options it has to do with
// EncryptionKey.
func Repair(dir string, o Options, dryRun bool, tell func(line string)) error {
	return badgerdb.Repair(dir, o.database(dir), dryRun, tell)
}

// Rekey is badgerdb.Rekey of a store of this version or an earlier one: key takes the place of the one in the options.
func Rekey(dir string, o Options, key []byte) error {
	return badgerdb.Rekey(dir, o.database(dir), key)
}

// admission is what lets only stores in that this version knows.
func admission(dir string) badgerdb.Options {
	return badgerdb.Options{
		Peek: [][]byte{formatKey, headerKey}, Admit: func(values [][]byte) error { return admit(dir, values[0], values[1]) },
	}
}

// admit refuses a store that this version does not know: ErrFormat. It is asked before anything is changed, and then what the store says of
// itself may be nil, for it is not sure to be found.
func admit(dir string, format, header []byte) error {
	if format != nil {
		if _, err := readFormat(dir, format); err != nil {
			return err
		}
	}
	if header != nil {
		_, err := readHeader(dir, header)
		return err
	}
	return nil
}

// takeUp reads what the store says of itself, and refuses it as admit does. Then it writes what is missing in a new store, and in one of an
// earlier version, whose nodes stay as they are: its header and its format version last, in one commit.
func (s *Store) takeUp(o *Options) error {
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	version, err := s.format(v)
	if err != nil {
		return err
	}
	header, hasHeader, err := v.Get(headerKey)
	if err != nil {
		return err
	}
	last, h := v.Seen, &layout.StoreHeader{ID: chainstore.NewStoreID()}
	if hasHeader {
		h, err = readHeader(s.dir, header)
	}
	s.source.Header.Store(h)
	if err == nil && h.Has(layout.FeatureEras) {
		err = s.readEras(v)
	}
	if err == nil && o.ReadOnly && !(hasHeader && version == layout.FormatVersion) {
		err = fmt.Errorf("%w: %s has format %d", ErrUnclean, s.dir, version)
	}
	if err == nil && !hasHeader && version > 0 {
		last, err = s.indexFolders(o.Logger)
	}
	if err != nil || hasHeader && version == layout.FormatVersion {
		return err
	}
	return s.write(last+1, map[string]commit.Write{
		string(formatKey): {Value: layout.NumberValue(layout.FormatVersion)},
		string(headerKey): {Value: layout.AppendStoreHeader(nil, h)},
	})
}

// takeBack puts back what a purge saved, dropped, and did not come to put back.
func (s *Store) takeBack() error {
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	writes, err := commit.TakeBack(v)
	v.Close()
	for _, w := range writes {
		if err == nil {
			err = s.write(s.source.Versions.Last()+1, w)
		}
	}
	return err
}

// readEras reads the eras of a store that notes them. Where they are damaged, it knows none: then a full backup is asked for.
func (s *Store) readEras(v *snapshot.Snapshot) error {
	eras := layout.Eras{}
	value, _, err := v.Get(layout.ErasKey())
	if err == nil {
		eras, err = layout.ParseEras(value)
	}
	if err == nil || errors.Is(err, chainstore.ErrCorrupt) {
		s.source.Eras.Store(&eras)
		return nil
	}
	return err
}

// format is the format version; 0: the store is new.
func (s *Store) format(v *snapshot.Snapshot) (version uint64, err error) {
	value, found, err := v.Get(formatKey)
	switch {
	case err != nil:
		return 0, err
	case !found && v.Seen > 0:
		return 0, fmt.Errorf("%w: %s has no format version: another program wrote it, or its first rows are hidden by a damaged table; "+
			"then go back to a backup", ErrFormat, s.dir)
	case !found:
		return 0, nil
	}
	return readFormat(s.dir, value)
}

// readFormat reads a format version, of those that this version reads.
func readFormat(dir string, value []byte) (version uint64, err error) {
	version, err = layout.ParseNumber(value, layout.TableFormat)
	if err == nil && (version < layout.FirstFormatVersion || version > layout.FormatVersion) {
		err = fmt.Errorf("%w: %s has format %d, this version reads %d to %d: open it with the version that wrote it, or a later one",
			ErrFormat, dir, version, layout.FirstFormatVersion, layout.FormatVersion)
	}
	return version, err
}

// readHeader reads a store's header, of which this version knows all that is required.
func readHeader(dir string, value []byte) (*layout.StoreHeader, error) {
	h, err := layout.ParseStoreHeader(value)
	if err == nil && len(h.Unknown()) > 0 {
		err = fmt.Errorf("%w: %s has features that this version does not know: %q: open it with the version that wrote it, or a later one",
			ErrFormat, dir, h.Unknown())
	}
	return h, err
}

// write commits rows at a timestamp.
func (s *Store) write(ts uint64, rows map[string]commit.Write) error {
	if err := commit.WriteTo(s.source.DB, rows, ts); err != nil {
		return err
	}
	s.source.Versions.Publish(ts)
	return nil
}
