package canonical_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// entries are metadata of keys and values in turn.
func entries(pairs ...string) (out []*transcriptv1.MetadataEntry) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, &transcriptv1.MetadataEntry{Key: pairs[i], Value: pairs[i+1]})
	}
	return out
}

const declared = `{"type":"str","size":200000,"preview":"It was","iteration":3}`

func TestVariableInfos(t *testing.T) {
	const form, members = "must be empty or a JSON object", "must have the members"
	for text, rule := range map[string]string{
		declared: "",
		" { \"iteration\" : 0,\n\"preview\":\"\",\"size\":9007199254740991,\"type\":\"" + strings.Repeat("t", 64) + "\"} ": "",
		`{"\u0074ype":"str","size":1,"preview":"\ud800","iteration":0}`:                                                    "",

		`[]`: form, `"x"`: form, `{`: form, declared + "x": form, declared + declared: form, ` `: form, `null`: form,
		`{"type":{},"size":1,"preview":"","iteration":0}`: form, `{"type":"x","size":[1],"preview":"","iteration":0}`: form,

		`{}`: members, `{"type":"str","size":1,"preview":""}`: members, `{"type":"str","size":1,"iteration":0}`: members,
		`{"type":"str","size":1,"preview":"","iteration":0,"more":1}`: members, `{"type":"str","size":1,"preview":"","more":0}`: members,
		`{"type":"str","size":1,"preview":"","preview":"","iteration":0}`: members, `{"Type":"str","size":1,"preview":"","iteration":0}`: members,
		`{"type":"str","size":1,"size":1,"iteration":0}`: members,

		`{"type":"","size":1,"preview":"","iteration":0}`:                                "type a string of 1 to 64",
		`{"type":"` + strings.Repeat("t", 65) + `","size":1,"preview":"","iteration":0}`: "type a string of 1 to 64",
		`{"type":1,"size":1,"preview":"","iteration":0}`:                                 "type a string of 1 to 64",
		`{"type":null,"size":1,"preview":"","iteration":0}`:                              "type a string of 1 to 64",
		`{"type":"str","size":1,"preview":null,"iteration":0}`:                           "preview a string",
		`{"type":"str","size":1,"preview":7,"iteration":0}`:                              "preview a string",
		`{"type":"str","size":-1,"preview":"","iteration":0}`:                            "size an integer from 0",
		`{"type":"str","size":-0,"preview":"","iteration":0}`:                            "size an integer from 0",
		`{"type":"str","size":1.0,"preview":"","iteration":0}`:                           "size an integer from 0",
		`{"type":"str","size":1e3,"preview":"","iteration":0}`:                           "size an integer from 0",
		`{"type":"str","size":"1","preview":"","iteration":0}`:                           "size an integer from 0",
		`{"type":"str","size":null,"preview":"","iteration":0}`:                          "size an integer from 0",
		`{"type":"str","size":9007199254740992,"preview":"","iteration":0}`:              "size an integer from 0",
		`{"type":"str","size":99999999999999999999,"preview":"","iteration":0}`:          "size an integer from 0",
		`{"type":"str","size":1,"preview":"","iteration":-1}`:                            "iteration an integer from 0",
		`{"type":"str","size":1,"preview":"","iteration":true}`:                          "iteration an integer from 0",
	} {
		_, ok := canonical.ParseVariableInfo(text)
		err := canonical.Validate(nil, entries("a", "1", "varinfo/secret-name", text), nil)
		var field *canonical.FieldError
		switch {
		case ok != (rule == "") || ok != (err == nil):
			t.Errorf("%s: parses %t, judged %v, must break %q", text, ok, err, rule)
		case ok:
		case !errors.As(err, &field) || field.Field != "metadata[1].value" || !strings.HasPrefix(field.Rule, "of varinfo/NAME ") || !strings.Contains(field.Rule, rule):
			t.Errorf("%s: %v, must break %q", text, err, rule)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error has the name: %v", text, err)
		}
		if got := canonical.Variables(entries("varinfo/x", text)); (len(got) == 1) != ok {
			t.Errorf("%s changes %+v", text, got)
		}
	}
	info, _ := canonical.ParseVariableInfo(declared)
	if want := (canonical.VariableInfo{Type: "str", Size: 200_000, Preview: "It was", Iteration: 3}); info != want {
		t.Errorf("%+v, want %+v", info, want)
	}
	if err := canonical.Validate(nil, entries("varinfo/x", "", "varinfox", "anything"), nil); err != nil {
		t.Error("what declares nothing is refused:", err)
	}
}

