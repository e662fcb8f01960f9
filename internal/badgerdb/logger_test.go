package badgerdb

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestLoggerShowsNoKeys(t *testing.T) {
	var out bytes.Buffer
	l := logger{slog.New(slog.NewTextHandler(&out, nil))}
	l.Errorf("key %s of level %d: %v", []byte("secret"), 3, errors.New("broken"))
	l.Warningf("slow")
	l.Infof("secret")
	l.Debugf("secret")
	logger{}.Errorf("nowhere")
	logger{}.Warningf("nowhere")
	if s := out.String(); strings.Contains(s, "secret") || !strings.Contains(s, "of level 3: broken") || !strings.Contains(s, "slow") {
		t.Errorf("the log is %s", s)
	}
}

// What Badger says of its small cache each minute is no warning: Badger's words and formats, of monitorCache in its db.go.
func TestLoggerTellsTheCacheAtDebug(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 2} {
		var out bytes.Buffer
		l := logger{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))}
		l.Warningf("%s might be too small. Metrics: %s\n", "Block cache", "hit: 1 miss: 2")
		l.Warningf("Cache life expectancy (in seconds): %+v\n", "a histogram")
		if s := out.String(); strings.Count(s, "\n") != want || strings.Contains(s, "WARN") {
			t.Errorf("at %v the log is %q", level, s)
		}
	}
}
