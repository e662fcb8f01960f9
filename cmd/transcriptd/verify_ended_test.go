package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// TestVerifyThatIsInterrupted: it says so, and how the check goes on.
func TestVerifyThatIsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	putTexts(t, p, 0, 3)
	p.terminate(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, notes strings.Builder
	err := run(ctx, []string{"verify", badgerFlag(dir)}, &out, &notes)
	if err == nil || !strings.HasSuffix(err.Error(), ": interrupted") || !strings.Contains(out.String(), "repeat the same command") {
		t.Errorf("%v\n%s", err, out.String())
	}
	f := &folder{cfg: &config{}, path: dir, out: &out, newest: chainstore.VerifyReport{Cursor: []byte{1}}}
	if err := f.ended(ctx, context.Canceled); strings.Contains(err.Error(), "canceled") || !strings.Contains(out.String(), "the same command with --cursor AQ\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := f.ended(t.Context(), errors.New("disk")); !strings.HasSuffix(err.Error(), ": disk") {
		t.Error(err)
	}
}

// TestHelpOfCommands: the help of a command has its flags and those of a server that it reads, and no others; that of the server has all.
func TestHelpOfCommands(t *testing.T) {
	for command, flags := range map[string]string{
		"key": "", "key create": "", "key rotate": "--store= --encryption-key-file=", "verify": "--store= --encryption-key-file= --log-level= --cursor=",
		"repair": "--store= --dry-run", "": "--listen= --http-origin=", "serve": "--listen= --http-origin=",
	} {
		out, code := runToEnd(t, append(strings.Fields(command), "--help")...)
		if code != exitOK || command != "" && command != "serve" && strings.Contains(out, "--http-origin") {
			t.Errorf("%q: exit code %d\n%s", command, code, out)
		}
		for _, flag := range strings.Fields(flags) {
			if !strings.Contains(out, flag) {
				t.Errorf("%q: %s is not in its help", command, flag)
			}
		}
	}
	for args, says := range map[string]string{
		"key": "Run transcriptd key --help", "key create": "Run transcriptd key create --help", "verify --none": "Run transcriptd verify --help",
		"verify --store=memory:": "Run transcriptd verify --help", "--none": "Run transcriptd --help",
	} {
		if out, code := runToEnd(t, strings.Fields(args)...); code != exitUsage || !strings.Contains(out, says) {
			t.Errorf("%q: exit code %d\n%s", args, code, out)
		}
	}
}
