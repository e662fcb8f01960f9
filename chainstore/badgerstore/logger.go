package badgerstore

import (
	"fmt"
	"log/slog"
	"strings"
)

// databaseLogger passes the database's warnings and errors on, and nothing of what is stored: byte slices, which may be
// keys, are left out.
type databaseLogger struct{ log *slog.Logger }

func (l databaseLogger) Errorf(format string, args ...any) {
	if l.log != nil {
		l.log.Error("database: " + text(format, args))
	}
}

func (l databaseLogger) Warningf(format string, args ...any) {
	if l.log != nil {
		l.log.Warn("database: " + text(format, args))
	}
}

func (databaseLogger) Infof(string, ...any)  {}
func (databaseLogger) Debugf(string, ...any) {}

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
