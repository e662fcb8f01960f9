package access

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// The table of docs/api.md names for each role the methods that need it, and no others.
func TestTableIsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, begins := bytes.Cut(page, []byte("| role | rpcs |"))
	page, _, ends := bytes.Cut(page, []byte("\n\n"))
	if !begins || !ends {
		t.Fatal("docs/api.md has no table of roles")
	}
	want, got := map[string][]string{}, map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+(?:` and `[a-z]+)*)` \\| ([A-Z][^.|]*)").FindAllStringSubmatch(string(page), -1) {
		roles := strings.Split(row[1], "` and `")
		if _, err := identity.ParseRole(roles[0]); err == nil {
			want[strings.Join(roles, " ")] = slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(row[2]), ", ")))
		}
	}
	for name, m := range methods {
		if m.Role != known {
			role := strings.Join(m.Role.Names(), " ")
			got[role] = append(got[role], name[strings.LastIndex(name, "/")+1:])
		}
	}
	for _, names := range got {
		slices.Sort(names)
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the table is\n%v\nand docs/api.md says\n%v", got, want)
	}
}

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
