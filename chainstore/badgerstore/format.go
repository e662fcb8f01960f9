package badgerstore

import (
	"fmt"
	"log/slog"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

var (
	formatKey = layout.TableKey(layout.OwnNamespace, layout.TableFormat)
	headerKey = layout.TableKey(layout.OwnNamespace, layout.TableHeader)
)

// takeUp reads what the store says of itself, and refuses what this version does not know: ErrFormat. Then it writes what is missing in
// a new store, and in one of an earlier version: its header and its format version last, in one commit.
func (s *Store) takeUp(log *slog.Logger) error {
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	version, err := s.readFormat(v)
	if err != nil {
		return err
	}
	if s.header, err = s.readHeader(v); err != nil {
		return err
	}
	if version == layout.FormatVersion && s.header != nil {
		return nil
	}
	last := v.Seen
	if s.header == nil && version > 0 { // the rows of nodes stay as they are
		if last, err = s.indexFolders(log); err != nil {
			return err
		}
	}
	if s.header == nil {
		s.header = &layout.StoreHeader{ID: chainstore.NewStoreID()}
	}
	return s.write(last+1, map[string]commit.Write{
		string(formatKey): {Value: layout.NumberValue(layout.FormatVersion)},
		string(headerKey): {Value: layout.AppendStoreHeader(nil, s.header)},
	})
}

// readFormat reads the format version, of those that this version reads; 0: the store is new.
func (s *Store) readFormat(v *snapshot.Snapshot) (version uint64, err error) {
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
	version, err = layout.ParseNumber(value, layout.TableFormat)
	if err == nil && (version < layout.FirstFormatVersion || version > layout.FormatVersion) {
		err = fmt.Errorf("%w: %s has format %d, this version reads %d to %d: open it with the version that wrote it, or a later one",
			ErrFormat, s.dir, version, layout.FirstFormatVersion, layout.FormatVersion)
	}
	return version, err
}

// readHeader reads the store's header; nil: it has none yet.
func (s *Store) readHeader(v *snapshot.Snapshot) (*layout.StoreHeader, error) {
	value, found, err := v.Get(headerKey)
	if err != nil || !found {
		return nil, err
	}
	h, err := layout.ParseStoreHeader(value)
	if err == nil && len(h.Unknown()) > 0 {
		err = fmt.Errorf("%w: %s has features that this version does not know: %q: open it with the version that wrote it, or a later one",
			ErrFormat, s.dir, h.Unknown())
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
