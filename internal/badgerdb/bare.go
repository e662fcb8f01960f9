package badgerdb

import (
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// Bare is a Badger database that holds memory and merges as that of a store does: see freeBuilders and keepYoung. It makes
// nothing durable but what its options say.
type Bare struct {
	*badger.DB
	// stopYoung ends keepYoung.
	stopYoung func()
}

// OpenBare opens a database for what a store is measured against: with the options of a store that is opened with the
// default ones, but for what change makes of them, in Badger's own mode, in which it numbers transactions itself. Errors
// are Badger's.
func OpenBare(dir string, change func(badger.Options) badger.Options) (*Bare, error) {
	o := Options{}.complete()
	return tune(badger.Open(change(badgerOptions(dir, &o, 0))))
}

// tune takes a database that was just opened, or the error of that.
func tune(db *badger.DB, err error) (*Bare, error) {
	if err != nil {
		return nil, err
	}
	freeBuilders(db)
	return &Bare{db, keepYoung(db)}, nil
}

// Close closes the database. It is called once, whatever it returns.
func (b *Bare) Close() error {
	b.stopYoung()
	if err := b.DB.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
