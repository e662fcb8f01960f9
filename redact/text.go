package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/tokens"
)

// named looks for the value of the word [i, end), if it is the name of one, and takes what is secret in it. It gives the
// offset to go on from, or 0 if nothing was taken.
func (sc *scanner) named(i, end int, prev [2]int) int {
	if end < sc.left {
		return 0
	}
	if strings.HasPrefix(sc.s[end:], "(") {
		if next := sc.call(i, end); next > 0 {
			return next
		}
	}
	start, k := sc.nameAt(i, end, prev)
	in := sc.inRegion(i, end)
	if in != names.None && (k == names.None || k == names.Query) {
		k = in
	} else {
		in = names.None
	}
	if k == names.None {
		return sc.unnamed(i, end, prev)
	}
	name := sc.s[start:end]
	v, ok := sc.valueAfter(start, end, k)
	if !ok {
		return sc.codeBefore(start, end, k)
	}
	if v.json {
		if next := sc.bracketOf(v.start, k, name); next > 0 {
			return next
		}
		return sc.enter(start, v.start, k)
	}
	if in != names.None && v.place > inQuote {
		v.place = inINI // the name says nothing
	}
	text := sc.s[v.start:v.end]
	if strings.HasPrefix(text, Mark) {
		return 0
	}
	if strings.HasPrefix(text, "-----BEGIN ") {
		if to := sc.pem(v.start); to > 0 {
			return sc.take(v.start, to)
		}
	}
	a, b, ok := judge(k, text, v.place, name)
	if !ok {
		if end := min(v.end, bareEnd(sc.s, v.start)); v.place >= inYAML && end-v.start > chars.MaxBlanks {
			sc.left = end
		}
		return 0
	}
	to := v.start + b
	if b == len(text) {
		if to = sc.restOf(v.start, v.end); k == names.Cookie && v.place == inText {
			to = max(to, pairsEnd(sc.s, v.start, maxHeader))
		}
	}
	if chars.IsAlnum(sc.s[v.start+a]) {
		to = max(to, tokens.At(sc.s, v.start+a)) // the value was cut at a sign that belongs to it
	}
	return sc.take(v.start+a, to)
}

// codeBefore takes a code that stands before its name, the word [i, end) of kind k: 493021 is your OTP.
func (sc *scanner) codeBefore(i, end int, k names.Kind) int {
	from := chars.SkipBlanks(sc.s, end)
	if next := wordEnd(sc.s, from); k != names.PIN || next > from && !stopWords[sc.s[from:next]] {
		return 0
	}
	low := 0
	if n := len(sc.spans); n > 0 {
		low = sc.spans[n-1].end
	}
	for at := max(low, sc.leadStart(i)); at < i; at = wordEnd(sc.s, at) + 1 {
		to := chars.DigitsEnd(sc.s, at)
		rest := sc.s[to:i]
		if isCode(sc.s, at, to) && (strings.HasPrefix(rest, " is ") || strings.HasPrefix(rest, " as ")) {
			sc.take(at, to)
			return end
		}
	}
	return 0
}

// restOf gives where the value [start, end) ends if it was cut for its length: a secret is taken as a whole.
func (sc *scanner) restOf(start, end int) int {
	if end-start < chars.MaxBare-utf8.UTFMax {
		return end
	}
	for end < len(sc.s) && !endsBare(sc.s[end]) && sc.s[end] != '\\' {
		end++
	}
	return end
}

// bracketOf walks a JSON value under a name; 0 if it is none.
func (sc *scanner) bracketOf(i int, k names.Kind, name string) int {
	if end := sc.bracket(i, k, name); end > i+1 {
		return end
	}
	return 0
}

// nameAt gives where the name that ends with the word [i, end) begins, one word earlier where two are a name ("api key"),
// and what it means.
func (sc *scanner) nameAt(i, end int, prev [2]int) (int, names.Kind) {
	k := sc.r.names.Kind(sc.s[i:end])
	if k == names.Password || k == names.Authz || prev[1] == 0 || prev[1]+1 != i || sc.s[prev[1]] != ' ' || end-prev[0] > names.MaxName {
		return i, k
	}
	if !names.EndsName(strings.ToLower(sc.s[i:end])) && len(sc.r.names) == 0 {
		return i, k
	}
	both := sc.r.names.Kind(sc.s[prev[0]:end])
	switch {
	case k == names.None && both != names.None && !strings.ContainsAny(sc.s[i:end], "_.$"):
		return prev[0], both
	case k == names.Token && both == names.None && !strings.HasPrefix(sc.s[chars.SkipBlanks(sc.s, end):], "="):
		return i, names.None
	case k == names.Token && names.StrongToken[strings.ToLower(sc.s[prev[0]:prev[1]])]:
		return prev[0], names.Secret
	}
	return i, k
}

