package canonical_test

import (
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// speller spells messages in other wire forms.
type speller struct {
	*rand.Rand
	// longTags says that tags too are spelled longer than they need be. Not every runtime reads those.
	longTags bool
}

// respell is another wire form of the same message: fields interleaved anew (those of one number, and the members of
// one oneof, keep their order), varints spelled longer than they need be, in sub-messages too. ok is false where wire
// does not parse.
func (r *speller) respell(wire []byte, m protoreflect.MessageDescriptor) (other []byte, ok bool) {
	var order []protoreflect.FieldNumber
	queues := map[protoreflect.FieldNumber][][]byte{}
	for len(wire) > 0 {
		number, field, n := r.field(wire, m)
		if n < 0 {
			return nil, false
		}
		wire = wire[n:]
		key := queueOf(m, number)
		order = append(order, key)
		queues[key] = append(queues[key], field)
	}
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, key := range order {
		other = append(other, queues[key][0]...)
		queues[key] = queues[key][1:]
	}
	return other, true
}

// queueOf names the fields that keep their order among each other: negative for the members of a oneof.
func queueOf(m protoreflect.MessageDescriptor, number protoreflect.FieldNumber) protoreflect.FieldNumber {
	if f := m.Fields().ByNumber(number); f != nil && f.ContainingOneof() != nil {
		return -1 - protoreflect.FieldNumber(f.ContainingOneof().Index())
	}
	return number
}

// field spells the first field of wire anew; n is the bytes it took there, negative where it does not parse.
func (r *speller) field(wire []byte, m protoreflect.MessageDescriptor) (protoreflect.FieldNumber, []byte, int) {
	number, kind, tag := protowire.ConsumeTag(wire)
	if tag < 0 {
		return 0, nil, -1
	}
	out := protowire.AppendTag(nil, number, kind)
	if r.longTags {
		out = r.varint(nil, protowire.EncodeTag(number, kind))
	}
	switch kind {
	case protowire.VarintType:
		v, n := protowire.ConsumeVarint(wire[tag:])
		return number, r.varint(out, v), sum(tag, n)
	case protowire.BytesType:
		b, n := protowire.ConsumeBytes(wire[tag:])
		if f := m.Fields().ByNumber(number); n >= 0 && f != nil && f.Kind() == protoreflect.MessageKind {
			var ok bool
			if b, ok = r.respell(b, f.Message()); !ok {
				return 0, nil, -1
			}
		}
		return number, append(r.varint(out, uint64(len(b))), b...), sum(tag, n)
	}
	n := protowire.ConsumeFieldValue(number, kind, wire[tag:])
	if n < 0 {
		return 0, nil, -1
	}
	return number, append(out, wire[tag:tag+n]...), tag + n
}

func sum(tag, n int) int {
	if n < 0 {
		return n
	}
	return tag + n
}

// varint appends v, sometimes with groups of zeros that it does not need.
func (r *speller) varint(dst []byte, v uint64) []byte {
	dst = protowire.AppendVarint(dst, v)
	spare := 4 - protowire.SizeVarint(v)
	if spare <= 0 || r.IntN(4) > 0 {
		return dst
	}
	dst[len(dst)-1] |= 0x80
	for range r.IntN(spare) {
		dst = append(dst, 0x80)
	}
	return append(dst, 0)
}
