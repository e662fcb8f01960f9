package badgerstore

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
)

// TestDatabaseOptions holds what the database is opened with by default to testdata/options.json, to which internal/bench
// holds the bare Badger that it measures the store against: neither can change without the other. Left out is what differs
// from system to system and from store to store. UPDATE_GOLDEN=1 writes it anew.
func TestDatabaseOptions(t *testing.T) {
	const file = "testdata/options.json"
	o := Options{Logger: slog.New(slog.DiscardHandler)}.complete()
	opened := databaseOptions(t.TempDir(), &o).WithDir("").WithValueDir("").WithSyncWrites(false).WithLogger(nil)
	got, err := json.MarshalIndent(opened, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the database is opened with; UPDATE_GOLDEN=1 writes it anew. It is:\n%s", file, got)
	}
}
