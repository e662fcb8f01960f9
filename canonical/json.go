package canonical

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// JSONError says where JSON breaks which rule; never its content. It is an ErrInvalid.
type JSONError struct {
	// Offset is the byte at which the rule is broken, from 0.
	Offset int
	// Rule is what was broken, in words.
	Rule string
}

// Error names rule and place.
func (e *JSONError) Error() string { return fmt.Sprintf("%s at byte %d", e.Rule, e.Offset) }

// Unwrap gives the kind to errors.Is.
func (e *JSONError) Unwrap() error { return ErrInvalid }

// AppendJSON appends the one compact form of the JSON value in src: members in source order, no white space between
// tokens, strings escaped as JSON.stringify does (\" \\ \b \f \n \r \t, and \u00xx for other control characters;
// everything else as it is), numbers spelled as in the source. src must be one value in valid UTF-8, with white space
// around it at most, nested at most MaxJSONDepth deep, no object having a member twice.
//
// A surrogate that is escaped without its other half cannot be carried: it becomes U+FFFD, and surrogates counts them.
// On error (a *JSONError) out is dst. What comes out goes in again unchanged.
func AppendJSON(dst, src []byte) (out []byte, surrogates int, err error) {
	r := jsonReader{src: src, out: dst}
	if e := r.document(); e != nil {
		return dst, 0, e
	}
	return r.out, r.surrogates, nil
}

// jsonReader reads src once and writes its compact form behind out.
type jsonReader struct {
	src, out   []byte
	pos, depth int
	surrogates int
	// names are the members so far of the objects that are open, innermost last.
	names []memberName
}

// memberName is a member's name: out[start:end], read at byte at of the source.
type memberName struct{ start, end, at int }

func (r *jsonReader) fail(at int, rule string) *JSONError { return &JSONError{Offset: at, Rule: rule} }

func (r *jsonReader) document() *JSONError {
	if !utf8.Valid(r.src) {
		return r.fail(invalidAt(r.src), "invalid UTF-8")
	}
	if err := r.value(); err != nil {
		return err
	}
	if r.next(); r.pos < len(r.src) {
		return r.fail(r.pos, "something follows the value")
	}
	return nil
}

// invalidAt is where b stops being valid UTF-8.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		c, n := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// next skips white space and is the byte there; 0, which begins no token, at the end.
func (r *jsonReader) next() byte {
	for ; r.pos < len(r.src); r.pos++ {
		switch c := r.src[r.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) value() *JSONError {
	switch c := r.next(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		return r.text()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	case c == 't':
		return r.word("true")
	case c == 'f':
		return r.word("false")
	case c == 'n':
		return r.word("null")
	default:
		return r.fail(r.pos, "a value is missing")
	}
}

// enter copies the bracket that begins an object or array.
func (r *jsonReader) enter() *JSONError {
	if r.depth == MaxJSONDepth {
		return r.fail(r.pos, fmt.Sprintf("nested deeper than %d", MaxJSONDepth))
	}
	r.depth++
	r.take()
	return nil
}

// leave copies the bracket that ends it.
func (r *jsonReader) leave() {
	r.depth--
	r.take()
}

// take copies one byte.
func (r *jsonReader) take() {
	r.out = append(r.out, r.src[r.pos])
	r.pos++
}

func (r *jsonReader) array() *JSONError {
	if err := r.enter(); err != nil {
		return err
	}
	if r.next() == ']' {
		r.leave()
		return nil
	}
	for {
		if err := r.value(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.take()
		case ']':
			r.leave()
			return nil
		default:
			return r.fail(r.pos, "a comma or the end of an array is missing")
		}
	}
}

func (r *jsonReader) object() *JSONError {
	if err := r.enter(); err != nil {
		return err
	}
	first := len(r.names)
	if r.next() == '}' {
		r.leave()
		return nil
	}
	for {
		if err := r.member(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.take()
		case '}':
			r.leave()
			return r.unique(first)
		default:
			return r.fail(r.pos, "a comma or the end of an object is missing")
		}
	}
}

func (r *jsonReader) member() *JSONError {
	if r.next() != '"' {
		return r.fail(r.pos, "a member's name is missing")
	}
	name := memberName{start: len(r.out), at: r.pos}
	if err := r.text(); err != nil {
		return err
	}
	name.end = len(r.out)
	r.names = append(r.names, name)
	if r.next() != ':' {
		return r.fail(r.pos, "a colon is missing")
	}
	r.take()
	return r.value()
}

// unique ends an object whose members begin at names[first]: no two may have one name.
func (r *jsonReader) unique(first int) *JSONError {
	names := r.names[first:]
	r.names = r.names[:first]
	spelled := func(n memberName) []byte { return r.out[n.start:n.end] }
	slices.SortFunc(names, func(a, b memberName) int {
		if c := bytes.Compare(spelled(a), spelled(b)); c != 0 {
			return c
		}
		return a.at - b.at
	})
	for i := 1; i < len(names); i++ {
		if bytes.Equal(spelled(names[i-1]), spelled(names[i])) {
			return r.fail(names[i].at, "a member stands twice in an object")
		}
	}
	return nil
}

func (r *jsonReader) word(w string) *JSONError {
	if !bytes.HasPrefix(r.src[r.pos:], []byte(w)) {
		return r.fail(r.pos, "a value is missing")
	}
	r.out = append(r.out, w...)
	r.pos += len(w)
	return nil
}

func (r *jsonReader) number() *JSONError {
	start := r.pos
	if r.src[r.pos] == '-' {
		r.pos++
	}
	whole := r.pos
	ok := r.digits()
	if ok && r.src[whole] == '0' && r.pos > whole+1 {
		return r.fail(whole, "a number begins with 0")
	}
	if ok && r.at('.') {
		r.pos++
		ok = r.digits()
	}
	if ok && (r.at('e') || r.at('E')) {
		r.pos++
		if r.at('+') || r.at('-') {
			r.pos++
		}
		ok = r.digits()
	}
	if !ok {
		return r.fail(r.pos, "a digit is missing")
	}
	r.out = append(r.out, r.src[start:r.pos]...)
	return nil
}

func (r *jsonReader) at(c byte) bool { return r.pos < len(r.src) && r.src[r.pos] == c }

// digits skips digits and tells whether there was one.
func (r *jsonReader) digits() bool {
	start := r.pos
	for r.pos < len(r.src) && r.src[r.pos] >= '0' && r.src[r.pos] <= '9' {
		r.pos++
	}
	return r.pos > start
}
