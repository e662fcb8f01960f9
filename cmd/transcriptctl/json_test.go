package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestJSON: with -o json each command prints objects, a line each. Members of the tool's own objects have names of the contract's form, one
// kind of value each, and what has the name of a field of the contract has its kind. Numbers are only what is no count and no size.
func TestJSON(t *testing.T) {
	s := newStack(t)
	contextsAt(t)
	keys := walkKeys(t)
	members := &memberKinds{contract: contractKinds(), own: map[string]string{}}
	for _, w := range walk() {
		r := s.run(append([]string{"-o", "json"}, w.words(keys)...)...)
		at := w.command + " " + w.args
		if w.command == "context add" || w.prints == texts {
			continue // another --addr is given; or there is no json
		}
		if r.code != w.code {
			t.Errorf("%s: exit code %d\n%s", at, r.code, r.notes)
		}
		if (r.out == "") != (w.prints == nothing) {
			t.Errorf("%s printed %q", at, r.out)
		}
		for line := range strings.Lines(r.out) {
			var object any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Errorf("%s: %v in %.200s", at, err, line)
				continue
			}
			if _, is := object.(map[string]any); !is {
				t.Errorf("%s printed no object: %.200s", at, line)
			}
			if w.prints == own {
				members.check(t, at, object)
			}
		}
	}
}

// kindOf is a kind of JSON value.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "list"
	default:
		return "object"
	}
}

// memberKinds are the kinds of values of members, by name.
type memberKinds struct {
	contract map[string]map[string]bool
	own      map[string]string
}

var memberName = regexp.MustCompile("^[a-z][A-Za-z0-9]*$")

func (m *memberKinds) check(t *testing.T, at string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			m.check(t, at, one)
		}
	case map[string]any:
		for name, one := range value {
			kind := kindOf(one)
			if !memberName.MatchString(name) {
				t.Errorf("%s: the name %q has another form than those of the contract", at, name)
			}
			if was := m.own[name]; was != "" && was != kind {
				t.Errorf("%s: %s is a %s, and elsewhere a %s", at, name, kind, was)
			}
			m.own[name] = kind
			if kinds := m.contract[name]; kinds != nil && !kinds[kind] {
				t.Errorf("%s: %s is a %s; in the contract it is %v", at, name, kind, kinds)
			}
			if kind == "number" && !isNumber(name) {
				t.Errorf("%s: %s is a number; counts and sizes are strings", at, name)
			}
			if name != "server" { // which is the contract's
				m.check(t, at, one)
			}
		}
	}
}

// isNumber tells what may be a number: places and settings of few digits, shares, seconds and rates.
func isNumber(name string) bool {
	for _, of := range []string{
		"request message line count messageIndex callers turns", "saved reused ofNaive forgotten",
		"seconds idleSeconds requestsPerSecond bytesPerSecond average p50 p90 p99 max",
	} {
		for _, one := range strings.Fields(of) {
			if name == one {
				return true
			}
		}
	}
	return false
}

// contractKinds are the kinds of the fields of the contract's messages, by their names in JSON.
func contractKinds() map[string]map[string]bool {
	kinds := map[string]map[string]bool{}
	add := func(file protoreflect.FileDescriptor) bool {
		addKinds(kinds, file.Messages())
		return true
	}
	protoregistry.GlobalFiles.RangeFilesByPackage(transcriptv1.File_transcript_v1_transcript_service_proto.Package(), add)
	return kinds
}

func addKinds(kinds map[string]map[string]bool, messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		m := messages.Get(i)
		addKinds(kinds, m.Messages())
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			if kinds[f.JSONName()] == nil {
				kinds[f.JSONName()] = map[string]bool{}
			}
			kinds[f.JSONName()][fieldKind(f)] = true
		}
	}
}

// fieldKind is the kind of JSON value of a field.
func fieldKind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "object"
	case f.IsList():
		return "list"
	case f.Message() != nil && strings.HasPrefix(string(f.Message().FullName()), "google.protobuf."):
		return "string" // a time or a duration
	case f.Message() != nil:
		return "object"
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "bool"
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.DoubleKind, protoreflect.FloatKind:
		return "number"
	case protoreflect.EnumKind, protoreflect.StringKind, protoreflect.BytesKind, protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return "string"
	default:
		panic(fmt.Sprint("a kind that the contract has no fields of: ", f.Kind()))
	}
}
