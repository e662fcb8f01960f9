package audit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/transcriptd/transcriptd/internal/audit"
)

// BenchmarkAdd is a line of a call, without a key, with one, and with a sync.
func BenchmarkAdd(b *testing.B) {
	for name, options := range map[string]audit.Options{
		"plain": {}, "keyed": {Key: newKey(b, "k")}, "synced": {Key: newKey(b, "k"), Required: true},
	} {
		b.Run(name, func(b *testing.B) {
			options.OpenFile = func(name string, flag int, perm os.FileMode) (audit.File, error) {
				return os.OpenFile(name, flag, perm)
			}
			l := open(b, filepath.Join(b.TempDir(), "audit.jsonl"), options)
			r := record(1)
			for b.Loop() {
				if err := l.Add(r); err != nil {
					b.Fatal(err)
				}
			}
			closeLog(b, l)
		})
	}
}
