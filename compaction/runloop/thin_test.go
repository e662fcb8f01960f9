package runloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// TestShortenArguments has a case for each rule.
func TestShortenArguments(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ rule, arguments, want string }{
		{"a long string", `{"path":"a.go","text":"` + x(5120) + `"}`, `{"path":"a.go","text":"[5120 bytes left out]"}`},
		{"one that saves 200 bytes", `{"a":"` + x(220) + `"}`, `{"a":"[220 bytes left out]"}`},
		{"one that saves 199 stays", `{"a":"` + x(219) + `"}`, ""},
		{"two that save enough together", `{"a":"` + x(219) + `","b":"` + x(201) + `"}`, `{"a":"[219 bytes left out]","b":"[201 bytes left out]"}`},
		{"one of 200 bytes stays", `{"a":"` + x(300) + `","b":"` + x(200) + `"}`, `{"a":"[300 bytes left out]","b":"` + x(200) + `"}`},
		{"at any depth", `{"a":[[{"b":["` + x(300) + `"]}]]}`, `{"a":[[{"b":["[300 bytes left out]"]}]]}`},
		{"bytes as they are written", `{"a":"` + strings.Repeat(`\u00e9`, 50) + `"}`, `{"a":"[300 bytes left out]"}`},
		{"not code points", `{"a":"` + strings.Repeat("é", 150) + `"}`, `{"a":"[300 bytes left out]"}`},
		{"escaped quotes end nothing", `{"a":"` + x(300) + `\"b\":\\","c":1}`, `{"a":"[308 bytes left out]","c":1}`},
		{"keys stay", `{"` + x(300) + `" : "` + x(300) + `"}`, `{"` + x(300) + `" : "[300 bytes left out]"}`},
		{"a long key alone", `{"` + x(900) + `":1}`, ""},
		{"numbers stay", `{"a":` + strings.Repeat("9", 900) + `}`, ""},
		{"white space stays", " {\n\t\"a\" : \"" + x(300) + "\"\r }\n", " {\n\t\"a\" : \"[300 bytes left out]\"\r }\n"},
		{"so do equal keys", `{"a":"` + x(300) + `","a":"` + x(300) + `"}`, `{"a":"[300 bytes left out]","a":"[300 bytes left out]"}`},
		{"an array is no object", `["` + x(300) + `"]`, `{"left_out": "304 bytes"}`},
		{"nor a string", `"` + x(300) + `"`, `{"left_out": "302 bytes"}`},
		{"nor what is cut off", `{"a":"` + x(300), `{"left_out": "306 bytes"}`},
		{"nor two of them", `{"a":"` + x(300) + `"}{}`, `{"left_out": "310 bytes"}`},
		{"nor text", x(225), `{"left_out": "225 bytes"}`},
		{"of which less stays", x(224), ""},
		{"an empty object", `{}`, ""},
		{"nothing", "", ""},
	} {
		want := c.want
		if want == "" {
			want = c.arguments
		}
		got, shortened := runloop.ShortenArguments(c.arguments)
		if got != want || shortened != (c.want != "") {
			t.Errorf("%s: %t, %s", c.rule, shortened, got)
		}
		if saves := runloop.SavingOf(c.arguments); saves != len(c.arguments)-len(want) {
			t.Errorf("%s: said to save %d", c.rule, saves)
		}
	}
}

