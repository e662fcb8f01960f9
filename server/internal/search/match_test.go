package search

import (
	"context"
	"math/rand"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func literal(text string) *pattern { return &pattern{literal: newFolded(text)} }

// wholePayload is a payload that holds a text among others.
func wholePayload(text string) []byte {
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER}
	for _, s := range []string{"before", text, "after"} {
		m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: s}})
	}
	return canonical.EncodePayload([]*transcriptv1.Message{m})
}

// FuzzSearchLiteral: a literal is found where Go's regular expressions find it with (?i), in texts and in payloads.
func FuzzSearchLiteral(f *testing.F) {
	for _, s := range [][2]string{
		{"a needle", "NEEDLE"}, {"KKkſSs", "kKK"}, {"straße STRAẞE", "ß"}, {"ΣΊΣΥΦΟΣ", "ς"}, {"İiIı", "i"}, {"aaaa", "aa"},
		{"日本語日本", "日本"}, {"\U0001F600", "\U0001F600"}, {"ab\xffcd", "cd"}, {"x\x00y", "\x00"}, {"θϑϴΘ", "θϑ"}, {"ͅιΙι", "ι"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, needle string) {
		if needle == "" || !utf8.ValidString(needle) || !utf8.ValidString(text) || len(needle) > 50 {
			return
		}
		var want []textRange
		for _, at := range regexp.MustCompile("(?i)"+regexp.QuoteMeta(needle)).FindAllStringIndex(text, maxRanges) {
			want = append(want, textRange{at[0], at[1]})
		}
		p := literal(needle)
		got, err := p.find(context.Background(), text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q in %q: %v, %v, want %v", needle, text, got, err, want)
		}
		for at := 0; ; {
			start, end := p.literal.find([]byte(text), at)
			if again, last := p.literal.findRepeated([]byte(text), at); again != start || last != end {
				t.Errorf("%q in %q from %d: %d to %d, and as what repeats itself %d to %d", needle, text, at, start, end, again, last)
			}
			if start < 0 {
				break
			}
			at = end
		}
		if len(want) > 0 && !p.may(wholePayload(text)) {
			t.Errorf("%q is passed over in a payload that holds %q", needle, text)
		}
	})
}

// FuzzSearchRegexp: whatever the pattern, it is refused or finds what Go's regular expressions find, in one go and slowly,
// and no payload that holds a match is passed over. Excerpts are cut between code points.
func FuzzSearchRegexp(f *testing.F) {
	for _, s := range [][2]string{
		{"an error 42", `err(or)?\s+\d+`}, {"FOO bar", `(?i)foo\b`}, {"abcabc", `(abc){2}`}, {"xxabc", `x+abc`}, {"", `x*`}, {"ab", `a|b`},
		{"kK", `(?i)k+`}, {"foobar", `(?:foo)?bar`}, {"a\nb", `(?m)^b$`}, {"é", `\x{e9}`}, {"日本", `.本`}, {"aXb", `(?i:x)b`}, {"ab", `(a)(b)|c`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, expr string) {
		if !utf8.ValidString(text) || len(text) > 1000 {
			return
		}
		p, err := parsePattern(&transcriptv1.SearchRequest{Pattern: &transcriptv1.SearchRequest_Regexp{Regexp: expr}})
		if err != nil {
			return
		}
		at := regexp.MustCompile(expr).FindStringIndex(text)
		for _, find := range []func(context.Context, string) ([]textRange, error){p.find, p.findSlowly} {
			found, err := find(context.Background(), text)
			if err != nil || (len(found) > 0) != (at != nil) || at != nil && found[0] != (textRange{at[0], at[1]}) {
				t.Fatalf("%q in %q: %v, %v, want %v", expr, text, found, err, at)
			}
			if len(found) > 0 {
				if shown, _ := excerpt(text, found[0], found, 7); !utf8.ValidString(shown) || !strings.Contains(text, shown) {
					t.Errorf("%q in %q is shown as %q", expr, text, shown)
				}
			}
		}
		if at != nil && !p.may(wholePayload(text)) {
			t.Errorf("%q is passed over in a payload that holds %q", expr, text)
		}
	})
}

