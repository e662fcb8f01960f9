package redact_test

import (
	"encoding/base64"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// tokenExamples are a token of each form, in parts: what stands before the form's prefix, the prefix, and what follows.
func tokenExamples(t *testing.T) (list [][3]string) {
	t.Helper()
	raw, err := os.ReadFile("internal/tokens/testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(parts) == 4 {
			list = append(list, [3]string(parts[1:]))
		}
	}
	if len(list) < 300 {
		t.Fatalf("there are %d examples", len(list))
	}
	return list
}

// A token is taken as a whole and alone, with no name beside it.
func TestTokensStandAlone(t *testing.T) {
	for _, e := range tokenExamples(t) {
		token := e[0] + e[1] + e[2]
		for _, around := range []string{"%", "it is % and so on", "It is %.", "\"%\"", "- %\n- a\n", "(%)", "x=%", "a: %", "`%`,", "https://%", "<b>%</b>"} {
			text, want := strings.ReplaceAll(around, "%", token), strings.ReplaceAll(around, "%", redact.Mark)
			if got := redact.Text(text); got != want {
				t.Errorf("%q became %q", text, got)
			}
			promises(t, text)
		}
		promises(t, encode(t, map[string]any{"a": token, "n": []any{token}}))
	}
}

// A token is taken as a whole where more stands right behind it, or before; what does may go with it.
func TestTokensBesideSigns(t *testing.T) {
	for _, e := range tokenExamples(t) {
		token := e[0] + e[1] + e[2]
		for _, around := range []string{"_%_", "__%__", "%--", "it is %... and", "a,%,b", "?key=%&n=1", "https://a/?t=%#b", `\%`, `a\n%\nb`} {
			got := redact.Text(strings.ReplaceAll(around, "%", token))
			if survives(got, e[2][:8]) || survives(got, e[2][len(e[2])-8:]) || !strings.HasPrefix(got, around[:strings.Index(around, "%")]) {
				t.Errorf("%q around %q became %q", around, token, got)
			}
		}
	}
}

// Floods of prefixes and of what almost is a token cost no more than other texts do.
func TestFloodsOfTokens(t *testing.T) {
	for _, e := range tokenExamples(t) {
		for _, piece := range []string{
			e[0] + e[1], e[1] + " ", e[0] + e[1] + e[2][:min(6, len(e[2]))], e[0] + e[1] + e[2], e[0] + e[1] + e[2] + " ",
			e[1] + "a", e[2][:len(e[2])/2] + "!",
		} {
			checkWork(t, piece, strings.Repeat(piece, 1<<14/len(piece)))
		}
		for _, sign := range []string{"/", "=", "/a"} { // ends a word but not a token; what is found makes for one more pass
			piece := e[0] + e[1] + sign
			checkWork(t, piece, "password=hunter2 "+strings.Repeat(piece, 1<<14/len(piece)))
		}
	}
}

// Tables of numbers, as programs have them, are no tokens in base64, on one line or on many.
func TestProgramsInBase64(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 9))
	var table []byte
	for range 40_000 {
		table = binary.LittleEndian.AppendUint32(table, random.Uint32()>>random.IntN(32))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		text := encoding.EncodeToString(table)
		for _, s := range []string{text, strings.Join(slices.Collect(lines(text, 76)), "\n")} {
			if got := redact.Text(s); got != s {
				t.Errorf("%d of %d bytes are gone", len(s)-len(got), len(s))
			}
		}
	}
}

// lines are the parts of a text of so many bytes.
func lines(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; text != ""; text = text[min(n, len(text)):] {
			if !yield(text[:min(n, len(text))]) {
				return
			}
		}
	}
}
