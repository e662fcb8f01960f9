package tokens

import (
	"bufio"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// example is a token in parts: what stands before its form's prefix, the prefix, and what follows.
type example struct{ maker, head, prefix, tail string }

func (e example) token() string { return e.head + e.prefix + e.tail }

func examples(t *testing.T) (list []example) {
	t.Helper()
	file, err := os.Open("testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		parts := strings.Split(lines.Text(), "\t")
		if len(parts) != 4 {
			t.Fatalf("%q has %d parts", lines.Text(), len(parts))
		}
		list = append(list, example{parts[0], parts[1], parts[2], parts[3]})
	}
	return list
}

// forms gives each form with the example of it, and its token's end by that form alone.
func forms(t *testing.T) (list []form) {
	t.Helper()
	of := map[[2]string]example{}
	for _, e := range examples(t) {
		of[[2]string{e.maker, e.prefix}] = e
	}
	for _, f := range all {
		list = append(list, form{f, of[[2]string{f.Maker, f.Prefix}], f.at})
	}
	for _, m := range marks {
		list = append(list, form{m.Form, of[[2]string{m.Maker, m.Prefix}], func(s string, i int) int {
			return m.endOf(s, i, i+strings.Index(s[i:], m.Prefix))
		}})
	}
	if len(of) != len(list) {
		t.Fatalf("there are %d forms, and examples of %d", len(list), len(of))
	}
	return list
}

type form struct {
	Form
	example
	end func(s string, i int) int
}

func (f form) name() string { return f.Maker + " " + f.Prefix }

func TestFactsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range forms(t) {
		switch {
		case f.Maker == "" || f.Prefix == "" || f.Chars == nil || f.Source == "":
			t.Errorf("%s: a fact is missing", f.name())
		case f.Min < 12 || f.Max > 0 && f.Max < f.Min:
			t.Errorf("%s has %d to %d characters after its prefix", f.name(), f.Min, f.Max)
		case len(f.tail) < f.Min:
			t.Errorf("%s: the example is cut off", f.name())
		case f.Min < 20 && f.Also == nil && len(f.Prefix) < 4:
			t.Errorf("%s is short, and may be anything", f.name())
		case seen[f.name()]:
			t.Errorf("%s is told twice", f.name())
		}
		seen[f.name()] = true
	}
	if n := len(byBeginning.groups); n > 256 {
		t.Errorf("%d groups do not fit into a byte", n)
	}
	for _, f := range all {
		if !Begins(f.Prefix[0]) {
			t.Errorf("no word begins with %s", f.Prefix)
		}
	}
	for _, m := range marks {
		if headed(m.Prefix[0]) || m.HeadMin < 5 || m.HeadMax > maxHead || m.Also == nil {
			t.Errorf("%s can not be told by its mark", m.Maker)
		}
	}
}

// Every form's example is its token, alone and before what ends words, and so are tokens of the same kinds of characters at random.
func TestTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for _, f := range forms(t) {
		for _, after := range []string{"", " ", "\n", "\"", "'", ";", ",", ")", "<", ". And"} {
			f.check(t, f.token(), after)
		}
		for range 10 {
			if t.Failed() {
				return
			}
			f.check(t, f.other(random), "")
		}
	}
}

// check wants the token to be one, by its form and by all.
func (f form) check(t *testing.T, token, after string) {
	t.Helper()
	if f.end(token+after, 0) != len(token) || At(token+after, 0) != len(token) {
		t.Errorf("%s: of %q and %q the form takes %d bytes, and all take %d of %d", f.name(), token, after, f.end(token+after, 0),
			At(token+after, 0), len(token))
	}
}

// A dash or a '_' belongs to the token before it where the word ends with it, and to the text where more follows.
func TestTokensThatEndInADash(t *testing.T) {
	const token = "sk-ant-" + "k2vLm9ZtRcYw4NpUe8Jd"
	for after, want := range map[string]int{"-": 1, "- a": 1, "-\"": 1, "->x": 0, "--": 0, "_": 1, "_ a": 1, "_)": 0, "__": 0, "_.": 0, "-, a": 0, ".": 0, "-.": 0} {
		if got := At(token+after, 0); got != len(token)+want {
			t.Errorf("of %q %d bytes are a token, want %d", token+after, got, len(token)+want)
		}
	}
}

