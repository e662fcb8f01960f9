package client

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestRepeats holds the client against proto/testdata/repeats.json: which calls may be sent again where their reply was lost.
func TestRepeats(t *testing.T) {
	file, err := os.ReadFile("../proto/testdata/repeats.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Method string
		Request      json.RawMessage
		Repeat       bool
	}
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	may := map[string]func(json.RawMessage) bool{
		"PutNode": func(form json.RawMessage) bool {
			return repeatablePut(readForm(t, form, &transcriptv1.NewNode{})) // the fields have the same names
		},
		"PutNodes": func(form json.RawMessage) bool {
			return repeatablePut(readForm(t, form, &transcriptv1.PutNodesRequest{}).Nodes...)
		},
		"Alias": func(form json.RawMessage) bool {
			return repeatableMoves(readForm(t, form, &transcriptv1.AliasRequest{}).Aliases)
		},
		"DeleteAliases": func(form json.RawMessage) bool {
			return repeatableDeletion(readForm(t, form, &transcriptv1.DeleteAliasesRequest{}))
		},
		"DeleteAlias": func(form json.RawMessage) bool {
			return repeatableDelete(readForm(t, form, &transcriptv1.DeleteAliasRequest{}).Precondition)
		},
		"SetNamespace": func(form json.RawMessage) bool {
			return repeatableSettings(readForm(t, form, &transcriptv1.SetNamespaceRequest{}))
		},
	}
	seen := map[string]int{}
	for _, c := range cases {
		if c.Method == "Compact" {
			continue // what the client looks up first, and when, compact_lost_test.go holds
		}
		seen[c.Method]++
		if got := may[c.Method](c.Request); got != c.Repeat {
			t.Errorf("%s of %s: the client repeats it: %t, want %t", c.Name, c.Method, got, c.Repeat)
		}
	}
	for method := range may {
		if seen[method] < 2 {
			t.Errorf("%d cases of %s", seen[method], method)
		}
	}
}

func readForm[M proto.Message](t *testing.T, form json.RawMessage, into M) M {
	t.Helper()
	if err := protojson.Unmarshal(form, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// A deletion of all and of a prefix is neither.
func TestDeletionOfBothIsRefused(t *testing.T) {
	for _, err := range new(Client).DeleteAliases(t.Context(), AliasDeletion{All: true, Prefix: "chat/"}) {
		if !errors.Is(err, ErrInvalidField) {
			t.Error(err)
		}
	}
}
