//go:build !linux

package badgerdb

import "log/slog"

// tellReadAhead cannot tell here.
func tellReadAhead(*slog.Logger, string, int64) {}
