package verify

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestKindsOfTheWire: the kinds of problems of a store are those of the wire, by number and by name.
func TestKindsOfTheWire(t *testing.T) {
	kinds := chainstore.ProblemKinds()
	if len(kinds)+1 != len(transcriptv1.ProblemKind_name) {
		t.Errorf("%d kinds, and %d of the wire", len(kinds), len(transcriptv1.ProblemKind_name))
	}
	for _, kind := range kinds {
		want := "PROBLEM_KIND_" + strings.ToUpper(kind.String())
		if got := transcriptv1.ProblemKind(kind).String(); got != want {
			t.Errorf("kind %s is %s, want %s", kind, got, want)
		}
	}
}
