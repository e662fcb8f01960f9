package canonical_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestCheckNode: a node that holds together is read; one that does not is refused with the field.
func TestCheckNode(t *testing.T) {
	says := func(role transcriptv1.Role, text string) []*transcriptv1.Message {
		return []*transcriptv1.Message{{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}}
	}
	salt := bytes.Repeat([]byte{7}, 16)
	parent := [32]byte{1}
	type stored struct{ envelope, payload, metadata, salt []byte }
	make := func(messages []*transcriptv1.Message, metadata []*transcriptv1.MetadataEntry, change func(*canonical.Envelope)) stored {
		form := canonical.NewNode(messages, metadata, salt)
		e := form.Envelope(&parent, nil)
		if change != nil {
			change(&e)
		}
		return stored{canonical.AppendEnvelope(nil, e), form.Payload, form.Metadata, salt}
	}
	covers := func(e *canonical.Envelope) { e.CoversThrough = &parent }
	stub := says(transcriptv1.Role_ROLE_USER, "a summary")
	stub[0].Origin = transcriptv1.Origin_ORIGIN_SUMMARY
	entries := []*transcriptv1.MetadataEntry{{Key: "a", Value: "b"}}
	good := make(says(transcriptv1.Role_ROLE_USER, "hi"), entries, nil)
	changed := func(f func(*stored)) stored {
		s := good
		f(&s)
		return s
	}
	loose, err := proto.Marshal(&transcriptv1.Payload{Messages: says(transcriptv1.Role_ROLE_USER, "hi")})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		stored
		field string
	}{
		"a node":                        {good, ""},
		"metadata alone":                {make(nil, entries, nil), ""},
		"a compaction node":             {make(stub, nil, covers), ""},
		"an envelope that is none":      {changed(func(s *stored) { s.envelope = []byte{1} }), "envelope"},
		"an envelope with more":         {changed(func(s *stored) { s.envelope = append(bytes.Clone(s.envelope), 0x32, 0) }), "envelope"},
		"messages that are none":        {changed(func(s *stored) { s.payload = []byte{1} }), "payload"},
		"messages not canonical":        {changed(func(s *stored) { s.payload = append(bytes.Clone(loose), 0x10, 1) }), "payload"},
		"other messages":                {changed(func(s *stored) { s.payload = make(says(transcriptv1.Role_ROLE_USER, "ho"), nil, nil).payload }), "payload"},
		"no messages":                   {make(nil, nil, nil), "payload"},
		"a message without a role":      {make(says(0, "hi"), nil, nil), "payload.messages[0].role"},
		"a message of the server's":     {make(stub, nil, nil), "payload.messages[0].origin"},
		"metadata that is none":         {changed(func(s *stored) { s.metadata = []byte{1} }), "metadata"},
		"other metadata":                {changed(func(s *stored) { s.metadata = nil }), "metadata"},
		"no metadata in the envelope":   {changed(func(s *stored) { s.envelope = make(says(transcriptv1.Role_ROLE_USER, "hi"), nil, nil).envelope }), "metadata"},
		"another salt":                  {changed(func(s *stored) { s.salt = nil }), "payload"},
		"a salt too short":              {changed(func(s *stored) { s.salt = []byte{1} }), "salt"},
		"a compaction without messages": {make(nil, nil, covers), ""},
		"a compaction with metadata":    {make(stub, entries, covers), "metadata"},
		"a compaction without a parent": {make(stub, nil, func(e *canonical.Envelope) { e.CoversThrough, e.Parent = &parent, nil }), "envelope"},
		"a compaction that was spawned": {make(stub, nil, func(e *canonical.Envelope) { e.CoversThrough, e.SpawnedFrom = &parent, &canonical.SpawnedFrom{} }), "envelope"},
	} {
		n, err := canonical.CheckNode(c.envelope, c.payload, c.metadata, c.salt)
		var field *canonical.FieldError
		switch {
		case c.field == "" && (err != nil || n.ID != canonical.NodeID(n.Envelope) || len(n.Facts) != len(n.Messages)):
			t.Errorf("%s: %v", what, err)
		case c.field != "" && (!errors.As(err, &field) || !strings.HasPrefix(field.Field, c.field)):
			t.Errorf("%s: %v, want a fault of %s", what, err, c.field)
		}
	}
}
