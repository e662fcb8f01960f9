package canonical

import "google.golang.org/protobuf/encoding/protowire"

// appendPrefix appends tag and length of a length-delimited field.
func appendPrefix(dst []byte, field, length int) []byte {
	dst = protowire.AppendTag(dst, protowire.Number(field), protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(length))
}

// appendBytes appends a field of bytes, also when empty.
func appendBytes(dst []byte, field int, b []byte) []byte {
	return append(appendPrefix(dst, field, len(b)), b...)
}

// appendString appends a string field, also when empty.
func appendString(dst []byte, field int, s string) []byte {
	return append(appendPrefix(dst, field, len(s)), s...)
}

// appendNonEmpty appends a string field without presence.
func appendNonEmpty(dst []byte, field int, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(dst, field, s)
}

// appendOptional appends an optional string field if it is set.
func appendOptional(dst []byte, field int, s *string) []byte {
	if s == nil {
		return dst
	}
	return appendString(dst, field, *s)
}

func appendBool(dst []byte, field int, b bool) []byte {
	if !b {
		return dst
	}
	return append(protowire.AppendTag(dst, protowire.Number(field), protowire.VarintType), 1)
}

func appendEnum(dst []byte, field int, n int32) []byte {
	if n == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, protowire.Number(field), protowire.VarintType), uint64(n))
}