// queryNames are secrets as parameters of a URL, where their values look random.
var queryNames = chars.Words(`key code auth k st hash t jwt access signature sig`)

// unnamed looks at words that are no names of secrets by themselves: parameters of URLs, Basic credentials, flags.
func (sc *scanner) unnamed(i, end int, prev [2]int) int {
	s := sc.s
	switch w := s[i:end]; {
	case end < len(s) && s[end] == '=' && sc.inQuery(i) && queryNames[strings.ToLower(w)]:
		return sc.queryValue(end + 1)
	case len(w) == 5 && strings.EqualFold(w, "basic") && end < len(s) && s[end] == ' ':
		return sc.basic(end + 1)
	case len(w) == 2 && strings.EqualFold(w, "by") && prev[1] > 0 && strings.EqualFold(s[prev[0]:prev[1]], "identified"):
		j := chars.SkipBlanks(s, end)
		if q, ok := openQuote(s, j); ok {
			return sc.takeUnlessEmpty(q.start, q.close(s))
		}
	case w[0] == '-' && sc.command != "":
		return sc.flag(i, end)
	}
	return 0
}

func (sc *scanner) takeUnlessEmpty(a, b int) int {
	if t := sc.s[a:b]; t == "" || t == Mark || harmless(t, "") {
		return 0
	}
	return sc.take(a, b)
}

// inQuery says whether a parameter of a URL begins at i.
func (sc *scanner) inQuery(i int) bool {
	return i > 0 && (sc.s[i-1] == '?' || sc.s[i-1] == '&' || sc.s[i-1] == '#') || strings.HasSuffix(sc.s[:i], "&amp;")
}

func (sc *scanner) queryValue(i int) int {
	end := bareEnd(sc.s, i)
	if t := sc.s[i:end]; looks.Random(t) && !looks.IsUUID(t) && len(t) >= 16 {
		return sc.take(i, end)
	}
	return 0
}

// basic takes base64 of name:password.
func (sc *scanner) basic(i int) int {
	end := i
	for end < len(sc.s) && chars.InBase64(sc.s[end]) {
		end++
	}
	if !isBasic(sc.s[i:end]) {
		return 0
	}
	return sc.take(i, end)
}

