package places

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// maxLead is how many words before a name on its line may belong to it: "My new wifi password: …".
const maxLead = 4

// LeadStart gives where the words that end with the one at i begin: plain words with single blanks between them.
func (pg *Page) LeadStart(i int) int {
	s := pg.s
	for n := 0; n < maxLead && i > 1 && s[i-1] == ' ' && chars.IsAlnum(s[i-2]); n++ {
		at := i - 1
		for at > 0 && i-at < chars.MaxBlanks && chars.IsAlnum(s[at-1]) {
			at--
		}
		if at > 0 && (s[at-1] == '-' || s[at-1] == '_' || s[at-1] == '.') {
			return i // a flag, or a name of source
		}
		i = at
	}
	return i
}

// isOpening says whether the quote before i is the one that the quote q after a name closes.
func (pg *Page) isOpening(i int, q Quote) bool {
	return i > 0 && chars.IsQuote(pg.s[i-1]) && pg.s[i-1] == q.sign
}

// member is the value of a quoted name: "name": "…", 'name' => '…', or a number.
func (pg *Page) member(at, after int, k names.Kind) (Value, bool) {
	s := pg.s
	if s[at] != ':' && !strings.HasPrefix(s[at:], "=>") {
		return Value{}, false
	}
	j := chars.SkipBlanks(s, after)
	if q, ok := OpenQuote(s, j); ok {
		return Value{Start: q.Start, End: q.Close(s), Place: values.InJSON}, true
	}
	end := chars.DigitsEnd(s, j)
	if end == len(s) || strings.IndexByte(",}] \n\r", s[end]) < 0 || !values.IsSecretNumber(s[j:end], k) {
		return Value{}, false
	}
	return Value{Start: j, End: end, Place: values.InJSON}, true
}

// setters are calls that put their second argument under the name that is their first, or give it where there is none.
var setters = chars.Words(`get getenv env set setenv putenv setdefault setheader setrequestheader addheader header append put
	setproperty define setitem`)

// isSetter says whether the quote at i opens the first argument of one of them.
func (pg *Page) isSetter(i int) bool {
	if i < 2 || pg.s[i-1] != '(' {
		return false
	}
	a := i - 1
	for a > 0 && i-a < 24 && chars.IsAlpha(pg.s[a-1]) {
		a--
	}
	return setters[names.Fold(pg.s[a:i-1])]
}

// amongPairs says whether the value that ends at end, of the name at i, is one of several on a line without a sign of source:
// user: ada, password: …
func (pg *Page) amongPairs(i, end int) bool {
	s := pg.s
	from := max(0, i-chars.MaxBare)
	if n := strings.LastIndexByte(s[from:i], '\n'); n >= 0 {
		from += n + 1
	}
	to := min(pg.lineEnd(end), end+chars.MaxBare)
	before, after := strings.TrimRight(s[from:i], " "), s[end:to]
	if !(isPairSign(before, -1) && strings.ContainsAny(before, ":=")) && !(isPairSign(after, 1) && strings.ContainsAny(after, ":=")) {
		return false
	}
	return !hasSource(s[from:to]) && !strings.HasSuffix(strings.TrimSpace(s[from:to]), ",")
}

// hasSource says whether a sign of source is in t. Those of marks are none, also of one that t has only a part of.
func hasSource(t string) bool {
	if n := strings.IndexByte(t, ']') + 1; strings.HasSuffix(edit.Mark, t[:n]) {
		t = t[n:]
	}
	for {
		n := strings.IndexAny(t, "(){}[]<>\"'`$;")
		switch {
		case n < 0 || strings.HasPrefix(edit.Mark, t[n:]):
			return false
		case !strings.HasPrefix(t[n:], edit.Mark):
			return true
		}
		t = t[n+len(edit.Mark):]
	}
}

// isPairSign says whether t begins, or with -1 ends, with what stands between pairs.
func isPairSign(t string, side int) bool {
	t = strings.Trim(t, " ")
	if t == "" {
		return false
	}
	if side < 0 {
		t = t[len(t)-1:]
	}
	return strings.IndexByte(",|/", t[0]) >= 0
}

// isEnv says whether the name at i is one of a command whose next word is its value: ENV name value, setx name value.
func (pg *Page) isEnv(i int) bool {
	before := pg.s[max(0, i-names.MaxName):i]
	if n := strings.LastIndexByte(before, '\n'); n >= 0 {
		before = before[n+1:]
	} else if i > names.MaxName {
		return false
	}
	before = strings.TrimSpace(before)
	for _, set := range [...]string{"config set", "configure set", "config --global", "secrets set"} {
		if strings.HasSuffix(before, set) {
			return true
		}
	}
	switch before {
	case "ENV", "ARG", "setx", "set -x", "set -gx", "set -Ux", "setenv":
		return true
	}
	return false
}

// attribute is the value after an attribute that is its name: <entry key="…">value<, or in a multipart form
// form-data; name="…", an empty line, and the value. The name, of kind k, begins at i, what is after its quote at j.
func (pg *Page) attribute(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	before := s[:i-1]
	if strings.HasPrefix(s[j:], ">") && strings.HasSuffix(before, " key=") {
		to := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '<')
		return Value{Start: j + 1, End: j + to, Place: values.InQuote}, to > 0
	}
	if strings.HasPrefix(s[j:], ">") && (strings.HasSuffix(before, " name=") || strings.HasSuffix(before, " id=")) {
		v := untilTag(s, j+1)
		return v, values.IsBelow(s[v.Start:v.End], k)
	}
	for _, empty := range [...]string{"\r\n\r\n", "\n\n"} {
		if strings.HasPrefix(s[j:], empty) && strings.HasSuffix(before, "form-data; name=") {
			start := j + len(empty)
			return Value{Start: start, End: min(pg.lineEnd(start), start+chars.MaxQuote), Place: values.InQuote}, true
		}
	}
	return Value{}, false
}

