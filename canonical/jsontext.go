package canonical

import "unicode/utf8"

// text reads a string, quotes included.
func (r *jsonReader) text() *JSONError {
	r.take()
	for {
		r.plain()
		switch {
		case r.pos == len(r.src):
			return r.fail(r.pos, "the end of a string is missing")
		case r.src[r.pos] == '"':
			r.take()
			return nil
		case r.src[r.pos] == '\\':
			if err := r.escape(); err != nil {
				return err
			}
		default:
			return r.fail(r.pos, "a control character is not escaped")
		}
	}
}

// plain copies what stands for itself.
func (r *jsonReader) plain() {
	start := r.pos
	for r.pos < len(r.src) {
		if c := r.src[r.pos]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
		r.pos++
	}
	r.out = append(r.out, r.src[start:r.pos]...)
}

func (r *jsonReader) escape() *JSONError {
	if r.pos+1 == len(r.src) {
		return r.fail(r.pos, "an escape is cut off")
	}
	c := r.src[r.pos+1]
	if c == 'u' {
		return r.escapedUnit()
	}
	plain, ok := unescape(c)
	if !ok {
		return r.fail(r.pos, "an escape is not known")
	}
	r.pos += 2
	r.out = appendJSONRune(r.out, rune(plain))
	return nil
}

// escapedUnit reads \uXXXX, and with a first half of a surrogate pair the second.
func (r *jsonReader) escapedUnit() *JSONError {
	unit, ok := r.unitAt(r.pos)
	if !ok {
		return r.fail(r.pos, "an escape needs four hex digits")
	}
	r.pos += 6
	if unit < 0xD800 || unit > 0xDFFF {
		r.out = appendJSONRune(r.out, unit)
		return nil
	}
	if low, ok := r.unitAt(r.pos); ok && unit < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF {
		r.pos += 6
		r.out = utf8.AppendRune(r.out, 0x10000+(unit-0xD800)<<10+(low-0xDC00))
		return nil
	}
	r.surrogates++
	r.out = utf8.AppendRune(r.out, utf8.RuneError)
	return nil
}

// unitAt is the code unit of the \uXXXX at byte i, if there is one.
func (r *jsonReader) unitAt(i int) (unit rune, ok bool) {
	if len(r.src)-i < 6 || r.src[i] != '\\' || r.src[i+1] != 'u' {
		return 0, false
	}
	for _, c := range r.src[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// unescape is the character that the escape \c stands for.
func unescape(c byte) (plain byte, ok bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

// appendJSONRune appends c as it stands in a string.
func appendJSONRune(dst []byte, c rune) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', byte(c))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c < 0x20 {
		const hex = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
	}
	return utf8.AppendRune(dst, c)
}
