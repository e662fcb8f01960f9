//go:build !linux

package badgerdb

import "os"

// nextData looks for no holes here.
func nextData(_ *os.File, from, _ int64) int64 { return from }
