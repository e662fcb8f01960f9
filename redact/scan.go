package redact

import (
	"regexp"
	"sort"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/tokens"
)

// scanner goes through text once from left to right. What a rule takes is passed over; what a rule leaves is looked at by
// the others. JSON values in the text are walked as such.
type scanner struct {
	r     *Redactor
	s     string
	depth int // how many JSON strings the text is in
	spans []span

	notJSON  int    // no JSON value begins before this offset that has not been tried
	pemEnd   int    // where the next "-----END" is, from pemFrom on; -1: there is none
	pemFrom  int    // what pemEnd was looked for from
	cut      int    // where a word that is too long was cut in two; no shape begins there
	command  string // the program whose flags stand on this line
	prev     [2]int // where the last word before this one began and ended
	eol      int    // the end of the line that holds eolFrom
	eolFrom  int
	stop     int // where a header's value that begins in [stopFrom, stop] ends
	stopFrom int
	left     int    // the end of a long unquoted value that is no secret; a name within it has the rest of that as its own
	within   region // the literal or the lines that the scanner is in
	walked   []span // JSON values with strings or secrets; the caller's shapes and views see only the strings in them
}

// find gives the secrets of s in order. At depth zero s is the caller's text, deeper it is the inside of a JSON string, or what
// another text is read as.
func (r *Redactor) find(s string, depth int) []span {
	if spans, ok := r.findString(s, depth); ok {
		return spans
	}
	if spans, ok := r.findOnScreen(s, depth); ok {
		return spans
	}
	sc := scanner{r: r, s: s, depth: depth, pemFrom: -1, cut: -1, eol: -1, stop: -1}
	for i := 0; i < len(s); {
		i = sc.step(i)
	}
	sc.columns()
	sc.escaped()
	if len(r.shapes) > 0 {
		sc.extra()
	}
	return sc.spans
}

// findString is for a text that is one JSON string and nothing more.
func (r *Redactor) findString(s string, depth int) ([]span, bool) {
	a, b := chars.TrimSpace(s)
	if b-a < 2 || s[a] != '"' || depth >= maxDepth {
		return nil, false
	}
	if end, ok := stringEnd(s, a); !ok || end != b {
		return nil, false
	}
	w := walker{r: r, s: s, depth: depth}
	w.str(a+1, b-1, names.None, "")
	return w.spans, true
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
		return sc.userinfo(i + 3)
	case c == '@':
		return sc.mysqlDSN(i)
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
	if sc.depth >= maxDepth || strings.HasPrefix(sc.s[i:], Mark) {
		return i + 1
	}
	if !sc.isJSON(i) {
		return i + 1
	}
	end, _ := jsonEnd(sc.s, i)
	w := walker{r: sc.r, s: sc.s, depth: sc.depth, spans: sc.spans}
	w.value(i, k, name)
	if len(w.spans) > len(sc.spans) || strings.IndexByte(sc.s[i:end], '"') >= 0 {
		sc.walked = append(sc.walked, span{start: i, end: end})
	}
	sc.spans = w.spans
	return end
}

// isJSON says whether a JSON value begins at i. What is none is gone over once, so that the time stays linear.
func (sc *scanner) isJSON(i int) bool {
	if i < sc.notJSON {
		return false
	}
	end, ok := jsonEnd(sc.s, i)
	if !ok {
		sc.notJSON = end
	}
	return ok
}

// escape passes a backslash and, in \n, \r and \t, the letter, which is no part of the word after it.
func (sc *scanner) escape(i int) int {
	if i+1 == len(sc.s) || strings.IndexByte("nrt", sc.s[i+1]) < 0 {
		return i + 1
	}
	if sc.s[i+1] == 'n' {
		sc.command = ""
	}
	end := wordEnd(sc.s, i+1)
	if sc.r.names.Kind(sc.s[i+1:end]) != names.None && sc.r.names.Kind(sc.s[min(i+2, end):end]) == names.None {
		return i + 1 // the letter belongs to a name: \token
	}
	return i + 2
}