// TestPatternsKnowWhatTheyNeed: most of a store is passed over without decoding it.
func TestPatternsKnowWhatTheyNeed(t *testing.T) {
	for expr, want := range map[string]string{
		`err(or)+ \d+`: "err", `(timeout|deadline)`: "", `foo.{0,20}barbar`: "barbar", `(?:needle)?`: "", `x{3}`: "x", `(abc){2,}`: "abc", `fooa|foob`: "foo",
	} {
		p, err := compilePattern(expr)
		if err != nil {
			t.Fatal(err)
		}
		if string(p.needExact) != want {
			t.Errorf("%s needs %q, want %q", expr, p.needExact, want)
		}
	}
	p, err := compilePattern(`(?i)zebra\d`)
	if err != nil || p.needFolded == nil || p.may([]byte("zebr")) || !p.may([]byte("a ZeBRa")) {
		t.Errorf("(?i)zebra: %v, %v", p, err)
	}
}

// TestLiteralsTakeLinearTime: also those that repeat in a text that repeats. Some bytes are looked at once for each case of a letter,
// and once more where what comes around it is compared.
func TestLiteralsTakeLinearTime(t *testing.T) {
	text := []byte(strings.Repeat(strings.Repeat("a", 1000)+"b", 1000))
	for _, needle := range []string{strings.Repeat("a", 1001), strings.Repeat("ab", 500), "b" + strings.Repeat("a", 1001), strings.Repeat("Ka", 400)} {
		f := newFolded(needle)
		if start, _ := f.find(text, 0); start >= 0 {
			t.Error("found what is not there")
		}
		if f.work > 8*len(text) {
			t.Errorf("%d bytes of %d were looked at for %.9q…", f.work, len(text), needle)
		}
	}
}

// TestRedactedAt: a place in a text is found again in the redacted one.
func TestRedactedAt(t *testing.T) {
	const mark = "[redacted]"
	for _, c := range []struct {
		text, redacted string
		at, want       int
	}{
		{"plain", "plain", 3, 3},
		{"a SECRET b", "a " + mark + " b", 1, 1},
		{"a SECRET b", "a " + mark + " b", 4, 2 + len(mark)},
		{"a SECRET b", "a " + mark + " b", 9, 3 + len(mark)},
		{"SECRET", mark, 3, len(mark)},
		{"SECRET and SECRET", mark + " and " + mark, 8, len(mark) + 2},
		{"SECRET and SECRET", mark + " and " + mark, 14, 2*len(mark) + 5},
		{"something", "else " + mark + " altogether", 4, 0},
	} {
		if got := redactedAt(c.text, c.redacted, c.at); got != c.want {
			t.Errorf("byte %d of %q lies at %d of %q, want %d", c.at, c.text, got, c.redacted, c.want)
		}
	}
}

// benchmarkText is text of words of which some are frequent.
func benchmarkText(n int) string {
	random := rand.New(rand.NewSource(1))
	var words []string
	for range 2000 {
		word := make([]byte, 2+random.Intn(9))
		for i := range word {
			word[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(random.Intn(26), random.Intn(26))]
		}
		words = append(words, string(word))
	}
	zipf := rand.NewZipf(random, 1.2, 4, uint64(len(words)-1))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[zipf.Uint64()] + []string{" ", " ", " ", ", ", ".\n", `": "`, "(", ")", " 42 "}[random.Intn(9)])
	}
	return b.String()
}

// BenchmarkSearchMatch is matching alone.
func BenchmarkSearchMatch(b *testing.B) {
	text := benchmarkText(1 << 20)
	for name, p := range map[string]*pattern{
		"literal": literal("zebra crossing"), "literal-common": literal("the tents"), "cyrillic": literal("привет"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p.may([]byte(text))
			}
		})
	}
}

// BenchmarkSlowestMatch is the longest that a page can be held up by a message: one of 3 MiB, and patterns within the
// limits that keep nearly all of their instructions busy at each byte.
func BenchmarkSlowestMatch(b *testing.B) {
	text := strings.Repeat("abcd efgh ", 3<<20/10)
	for name, expr := range map[string]string{
		"optional": `(?:(?:.?)(?:.?)(?:.?)(?:.?)){240}[Q-Z]`, "bounded": `.{0,990}[Q-Z]`, "folded": `(?i)[a-z ]{1,990}[^a-z ]`,
	} {
		p, err := compilePattern(expr)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if found, err := p.find(context.Background(), text); err != nil || len(found) > 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// TestMatchesOfLongTexts: where each match could take as long as the first, only the first is found.
func TestMatchesOfLongTexts(t *testing.T) {
	p, err := compilePattern(`(?s)a(?:.?){980}[Q-Z]|a`)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{maxSteps / 8 / p.program: maxRanges, maxSteps/8/p.program + 1: 1, maxSteps/p.program + 1: 1} {
		if found, err := p.find(context.Background(), strings.Repeat("a", size)); err != nil || len(found) != want {
			t.Errorf("%d matches in %d bytes, want %d (%v)", len(found), size, want, err)
		}
	}
}
