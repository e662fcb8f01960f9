package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// value is where a value is and how it stands there.
type value struct {
	start, end int
	place      values.Place
	json       bool // a bracket at start: a JSON value or none
}

// separator says what is between a name and its value.
type separator uint8

const (
	sepNone    separator = iota
	sepAssign            // = := => : ?=
	sepCompare           // == != === || ??
	sepComma             // ("name", "value")
	sepTag               // <name>value<
	sepSpace             // --name value, name is value
)

// valueAfter finds the value of the name [i, end).
func (pg *page) valueAfter(i, end int, k names.Kind) (value, bool) {
	s := pg.s
	j := end
	quotedName := false
	first := pg.leadStart(i)
	if q, ok := openQuote(s, j); ok && pg.isOpening(first, q) {
		j, end, quotedName = q.start, q.start, true
		if v, ok := pg.attribute(first, j, k); ok {
			return v, true
		}
	}
	for n := 0; n < 3 && j < len(s) && strings.IndexByte("])?!*`", s[j]) >= 0; n++ {
		j++
	}
	if i > 1 && s[i-2:i] == "${" { // a shell's default
		to := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '}')
		return value{start: j + 2, end: j + to, place: values.InLine}, to > 2 && strings.HasPrefix(s[j:], ":-")
	}
	if v, ok := pg.pairValue(j); ok {
		return v, true
	}
	if v, ok := tagged(s, j); ok {
		return v, values.IsBelow(s[v.start:v.end], k)
	}
	if to := aboutEnd(s, j); to > 0 && !quotedName {
		return pg.valueOf(i, to, k)
	}
	at := chars.SkipBlanks(s, j)
	sep, after := separatorAt(s, at, i)
	switch sep {
	case sepAssign:
		if v, ok := pg.member(at, after, k); ok && quotedName {
			return v, true
		}
		return pg.assigned(i, end, at, after, k)
	case sepCompare:
		return quotedAt(s, after, either(k == names.Token, values.InHint, values.InQuote), values.InHint)
	case sepComma:
		if !quotedName || !chars.IsQuote(s[i-1]) {
			return value{}, false
		}
		p := either(k == names.Cookie || pg.isSetter(first-1), values.InQuote, values.InHint)
		return quotedAt(s, after, p, p)
	case sepTag:
		to := strings.IndexByte(s[after:min(len(s), after+chars.MaxQuote)], '<')
		if to < 0 || strings.IndexByte(s[after:after+to], '\n') >= 0 && k != names.Phrase {
			return value{}, false
		}
		return value{start: after, end: after + to, place: values.InQuote}, true
	default:
	}
	if at < len(s) && s[at] == '|' {
		return pg.cell(i, at, k)
	}
	if at > j && at-j < chars.MaxBlanks && at < len(s) && !quotedName {
		return pg.spaced(i, at, k)
	}
	return value{}, false
}

// separatorAt gives what separates at s[j:] and where it ends. start is where the name began.
func separatorAt(s string, j, start int) (separator, int) {
	rest := s[j:]
	for _, sep := range [...]struct {
		text string
		is   separator
	}{
		{"===", sepCompare}, {"!==", sepCompare}, {"==", sepCompare}, {"!=", sepCompare}, {"||", sepCompare}, {"??", sepCompare},
		{":=", sepAssign}, {"=>", sepAssign}, {"?=", sepAssign}, {"+=", sepAssign}, {"=", sepAssign}, {"::", sepNone}, {":", sepAssign}, {"：", sepAssign},
		{"%3D", sepAssign}, {"%3d", sepAssign}, {",", sepComma},
	} {
		if strings.HasPrefix(rest, sep.text) {
			return sep.is, j + len(sep.text)
		}
	}
	if strings.HasPrefix(rest, ">") && start > 0 && s[start-1] == '<' {
		return sepTag, j + 1
	}
	return sepNone, j
}

// pairValue finds the value in {name: "PASSWORD", value: "…"}, <add key="password" value="…"/> and the like; j is after the
// name and its quote.
func (pg *page) pairValue(j int) (value, bool) {
	s := pg.s
	at := j
	for n := 0; at < len(s) && n < chars.MaxBlanks && (chars.IsSpace(s[at]) || s[at] == ',' || s[at] == '\\' || s[at] == '"' || s[at] == '\''); n++ {
		at++
	}
	if at == j || !chars.HasPrefixFold(s[at:], "value") && !chars.HasPrefixFold(s[at:], "secretvalue") {
		return value{}, false
	}
	at = wordEnd(s, at)
	if q, ok := openQuote(s, at); ok {
		at = q.start
	}
	at = chars.SkipBlanks(s, at)
	if at == len(s) || s[at] != ':' && s[at] != '=' {
		return value{}, false
	}
	after := chars.SkipBlanks(s, at+1)
	if v, ok := quotedAt(s, after, values.InQuote, values.InQuote); ok {
		return v, true
	}
	if s[at] == '=' {
		return value{}, false
	}
	p := either(strings.IndexByte(s[j:at], '\n') >= 0, values.InYAML, values.InText)
	return value{start: after, end: min(pg.lineEnd(after), bareEnd(s, after)), place: p}, true
}

