package bench

import (
	"context"
	"errors"
	"os"
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
	for want, o := range map[string]Options{
		"nowhere":         {Transcriptd: filepath.Join(t.TempDir(), "nowhere")},
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
