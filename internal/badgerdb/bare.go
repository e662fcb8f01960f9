package badgerdb

import (
	"fmt"
	"log/slog"

	"github.com/dgraph-io/badger/v4"
)

// Bare is a Badger database that holds memory as that of a store does: see freeBuilders. It makes
// nothing durable but what its options say.
type Bare struct {
	*badger.DB
}

// OpenBare opens a database for what a store is measured against: with the options of a store that is opened with the
// default ones, but for what change makes of them, in Badger's own mode, in which it numbers transactions itself. Errors
// are Badger's.
func OpenBare(dir string, change func(badger.Options) badger.Options) (*Bare, error) {
	o := Options{}.complete()
	db, err := badger.Open(change(badgerOptions(dir, &o, 0)))
	return tune(db, err, nil)
}

// tune takes a database that was just opened, or the error of that.
func tune(db *badger.DB, err error, log *slog.Logger) (*Bare, error) {
	if err != nil {
		return nil, err
	}
	freeBuilders(db, log)
	return &Bare{db}, nil
}

// Close closes the database. It is called once, whatever it returns.
func (b *Bare) Close() error {
	if err := b.DB.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