// value is where a value is and how it stands there.
type value struct {
	start, end int
	place      place
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
func (sc *scanner) valueAfter(i, end int, k names.Kind) (value, bool) {
	s := sc.s
	j := end
	quotedName := false
	first := sc.leadStart(i)
	if q, ok := openQuote(s, j); ok && sc.isOpening(first, q) {
		j, end, quotedName = q.start, q.start, true
		if v, ok := sc.attribute(first, j, k); ok {
			return v, true
		}
	}
	for n := 0; n < 3 && j < len(s) && strings.IndexByte("])?!*`", s[j]) >= 0; n++ {
		j++
	}
	if i > 1 && s[i-2:i] == "${" { // a shell's default
		to := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '}')
		return value{start: j + 2, end: j + to, place: inLine}, to > 2 && strings.HasPrefix(s[j:], ":-")
	}
	if v, ok := sc.pairValue(j); ok {
		return v, true
	}
	if v, ok := tagged(s, j); ok {
		return v, isBelow(s[v.start:v.end], k)
	}
	if to := aboutEnd(s, j); to > 0 && !quotedName {
		return sc.valueOf(i, to, k)
	}
	at := chars.SkipBlanks(s, j)
	sep, after := separatorAt(s, at, i)
	switch sep {
	case sepAssign:
		if v, ok := sc.member(at, after, k); ok && quotedName {
			return v, true
		}
		return sc.assigned(i, end, at, after, k)
	case sepCompare:
		return quotedAt(s, after, either(k == names.Token, inHint, inQuote), inHint)
	case sepComma:
		if !quotedName || !chars.IsQuote(s[i-1]) {
			return value{}, false
		}
		p := either(k == names.Cookie || sc.isSetter(first-1), inQuote, inHint)
		return quotedAt(s, after, p, p)
	case sepTag:
		to := strings.IndexByte(s[after:min(len(s), after+chars.MaxQuote)], '<')
		if to < 0 || strings.IndexByte(s[after:after+to], '\n') >= 0 && k != names.Phrase {
			return value{}, false
		}
		return value{start: after, end: after + to, place: inQuote}, true
	default:
	}
	if at < len(s) && s[at] == '|' {
		return sc.cell(i, at, k)
	}
	if at > j && at-j < chars.MaxBlanks && at < len(s) && !quotedName {
		return sc.spaced(i, at, k)
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
func (sc *scanner) pairValue(j int) (value, bool) {
	s := sc.s
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
	if v, ok := quotedAt(s, after, inQuote, inQuote); ok {
		return v, true
	}
	if s[at] == '=' {
		return value{}, false
	}
	p := either(strings.IndexByte(s[j:at], '\n') >= 0, inYAML, inText)
	return value{start: after, end: min(sc.lineEnd(after), bareEnd(s, after)), place: p}, true
}

// quotedAt is the quoted value at j after blanks, or the literal that an expression at j begins with: b"…", String("…").
func quotedAt(s string, j int, p, inCall place) (value, bool) {
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

// isCode says whether s[j:end] are the six to eight digits of a code that is sent to people, and nothing else.
func isCode(s string, j, end int) bool {
	return end-j >= 6 && end-j <= 8 && (end == len(s) || !chars.IsAlnum(s[end]) && strings.IndexByte("-_/:%$", s[end]) < 0) && !isDate(s[j:end])
}

// literalAt is the quoted value at j, or the first of []byte("…") and []string{"…"}.
func literalAt(s string, j int) (value, bool) {
	for _, slice := range [...]string{"[]byte(", "[]string{"} {
		if strings.HasPrefix(s[j:], slice) {
			return quotedAt(s, j+len(slice), inQuote, inQuote)
		}
	}
	return quotedAt(s, j, inQuote, inHint)
}

// cookieSettings are said of a cookie after its value.
var cookieSettings = chars.Words(`domain path expires maxage samesite`)

// spaced is for a name, blanks and a value at j: flags, "Bearer …", "password is …", netrc and SQL.
func (sc *scanner) spaced(i, j int, k names.Kind) (value, bool) {
	s := sc.s
	if s[i] == '-' {
		if s[j] == '-' {
			return value{}, false
		}
		if v, ok := quotedAt(s, j, inQuote, inHint); ok {
			return v, true
		}
		end := spaceEnd(s, j)
		return value{start: j, end: end, place: inLine}, end-j > 16 || !stopWords[strings.ToLower(s[j:end])]
	}
	bare := k == names.Password || chars.HasPrefixFold(s[i:], "bearer")
	for _, is := range [...]string{"is:", "are:"} {
		if at := chars.SkipBlanks(s, j+len(is)); strings.HasPrefix(s[j:], is) {
			if lines.Next(s, at, "") > at {
				return sc.below(i, at, k)
			}
			if v, ok := sc.alone(i, at, k); ok && at > j+len(is) {
				return v, true
			}
		}
	}
	if sc.isEnv(i) {
		end := spaceEnd(s, j)
		return value{start: j, end: end, place: inLine}, true
	}
	for _, w := range [...]string{"is ", "was ", "to ", "is: ", "= ", "string = ", "String = ", "varchar = ", "- "} {
		if strings.HasPrefix(s[j:], w) {
			j, bare = chars.SkipBlanks(s, j+len(w)), true
			break
		}
	}
	if end := chars.DigitsEnd(s, j); (k == names.PIN || k == names.Password && bare) && isCode(s, j, end) && (!chars.HasPrefixFold(s[i:], "pin ") || chars.HasPrefixFold(s[i:], "pin code")) {
		return value{start: j, end: end, place: inINI}, true
	}
	if end := wordsEnd(s, j); (k == names.Phrase || k == names.Seed) && end > j {
		return value{start: j, end: end, place: inHint}, true
	}
	if eq := wordEnd(s, j); k == names.Cookie && strings.HasPrefix(s[eq:], "=") && !cookieSettings[names.Fold(s[j:eq])] {
		if q, ok := openQuote(s, eq+1); ok {
			return value{start: q.start, end: q.close(s), place: inText}, true
		}
		return value{start: j, end: pairsEnd(s, j, chars.MaxBare), place: inText}, true
	}
	if v, ok := quotedAt(s, j, inQuote, inHint); ok && v.place == inQuote {
		v.place = inHint
		if k == names.Password && !chars.HasSpace(s[v.start:v.end]) {
			v.place = inYAML
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
	p := either(k == names.Secret || k == names.Token, inText, inHint)
	return value{start: j, end: end, place: p}, j < end
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
