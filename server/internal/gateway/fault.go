package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/canonical"
)

// faults tell why a body in JSON is no request: which field, what it must be, and where it stands. Of the body they tell names of members alone.
type faults struct{ position *regexp.Regexp }

func newFaults() faults { return faults{regexp.MustCompile(`\(line (\d+):(\d+)\)`)} }

// of is the fault of a body that protojson refused with an error as no message.
func (f faults) of(body []byte, message protoreflect.MessageDescriptor, refused error) error {
	at := f.position.FindStringSubmatch(refused.Error())
	if at == nil {
		return malformed("request", unplaced(body))
	}
	offset := offsetOf(body, at[1], at[2])
	field, rule := placeOf(body[:offset]).says(message, body[offset:], refused.Error())
	return malformed(field, rule+" (line "+at[1]+":"+at[2]+")")
}

func malformed(field, rule string) error {
	return &canonical.FieldError{Field: field, Rule: rule, Kind: canonical.ErrMalformed}
}

// unplaced is the rule that a body breaks as a whole.
func unplaced(body []byte) string {
	if json.Valid(body) {
		return fmt.Sprintf("has objects more than %d deep in one another", maxDepth)
	}
	return "is cut off: the body ends before its JSON does"
}

// offsetOf is the offset of a line and a column, which count from 1, columns in characters.
func offsetOf(body []byte, line, column string) int {
	offset := 0
	for n, _ := strconv.Atoi(line); n > 1; n-- {
		offset += bytes.IndexByte(body[offset:], '\n') + 1
	}
	for n, _ := strconv.Atoi(column); n > 1 && offset < len(body); n-- {
		_, size := utf8.DecodeRune(body[offset:])
		offset += size
	}
	return offset
}

// level is an object or list in which a place lies: by the name of a member or by an index.
type level struct {
	list  bool
	name  string
	index int
}

// place is where in a body something stands, outermost first.
type place struct {
	levels []level
	// name says that it is the name of a member, not a value.
	name bool
	// last is what stands before it, but for blanks; 0: nothing does.
	last byte
}

// placeOf is the place behind the beginning of a body, which is good JSON so far.
func placeOf(before []byte) place {
	p := place{}
	if last := bytes.TrimSpace(before); len(last) > 0 {
		p.last = last[len(last)-1]
	}
	for i := 0; i < len(before); i++ {
		switch c := before[i]; c {
		case '{', '[':
			p.levels = append(p.levels, level{list: c == '['})
			p.name = c == '{'
		case '}', ']':
			p.levels, p.name = p.levels[:max(0, len(p.levels)-1)], false
		case ',':
			p.next()
		case '"':
			text := stringAt(before[i:])
			i += len(text) - 1
			if len(p.levels) > 0 && p.name && i < len(before)-1 {
				p.levels[len(p.levels)-1].name = strings.Trim(string(text), `"`)
			}
		case ':':
			p.name = false
		}
	}
	return p
}

// next goes on behind a comma.
func (p *place) next() {
	if len(p.levels) == 0 {
		return
	}
	inner := &p.levels[len(p.levels)-1]
	inner.index++
	p.name = !inner.list
}

// stringAt is the string at the beginning of a text, with its quotes, or as much of it as there is.
func stringAt(text []byte) []byte {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1]
		}
	}
	return text
}

// begins tells whether what stands at a place is JSON there, in so far as that is told by how it begins.
func (p place) begins(rest []byte) bool {
	if !strings.ContainsRune("\x00:[,{", rune(p.last)) {
		return false
	}
	if p.name {
		return bytes.HasPrefix(rest, []byte(`"`)) && json.Valid(stringAt(rest))
	}
	_, err := json.NewDecoder(bytes.NewReader(rest)).Token()
	return err == nil
}