// tagged is the value in the next element of HTML or XML after the one that a name ends at j: <td>name</td><td>value</td>, or behind
// that: <b>name:</b> value.
func tagged(s string, j int) (Value, bool) {
	at := j
	if strings.HasPrefix(s[at:], ":") {
		at++
	}
	if !strings.HasPrefix(s[at:], "</") {
		return Value{}, false
	}
	for n := 0; n < 4 && strings.HasPrefix(s[at:], "<"); n++ {
		to := strings.IndexByte(s[at:min(len(s), at+chars.MaxBlanks)], '>')
		if to < 0 {
			return Value{}, false
		}
		at += to + 1
		for from := at; at < len(s) && at-from < chars.MaxBlanks && (chars.IsSpace(s[at]) || s[at] == ':'); at++ {
		}
	}
	return untilTag(s, at), true
}

// untilTag is the value at i that ends with its line, or where a tag begins.
func untilTag(s string, i int) Value {
	text := chars.FirstLine(s[i:min(len(s), i+chars.MaxBare)])
	text, _, _ = strings.Cut(text, "<")
	a, b := chars.TrimSpace(text)
	return Value{Start: i + a, End: i + b, Place: values.InINI}
}

// cell is the value in the last cell of a table's row whose first cell is the name [i, j): | name | value |.
func (pg *Page) cell(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	i = pg.LeadStart(i)
	for i > 0 && (s[i-1] == '*' || s[i-1] == '`' || chars.IsBlank(s[i-1])) {
		i--
	}
	if pg.LineStart(i) && (i == 0 || s[i-1] != '|') {
		v := record(s, j+1)
		return v, values.IsBelow(s[v.Start:v.End], k)
	}
	if i == 0 || s[i-1] != '|' || !pg.LineStart(i-1) && (i == 1 || !chars.IsQuote(s[i-2])) {
		return Value{}, false
	}
	j = chars.SkipBlanks(s, j+1)
	to := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '|')
	if to <= 0 {
		return Value{}, false
	}
	end := chars.SkipBlanks(s, j+to+1)
	if end < len(s) && s[end] != '\n' && s[end] != '\r' && !chars.IsQuote(s[end]) {
		return Value{}, false // there are more cells
	}
	if under := strings.TrimLeft(s[end:min(len(s), end+chars.MaxBlanks)], "\r\n \t>"); strings.HasPrefix(under, "|") && IsRule(chars.FirstLine(under)) {
		return Value{}, false // it is the row of names
	}
	start, end := lines.Unmarked(s, j, trimEnd(s, j, j+to))
	v, ok := whole(s, start, end, k)
	if k == names.Token && v.Place == values.InYAML {
		v.Place = values.InINI // tables tell what tokens mean
	}
	return v, ok
}

// record is the value of a line name | value, as psql writes the columns of a record.
func record(s string, j int) Value {
	j = chars.SkipBlanks(s, j)
	end := lines.TextEnd(s, j)
	return Value{Start: j, End: end, Place: values.InINI}
}

// whole is the value [start, end) if it is one word, or a phrase where the name is one of phrases or passwords.
func whole(s string, start, end int, k names.Kind) (Value, bool) {
	switch t := s[start:end]; {
	case !chars.HasSpace(t):
		return Value{Start: start, End: end, Place: values.InYAML}, start < end
	case k == names.Password && values.IsPhrase(t), k == names.Authz && values.HasScheme(t), (k == names.Phrase || k == names.Seed) && values.IsWords(t, 3):
		return Value{Start: start, End: end, Place: values.InLine}, true
	}
	return Value{}, false
}

// alone is what stands between j and the end of its line, or of the quotes around a header, for the name at i with ':' after
// it, if it is a value and nothing else.
func (pg *Page) alone(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	if lead := pg.LeadStart(i); pg.leads(i) {
		eol := pg.lineEnd(j)
		if isEscapedLine(s, lead) {
			eol = escapeAt(s, j, eol)
		}
		if end := lines.TextEnd(s, j); end-j < chars.MaxBare && chars.IsBlank(s[j-1]) {
			eol = min(eol, end)
		}
		start, end := pg.unmarked(i, j, valueEnd(s, j, eol))
		return whole(s, start, end, k)
	}
	if i == 0 || !chars.IsQuote(s[i-1]) || !isHeader(s[:i-1], s[i:j]) {
		return Value{}, false
	}
	end := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], s[i-1])
	if end <= 0 {
		return Value{}, false
	}
	return whole(s, j, j+end, k)
}

// isHeader says whether quotes hold a header and not a message: its name has a '-', or a flag stands before them.
func isHeader(before, name string) bool {
	for _, flag := range [...]string{"-H ", "--header ", "--header="} {
		if strings.HasSuffix(before, flag) {
			return true
		}
	}
	return strings.IndexByte(name, '-') > 0
}

// IsRule says whether a line of a table is none of its rows: |---|:-:|, +----+ and ----+----.
func IsRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 2 && strings.Trim(line, "|+-: \t>") == "" && strings.Contains(line, "-") && strings.ContainsAny(line, "|+")
}
