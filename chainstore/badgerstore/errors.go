package badgerstore

import (
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// What Open fails with beside chainstore's errors and those of the file system.
var (
	// ErrFormat: the directory holds something else, or was written by a newer version.
	ErrFormat = badgerdb.ErrFormat
	// ErrLocked: another process has the store open.
	ErrLocked = badgerdb.ErrLocked
	// ErrKey: the store is encrypted, and its key is not the one that was given; or it is not encrypted, and one was.
	ErrKey = badgerdb.ErrKey
	// ErrDamaged: its files are not what was written.
	ErrDamaged = badgerdb.ErrDamaged
	// ErrUnclean: with Options.ReadOnly, a store that a start would mend or bring to another format.
	ErrUnclean = badgerdb.ErrUnclean
)
