package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What cannot be begun is told, and leaves nothing behind.
func TestWhatCannotBeBegunLeavesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho other 1.0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"nowhere":         {Transcriptd: filepath.Join(t.TempDir(), "nowhere")},
		"no transcriptd":  {Transcriptd: other},
		"Unavailable":     {Remote: "127.0.0.1:1"}, // where nobody answers
		"profiles":        {Profile: filepath.Join(file, "profiles")},
		"there is no row": {Rows: []int{99}},
	} {
		o.Dir = t.TempDir()
		err := Run(t.Context(), o, func(Machine) { t.Errorf("%s: it began", want) }, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if left, err := os.ReadDir(o.Dir); err != nil || len(left) != 0 {
			t.Errorf("%s: %v is left, %v", want, left, err)
		}
	}
}

// A server that ends before it serves has ended by itself, also where it says that all went well.
func TestServerThatEndsAtOnce(t *testing.T) {
	for program, want := range map[string]string{"true": "exit status 0", "false": "exit status 1"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skip(err)
		}
		if _, err := startProcess(path); !errors.Is(err, errDied) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%v", err)
		}
	}
}

// A row that ends with figures while the run is given up has none.
func TestInterruptedRowHasNoFigures(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := row{number: 23, claims: []claim{callsServed}, run: func(context.Context, *env) ([]Figure, error) {
		cancel()
		return []Figure{figure(callsServed, 0.5)}, nil
	}}
	if _, err := rowEnv(t).figures(ctx, r, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Servers run with default settings, whatever this process was given.
func TestServersHaveDefaults(t *testing.T) {
	got := withDefaults([]string{"PATH=/bin", "TRANSCRIPTD_CACHE_MIB=8", "GOGC=20", "GOMEMLIMIT=1GiB", "HOME=/root"})
	if want := []string{"PATH=/bin", "HOME=/root"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
