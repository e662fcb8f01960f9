// Package providerjson reads and writes the JSON of model providers for the converters: a tree that keeps the order of
// members and the spelling of numbers, objects whose known members are taken out and whose rest becomes extras, and
// errors that name a member by its path and never show its value.
package providerjson

import (
	"unicode/utf8"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	List
	Object
)

// Value is one JSON value of a document that was read whole. It is immutable and shares the document's bytes.
type Value struct {
	// Kind is what the value is.
	Kind Kind
	// Source is the value as it stands in the document.
	Source []byte
	// Text is a string's value; a lone surrogate is U+FFFD.
	Text string
	// Items are a list's values.
	Items []*Value
	// Members are an object's members in source order, no name twice.
	Members []Member

	// parent is nil for the document; name is the document's or a member's, index an item's.
	parent *Value
	name   string
	index  int
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value *Value
	// source is the name as it stands in the document, quotes included.
	source []byte
}

// pathLevels is how deep a path names; what lies deeper is named by "…".
const pathLevels = 16

// Path names the value: "messages[3].content". Empty for a document that was given no name.
func (v *Value) Path() string {
	var line [pathLevels + 1]*Value // by level: the document has 0, v has depth
	depth := 0
	for u := v; u.parent != nil; u = u.parent {
		depth++
	}
	u, level := v, depth
	for ; u.parent != nil; u, level = u.parent, level-1 {
		if level <= pathLevels {
			line[level] = u
		}
	}
	path := u.name
	for _, u := range line[1 : min(depth, pathLevels)+1] {
		if u.parent.Kind == List {
			path = Index(path, u.index)
		} else {
			path = Join(path, u.name)
		}
	}
	if depth > pathLevels {
		path += "…"
	}
	return path
}

// Member returns the member with that name, or nil; nil also where v is nil or not an object.
func (v *Value) Member(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// True tells whether the value is the literal true.
func (v *Value) True() bool { return v.Kind == Bool && v.Source[0] == 't' }

// MaxDepth is how deep a document may nest; it leaves room for extras nested 128 deep below what a converter takes.
const MaxDepth = 256

// Read reads one JSON text (RFC 8259, UTF-8, no member twice in an object), whose path is root. Each string that holds
// lone surrogates is noted in the report. Errors: *Error.
func Read(data []byte, root string, report *Report) (*Value, error) {
	r := reader{data: data, report: report}
	v := &Value{name: root}
	r.value(v, 1)
	r.space()
	if r.err == nil && r.at < len(data) {
		r.fail(v, "holds more than one JSON text")
	}
	if r.err != nil {
		return nil, r.err
	}
	return v, nil
}

type reader struct {
	data   []byte
	at     int
	report *Report
	err    error
}

// fail keeps the first error and moves to the end, so that every loop stops.
func (r *reader) fail(v *Value, rule string) {
	if r.err == nil {
		r.err = Errorf(v.Path(), "%s", rule)
	}
	r.at = len(r.data)
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, or 0 at the end.
func (r *reader) next() byte {
	r.space()
	if r.at >= len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// value reads the value that begins here into v, which has its place already.
func (r *reader) value(v *Value, depth int) {
	c := r.next()
	if depth > MaxDepth {
		r.fail(v, "is nested too deep")
		return
	}
	start := r.at
	switch {
	case c == '{':
		v.Kind = Object
		r.object(v, depth)
	case c == '[':
		v.Kind = List
		r.list(v, depth)
	case c == '"':
		v.Kind = String
		v.Text = r.str(v)
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		r.number(v)
	default:
		v.Kind = r.literal(v)
	}
	if r.err == nil {
		v.Source = r.data[start:r.at:r.at]
	}
}

func (r *reader) literal(v *Value) Kind {
	for _, l := range []struct {
		text string
		kind Kind
	}{{"null", Null}, {"true", Bool}, {"false", Bool}} {
		if end := r.at + len(l.text); end <= len(r.data) && string(r.data[r.at:end]) == l.text {
			r.at = end
			return l.kind
		}
	}
	r.fail(v, "is not JSON")
	return Null
}

func (r *reader) list(v *Value, depth int) {
	r.at++
	if r.next() == ']' {
		r.at++
		return
	}
	for {
		item := &Value{parent: v, index: len(v.Items)}
		r.value(item, depth+1)
		v.Items = append(v.Items, item)
		switch r.next() {
		case ',':
			r.at++
		case ']':
			r.at++
			return
		default:
			r.fail(v, "is not JSON")
			return
		}
	}
}

func (r *reader) object(v *Value, depth int) {
	r.at++
	if r.next() == '}' {
		r.at++
		return
	}
	names := map[string]struct{}{}
	for {
		m, ok := r.member(v, depth)
		if !ok {
			return
		}
		names[m.Name] = struct{}{}
		v.Members = append(v.Members, m)
		if len(names) < len(v.Members) {
			r.fail(m.Value, "stands twice in its object")
			return
		}
		switch r.next() {
		case ',':
			r.at++
		case '}':
			r.at++
			return
		default:
			r.fail(v, "is not JSON")
			return
		}
	}
}

func (r *reader) member(v *Value, depth int) (Member, bool) {
	if r.next() != '"' {
		r.fail(v, "is not JSON")
		return Member{}, false
	}
	start := r.at
	m := Member{Name: r.str(v)}
	if r.err != nil {
		return m, false
	}
	m.source = r.data[start:r.at:r.at]
	if r.next() != ':' {
		r.fail(v, "is not JSON")
		return m, false
	}
	r.at++
	m.Value = &Value{parent: v, name: m.Name}
	r.value(m.Value, depth+1)
	return m, r.err == nil
}

func (r *reader) number(v *Value) {
	if r.data[r.at] == '-' {
		r.at++
	}
	if r.at < len(r.data) && r.data[r.at] == '0' {
		r.at++
	} else if !r.digits() {
		r.fail(v, "is not JSON")
		return
	}
	if r.at < len(r.data) && r.data[r.at] == '.' {
		r.at++
		if !r.digits() {
			r.fail(v, "is not JSON")
			return
		}
	}
	if r.at < len(r.data) && r.data[r.at]|0x20 == 'e' {
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		if !r.digits() {
			r.fail(v, "is not JSON")
		}
	}
}

// digits skips a run of digits and tells whether there was one.
func (r *reader) digits() bool {
	start := r.at
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at > start
}

// str reads the string that begins here.
func (r *reader) str(v *Value) string {
	r.at++
	start := r.at
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			text := r.data[start:r.at]
			r.at++
			if !utf8.Valid(text) {
				r.fail(v, "is not UTF-8")
			}
			return string(text)
		case c == '\\':
			return r.escaped(v, start)
		case c < 0x20:
			r.fail(v, "is not JSON")
		default:
			r.at++
		}
	}
	r.fail(v, "is not JSON")
	return ""
}

// Without is an object without a member, or nil for nil. Its Source is not.
func (v *Value) Without(name string) *Value {
	if v == nil {
		return nil
	}
	out := &Value{Kind: v.Kind, parent: v.parent, name: v.name, index: v.index}
	for _, m := range v.Members {
		if m.Name != name {
			out.Members = append(out.Members, m)
		}
	}
	return out
}
