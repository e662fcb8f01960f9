package badgerdb

import (
	"fmt"
	"log/slog"
	"strings"
)

// logger passes Badger's warnings and errors on, and nothing of what is stored: byte slices, which may be
// keys, are left out.
type logger struct{ log *slog.Logger }

func (l logger) Errorf(format string, args ...any) {
	if l.log != nil {
		l.log.Error("badger: " + text(format, args))
	}
}

func (l logger) Warningf(format string, args ...any) {
	switch {
	case l.log == nil:
	case aboutCache(format):
		l.log.Debug("badger: " + text(format, args))
	default:
		l.log.Warn("badger: " + text(format, args))
	}
}

// aboutCache tells what Badger says each minute where its cache of blocks is small for what is read, with a histogram of how long
// blocks stay in it. It is small: rows are cached above it.
func aboutCache(format string) bool {
	return strings.Contains(format, " might be too small. Metrics: ") || strings.HasPrefix(format, "Cache life expectancy ")
}

func (logger) Infof(string, ...any)  {}
func (logger) Debugf(string, ...any) {}

func text(format string, args []any) string {
	shown := make([]any, len(args))
	for i, a := range args {
		if _, bytes := a.([]byte); bytes {
			a = "(bytes)"
		}
		shown[i] = a
	}
	return strings.TrimSpace(fmt.Sprintf(format, shown...))
}