// other makes a token of the form: as long as the example, with other letters and digits of the form's alphabet for some, for
// fewer with each try. Signs stay, and what is checked beside the alphabet holds. What has a checksum is made anew.
func (f form) other(random *rand.Rand) string {
	if strings.Contains(f.Source, "Wallet_import_format") {
		return newWIF(f.Prefix, random)
	}
	for try := range 1_000 {
		rest := []byte(f.tail)
		for i, c := range rest {
			if chars.IsAlnum(c) && random.IntN(60+try) < 40 {
				rest[i] = f.like(c, random)
			}
		}
		if token := f.head + f.prefix + string(rest); f.end(token, 0) > 0 {
			return token
		}
	}
	return "none: " + f.prefix
}

// like picks a character of the form's alphabet: a digit for a digit, a small letter or a capital for such.
func (f form) like(c byte, random *rand.Rand) byte {
	var chosen []byte
	for b := range byte(0x80) {
		if f.Chars(b) && chars.IsDigit(b) == chars.IsDigit(c) && chars.IsUpper(b) == chars.IsUpper(c) && chars.IsAlpha(b) == chars.IsAlpha(c) {
			chosen = append(chosen, b)
		}
	}
	if c > 'f' || c > 'F' && c < 'a' || len(chosen) < 12 {
		return chosen[random.IntN(len(chosen))]
	}
	chosen = slices.DeleteFunc(chosen, func(b byte) bool { return !chars.IsHex(b) })
	return chosen[random.IntN(len(chosen))]
}

// What is much too short, or has another character where the form has its own, is no token of it.
func TestBrokenTokens(t *testing.T) {
	for _, f := range forms(t) {
		least := f.Min*3/4 - 1
		for what, broken := range map[string]string{
			"too short":        f.head + f.prefix + f.tail[:least],
			"broken":           f.head + f.prefix + f.tail[:least] + "!" + f.tail[least:],
			"broken, a letter": f.head + f.prefix + f.tail[:least] + "é" + f.tail[least:],
			"the prefix alone": f.head + f.prefix,
			"another prefix":   f.head + f.prefix[:len(f.prefix)-1] + "#" + f.tail,
		} {
			if got := f.end(broken, 0); got > 0 && got > len(f.head) {
				t.Errorf("%s, %s: of %q %d bytes are a token", f.name(), what, broken, got)
			}
		}
		if f.Max > 0 {
			long := f.head + f.prefix + strings.Repeat(f.tail, 1+(f.Max+3)/len(f.tail))
			if got := f.end(long, 0); got == len(long) || got > 0 && chars.IsAlnum(long[got]) {
				t.Errorf("%s: of %q, which is too long, %d bytes are a token", f.name(), long, got)
			}
		}
	}
}

// A token that the text ends within is known without its last quarter; one that is not at the end is not.
func TestTokensThatAreCutOff(t *testing.T) {
	const part = "ghp_" + "9sKq2LmZ7xVbN4c"
	for after, want := range map[string]bool{"": true, "…": true, "...": true, "[truncated]": true, " and more": false, "\"": true} {
		if got := At(part+after, 0) == len(part); got != want {
			t.Errorf("%q before %q is a token: %v", part, after, got)
		}
	}
}

func TestJWTs(t *testing.T) {
	const head, claims, signature = "eyJhbGciOiJIUzI1NiJ9", ".eyJ1c2VyIjoiYWRhIn0", ".k2vLm9ZtRcYw4NpUe8JdGs1XhKb5FoIi"
	for text, want := range map[string]int{
		head + claims + signature:         len(head + claims + signature),
		head + claims + "." + " ":         len(head + claims + "."),
		head + claims + signature + ". A": len(head + claims + signature),
		head + "…":                        len(head),
		head + " is base64":               0,
		"eyJ.eyJ.x":                       0,
	} {
		if got := At(text, 0); got != want {
			t.Errorf("of %q %d bytes are a token, want %d", text, got, want)
		}
	}
}
