package conforms

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestVectors: the kit's copies are the files of proto/testdata.
func TestVectors(t *testing.T) {
	for _, name := range []string{"vectors.json", "refused.json", "requests.json"} {
		want, err := os.ReadFile(filepath.Join("../../proto/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../conformance/vectors", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("conformance/vectors/%s is not proto/testdata/%s: copy it", name, name)
		}
	}
}