// says is the path of the field at a place in a message, and what it must be. What stands there begins rest.
func (p place) says(m protoreflect.MessageDescriptor, rest []byte, refused string) (path, rule string) {
	path, field, inner := p.resolve(m)
	if path == "" {
		path = "request"
	}
	switch {
	case strings.Contains(refused, "invalid UTF-8"):
		return path, "must be in UTF-8"
	case strings.Contains(refused, "invalid escape code"):
		return path, "has an escape that stands for no character"
	case len(p.levels) == 0 && p.last != 0:
		return path, "must be one object, with nothing behind it"
	case !p.begins(rest):
		return path, "is no JSON from here on"
	case p.name && inner != nil:
		return path, memberRule(inner, rest)
	case field != nil && field.IsMap():
		return path, "must be an object of texts"
	case field != nil && field.IsList() && !p.levels[len(p.levels)-1].list:
		return path, "must be a list"
	case field != nil && field.Message() == nil:
		return path, scalarRule(field)
	case inner != nil:
		return path, messageRule(inner)
	default:
		return path, "is not what this method takes there"
	}
}

// resolve follows a place through a message: the path, the field there, and the message that is there, or in which a member's name stands.
func (p place) resolve(m protoreflect.MessageDescriptor) (path string, field protoreflect.FieldDescriptor, inner protoreflect.MessageDescriptor) {
	inner = m
	for i, l := range p.levels {
		if p.name && i == len(p.levels)-1 {
			break
		}
		switch {
		case l.list:
			path += fmt.Sprintf("[%d]", l.index)
		case inner == nil: // a value in a map, whose keys are the caller's
		default:
			if field = memberOf(inner, l.name); field == nil {
				return path, nil, nil
			}
			path, inner = strings.TrimPrefix(path+"."+field.TextName(), "."), field.Message()
			if field.IsMap() {
				inner = nil
			}
		}
	}
	return path, field, inner
}

// memberOf is the field with a name, in either form; nil: none has it.
func memberOf(m protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := m.Fields().ByJSONName(name); f != nil {
		return f
	}
	return m.Fields().ByTextName(name)
}

// mostName is how much of the name of a member is told.
const mostName = 100

// memberRule is what is wrong with the name of a member: none has it, it is there twice, or it excludes another.
func memberRule(m protoreflect.MessageDescriptor, rest []byte) string {
	name := " " + string(stringAt(rest))
	if len(name) > mostName {
		name = ""
	}
	field := memberOf(m, strings.Trim(name, ` "`))
	switch {
	case field == nil && m.Fields().Len() == 0:
		return "has no member" + name + ": it has none"
	case field == nil:
		return "has no member" + name + ": its members are " + members(m.Fields())
	case field.ContainingOneof() != nil && !field.HasOptionalKeyword():
		return "must have no more than one of " + members(field.ContainingOneof().Fields())
	default:
		return "has the member" + name + " twice"
	}
}

// members are the names of fields, as JSON has them.
func members(fields protoreflect.FieldDescriptors) string {
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = fields.Get(i).JSONName()
	}
	return strings.Join(names, ", ")
}

func messageRule(m protoreflect.MessageDescriptor) string {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return `must be a time such as "2006-01-02T15:04:05Z"`
	case "google.protobuf.Duration":
		return `must be seconds such as "3.5s"`
	}
	if m.Fields().Len() == 0 {
		return "must be an object without members: {}"
	}
	return "must be an object, whose members are " + members(m.Fields())
}

func scalarRule(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "must be true or false"
	case protoreflect.StringKind:
		return "must be a text, in quotes"
	case protoreflect.BytesKind:
		return "must be a text in base64"
	case protoreflect.EnumKind:
		return "must be " + choices(f.Enum().Values())
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		return "must be a number"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return "must be a whole number of 32 bits, not negative"
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "must be a whole number of 64 bits, not negative"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return "must be a whole number of 32 bits"
	default:
		return "must be a whole number of 64 bits"
	}
}

// choices are the values of an enum that say something.
func choices(values protoreflect.EnumValueDescriptors) string {
	names := make([]string, 0, values.Len())
	for i := range values.Len() {
		if v := values.Get(i); v.Number() != 0 || !strings.HasSuffix(string(v.Name()), "_UNSPECIFIED") {
			names = append(names, string(v.Name()))
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
