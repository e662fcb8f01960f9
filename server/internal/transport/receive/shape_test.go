package receive

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// hasUnknown walks a parsed message: slow, and obviously right.
func hasUnknown(m protoreflect.Message) bool {
	if len(m.GetUnknown()) > 0 {
		return true
	}
	found := false
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				found = found || hasUnknown(v.List().Get(i).Message())
			}
		default:
			found = found || hasUnknown(v.Message())
		}
		return !found
	})
	return found
}

// drawWire draws wire bytes that are nearly a message of that shape: known fields, unknown ones, wrong wire types,
// messages within messages, garbage.
func drawWire(t *rapid.T, s *shape, depth int) []byte {
	var b []byte
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		number := protowire.Number(rapid.IntRange(1, 13).Draw(t, "number"))
		f, known := s.fields[number]
		wire := protowire.VarintType
		if known {
			wire = f.wire
		}
		if rapid.IntRange(0, 15).Draw(t, "wrong wire type") == 0 {
			wire = protowire.Type(rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "wire type"))
		}
		b = protowire.AppendTag(b, number, wire)
		switch wire {
		case protowire.VarintType:
			b = protowire.AppendVarint(b, rapid.Uint64Range(0, 9).Draw(t, "varint"))
		case protowire.Fixed32Type:
			b = protowire.AppendFixed32(b, 7)
		case protowire.Fixed64Type:
			b = protowire.AppendFixed64(b, 7)
		default:
			value := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")
			if known && f.children != nil && depth > 0 {
				value = drawWire(t, f.children, depth-1)
			}
			b = protowire.AppendBytes(b, value)
		}
	}
	return b
}

// TestShapesFindUnknownFields compares the scan of the wire form with the walk of the parsed message.
func TestShapesFindUnknownFields(t *testing.T) {
	all := requestShapes()
	requests := []proto.Message{
		&transcriptv1.PutNodeRequest{}, &transcriptv1.PutNodesRequest{}, &transcriptv1.PutArchivedNodesRequest{}, &transcriptv1.AliasRequest{},
		&transcriptv1.ListAliasesRequest{}, &transcriptv1.AssembleRequest{}, &transcriptv1.VerifyRequest{},
	}
	refusals, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(requests).Draw(t, "request").ProtoReflect().New().Interface()
		s := all[m.ProtoReflect().Descriptor().FullName()]
		b := drawWire(t, s, 4)
		err := proto.Unmarshal(b, m)
		got := NewRequests().Read(mem.BufferSlice{mem.SliceBuffer(b)}, m)
		want := err != nil || hasUnknown(m.ProtoReflect())
		if got != nil && !want && (strings.Contains(got.Field, ".labels.entries.") || strings.Contains(got.Field, ".attributes.")) {
			return // the parser drops unknown fields in the entries of maps without a trace
		}
		if (got != nil) != want {
			t.Fatalf("%x: %v, parses with %v, unknown fields %t", b, got, err, hasUnknown(m.ProtoReflect()))
		}
		if want {
			refusals++
		} else {
			accepted++
		}
	})
	if refusals == 0 || accepted == 0 {
		t.Errorf("%d refused, %d accepted: one of the two was not tried", refusals, accepted)
	}
}

// Who receives a request is told what is wrong with its bytes; where nobody does, the codec's error tells it.
func TestFaultsOfRequests(t *testing.T) {
	r := NewRequests()
	for field, b := range map[string][]byte{
		"request":                            {0x07},
		"99":                                 protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1),
		"messages[1].parts[0].tool_call.id":  nested(3, 3, 2, 12, 1),
		"messages[1].parts[0].tool_call.200": nested(3, 3, 2, 12, 200),
		"metadata[0].key":                    nested(0, 5, 1),
		"":                                   nil,
	} {
		m := &transcriptv1.PutNodeRequest{}
		unmarshal := func(any) error { return r.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, m) }
		fault, err := r.receive(m, unmarshal)
		if err != nil || (fault != nil) != (field != "") || fault != nil && fault.Field != field {
			t.Errorf("%x gives %v and %v, want a fault at %q", b, fault, err, field)
		}
		if !proto.Equal(m, &transcriptv1.PutNodeRequest{}) {
			t.Errorf("%x gives %v", b, m)
		}
		var told *canonical.FieldError
		if err := unmarshal(m); errors.As(err, &told) != (field != "") || told != nil && told.Field != field {
			t.Errorf("%x gives %v where nobody receives it", b, err)
		}
	}
	if len(r.faults) > 0 {
		t.Errorf("%d requests are kept", len(r.faults))
	}
}

// nested is a string that is not UTF-8 in messages within each other, along the path of field numbers; where sibling is
// a field number, an empty one of that number stands before.
func nested(sibling protowire.Number, path ...protowire.Number) []byte {
	b := []byte{0xff}
	for i := len(path) - 1; i >= 0; i-- {
		b = protowire.AppendBytes(protowire.AppendTag(nil, path[i], protowire.BytesType), b)
	}
	if sibling == 0 {
		return b
	}
	return append(protowire.AppendBytes(protowire.AppendTag(nil, sibling, protowire.BytesType), nil), b...)
}
