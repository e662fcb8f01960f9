package canonical_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// refusal is an input that is refused, and why.
type refusal struct {
	Name string `json:"name"`
	input
	WireHex         string          `json:"wire_hex,omitempty"`
	StoredHex       string          `json:"stored_hex,omitempty"`
	MetadataWireHex string          `json:"metadata_wire_hex,omitempty"`
	SpawnedFrom     json.RawMessage `json:"spawned_from,omitempty"`
	Field           string          `json:"field"`
	Rule            string          `json:"rule"`
	Kind            string          `json:"kind"`
}

func TestRefused(t *testing.T) {
	cases := refusedCases(t)
	golden(t, "refused.json", cases)
	if len(cases) < 60 {
		t.Errorf("%d vectors", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { checkRefused(t, c) })
	}
}

func checkRefused(t *testing.T, c refusal) {
	err := refuse(t, c)
	if c.Kind == "not_canonical" {
		if !errors.Is(err, canonical.ErrNotCanonical) {
			t.Errorf("%v, want ErrNotCanonical", err)
		}
		return
	}
	var refused *canonical.FieldError
	if c.Kind == "malformed" && err != nil && !errors.As(err, &refused) {
		// The runtime refuses it before: it must be for the same reason.
		if c.Rule != utf8Rule || !strings.Contains(err.Error(), "invalid UTF-8") {
			t.Errorf("does not parse: %v", err)
		}
		return
	}
	if !errors.As(err, &refused) {
		t.Fatalf("%v, want %s: %s", err, c.Field, c.Rule)
	}
	kind := map[error]string{
		canonical.ErrInvalid: "invalid", canonical.ErrLimit: "limit", canonical.ErrMalformed: "malformed",
	}[refused.Kind]
	if refused.Field != c.Field || refused.Rule != c.Rule || kind != c.Kind || !errors.Is(err, refused.Kind) {
		t.Errorf("%s: %s (%s), want %s: %s (%s)", refused.Field, refused.Rule, kind, c.Field, c.Rule, c.Kind)
	}
	if want := c.Field + ": " + c.Rule; err.Error() != want {
		t.Errorf("message %q, want %q", err, want)
	}
}

// refuse gives the input to whoever judges it.
func refuse(t *testing.T, c refusal) error {
	if c.StoredHex != "" {
		_, err := canonical.CheckPayload(unhex(t, c.StoredHex))
		return err
	}
	messages, metadata, salt := expand(t, c.input)
	if c.WireHex != "" {
		var payload transcriptv1.Payload
		if err := proto.Unmarshal(unhex(t, c.WireHex), &payload); err != nil {
			return err
		}
		messages = payload.Messages
	}
	if c.MetadataWireHex != "" {
		var all transcriptv1.Metadata
		if err := proto.Unmarshal(unhex(t, c.MetadataWireHex), &all); err != nil {
			return err
		}
		metadata = all.Entries
	}
	if err := canonical.Validate(messages, metadata, salt); err != nil || c.SpawnedFrom == nil {
		return err
	}
	var from transcriptv1.SpawnedFromRef
	if err := protojson.Unmarshal(c.SpawnedFrom, &from); err != nil {
		t.Fatal(err)
	}
	_, err := canonical.ParseSpawnedFrom(&from)
	return err
}