func TestVariableChanges(t *testing.T) {
	type change = runloop.VariableChange
	for name, test := range map[string]struct {
		metadata []*transcriptv1.MetadataEntry
		want     []change
	}{
		"a value":                        {entries("var/x", "1"), []change{{Name: "x"}}},
		"a declaration":                  {entries("varinfo/x", declared), []change{{Name: "x", Declared: true}}},
		"both, in either order":          {entries("varinfo/x", declared, "var/x", "1"), []change{{Name: "x"}}},
		"an empty value":                 {entries("var/x", ""), []change{{Name: "x", Unset: true}}},
		"an empty declaration":           {entries("varinfo/x", ""), []change{{Name: "x", Declared: true, Unset: true}}},
		"an empty value, a declaration":  {entries("varinfo/x", declared, "var/x", ""), []change{{Name: "x", Unset: true}}},
		"a value, an empty declaration":  {entries("var/x", "1", "varinfo/x", ""), []change{{Name: "x"}}},
		"a declaration of another form":  {entries("varinfo/x", "old"), nil},
		"that, and a value":              {entries("varinfo/x", "old", "var/x", "1"), []change{{Name: "x"}}},
		"in the order of names":          {entries("var/b", "1", "varinfo/a", declared, "var/c", ""), []change{{Name: "a", Declared: true}, {Name: "b"}, {Name: "c", Unset: true}}},
		"a name that looks like a key":   {entries("var/var/x", "1", "varinfo/info/x", declared), []change{{Name: "info/x", Declared: true}, {Name: "var/x"}}},
		"white space is a value":         {entries("var/x", " "), []change{{Name: "x"}}},
		"what is no variable's metadata": {entries("run/end", "stopped", "variable/x", "1"), nil},
	} {
		if got := canonical.Variables(test.metadata); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestInherits(t *testing.T) {
	for value, want := range map[string]transcriptv1.Inheritance{"none": 1, "arguments": 2, "prefix": 3, "": 0, "Prefix": 0, "all": 0, " none": 0} {
		metadata := entries("a", "1", "spawn/inherits", value)
		if got := canonical.Inherits(metadata); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
		err := canonical.Validate(nil, metadata, nil)
		const refused = "metadata[1].value: of spawn/inherits must be none, arguments or prefix"
		if (err == nil) != (want != 0) || err != nil && fmt.Sprint(err) != refused {
			t.Errorf("%q is judged %v", value, err)
		}
	}
	if got := canonical.Inherits(entries("a", "1")); got != 0 {
		t.Errorf("without a word it is %v", got)
	}
}

// FuzzVariableInfo: what parses is within the limits, and is judged as Variables takes it.
func FuzzVariableInfo(f *testing.F) {
	for _, seed := range []string{declared, "", "{}", `{"type":"","size":0,"preview":"","iteration":0}`, `{"type":"a","size":1e9,"preview":"\u0000","iteration":0}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		info, ok := canonical.ParseVariableInfo(text)
		in := func(n int64) bool { return n >= 0 && n <= canonical.MaxVariableNumber }
		if ok && (info.Type == "" || len(info.Type) > canonical.MaxVariableTypeBytes || !in(info.Size) || !in(info.Iteration)) {
			t.Errorf("%q is %+v", text, info)
		}
		if !ok && info != (canonical.VariableInfo{}) {
			t.Errorf("%q does not parse, and is %+v", text, info)
		}
		if sets := len(canonical.Variables(entries("varinfo/x", text))) == 1; sets != (ok || text == "") {
			t.Errorf("%q changes a variable: %t", text, sets)
		}
	})
}