// quotedAt is the quoted value at j after blanks, or the literal that an expression at j begins with: b"…", String("…").
func quotedAt(s string, j int, p, inCall values.Place) (value, bool) {
	j = chars.SkipBlanks(s, j)
	if q, ok := openQuote(s, j); ok {
		return value{start: q.start, end: q.close(s), place: p}, true
	}
	at := j
	for at < len(s) && at-j < chars.MaxBlanks && (chars.InWord(s[at]) || s[at] == '.') {
		at++
	}
	if at-j == 1 || at-j == 2 {
		if q, ok := openQuote(s, at); ok { // b"…", rb'…'
			return value{start: q.start, end: q.close(s), place: p}, true
		}
	}
	if at > j && at < len(s) && s[at] == '(' {
		if q, ok := openQuote(s, at+1); ok {
			return value{start: q.start, end: q.close(s), place: inCall}, true
		}
	}
	return value{}, false
}

// literalAt is the quoted value at j, or the first of []byte("…") and []string{"…"}.
func literalAt(s string, j int) (value, bool) {
	for _, slice := range [...]string{"[]byte(", "[]string{"} {
		if strings.HasPrefix(s[j:], slice) {
			return quotedAt(s, j+len(slice), values.InQuote, values.InQuote)
		}
	}
	return quotedAt(s, j, values.InQuote, values.InHint)
}

// cookieSettings are said of a cookie after its value.
var cookieSettings = chars.Words(`domain path expires maxage samesite`)

// spaced is for a name, blanks and a value at j: flags, "Bearer …", "password is …", netrc and SQL.
func (pg *page) spaced(i, j int, k names.Kind) (value, bool) {
	s := pg.s
	if s[i] == '-' {
		if s[j] == '-' {
			return value{}, false
		}
		if v, ok := quotedAt(s, j, values.InQuote, values.InHint); ok {
			return v, true
		}
		end := spaceEnd(s, j)
		return value{start: j, end: end, place: values.InLine}, end-j > 16 || !values.IsStopWord(s[j:end])
	}
	bare := k == names.Password || chars.HasPrefixFold(s[i:], "bearer")
	for _, is := range [...]string{"is:", "are:"} {
		if at := chars.SkipBlanks(s, j+len(is)); strings.HasPrefix(s[j:], is) {
			if lines.Next(s, at, "") > at {
				return pg.below(i, at, k)
			}
			if v, ok := pg.alone(i, at, k); ok && at > j+len(is) {
				return v, true
			}
		}
	}
	if pg.isEnv(i) {
		end := spaceEnd(s, j)
		return value{start: j, end: end, place: values.InLine}, true
	}
	for _, w := range [...]string{"is ", "was ", "to ", "is: ", "= ", "string = ", "String = ", "varchar = ", "- "} {
		if strings.HasPrefix(s[j:], w) {
			j, bare = chars.SkipBlanks(s, j+len(w)), true
			break
		}
	}
	if end := chars.DigitsEnd(s, j); (k == names.PIN || k == names.Password && bare) && values.IsCode(s, j, end) && (!chars.HasPrefixFold(s[i:], "pin ") || chars.HasPrefixFold(s[i:], "pin code")) {
		return value{start: j, end: end, place: values.InINI}, true
	}
	if end := wordsEnd(s, j); (k == names.Phrase || k == names.Seed) && end > j {
		return value{start: j, end: end, place: values.InHint}, true
	}
	if eq := wordEnd(s, j); k == names.Cookie && strings.HasPrefix(s[eq:], "=") && !cookieSettings[names.Fold(s[j:eq])] {
		if q, ok := openQuote(s, eq+1); ok {
			return value{start: q.start, end: q.close(s), place: values.InText}, true
		}
		return value{start: j, end: pairsEnd(s, j, chars.MaxBare), place: values.InText}, true
	}
	if v, ok := quotedAt(s, j, values.InQuote, values.InHint); ok && v.place == values.InQuote {
		v.place = values.InHint
		if k == names.Password && !chars.HasSpace(s[v.start:v.end]) {
			v.place = values.InYAML
		}
		return v, true
	}
	if !bare || k == names.Authz || k == names.Cookie || k == names.Weak || k == names.Query {
		return value{}, false
	}
	end := trimEnd(s, j, bareEnd(s, j))
	if chars.HasPrefixFold(s[i:], "bearer") {
		end = credentialEnd(s, j)
	}
	p := either(k == names.Secret || k == names.Token, values.InText, values.InHint)
	return value{start: j, end: end, place: p}, j < end
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// inQuery says whether a parameter of a URL begins at i.
func (pg *page) inQuery(i int) bool {
	return i > 0 && (pg.s[i-1] == '?' || pg.s[i-1] == '&' || pg.s[i-1] == '#') || strings.HasSuffix(pg.s[:i], "&amp;")
}
