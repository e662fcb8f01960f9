package canonical_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "google.golang.org/protobuf/types/known/anypb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// shapeFaults lists how a hashed message, and every message in it, breaks the shape that makes ordinary runtimes emit
// the canonical encoding.
func shapeFaults(m protoreflect.MessageDescriptor) []string {
	return messageFaults(m, map[protoreflect.FullName]bool{})
}

func messageFaults(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) []string {
	if seen[m.FullName()] {
		return nil
	}
	seen[m.FullName()] = true
	faults := oneofFaults(m)
	fields := m.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if i > 0 && f.Number() <= fields.Get(i-1).Number() {
			faults = append(faults, fmt.Sprintf("%s: number not above the one before", f.FullName()))
		}
		faults = append(faults, fieldFaults(f)...)
		if f.Message() != nil {
			faults = append(faults, messageFaults(f.Message(), seen)...)
		}
	}
	if m.ParentFile().Syntax() != protoreflect.Proto3 {
		faults = append(faults, string(m.FullName())+": not proto3")
	}
	return faults
}

// oneofFaults: at most one real oneof; its members stand last, numbered from 8, plain fields 1 to 7.
func oneofFaults(m protoreflect.MessageDescriptor) []string {
	var faults []string
	oneofs := 0
	for i := range m.Oneofs().Len() {
		if !m.Oneofs().Get(i).IsSynthetic() {
			oneofs++
		}
	}
	if oneofs == 0 {
		return nil
	}
	if oneofs > 1 {
		faults = append(faults, string(m.FullName())+": several oneofs")
	}
	inside := false
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		member := f.ContainingOneof() != nil && !f.ContainingOneof().IsSynthetic()
		switch {
		case member && f.Number() < 8:
			faults = append(faults, fmt.Sprintf("%s: oneof member below 8", f.FullName()))
		case !member && f.Number() > 7:
			faults = append(faults, fmt.Sprintf("%s: plain field above 7 beside a oneof", f.FullName()))
		case !member && inside:
			faults = append(faults, fmt.Sprintf("%s: stands behind the oneof", f.FullName()))
		}
		inside = inside || member
	}
	return faults
}

func fieldFaults(f protoreflect.FieldDescriptor) []string {
	var faults []string
	fault := func(what string) { faults = append(faults, fmt.Sprintf("%s: %s", f.FullName(), what)) }
	if f.Number() > 15 {
		fault("number above 15, a tag of two bytes")
	}
	if f.IsMap() {
		fault("map")
	}
	if f.IsList() && f.Kind() != protoreflect.MessageKind {
		fault("repeated scalar")
	}
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.BoolKind, protoreflect.EnumKind,
		protoreflect.Int32Kind, protoreflect.Uint32Kind:
	case protoreflect.MessageKind:
		if strings.HasPrefix(string(f.Message().FullName()), "google.protobuf.") {
			fault("Any or well-known type")
		}
	default:
		fault("kind " + f.Kind().String())
	}
	return faults
}

func TestHashedMessagesHaveTheShape(t *testing.T) {
	for _, m := range []proto.Message{
		&transcriptv1.Payload{}, &transcriptv1.Message{}, &transcriptv1.Part{}, &transcriptv1.Reasoning{},
		&transcriptv1.Media{}, &transcriptv1.ToolCall{}, &transcriptv1.Opaque{}, &transcriptv1.Metadata{}, &transcriptv1.MetadataEntry{},
		&transcriptv1.NodeEnvelope{}, &transcriptv1.SpawnedFrom{},
	} {
		for _, fault := range shapeFaults(m.ProtoReflect().Descriptor()) {
			t.Error(fault)
		}
	}
}

// The declared enum numbers are those that validation counts on: 0 to the highest, without a gap.
func TestEnumsHaveNoGaps(t *testing.T) {
	for enum, highest := range map[protoreflect.Enum]protoreflect.EnumNumber{
		transcriptv1.Role(0): 5, transcriptv1.MessageState(0): 2, transcriptv1.ContentForm(0): 2, transcriptv1.Origin(0): 4,
	} {
		values := enum.Descriptor().Values()
		if values.Len() != int(highest)+1 {
			t.Errorf("%s has %d values", enum.Descriptor().FullName(), values.Len())
		}
		for n := range highest + 1 {
			if values.ByNumber(n) == nil {
				t.Errorf("%s has no %d", enum.Descriptor().FullName(), n)
			}
		}
	}
}

