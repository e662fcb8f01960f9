package jsonwalk

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/jsontext"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
	"github.com/transcriptd/transcriptd/redact/internal/views"
)

// list is what the elements of a JSON list have in common.
type list struct {
	words    values.WordList
	items    []edit.Span // the insides of its strings, or its numbers; only where a phrase or a key could be one
	n        int
	first    edit.Span // the inside of the first element, if it is a string
	key      bool      // the lines of a private key in PEM go on, of which there were so many
	keyLines int
	flag     names.Kind // what the element before this one means, if it is a flag: ["--password", "…"]
	name     string
	above    string // the lines before this one, from one on that ends with a name: ["password:", "…"]
	below    int    // how many lines may still come below it
}

func (w *Walker) array(i int, k names.Kind, name string) int {
	var l list
	row := w.row
	first := len(w.spans)
	for i = chars.SkipSpace(w.s, i+1); w.s[i] != ']'; {
		w.row = w.s[i] == '['
		end := w.element(i, k, name, &l)
		l.n++
		if i = chars.SkipSpace(w.s, end); w.s[i] == ',' {
			i = chars.SkipSpace(w.s, i+1)
		}
	}
	w.row = false
	w.endKey(&l)
	switch {
	case l.n == l.words.Count() && l.words.IsPhrase(k):
		w.spans = append(w.spans[:first], l.items...)
	case l.words.Count() == 0 && l.n == len(l.items) && isKey(w.s, k, name, l.items):
		w.spans = append(w.spans[:first], zeros(l.items)...)
	case row && l.n == 2 && k == names.None && l.first.End > 0 && w.s[i-1] == '"':
		w.second(&l)
	}
	return i + 1
}

// element walks the element at i of a list under a name of kind k.
func (w *Walker) element(i int, k names.Kind, name string, l *list) int {
	if w.s[i] != '"' {
		w.endKey(l)
		l.flag, l.above = names.None, ""
		end := w.value(i, elementKind(k), name)
		if k != names.None && (chars.IsDigit(w.s[i]) || w.s[i] == '-') {
			l.items = append(l.items, edit.Span{Start: i, End: end})
		}
		return end
	}
	end, _ := jsontext.StringEnd(w.s, i)
	inside := edit.Span{Start: i + 1, End: end - 1}
	if l.n == 0 {
		l.first = inside
	}
	if k == names.Phrase || k == names.Seed {
		l.words.Add(w.text(i+1, end-1))
		if end-i > 4 && w.s[i+1:end-1] != edit.Mark {
			l.items = append(l.items, inside)
		}
	}
	if l.flag != names.None && w.s[i+1] != '-' && w.argument(inside, l) {
		return end
	}
	l.flag = names.None
	if w.keyLine(inside, l) {
		return end
	}
	if w.below(inside, l) {
		return end
	}
	if k == names.None && w.s[i+1] == '-' && !chars.IsBlank(w.s[i+2]) && !strings.HasPrefix(w.s[i+1:], "-----") {
		l.name = w.text(i+1, end-1)
		l.flag = w.names.Kind(l.name)
	}
	w.str(i+1, end-1, k, name)
	return end
}

// keyLine takes a string that is a line of a private key in PEM: the first, and those after it up to the last, or to what is no
// base64.
func (w *Walker) keyLine(at edit.Span, l *list) bool {
	line := strings.TrimRight(w.text(at.Start, at.End), "\r\n")
	begins := strings.HasPrefix(line, "-----BEGIN ") && strings.HasSuffix(line, "PRIVATE KEY-----")
	if !l.key && !begins {
		return false
	}
	ends := strings.HasPrefix(line, "-----END ")
	if l.key && !ends && !begins && (line == "" || chars.Base64End(line, 0, len(line)) < len(line)) {
		w.endKey(l)
		return false
	}
	w.spans = append(w.spans, at)
	if l.key, l.keyLines = !ends, l.keyLines+1; begins {
		l.keyLines = 1
	}
	return true
}

