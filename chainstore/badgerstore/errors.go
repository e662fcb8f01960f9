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
	// ErrDamaged: its files are not what was written.
	ErrDamaged = badgerdb.ErrDamaged
)