// field is a field of a crafted message.
func field(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
	return &descriptorpb.FieldDescriptorProto{
		Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
}

func repeated(f *descriptorpb.FieldDescriptorProto) *descriptorpb.FieldDescriptorProto {
	f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	return f
}

func of(f *descriptorpb.FieldDescriptorProto, name string) *descriptorpb.FieldDescriptorProto {
	f.TypeName = &name
	return f
}

func in(f *descriptorpb.FieldDescriptorProto, oneof int32) *descriptorpb.FieldDescriptorProto {
	f.OneofIndex = &oneof
	return f
}

// The rule sees each way to break the shape, and passes what keeps it.
func TestShapeRuleSees(t *testing.T) {
	const (
		str     = descriptorpb.FieldDescriptorProto_TYPE_STRING
		i64     = descriptorpb.FieldDescriptorProto_TYPE_INT64
		message = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	optional := in(field("o", 2, str), 0)
	optional.Proto3Optional = proto.Bool(true)
	type fields = []*descriptorpb.FieldDescriptorProto
	for name, c := range map[string]struct {
		fields fields
		oneofs []string
		want   string
	}{
		"good":             {fields: fields{field("a", 1, str), optional}, oneofs: []string{"_o"}},
		"good oneof":       {fields: fields{field("a", 7, str), in(field("b", 8, str), 0), in(field("c", 9, str), 0)}, oneofs: []string{"x"}},
		"order":            {fields: fields{field("a", 2, str), field("b", 1, str)}, want: "number not above"},
		"two oneofs":       {fields: fields{in(field("a", 8, str), 0), in(field("b", 9, str), 1)}, oneofs: []string{"x", "y"}, want: "several oneofs"},
		"low member":       {fields: fields{in(field("a", 7, str), 0)}, oneofs: []string{"x"}, want: "below 8"},
		"high plain":       {fields: fields{field("p", 8, str), in(field("a", 9, str), 0)}, oneofs: []string{"x"}, want: "above 7"},
		"behind the oneof": {fields: fields{in(field("a", 8, str), 0), field("p", 7, str)}, oneofs: []string{"x"}, want: "behind the oneof"},
		"repeated scalar":  {fields: fields{repeated(field("a", 1, str))}, want: "repeated scalar"},
		"int64":            {fields: fields{field("a", 1, i64)}, want: "kind int64"},
		"double":           {fields: fields{field("a", 1, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE)}, want: "kind double"},
		"float":            {fields: fields{field("a", 1, descriptorpb.FieldDescriptorProto_TYPE_FLOAT)}, want: "kind float"},
		"two-byte tag":     {fields: fields{field("a", 16, str)}, want: "above 15"},
		"any":              {fields: fields{of(field("a", 1, message), ".google.protobuf.Any")}, want: "well-known"},
		"map":              {fields: fields{repeated(of(field("m", 1, message), ".crafted.M.MEntry"))}, want: "map"},
		"nested":           {fields: fields{repeated(of(field("m", 1, message), ".crafted.Bad"))}, want: "kind int64"},
	} {
		faults := shapeFaults(crafted(t, "proto3", c.fields, c.oneofs))
		if c.want == "" && len(faults) > 0 || c.want != "" && !strings.Contains(strings.Join(faults, "\n"), c.want) {
			t.Errorf("%s: %q, want %q", name, faults, c.want)
		}
	}
	group := of(field("g", 1, descriptorpb.FieldDescriptorProto_TYPE_GROUP), ".crafted.M.G")
	faults := strings.Join(shapeFaults(crafted(t, "proto2", fields{group}, nil)), "\n")
	if !strings.Contains(faults, "kind group") || !strings.Contains(faults, "not proto3") {
		t.Errorf("group: %s", faults)
	}
}

// crafted is a message M with these fields, in a file that also has what they may refer to.
func crafted(
	t *testing.T, syntax string, fields []*descriptorpb.FieldDescriptorProto, oneofs []string,
) protoreflect.MessageDescriptor {
	t.Helper()
	m := &descriptorpb.DescriptorProto{Name: proto.String("M"), Field: fields}
	for _, name := range oneofs {
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(name)})
	}
	for _, f := range fields {
		switch f.GetTypeName() {
		case ".crafted.M.MEntry":
			m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
				Name: proto.String("MEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*descriptorpb.FieldDescriptorProto{
					field("key", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING),
					field("value", 2, descriptorpb.FieldDescriptorProto_TYPE_STRING),
				},
			})
		case ".crafted.M.G":
			m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: proto.String("G")})
		}
	}
	bad := &descriptorpb.DescriptorProto{Name: proto.String("Bad"), Field: []*descriptorpb.FieldDescriptorProto{
		field("a", 1, descriptorpb.FieldDescriptorProto_TYPE_INT64)}}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("crafted.proto"), Package: proto.String("crafted"), Syntax: &syntax,
		Dependency:  []string{"google/protobuf/any.proto"},
		MessageType: []*descriptorpb.DescriptorProto{m, bad},
	}
	built, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return built.Messages().ByName("M")
}
