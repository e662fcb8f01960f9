package places

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// Value is where a value is and how it stands there.
type Value struct {
	Start, End int
	Place      values.Place
	JSON       bool // a bracket at start: a JSON value or none
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

// ValueAfter finds the value of the name [i, end).
func (pg *Page) ValueAfter(i, end int, k names.Kind) (Value, bool) {
	s := pg.s
	j := end
	quotedName := false
	first := pg.LeadStart(i)
	if q, ok := OpenQuote(s, j); ok && pg.isOpening(first, q) {
		j, end, quotedName = q.Start, q.Start, true
		if v, ok := pg.attribute(first, j, k); ok {
			return v, true
		}
	}
	for n := 0; n < 3 && j < len(s) && strings.IndexByte("])?!*`", s[j]) >= 0; n++ {
		j++
	}
	if i > 1 && s[i-2:i] == "${" { // a shell's default
		to := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '}')
		return Value{Start: j + 2, End: j + to, Place: values.InLine}, to > 2 && strings.HasPrefix(s[j:], ":-")
	}
	if v, ok := pg.pairValue(j); ok {
		return v, true
	}
	if v, ok := tagged(s, j); ok {
		return v, values.IsBelow(s[v.Start:v.End], k)
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
			return Value{}, false
		}
		p := either(k == names.Cookie || pg.isSetter(first-1), values.InQuote, values.InHint)
		return quotedAt(s, after, p, p)
	case sepTag:
		to := strings.IndexByte(s[after:min(len(s), after+chars.MaxQuote)], '<')
		if to < 0 || strings.IndexByte(s[after:after+to], '\n') >= 0 && k != names.Phrase {
			return Value{}, false
		}
		return Value{Start: after, End: after + to, Place: values.InQuote}, true
	default:
	}
	if at < len(s) && s[at] == '|' {
		return pg.cell(i, at, k)
	}
	if at > j && at-j < chars.MaxBlanks && at < len(s) && !quotedName {
		return pg.spaced(i, at, k)
	}
	return Value{}, false
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
func (pg *Page) pairValue(j int) (Value, bool) {
	s := pg.s
	at := j
	for n := 0; at < len(s) && n < chars.MaxBlanks && (chars.IsSpace(s[at]) || s[at] == ',' || s[at] == '\\' || s[at] == '"' || s[at] == '\''); n++ {
		at++
	}
	if at == j || !chars.HasPrefixFold(s[at:], "value") && !chars.HasPrefixFold(s[at:], "secretvalue") {
		return Value{}, false
	}
	at = WordEnd(s, at)
	if q, ok := OpenQuote(s, at); ok {
		at = q.Start
	}
	at = chars.SkipBlanks(s, at)
	if at == len(s) || s[at] != ':' && s[at] != '=' {
		return Value{}, false
	}
	after := chars.SkipBlanks(s, at+1)
	if v, ok := quotedAt(s, after, values.InQuote, values.InQuote); ok {
		return v, true
	}
	if s[at] == '=' {
		return Value{}, false
	}
	p := either(strings.IndexByte(s[j:at], '\n') >= 0, values.InYAML, values.InText)
	return Value{Start: after, End: min(pg.lineEnd(after), BareEnd(s, after)), Place: p}, true
}

// quotedAt is the quoted value at j after blanks, or the literal that an expression at j begins with: b"…", String("…").
func quotedAt(s string, j int, p, inCall values.Place) (Value, bool) {
	j = chars.SkipBlanks(s, j)
	if q, ok := OpenQuote(s, j); ok {
		return Value{Start: q.Start, End: q.Close(s), Place: p}, true
	}
	at := j
	for at < len(s) && at-j < chars.MaxBlanks && (chars.InWord(s[at]) || s[at] == '.') {
		at++
	}
	if at-j == 1 || at-j == 2 {
		if q, ok := OpenQuote(s, at); ok { // b"…", rb'…'
			return Value{Start: q.Start, End: q.Close(s), Place: p}, true
		}
	}
	if at > j && at < len(s) && s[at] == '(' {
		if q, ok := OpenQuote(s, at+1); ok {
			return Value{Start: q.Start, End: q.Close(s), Place: inCall}, true
		}
	}
	return Value{}, false
}

// literalAt is the quoted value at j, or the first of []byte("…") and []string{"…"}.
func literalAt(s string, j int) (Value, bool) {
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
func (pg *Page) spaced(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	if s[i] == '-' {
		if s[j] == '-' {
			return Value{}, false
		}
		if v, ok := quotedAt(s, j, values.InQuote, values.InHint); ok {
			return v, true
		}
		end := SpaceEnd(s, j)
		return Value{Start: j, End: end, Place: values.InLine}, end-j > 16 || !values.IsStopWord(s[j:end])
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
		end := SpaceEnd(s, j)
		return Value{Start: j, End: end, Place: values.InLine}, true
	}
	for _, w := range [...]string{"is ", "was ", "to ", "is: ", "= ", "string = ", "String = ", "varchar = ", "- "} {
		if strings.HasPrefix(s[j:], w) {
			j, bare = chars.SkipBlanks(s, j+len(w)), true
			break
		}
	}
	if end := chars.DigitsEnd(s, j); (k == names.PIN || k == names.Password && bare) && values.IsCode(s, j, end) && (!chars.HasPrefixFold(s[i:], "pin ") || chars.HasPrefixFold(s[i:], "pin code")) {
		return Value{Start: j, End: end, Place: values.InINI}, true
	}
	if end := wordsEnd(s, j); (k == names.Phrase || k == names.Seed) && end > j {
		return Value{Start: j, End: end, Place: values.InHint}, true
	}
	if eq := WordEnd(s, j); k == names.Cookie && strings.HasPrefix(s[eq:], "=") && !cookieSettings[names.Fold(s[j:eq])] {
		if q, ok := OpenQuote(s, eq+1); ok {
			return Value{Start: q.Start, End: q.Close(s), Place: values.InText}, true
		}
		return Value{Start: j, End: PairsEnd(s, j, chars.MaxBare), Place: values.InText}, true
	}
	if v, ok := quotedAt(s, j, values.InQuote, values.InHint); ok && v.Place == values.InQuote {
		v.Place = values.InHint
		if k == names.Password && !chars.HasSpace(s[v.Start:v.End]) {
			v.Place = values.InYAML
		}
		return v, true
	}
	if !bare || k == names.Authz || k == names.Cookie || k == names.Weak || k == names.Query {
		return Value{}, false
	}
	end := trimEnd(s, j, BareEnd(s, j))
	if chars.HasPrefixFold(s[i:], "bearer") {
		end = credentialEnd(s, j)
	}
	p := either(k == names.Secret || k == names.Token, values.InText, values.InHint)
	return Value{Start: j, End: end, Place: p}, j < end
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// InQuery says whether a parameter of a URL begins at i.
func (pg *Page) InQuery(i int) bool {
	return i > 0 && (pg.s[i-1] == '?' || pg.s[i-1] == '&' || pg.s[i-1] == '#') || strings.HasSuffix(pg.s[:i], "&amp;")
}