// endKey gives back the first line of a key that has no others.
func (w *Walker) endKey(l *list) {
	if l.key && l.keyLines == 1 {
		w.spans = w.spans[:len(w.spans)-1]
	}
	l.key = false
}

// elementKind: a number in a list is no pin.
func elementKind(k names.Kind) names.Kind {
	if k == names.PIN {
		return names.Weak
	}
	return k
}

// below takes what is secret in a string that is a line below a name, and notes whether it ends with one itself.
func (w *Walker) below(at edit.Span, l *list) bool {
	if at.End-at.Start > chars.MaxBare || w.depth >= jsontext.MaxDepth {
		l.above = ""
		return false
	}
	line := strings.TrimRight(w.text(at.Start, at.End), "\r\n")
	above := l.above
	switch {
	case endsInName(line):
		if len(above) > chars.MaxBare {
			l.above = ""
		}
		l.above += line + "\n"
		l.below = lines.MaxEmpty
	case l.below > 0 && above != "":
		l.above += line + "\n"
		l.below--
	default:
		l.above = ""
	}
	if above == "" || line == "" {
		return false
	}
	first := len(w.spans)
	var spans []edit.Span
	for _, sp := range w.find(above+line, w.depth+1) {
		if sp.Start >= len(above) {
			spans = append(spans, edit.Span{Start: sp.Start - len(above), End: sp.End - len(above), Text: sp.Text})
		}
	}
	w.spans = append(w.spans, jsontext.ToRaw(w.s[at.Start:at.End], at.Start, spans)...)
	return len(w.spans) > first
}

// endsInName says whether a line ends as one does that has a value below it.
func endsInName(line string) bool {
	if views.OnScreen(line) {
		line, _ = views.Screen.Read(line)
	}
	return strings.HasSuffix(strings.TrimRight(line, lines.Marks+" \t"), ":")
}

// argument takes the string after a flag.
func (w *Walker) argument(at edit.Span, l *list) bool {
	k := l.flag
	l.flag = names.None
	text := w.text(at.Start, at.End)
	a, b, ok := values.Judge(k, text, values.InLine, l.name)
	if !ok || len(text) != at.End-at.Start {
		return false
	}
	w.spans = append(w.spans, edit.Span{Start: at.Start + a, End: at.Start + b})
	return true
}

// second judges the second of two strings in a row of a table under the first: [["authorization", "…"], …].
func (w *Walker) second(l *list) {
	name := w.text(l.first.Start, l.first.End)
	at := chars.SkipSpace(w.s, l.first.End+1)
	start := chars.SkipSpace(w.s, at+1) + 1
	end, _ := jsontext.StringEnd(w.s, start-1)
	if a, b, ok := w.judged(start, end-1, w.names.Kind(name), name); ok {
		w.put(start, end-1, edit.Span{Start: a, End: b})
	}
}

// minKey is how many bytes a list has at least that is a key.
const minKey = 16

// isKey says whether the numbers of a list are the bytes of a key that is not gone already.
func isKey(s string, k names.Kind, name string, numbers []edit.Span) bool {
	if len(numbers) < minKey || k != names.Secret && k != names.Phrase && (k != names.Seed || names.IsPlural(name)) {
		return false
	}
	any := false
	for _, n := range numbers {
		t := s[n.Start:n.End]
		if len(t) > 3 || chars.DigitsEnd(t, 0) != len(t) || len(t) == 3 && t > "255" {
			return false
		}
		any = any || t != "0"
	}
	return any
}

// zeros puts a mark in place of the first of a key's bytes, and zeros in place of the others.
func zeros(numbers []edit.Span) []edit.Span {
	numbers[0].Text = `"` + edit.Mark + `"`
	for i := range numbers[1:] {
		numbers[i+1].Text = "0"
	}
	return numbers
}
