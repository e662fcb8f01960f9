package canonical_test

import (
	"encoding/hex"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erasedVector is a payload, and its markers.
type erasedVector struct {
	Name       string `json:"name"`
	PayloadHex string `json:"payload_hex"`
	MarkersHex string `json:"markers_hex"`
}

// TestErasedVectors: of every vector that is spelled out, its markers are those in the file.
func TestErasedVectors(t *testing.T) {
	var all []erasedVector
	for _, v := range acceptedCases(t) {
		messages, _, _ := expand(t, v.input)
		payload, markers := canonical.EncodePayload(messages), canonical.EncodePayload(canonical.Erased(messages))
		if len(payload) > 0 && len(payload) < longestHex {
			all = append(all, erasedVector{v.Name, hex.EncodeToString(payload), hex.EncodeToString(markers)})
		}
	}
	golden(t, "erased.json", all)
	if len(all) < 60 {
		t.Errorf("%d vectors", len(all))
	}
}

// foldedBy is what folds go by, and so a marker has it as its message has.
func foldedBy(m *transcriptv1.Message) runloop.Facts {
	f := canonical.FactsOf(m)
	f.Length, f.PartsLength, f.BareLength, f.TextOctets, f.TextPoints, f.Savings = 0, 0, 0, 0, 0, nil
	if f.Role != runloop.Tool {
		f.Name = runloop.Optional{}
	}
	return f
}

// TestErased: markers are messages in order, all that folds go by is as it was, a line is never shorter than one, and a marker is its own marker.
func TestErased(t *testing.T) {
	for _, v := range acceptedCases(t) {
		messages, _, _ := expand(t, v.input)
		markers := canonical.Erased(messages)
		if _, err := canonical.CheckPayload(canonical.EncodePayload(markers)); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		for i, m := range markers {
			if got, want := foldedBy(m), foldedBy(messages[i]); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: facts %+v, want %+v", v.Name, got, want)
			}
			if f := canonical.FactsOf(m); f.Savings != nil || f.Role == runloop.Tool && !f.Made && f.PartsLength >= len(runloop.LineText(f.Name, &f, runloop.Source{})) {
				t.Errorf("%s: a marker of %d bytes, which something shorter can replace", v.Name, f.Length)
			}
			if !proto.Equal(canonical.ErasedMessage(m), m) {
				t.Errorf("%s: the marker of a marker is another", v.Name)
			}
		}
	}
	two := []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Extras: `{"a":1}`}, {Role: transcriptv1.Role_ROLE_USER, Extras: `{"a":2}`}}
	if got := canonical.ErasedWhere(two, func(i int) bool { return i == 1 }); got[0] != two[0] || got[1].Extras != "" || two[1].Extras == "" {
		t.Errorf("of two messages of which the second is erased, there is left %v", got)
	}
}
