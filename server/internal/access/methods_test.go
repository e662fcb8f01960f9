package access

import (
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// Every row is that of a method that there is, and fits its request; what has none is refused.
func TestRowsFitTheirMethods(t *testing.T) {
	for name := range methods {
		service, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
		if m, err := Check(service, method); err != nil || m != Find(name) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	service := transcriptv1.TranscriptService_ServiceDesc.ServiceName
	if m, err := Check(service, "Unknown"); err == nil {
		t.Errorf("a method without a row has %v", m)
	}
	row := Find(transcriptv1.TranscriptService_GetNode_FullMethodName)
	right := *row
	defer func() { *row = right }()
	for _, wrong := range []Method{
		{identity.Read, Reads, "", ""}, {identity.Read, Reads, "node", ""}, {identity.Read, Reads, "nowhere", ""}, {identity.Read, Reads, "namespace", "nowhere"},
		{identity.Read, Reads, "namespace", "omit_metadata"},
	} {
		*row = wrong
		if m, err := Check(service, "GetNode"); err == nil {
			t.Errorf("a wrong row is taken: %v", m)
		}
	}
}
