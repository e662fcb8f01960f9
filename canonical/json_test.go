package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
)

func TestAppendJSON(t *testing.T) {
	wide := "[" + strings.Repeat("[],{},", 200) + "0]"
	deep := strings.Repeat("[", 128) + strings.Repeat("]", 128)
	for _, c := range []struct {
		src, want  string
		surrogates int
	}{
		{`{}`, `{}`, 0},
		{" \t\r\n[ ] ", `[]`, 0},
		{`null`, `null`, 0}, {`true`, `true`, 0}, {` false `, `false`, 0},
		{`{ "b" : 1 , "a" : [ 2 , 3 ] }`, `{"b":1,"a":[2,3]}`, 0},
		{`[0,-0,1.50,1E5,1e+05,-12.0e-3,123456789012345678901234567890]`, `[0,-0,1.50,1E5,1e+05,-12.0e-3,123456789012345678901234567890]`, 0},
		{`"\u0041\/\"\\\b\f\n\r\t"`, `"A/\"\\\b\f\n\r\t"`, 0},
		{`"\u0008\u000c\u000A\u000d\u0009\u0022\u005C"`, `"\b\f\n\r\t\"\\"`, 0},
		{`"\u0000\u001F\u007f\u0085\u2028\u2029\uFEFF"`, "\"\\u0000\\u001f\x7f\u0085\u2028\u2029\ufeff\"", 0},
		{`"é\u00e9e\u0301😀\ud83d\uDE00"`, "\"éée\u0301😀😀\"", 0},
		{`"\ud83d"`, "\"\ufffd\"", 1},
		{`"\ude00x"`, "\"\ufffdx\"", 1},
		{`"\ude00\ud83d"`, "\"\ufffd\ufffd\"", 2},
		{`"\ud83d\ud83d\ude00"`, "\"\ufffd😀\"", 1},
		{`"\ud83d\u0041"`, "\"\ufffdA\"", 1},
		{`"\ud83d\n"`, "\"\ufffd\\n\"", 1},
		{`"\ude00\ude00"`, "\"\ufffd\ufffd\"", 2},
		{`{"\ud800":"\udfff"}`, "{\"\ufffd\":\"\ufffd\"}", 2},
		{`{"a":{"a":1},"b":{"a":1}}`, `{"a":{"a":1},"b":{"a":1}}`, 0},
		{`[{"a":1},{"a":1}]`, `[{"a":1},{"a":1}]`, 0},
		{`{"":0}`, `{"":0}`, 0},
		{deep, deep, 0},
		{wide, wide, 0},
	} {
		out, surrogates, err := canonical.AppendJSON([]byte("x"), []byte(c.src))
		if err != nil || string(out) != "x"+c.want || surrogates != c.surrogates {
			t.Errorf("%q: %q, %d, %v; want %q, %d", c.src, out, surrogates, err, c.want, c.surrogates)
		}
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	for _, c := range []struct {
		src    string
		offset int
		rule   string
	}{
		{"", 0, "a value is missing"},
		{"  ", 2, "a value is missing"},
		{"\ufeff{}", 0, "a value is missing"},
		{"nul", 0, "a value is missing"},
		{"True", 0, "a value is missing"},
		{"NaN", 0, "a value is missing"},
		{"truex", 4, "something follows the value"},
		{"{} {}", 3, "something follows the value"},
		{"1 2", 2, "something follows the value"},
		{"[1,]", 3, "a value is missing"},
		{"[1 2]", 3, "a comma or the end of an array is missing"},
		{"[1", 2, "a comma or the end of an array is missing"},
		{"[", 1, "a value is missing"},
		{`{"a":1,}`, 7, "a member's name is missing"},
		{`{a:1}`, 1, "a member's name is missing"},
		{`{"a" 1}`, 5, "a colon is missing"},
		{`{"a":}`, 5, "a value is missing"},
		{`{"a":1`, 6, "a comma or the end of an object is missing"},
		{`{"a":1 "b":2}`, 7, "a comma or the end of an object is missing"},
		{`{"a":1,"b":2,"a":3}`, 13, "a member stands twice in an object"},
		{`{"a":1,"\u0061":3}`, 7, "a member stands twice in an object"},
		{`{"\ud800":1,"\udc00":3}`, 12, "a member stands twice in an object"},
		{`[{"x":{"a":1,"a":3}}]`, 13, "a member stands twice in an object"},
		{"01", 0, "a number begins with 0"},
		{"-01", 1, "a number begins with 0"},
		{"-", 1, "a digit is missing"},
		{"1.", 2, "a digit is missing"},
		{"1.e5", 2, "a digit is missing"},
		{"1e", 2, "a digit is missing"},
		{"1e+", 3, "a digit is missing"},
		{"+1", 0, "a value is missing"},
		{".5", 0, "a value is missing"},
		{"0x10", 1, "something follows the value"},
		{`"a`, 2, "the end of a string is missing"},
		{`"\`, 1, "an escape is cut off"},
		{`"\x41"`, 1, "an escape is not known"},
		{`"\u12g4"`, 1, "an escape needs four hex digits"},
		{`"\u12"`, 1, "an escape needs four hex digits"},
		{"\"a\nb\"", 2, "a control character is not escaped"},
		{"\"a\x1fb\"", 2, "a control character is not escaped"},
		{"\"a\x00b\"", 2, "a control character is not escaped"},
		{"\"a\xff\"", 2, "invalid UTF-8"},
		{"\"\xed\xa0\x80\"", 1, "invalid UTF-8"},
		{"[]\x80", 2, "invalid UTF-8"},
		{"'a'", 0, "a value is missing"},
		{"[1] // c", 4, "something follows the value"},
		{"\u00a0[]", 0, "a value is missing"},
		{strings.Repeat("[", 129) + strings.Repeat("]", 129), 128, "nested deeper than 128"},
		{strings.Repeat(`{"a":`, 128) + "[]" + strings.Repeat("}", 128), 640, "nested deeper than 128"},
		{strings.Repeat("[", 1<<20), 128, "nested deeper than 128"},
	} {
		out, surrogates, err := canonical.AppendJSON([]byte("x"), []byte(c.src))
		var broken *canonical.JSONError
		if !errors.As(err, &broken) || !errors.Is(err, canonical.ErrInvalid) {
			t.Errorf("%.40q: accepted as %q", c.src, out)
			continue
		}
		if broken.Offset != c.offset || broken.Rule != c.rule || string(out) != "x" || surrogates != 0 {
			t.Errorf("%.40q: %v, %q, %d; want byte %d, %s", c.src, err, out, surrogates, c.offset, c.rule)
		}
	}
}

// An object of very many members is read in reasonable time, and the one that stands twice is found.
func TestAppendJSONManyMembers(t *testing.T) {
	var src []byte
	for i := range 100_000 {
		src = fmt.Appendf(src, `,"%d":0`, i)
	}
	src[0] = '{'
	if _, _, err := canonical.AppendJSON(nil, append(src, '}')); err != nil {
		t.Fatal(err)
	}
	twice := len(src) + 1
	_, _, err := canonical.AppendJSON(nil, append(src, `,"77777":0}`...))
	var broken *canonical.JSONError
	if !errors.As(err, &broken) || broken.Offset != twice {
		t.Fatalf("%v, want byte %d", err, twice)
	}
}

// reference is the compact form by encoding/json's tokens, with the rules that it does not know added; ok is whether
// src keeps them.
func reference(src []byte) (compact []byte, ok bool) {
	if !utf8.Valid(src) || !json.Valid(src) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	return referenceValue(nil, d, 0)
}

func referenceValue(dst []byte, d *json.Decoder, depth int) ([]byte, bool) {
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return referenceScalar(dst, token), true
	}
	if depth == 128 {
		return nil, false
	}
	dst = append(dst, byte(delim))
	names := map[string]bool{}
	for n := 0; d.More(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		if delim == '{' {
			name, err := d.Token()
			if err != nil || names[name.(string)] {
				return nil, false
			}
			names[name.(string)] = true
			dst = append(referenceScalar(dst, name), ':')
		}
		if dst, ok = referenceValue(dst, d, depth+1); !ok {
			return nil, false
		}
	}
	end, err := d.Token()
	if err != nil {
		return nil, false
	}
	return append(dst, byte(end.(json.Delim))), true
}

func referenceScalar(dst []byte, token json.Token) []byte {
	switch v := token.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return fmt.Append(dst, v)
	case json.Number:
		return append(dst, v...)
	}
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	dst = append(dst, '"')
	for _, r := range token.(string) {
		switch {
		case short[r] != "":
			dst = append(dst, short[r]...)
		case r < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// FuzzAppendJSON: accepts what encoding/json does less what the rules refuse, gives the reference's form, and its own
// form again unchanged.
func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [ 1 , 2.50 ] `, `{"a":{"b":null},"c":[true,false]}`, `{"a":1,"a":2}`, `"\ud83d\ude00\ud800"`,
		`{"\u0061":"\/\u001f"}`, `[1e5,-0,01]`, `"` + "\x7f\u2028" + `"`, `[[[]`, `{"a":1}x`, "\"\xff\"",
		strings.Repeat("[", 130) + strings.Repeat("]", 130),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		given := bytes.Clone(src)
		out, surrogates, err := canonical.AppendJSON(nil, src)
		if !bytes.Equal(src, given) {
			t.Fatal("the source was changed")
		}
		want, ok := reference(src)
		if ok != (err == nil) {
			t.Fatalf("error %v, the reference accepts: %v", err, ok)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(out, want) {
			t.Fatalf("%q, want %q", out, want)
		}
		again, none, err := canonical.AppendJSON(nil, out)
		if err != nil || !bytes.Equal(again, out) || none != 0 {
			t.Fatalf("again: %q, %d, %v", again, none, err)
		}
		if lone := bytes.Count(out, []byte("\ufffd")) - bytes.Count(src, []byte("\ufffd")); surrogates > lone {
			t.Fatalf("%d surrogates counted, %d became U+FFFD", surrogates, lone)
		}
	})
}
