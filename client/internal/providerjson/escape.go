package providerjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escaped reads on in a string that began at start, from its first escape.
func (r *reader) escaped(v *Value, start int) string {
	out := append([]byte(nil), r.data[start:r.at]...)
	lone := 0
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			if !utf8.Valid(out) {
				r.fail(v, "is not UTF-8")
			}
			if lone > 0 {
				r.report.Add(Change{Path: v.Path(), Kind: Surrogates, Count: lone})
			}
			return string(out)
		case c == '\\':
			n := r.escape(v)
			if n == utf8.RuneError && r.lone() {
				lone++
			}
			out = utf8.AppendRune(out, n)
		case c < 0x20:
			r.fail(v, "is not JSON")
		default:
			out = append(out, c)
			r.at++
		}
	}
	r.fail(v, "is not JSON")
	return ""
}

// escape reads one escape, two for a surrogate pair; a lone surrogate is U+FFFD.
func (r *reader) escape(v *Value) rune {
	if r.at+1 >= len(r.data) {
		r.fail(v, "is not JSON")
		return utf8.RuneError
	}
	c := r.data[r.at+1]
	if c == 'u' {
		return r.unicode(v)
	}
	r.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	r.fail(v, "is not JSON")
	return utf8.RuneError
}

func (r *reader) unicode(v *Value) rune {
	first, ok := r.hex(r.at)
	if !ok {
		r.fail(v, "is not JSON")
		return utf8.RuneError
	}
	r.at += 6
	if !utf16.IsSurrogate(first) {
		return first
	}
	if second, ok := r.hex(r.at); ok {
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			r.at += 6
			return pair
		}
	}
	return utf8.RuneError
}

// lone tells whether the escape just read was a lone surrogate rather than U+FFFD spelled out.
func (r *reader) lone() bool {
	unit, ok := r.hex(r.at - 6)
	return ok && utf16.IsSurrogate(unit)
}

// hex reads \uXXXX at a position.
func (r *reader) hex(at int) (rune, bool) {
	if at < 0 || at+6 > len(r.data) || r.data[at] != '\\' || r.data[at+1] != 'u' {
		return 0, false
	}
	var n rune
	for _, c := range r.data[at+2 : at+6] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
