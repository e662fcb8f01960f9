package badgerstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// folderIndex makes the T rows of a store of an earlier version those of this one: such a store has one row for each alias, that of the
// folder right above it. It writes the rows that aliases miss, and deletes those that no alias has: some may be left from a start that was
// cut, before an earlier version had the store again. Rows that are corrupt are passed over, for Verify to tell of. It commits as it
// goes; where it is cut, the next one begins anew, and comes to the same.
type folderIndex struct {
	db   *badgerdb.DB
	view *snapshot.Snapshot
	log  *slog.Logger
	now  func() time.Time
	// publish tells of a commit.
	publish func(ts uint64)
	// ts is that of the last commit, aliases how many were looked at, told when that was logged. A commit has about maxBytes and maxWrites.
	ts                  uint64
	maxBytes, maxWrites int64
	aliases             int
	told                time.Time

	writes map[string]commit.Write
	bytes  int64
}

// How often folderIndex logs how far it is, and how much a commit takes, if the database takes as much.
const (
	folderIndexLogs   = 10 * time.Second
	folderIndexCommit = 1 << 20
)

// indexFolders makes the T rows of a store of an earlier version, and returns the last commit.
func (s *Store) indexFolders(log *slog.Logger) (last uint64, err error) {
	u := s.newFolderIndex(log)
	defer u.view.Discard()
	err = u.run()
	return u.ts, err
}

// newFolderIndex reads a snapshot of the newest state, which is to be discarded.
func (s *Store) newFolderIndex(log *slog.Logger) *folderIndex {
	maxBytes, maxWrites := s.source.DB.MaxCommit()
	last := s.source.Versions.Last()
	return &folderIndex{
		db: s.source.DB, view: s.source.AsOf(last, layout.OwnNamespace), log: log, now: s.now, publish: s.source.Versions.Publish,
		ts: last, maxBytes: min(folderIndexCommit, maxBytes/2), maxWrites: maxWrites / 2, told: s.now(), writes: map[string]commit.Write{},
	}
}

// run goes through all namespaces.
func (u *folderIndex) run() error {
	var numbers []uint32
	err := u.view.Names(context.Background(), "", "", func(_ string, number uint32) error {
		numbers = append(numbers, number)
		return nil
	})
	for _, number := range numbers {
		if err == nil {
			err = u.namespace(number)
		}
	}
	if err == nil && len(u.writes) > 0 {
		err = u.commit()
	}
	return err
}

func (u *folderIndex) namespace(number uint32) error {
	u.view.Namespace = number
	if err := u.each(layout.TableMoved, u.moved); err != nil {
		return err
	}
	return u.each(layout.TableAliases, u.alias)
}

// each runs f on each row of a table of the namespace that can be read.
func (u *folderIndex) each(table byte, f func(key, value []byte) error) error {
	prefix := layout.TableKey(u.view.Namespace, table)
	c := u.view.Iterate(prefix)
	defer c.Close()
	for c.Seek(prefix); c.Valid(); c.Next() {
		key := c.Key()
		err := c.Value(func(value []byte) error { return f(key, value) })
		if err == nil && (u.bytes >= u.maxBytes || int64(len(u.writes)) >= u.maxWrites) {
			err = u.commit()
		}
		if err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// moved deletes a T row that no alias has.
func (u *folderIndex) moved(key, _ []byte) error {
	folder, name, movedAt, err := layout.ParseMovedKey(key)
	if err != nil {
		return err
	}
	a, found, err := u.view.AliasRow(name)
	if err != nil {
		return err
	}
	if !found || a.Deleted || a.MovedAt != movedAt || !slices.Contains(slices.Collect(chainstore.Folders(name)), folder) {
		u.write(key, commit.Write{Deleted: true})
	}
	return nil
}

// alias writes the T rows that an alias does not have.
func (u *folderIndex) alias(key, value []byte) error {
	a, err := layout.ParseAlias(value)
	if err != nil {
		return err
	}
	u.tell()
	if a.Deleted {
		return nil
	}
	name := layout.ParseAliasKey(key)
	for folder := range chainstore.Folders(name) {
		key := layout.MovedKey(u.view.Namespace, folder, name, a.MovedAt)
		found, err := u.view.Borrow(key, func([]byte) error { return nil })
		if err != nil {
			return err
		}
		if !found {
			u.write(key, commit.Write{Value: []byte{}})
		}
	}
	return nil
}

func (u *folderIndex) write(key []byte, w commit.Write) {
	text := string(key)
	u.writes[text] = w
	u.bytes += commit.Cost(text, w)
}

func (u *folderIndex) commit() error {
	if puts, _ := u.db.Ready(); puts != nil {
		return puts
	}
	if err := commit.WriteTo(u.db, u.writes, u.ts+1); err != nil {
		return err
	}
	u.ts++
	u.publish(u.ts)
	clear(u.writes)
	u.bytes = 0
	u.db.Pace(context.Background())
	return nil
}

// tell counts an alias, and logs how many there were, now and then.
func (u *folderIndex) tell() {
	u.aliases++
	if u.log != nil && u.now().Sub(u.told) >= folderIndexLogs {
		u.told = u.now()
		u.log.Info("a store of an earlier version is taken up: its aliases are indexed by all their folders", "aliases_so_far", u.aliases)
	}
}
