package canonical

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxElements is how many elements the messages of a node, and its metadata, may have: far more than ones that are in order have.
const MaxElements = 200_000

// FewElements tells whether an encoded protobuf message has at most so many elements: messages, and values of repeated fields, at any depth. An
// element takes far more memory decoded than the two bytes that it may take encoded, so who does not trust bytes asks before it decodes them. Of
// bytes that do not parse it tells nothing.
func FewElements(d protoreflect.MessageDescriptor, b []byte, most int) bool {
	return countElements(d, b, &most)
}

func countElements(d protoreflect.MessageDescriptor, b []byte, left *int) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return true
		}
		b = b[n:]
		f := d.Fields().ByNumber(number)
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				return true
			}
			b = b[n:]
			if f != nil && f.IsList() {
				*left--
			}
		} else {
			value, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return true
			}
			b = b[n:]
			switch {
			case f == nil:
			case f.Message() != nil:
				if *left--; *left >= 0 && !countElements(f.Message(), value, left) {
					return false
				}
			case f.IsPacked():
				*left -= len(value)
			case f.IsList():
				*left--
			}
		}
		if *left < 0 {
			return false
		}
	}
	return true
}