// TestShortenArgumentsOfAny draws objects, and what is nearly one.
func TestShortenArgumentsOfAny(t *testing.T) {
	shortened := 0
	rapid.Check(t, func(t *rapid.T) {
		arguments := drawObject(t, 3)
		switch rapid.IntRange(0, 5).Draw(t, "odd") {
		case 0:
			arguments = arguments[:rapid.IntRange(0, len(arguments)).Draw(t, "cut off")]
		case 1:
			at := rapid.IntRange(0, len(arguments)).Draw(t, "at")
			arguments = arguments[:at] + rapid.SampledFrom([]string{`"`, `\`, "{", "]", ":", "\xff", "\n"}).Draw(t, "more") + arguments[at:]
		}
		if checkShortened(t, arguments) {
			shortened++
		}
	})
	if shortened == 0 {
		t.Fatal("nothing was shortened")
	}
}

// FuzzShortenArguments: no arguments make it panic or break a promise.
func FuzzShortenArguments(f *testing.F) {
	for _, s := range []string{"", `{"a":"b"}`, `{"\"":"\\"}`, `{"`, `"`, "{}", `{"a":"` + strings.Repeat(`\"`, 150) + `"}`, strings.Repeat("[", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, arguments := range []string{
			s, `{"a":"` + s + `"}`, `{"a":[` + s + `],"b":"` + strings.Repeat("x", 300) + `"}`, `{"` + s + `":"` + strings.Repeat(s, 9) + `"}`,
		} {
			checkShortened(t, arguments)
		}
	})
}

type failer interface{ Fatalf(string, ...any) }

// checkShortened holds what is promised of any arguments, and tells whether they are shortened.
func checkShortened(t failer, arguments string) bool {
	short, shortened := runloop.ShortenArguments(arguments)
	if saves := runloop.SavingOf(arguments); saves != len(arguments)-len(short) || shortened != (saves != 0) || shortened && saves < 200 {
		t.Fatalf("%q: said to save %d, saved %d", arguments, saves, len(arguments)-len(short))
	}
	if again, twice := runloop.ShortenArguments(short); shortened && (twice || again != short) {
		t.Fatalf("%q became %q, and then %q", arguments, short, again)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil || object == nil {
		if want := fmt.Sprintf(`{"left_out": "%d bytes"}`, len(arguments)); shortened != (len(arguments)-len(want) >= 200) || shortened && short != want {
			t.Fatalf("%q is no object and became %q", arguments, short)
		}
		return shortened
	}
	want := marked(t, arguments)
	if len(arguments)-len(want) < 200 {
		want = arguments
	}
	if short != want || !json.Valid([]byte(short)) {
		t.Fatalf("%q became %q, want %q", arguments, short, want)
	}
	return shortened
}

// marked is an object with marks in the place of long strings, as a decoder of JSON finds them.
func marked(t failer, arguments string) string {
	d := json.NewDecoder(strings.NewReader(arguments))
	var out bytes.Buffer
	var objects []bool // of what the next token lies in: whether it is an object
	key := false
	for from := int64(0); ; from = d.InputOffset() {
		token, err := d.Token()
		if err != nil {
			return out.String() + arguments[from:]
		}
		written := arguments[from:d.InputOffset()]
		_, isString := token.(string)
		isValue := isString && !key
		switch token {
		case json.Delim('{'), json.Delim('['):
			objects = append(objects, token == json.Delim('{'))
			key = objects[len(objects)-1]
		case json.Delim('}'), json.Delim(']'):
			objects = objects[:len(objects)-1]
			key = len(objects) > 0 && objects[len(objects)-1]
		default:
			key = len(objects) > 0 && objects[len(objects)-1] && !key
		}
		quote := strings.IndexByte(written, '"')
		if inside := len(written) - quote - 2; isValue && inside > 200 {
			written = fmt.Sprintf(`%s"[%d bytes left out]"`, written[:quote], inside)
		}
		out.WriteString(written)
	}
}

func drawObject(t *rapid.T, depth int) string {
	var members []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		members = append(members, drawString(t)+drawSpace(t)+":"+drawSpace(t)+drawValue(t, depth-1))
	}
	return drawSpace(t) + "{" + drawSpace(t) + strings.Join(members, drawSpace(t)+","+drawSpace(t)) + "}" + drawSpace(t)
}

func drawValue(t *rapid.T, depth int) string {
	kinds := []string{"string", "string", "word"}
	if depth > 0 {
		kinds = slices.Concat(kinds, []string{"object", "array"})
	}
	switch rapid.SampledFrom(kinds).Draw(t, "value") {
	case "object":
		return drawObject(t, depth)
	case "array":
		return "[" + drawValue(t, depth-1) + drawSpace(t) + "," + drawValue(t, depth-1) + "]"
	case "word":
		return rapid.SampledFrom([]string{"null", "true", "-1.5e+300", strings.Repeat("9", 300)}).Draw(t, "word")
	default:
		return drawString(t)
	}
}

func drawSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n\t\r "}).Draw(t, "space")
}

func drawString(t *rapid.T) string {
	unit := rapid.SampledFrom([]string{"x", "é", `\"`, `\\`, `\u0022`, ":", "}", " ", "\xff"}).Draw(t, "unit")
	bytes := rapid.SampledFrom([]int{0, 3, 199, 200, 201, 219, 220, 221, 1000}).Draw(t, "bytes")
	return `"` + strings.Repeat(unit, bytes/len(unit)) + strings.Repeat("y", bytes%len(unit)) + `"`
}