// wordEnd gives the end of the word at i: letters, digits, '_', '-', '$' and '.' between them. Names longer than names.MaxName are
// none, so a word may be cut; the rest is a word of its own.
func wordEnd(s string, i int) int {
	from := i
	for i < len(s) && i-from < chars.MaxShape && (chars.InDotted(s[i]) || s[i] == '$') {
		i++
	}
	for i > from && s[i-1] == '.' {
		i--
	}
	return i
}

// word looks for shapes in the word at i, then for a value if the word is the name of one.
func (sc *scanner) word(i int) int {
	for at := i; at < len(sc.s) && at <= i+1 && sc.s[at] == '-'; at++ { // the first may be of a diff
		if strings.HasPrefix(sc.s[at:], "-----BEGIN ") {
			if end := sc.pem(at); end > 0 {
				return sc.take(at, end)
			}
		}
	}
	end := max(wordEnd(sc.s, i), i+1)
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
		sc.noteCommand(sc.s[i:end])
	}
	return end
}

// take marks [a, b) as secret and goes on after it.
func (sc *scanner) take(a, b int) int {
	sc.spans = append(sc.spans, span{start: a, end: b})
	return b
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

// pem gives the end of the private key in PEM that begins at i, or 0 if it is no private key. A key that is cut off
// ends with its last character of base64.
func (sc *scanner) pem(i int) int {
	s := sc.s
	label := i + len("-----BEGIN ")
	end := label
	for end < len(s) && (chars.IsUpper(s[end]) || chars.IsDigit(s[end]) || s[end] == ' ') {
		end++
	}
	if !strings.Contains(s[label:end], "PRIVATE KEY") || !strings.HasPrefix(s[end:], "-----") {
		return 0
	}
	end += len("-----")
	if closes := sc.nextEnd(end); closes >= 0 && !strings.Contains(s[end:min(closes, end+1<<16)], "-----BEGIN") && closes-end < 1<<16 {
		to := closes + len("-----END")
		for to < len(s) && (chars.IsUpper(s[to]) || chars.IsDigit(s[to]) || s[to] == ' ') {
			to++
		}
		for n := 0; n < 5 && to < len(s) && s[to] == '-'; n++ {
			to++
		}
		return to
	}
	front := lines.Front(s, i)
	end = nextKeyLine(s, end, front)
	if first := strings.IndexFunc(s[end:min(len(s), end+16)], func(r rune) bool { return r >= 0x80 || !chars.InBase64(byte(r)) }); first >= 0 || end+16 > len(s) {
		return 0 // the words alone
	}
	for {
		end = chars.Base64End(s, end, len(s))
		next := nextKeyLine(s, end, front)
		if next == end || next == len(s) || !chars.InBase64(s[next]) {
			return end
		}
		end = next
	}
}

// nextKeyLine gives where the next line of a key begins after the one that ends at j, without what stands before the text of
// each; j if there is none.
func nextKeyLine(s string, j int, front string) int {
	if strings.HasPrefix(s[j:], `\n`) {
		return j + len(`\n`)
	}
	next := lines.Next(s, j, front)
	if next > j {
		return chars.SkipSpace(s, next)
	}
	return j
}

// nextEnd gives the next "-----END" from i on. It is looked for once between two of them, so that the time stays linear.
func (sc *scanner) nextEnd(i int) int {
	if sc.pemFrom < 0 || sc.pemEnd >= 0 && sc.pemEnd < i {
		sc.pemFrom = i
		sc.pemEnd = strings.Index(sc.s[i:], "-----END")
		if sc.pemEnd >= 0 {
			sc.pemEnd += i
		}
	}
	return sc.pemEnd
}

// userinfo takes the password of the URL whose authority begins at i.
func (sc *scanner) userinfo(i int) int {
	s := sc.s
	end, at, colon := i, -1, -1
	for end < len(s) && !chars.IsSpace(s[end]) && strings.IndexByte("\"'<>`\\", s[end]) < 0 {
		if strings.IndexByte("/?#,()", s[end]) >= 0 && !inPassword(s, colon+1, end, at) {
			break
		}
		switch {
		case s[end] == '@':
			at = end
		case s[end] == ':' && colon < 0 && at < 0:
			colon = end
		case strings.HasPrefix(s[end:], "${") || strings.HasPrefix(s[end:], "{{"):
			end++ // a template's own signs do not matter
		}
		end++
	}
	if at < 0 {
		return i
	}
	if colon >= 0 && colon+1 < at {
		if pw := s[colon+1 : at]; pw != Mark && !isTemplate(pw) && !isFiller(pw) {
			return sc.take(colon+1, at)
		}
		return i
	}
	if colon < 0 && at-i >= 20 && looks.Random(s[i:at]) {
		return sc.take(i, at)
	}
	return i
}

// inPassword says whether a sign that ends an authority belongs to a password that was not escaped, which begins at i: there
// is something before it that is no port, and an '@' and a host after it.
func inPassword(s string, i, end, at int) bool {
	if i == 0 || at >= 0 || i == end || chars.DigitsEnd(s, i) >= end || s[i] == '[' {
		return false
	}
	rest := s[end:min(len(s), end+chars.MaxBlanks)]
	for n := 0; n < len(rest)-1; n++ {
		if rest[n] == '@' {
			return chars.IsAlnum(rest[n+1]) || rest[n+1] == '['
		}
		if chars.IsSpace(rest[n]) || strings.IndexByte("\"'<>`\\=:", rest[n]) >= 0 {
			return false
		}
	}
	return false
}

// mysqlDSN takes the password before "@tcp(" and "@unix(".
func (sc *scanner) mysqlDSN(i int) int {
	s := sc.s
	if !strings.HasPrefix(s[i:], "@tcp(") && !strings.HasPrefix(s[i:], "@unix(") {
		return i + 1
	}
	low := 0
	if n := len(sc.spans); n > 0 {
		low = sc.spans[n-1].end
	}
	from := i // of the password: names of users have no colon
	for a := i - 1; a >= low && a > i-128 && !chars.IsSpace(s[a]) && strings.IndexByte("\"'`=/", s[a]) < 0; a-- {
		if s[a] == ':' {
			from = a + 1
		}
	}
	if t := s[from:i]; t == "" || t == Mark || isTemplate(t) {
		return i + 1
	}
	return sc.take(from, i)
}

// extra adds what the caller's shapes find outside the spans there are, between JSON values and outside marks.
func (sc *scanner) extra() {
	var found []span
	from := 0
	for _, v := range append(sc.walked, span{start: len(sc.s), end: len(sc.s)}) {
		for _, re := range sc.r.shapes {
			found = sc.matches(re, from, v.start, found)
		}
		from = v.end
	}
	if len(found) == 0 {
		return
	}
	all := append(sc.spans, found...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].start < all[j].start })
	kept := all[:0]
	end := -1
	for _, sp := range all {
		if sp.start >= end {
			kept = append(kept, sp)
			end = sp.end
		}
	}
	sc.spans = kept
}

// matches appends where re matches in s[from:to], its first group if it has groups.
func (sc *scanner) matches(re *regexp.Regexp, from, to int, found []span) []span {
	for _, m := range re.FindAllStringSubmatchIndex(sc.s[from:to], -1) {
		a, b := m[0], m[1]
		if len(m) > 2 {
			a, b = m[2], m[3]
		}
		if a >= 0 && a < b && !touchesMark(sc.s, from+a, from+b) {
			found = append(found, span{start: from + a, end: from + b})
		}
	}
	return found
}

// touchesMark says whether [a, b) overlaps a Mark.
func touchesMark(s string, a, b int) bool {
	from, to := max(0, a-len(Mark)+1), min(len(s), b+len(Mark)-1)
	return strings.Contains(s[from:to], Mark)
}
