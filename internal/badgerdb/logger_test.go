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
