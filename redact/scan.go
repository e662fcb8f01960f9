package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/jsontext"
	"github.com/transcriptd/transcriptd/redact/internal/jsonwalk"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/pem"
	"github.com/transcriptd/transcriptd/redact/internal/places"
	"github.com/transcriptd/transcriptd/redact/internal/tokens"
)

// scanner goes through text once from left to right. What a rule takes is passed over; what a rule leaves is looked at by
// the others. JSON values in the text are walked as such.
type scanner struct {
	r     *Redactor
	s     string
	page  places.Page
	pem   pem.Text
	depth int // how many JSON strings the text is in
	spans []edit.Span

	cut     int         // where a word that is too long was cut in two; no shape begins there
	command command     // the program whose flags stand on this line
	prev    [2]int      // where the last word before this one began and ended
	left    int         // the end of a long unquoted value that is no secret; a name within it has the rest of that as its own
	within  region      // the literal or the lines that the scanner is in
	walked  []edit.Span // JSON values with strings or secrets; the caller's shapes and views see only the strings in them
}

// find gives the secrets of s in order. At depth zero s is the caller's text, deeper it is the inside of a JSON string, or what
// another text is read as.
func (r *Redactor) find(s string, depth int) []edit.Span {
	if spans, ok := r.findString(s, depth); ok {
		return spans
	}
	if spans, ok := r.findOnScreen(s, depth); ok {
		return spans
	}
	sc := scanner{r: r, s: s, page: places.New(s), pem: pem.New(s), depth: depth, cut: -1}
	for i := 0; i < len(s); {
		i = sc.step(i)
	}
	sc.spans = edit.Merge(sc.spans, columns(s, r.names))
	sc.escaped()
	if len(r.shapes) > 0 {
		return withShapes(s, r.shapes, sc.spans, sc.walked)
	}
	return sc.spans
}

// findString is for a text that is one JSON string and nothing more.
func (r *Redactor) findString(s string, depth int) ([]edit.Span, bool) {
	a, b := chars.TrimSpace(s)
	if b-a < 2 || s[a] != '"' || depth >= jsontext.MaxDepth {
		return nil, false
	}
	if end, ok := jsontext.StringEnd(s, a); !ok || end != b {
		return nil, false
	}
	return r.walker(s, depth).String(a+1, b-1), true
}

// walker goes through JSON values of a text that is in so many JSON strings.
func (r *Redactor) walker(s string, depth int) *jsonwalk.Walker {
	return jsonwalk.New(s, depth, r.names, r.find)
}

// step looks at s[i:] and gives the offset to go on from, which is after i.
func (sc *scanner) step(i int) int {
	switch c := sc.s[i]; {
	case chars.IsAlnum(c) || c == '_' || c == '-' || c == '$':
		return sc.word(i)
	case c == '{' || c == '[' && !sc.isSubscript(i):
		return sc.bracket(i, names.None, "")
	case c == '\\':
		return sc.escape(i)
	case c == '\n':
		if i == 0 || sc.s[i-1] != '\\' {
			sc.command = ""
		}
	case c == ':' && strings.HasPrefix(sc.s[i:], "://"):
		if from, to := userinfo(sc.s, i+3); to > 0 {
			return sc.take(from, to)
		}
		return i + 3
	case c == '@':
		if from, to := mysqlDSN(sc.s, i, sc.taken()); to > 0 {
			sc.take(from, to)
		}
	case c == '%' && i+3 < len(sc.s) && chars.IsHex(sc.s[i+1]) && chars.IsHex(sc.s[i+2]):
		return i + 3 // what is escaped is no part of the word after it
	}
	return i + 1
}

// isSubscript says whether the bracket at i is part of an expression: headers["authorization"].
func (sc *scanner) isSubscript(i int) bool {
	return i > 0 && (chars.InWord(sc.s[i-1]) || sc.s[i-1] == ']' || sc.s[i-1] == ')')
}

// bracket walks a JSON value at i under a name of kind k, or passes the bracket.
func (sc *scanner) bracket(i int, k names.Kind, name string) int {
	if sc.depth >= jsontext.MaxDepth || strings.HasPrefix(sc.s[i:], edit.Mark) {
		return i + 1
	}
	if !sc.page.IsJSON(i) {
		return i + 1
	}
	end, _ := jsontext.End(sc.s, i)
	found := sc.r.walker(sc.s, sc.depth).Value(i, k, name)
	if len(found) > 0 || strings.IndexByte(sc.s[i:end], '"') >= 0 {
		sc.walked = append(sc.walked, edit.Span{Start: i, End: end})
	}
	sc.spans = append(sc.spans, found...)
	return end
}

// escape passes a backslash and, in \n, \r and \t, the letter, which is no part of the word after it.
func (sc *scanner) escape(i int) int {
	if i+1 == len(sc.s) || strings.IndexByte("nrt", sc.s[i+1]) < 0 {
		return i + 1
	}
	if sc.s[i+1] == 'n' {
		sc.command = ""
	}
	end := places.WordEnd(sc.s, i+1)
	if sc.r.names.Kind(sc.s[i+1:end]) != names.None && sc.r.names.Kind(sc.s[min(i+2, end):end]) == names.None ||
		tokens.At(sc.s, i+1) > 0 && tokens.At(sc.s, i+2) == 0 {
		return i + 1 // the letter belongs to a name or a token: \token
	}
	return i + 2
}

// word looks for shapes in the word at i, then for a value if the word is the name of one.
func (sc *scanner) word(i int) int {
	for at := i; at < len(sc.s) && at <= i+1 && sc.s[at] == '-'; at++ { // the first may be of a diff
		if strings.HasPrefix(sc.s[at:], "-----BEGIN ") {
			if end := sc.pem.KeyEnd(at); end > 0 {
				return sc.take(at, end)
			}
		}
	}
	end := max(places.WordEnd(sc.s, i), i+1)
	if at, to := sc.shapeIn(i, end); to > 0 {
		return sc.take(at, to)
	}
	prev := sc.prev
	sc.prev = [2]int{i, end}
	if end-i == chars.MaxShape {
		sc.cut = end
	}
	if end-i <= names.MaxName {
		if next := sc.named(i, end, prev); next > 0 {
			return next
		}
		sc.command.note(sc.s[i:end])
	}
	return end
}

// take marks [a, b) as secret and goes on after it.
func (sc *scanner) take(a, b int) int {
	sc.spans = append(sc.spans, edit.Span{Start: a, End: b})
	return b
}

// taken gives the end of what was marked last.
func (sc *scanner) taken() int {
	if n := len(sc.spans); n > 0 {
		return sc.spans[n-1].End
	}
	return 0
}

// shapeIn gives the first shape that begins in [i, end), at its start or after a sign within its first chars.MaxWord bytes.
func (sc *scanner) shapeIn(i, end int) (int, int) {
	for p := i; p < min(end, i+chars.MaxWord); p++ {
		if !tokens.Begins(sc.s[p]) || p == sc.cut || p > i && chars.IsAlnum(sc.s[p-1]) && !(chars.IsDigit(sc.s[p]) && sc.s[i:p] == "bot") {
			continue
		}
		if to := tokens.At(sc.s, p); to > 0 {
			return p, to
		}
	}
	return 0, 0
}
