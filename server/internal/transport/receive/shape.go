package receive

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// MaxNested is how many messages and texts in lists a request may hold, at any depth. A message takes some 150 bytes when it is
// parsed, however short it is on the wire, and a text 16.
const MaxNested = 200_000

// shapes are the shapes of the requests of our services, by name.
type shapes map[protoreflect.FullName]*shape

// shape is what the wire form of a message may hold. A nil shape, that of a message that is not ours, allows anything.
// Reading wire bytes against it costs a fraction of walking the parsed message, and no allocation.
type shape struct {
	fields map[protowire.Number]field
}

// field is one field of a shape.
type field struct {
	name     string
	wire     protowire.Type
	packed   bool // a list that may also come packed, as bytes
	list     bool
	text     bool
	children *shape // of messages
}

// requestShapes are made once for each codec, from the descriptors.
func requestShapes() shapes {
	all := shapes{}
	files := []protoreflect.FileDescriptor{
		transcriptv1.File_transcript_v1_transcript_service_proto,
		transcriptv1.File_transcript_v1_admin_service_proto,
	}
	for _, file := range files {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				all.add(methods.Get(k).Input())
			}
		}
	}
	return all
}

func (all shapes) add(d protoreflect.MessageDescriptor) *shape {
	if s := all[d.FullName()]; s != nil {
		return s
	}
	s := &shape{fields: map[protowire.Number]field{}}
	all[d.FullName()] = s
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := field{
			name: string(fd.Name()),
			wire: wireType(fd.Kind()),
			list: fd.IsList(),
			text: fd.Kind() == protoreflect.StringKind,
		}
		f.packed = f.list && f.wire != protowire.BytesType
		if fd.Message() != nil {
			f.children = all.add(fd.Message())
		}
		s.fields[fd.Number()] = f
	}
	return s
}

// wireType is the form that a kind has on the wire.
func wireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	default:
		return protowire.VarintType
	}
}

// pass is one way over the wire bytes of a request.
type pass struct {
	// text says that strings are looked at too.
	text bool
	// nested counts the messages and texts in lists within the request.
	nested int
}

// check finds the first field that the shape does not have, or the first message too many; with text, also the first
// string that is not UTF-8. Bytes that are cut short it leaves to the parser.
func (p *pass) check(s *shape, b []byte) *canonical.FieldError {
	if s == nil {
		return nil
	}
	for rest := b; len(rest) > 0; {
		number, wire, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil
		}
		f, known := s.fields[number]
		if !known || f.wire != wire && !(f.packed && wire == protowire.BytesType) {
			return Malformed(fmt.Sprint(number), "is the number of no field, or not in the field's wire form")
		}
		size := protowire.ConsumeFieldValue(number, wire, rest[n:])
		if size < 0 {
			return nil
		}
		if f.text || f.children != nil {
			value, _ := protowire.ConsumeBytes(rest[n:])
			if err := p.field(&f, value); err != nil {
				return err.Under(f.path(b, len(b)-len(rest), number))
			}
		}
		rest = rest[n+size:]
	}
	return nil
}

func (p *pass) field(f *field, value []byte) *canonical.FieldError {
	if f.children != nil || f.list {
		if p.nested++; p.nested > MaxNested {
			return &canonical.FieldError{Rule: fmt.Sprintf("is one of over %d messages, parts and entries of lists in a request", MaxNested), Kind: canonical.ErrLimit}
		}
	}
	if p.text && f.text && !utf8.Valid(value) {
		return Malformed("", "must be valid UTF-8")
	}
	return p.check(f.children, value)
}

// path is the field's name, with its place in a list: how often its number stands in the message b before the offset.
func (f *field) path(b []byte, before int, number protowire.Number) string {
	if !f.list {
		return f.name
	}
	index := 0
	for rest := b[:before]; len(rest) > 0; {
		other, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if other == number {
			index++
		}
		rest = rest[n:]
	}
	return fmt.Sprintf("%s[%d]", f.name, index)
}

func Malformed(field, rule string) *canonical.FieldError {
	return &canonical.FieldError{Field: field, Rule: rule, Kind: canonical.ErrMalformed}
}
