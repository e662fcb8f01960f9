package places

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// assigned finds the value after a separator. The name is [i, end), the separator [at, after).
func (pg *Page) assigned(i, end, at, after int, k names.Kind) (Value, bool) {
	s := pg.s
	marked := lines.AfterMarks(s, after) // **Password:** x
	j := chars.SkipBlanks(s, marked)
	if j == len(s) {
		return Value{}, false
	}
	if s[at] == ':' && lines.Next(s, j, "") > j {
		v, ok := pg.below(i, j, k)
		if ok || lines.AfterJoin(s, j) > j {
			return v, ok
		}
	}
	if chars.IsQuote(s[j]) && i > 0 && s[j] == s[i-1] && s[end-1] != s[j] && marked == after {
		return Value{}, false // the quote that was opened before the name ends here
	}
	if s[j] == '`' && i > 0 && s[i-1] == ':' {
		return Value{}, false // a role of reStructuredText: :token:`name`
	}
	if k == names.Query && !(s[at] == '=' && pg.InQuery(i)) {
		return Value{}, false
	}
	if (k == names.Authz || k == names.Cookie) && s[at] == ':' || k == names.Authz && s[at] == '=' && values.HasScheme(s[j:]) {
		return pg.header(i, j, k)
	}
	if v, ok := literalAt(s, j); ok {
		open := v.End == len(s) || s[v.End] == '\n'
		return v, !open || chars.HasAlnum(s[v.Start:v.End]) // else the quote closes what was opened before the name
	}
	if s[j] == '{' || s[j] == '[' {
		return Value{Start: j, JSON: true}, !strings.HasPrefix(s[j:], edit.Mark)
	}
	if v, ok := pg.typed(j); ok {
		return v, true
	}
	if s[j] == '\n' || s[j] == '\r' {
		return Value{Start: j, JSON: true}, s[at] == ':'
	}
	if s[j] == '|' {
		if v, ok := pg.cell(i, j, k); ok {
			return v, true
		}
	}
	if (s[j] == '|' || s[j] == '>') && s[at] == ':' {
		return pg.block(i, j)
	}
	if k == names.Phrase || k == names.Seed || k == names.Weak {
		if to := wordsEnd(s, j); to > j && (values.IsWords(s[j:to], 12) || k != names.Weak && to == pg.lineEnd(j) && values.IsWords(s[j:to], 3)) {
			return Value{Start: j, End: to, Place: values.InLine}, true
		}
	}
	return pg.bare(i, at, after, j, k)
}

// aboutEnd gives the end of what is said between a name that ends at j and its colon, and of that: Password for ada: …,
// Password (temporary): …; 0 if nothing is.
func aboutEnd(s string, j int) int {
	rest := chars.FirstLine(s[j:min(len(s), j+chars.MaxBlanks)])
	n := -1
	switch {
	case strings.HasPrefix(rest, " ("):
		if n = strings.IndexByte(rest, ')'); n > 0 && strings.HasPrefix(rest[n:], "):") {
			n++
		}
	case chars.HasPrefixFold(rest, " for ") || chars.HasPrefixFold(rest, " of "):
		n = strings.IndexByte(rest, ':')
	}
	if n < 0 || !strings.HasPrefix(rest[n:], ":") || strings.ContainsAny(rest[:n], "=;{}[]<>\"") {
		return 0
	}
	end := lines.AfterMarks(s, j+n+1)
	return either(end == len(s) || chars.IsSpace(s[end]) || chars.IsQuote(s[end]), end, 0)
}

// valueOf is the value of the name at i behind the colon that ends at j, between which more is said.
func (pg *Page) valueOf(i, j int, k names.Kind) (Value, bool) {
	j = chars.SkipBlanks(pg.s, j)
	if lines.Next(pg.s, j, "") > j {
		return pg.below(i, j, k)
	}
	v, ok := pg.alone(i, j, k)
	if q, quoted := OpenQuote(pg.s, j); !ok && quoted {
		v.Start, v.End = q.Start, q.Close(pg.s)
	} else if !ok {
		v.Start, v.End = pg.unmarked(i, j, trimEnd(pg.s, j, BareEnd(pg.s, j)))
	}
	v.Place = values.InHint
	return v, v.Start < v.End
}

// bare is the unquoted value at j of the name at i, with the separator [at, after) between them.
func (pg *Page) bare(i, at, after, j int, k names.Kind) (Value, bool) {
	s := pg.s
	tight := s[at] == '=' && after == j && at > 0 && !chars.IsBlank(s[at-1]) || s[at] == '%'
	first := pg.LineStart(i)
	switch {
	case k == names.Query:
		end := BareEnd(s, j)
		return Value{Start: j, End: end, Place: values.InLine}, true
	case tight && (pg.InQuery(i) || s[at] == '%'):
		return Value{Start: j, End: fieldEnd(s, j, k), Place: values.InLine}, true
	case tight && s[i] == '-':
		return Value{Start: j, End: SpaceEnd(s, j), Place: values.InLine}, true
	case tight && first && !pg.endsInComma(j):
		return pg.setting(i, at, j)
	case s[at] == '=' && pg.inPairs(i):
		end := pairEnd(s, j)
		return Value{Start: j, End: end, Place: values.InLine}, true
	case tight && i > 0 && chars.IsQuote(s[i-1]):
		return Value{Start: j, End: min(SpaceEnd(s, j), fieldEnd(s, j, k)), Place: values.InLine}, true
	case tight && (looks.IsScreaming(s[i:at]) || i > 0 && (chars.IsBlank(s[i-1]) || s[i-1] == '=')):
		end := fieldEnd(s, j, k)
		if end < len(s) && strings.IndexByte(",)(]}[", s[end]) >= 0 && !looks.IsScreaming(s[i:at]) {
			break
		}
		return Value{Start: j, End: trimEnd(s, j, max(end, envEnd(s, j, looks.IsScreaming(s[i:at])))), Place: values.InLine}, true
	case s[at] == ':' && after == at+1:
		if v, ok := pg.alone(i, j, k); ok {
			return v, true
		}
	case first && after < j:
		if end := valueEnd(s, j, pg.lineEnd(j)); end > j && !chars.HasSpace(s[j:end]) {
			p := either(strings.IndexByte(s[i:at], '-') > 0, values.InYAML, values.InINI) // source has no such names
			return Value{Start: j, End: end, Place: p}, true
		}
	}
	j, end := pg.unmarked(i, j, trimEnd(s, j, fieldEnd(s, j, k)))
	if pg.amongPairs(i, end) {
		return Value{Start: j, End: end, Place: values.InYAML}, true
	}
	if end < len(s) && strings.IndexByte("([", s[end]) >= 0 {
		return Value{}, false // a call or an index
	}
	return Value{Start: j, End: end, Place: values.InText}, true
}

// setting is the value of a line name=value: of the name [i, at), at j.
func (pg *Page) setting(i, at, j int) (Value, bool) {
	s := pg.s
	end := pg.lineEnd(j)
	if sp := wordBreak(s[j:min(end, j+chars.MaxBare)]); sp >= 0 {
		end = j + sp
	}
	if i > 0 && chars.IsQuote(s[i-1]) {
		if n := strings.IndexByte(s[j:end], s[i-1]); n >= 0 {
			end = j + n
		}
	}
	if isEscapedLine(s, i) {
		end = escapeAt(s, j, end)
	}
	end = formEnd(s, j, end)
	if t := strings.TrimRight(s[j:end], "):"); len(t) < end-j && (t == "" || values.IsReference(t) || values.Harmless(t, s[i:at])) {
		return Value{}, false // the last of several arguments
	}
	return Value{Start: j, End: trimEnd(s, j, end), Place: values.InLine}, true
}

// LineStart says whether only signs, numbers, "export " or what tools put before a line stand before i on its line.
func (pg *Page) LineStart(i int) bool {
	s := pg.s
	a := i
	for a > 0 && i-a < lines.MaxFront && s[a-1] != '\n' && !isEscapedLine(s, a) {
		a--
	}
	if a > 0 && s[a-1] != '\n' && !isEscapedLine(s, a) {
		return false
	}
	switch strings.Trim(s[a:i], lines.Signs) {
	case "", "export", "set", "SET", "ENV", "ARG", "setx", "//", "$", "$env:":
		return true
	}
	return lines.IsFront(s[a:i])
}

// leads says whether the name at i begins its line, alone or with the words before it.
func (pg *Page) leads(i int) bool { return pg.LineStart(pg.LeadStart(i)) || pg.LineStart(i) }

// isEscapedLine says whether a line of a string in source, or of JSON that was cut off, begins at i: \n and \r are before it.
func isEscapedLine(s string, i int) bool {
	return i > 1 && s[i-2] == '\\' && (s[i-1] == 'n' || s[i-1] == 'r')
}

// inPairs says whether name=value pairs with ';' between them go on at i: Server=x;Password=y.
func (pg *Page) inPairs(i int) bool {
	for i > 0 && chars.IsBlank(pg.s[i-1]) {
		i--
	}
	return i > 0 && pg.s[i-1] == ';'
}

// lineEnd gives the end of the line that i is on.
func (pg *Page) lineEnd(i int) int {
	if i > pg.eol || i < pg.eolFrom {
		pg.eolFrom = i
		pg.eol = len(pg.s)
		if n := strings.IndexByte(pg.s[i:], '\n'); n >= 0 {
			pg.eol = i + n
		}
	}
	if pg.eol > i && pg.s[pg.eol-1] == '\r' {
		return pg.eol - 1
	}
	return pg.eol
}

// typed is a value after a type: password: str = "…".
func (pg *Page) typed(j int) (Value, bool) {
	s := pg.s
	at := j
	for at < len(s) && at-j < chars.MaxBlanks && (chars.InWord(s[at]) || strings.IndexByte(".[]|<>?&", s[at]) >= 0) {
		at++
	}
	eq := chars.SkipBlanks(s, at)
	if at == j || eq == at || eq+1 >= len(s) || s[eq] != '=' || s[eq+1] == '=' {
		return Value{}, false
	}
	return quotedAt(s, eq+1, values.InQuote, values.InHint)
}

// block is a YAML block scalar: the lines after "name: |" that are further in than the name.
func (pg *Page) block(i, j int) (Value, bool) {
	s := pg.s
	eol := pg.lineEnd(j)
	if eol-j > 3 || eol >= len(s) {
		return Value{}, false
	}
	start, end := chars.SkipSpace(s, eol), lines.Deeper(s, i, j)
	return Value{Start: start, End: end, Place: values.InQuote}, start < end
}

// header is the value of an authorization or cookie header at j; its name, of kind k, is at i.
func (pg *Page) header(i, j int, k names.Kind) (Value, bool) {
	s := pg.s
	if v, ok := literalAt(s, j); ok {
		return v, true
	}
	if s[j] == '[' || s[j] == '{' {
		if pg.IsJSON(j) {
			return Value{Start: j, JSON: true}, true
		}
		if to := strings.IndexByte(s[j:min(len(s), j+chars.MaxQuote)], ']'); to > 0 && s[j] == '[' {
			return Value{Start: j + 1, End: j + to, Place: values.InLine}, true
		}
		return Value{Start: j, JSON: true}, s[j] == '{'
	}
	p := values.InText
	to := pg.headerEnd(j)
	if (i == 0 || !chars.IsQuote(s[i-1])) && manyPairs(s[j:to]) {
		to = pg.lineEnd(j)
	}
	quoted := to < len(s) && chars.IsQuote(s[to])
	for to > j && chars.IsSpace(s[to-1]) {
		to--
	}
	switch {
	case i > 0 && chars.IsQuote(s[i-1]) || i > 1 && s[i-2] == '<':
		p = values.InLine
	case quoted:
		if strings.IndexByte(s[j:to], ' ') > 0 { // a scheme or pairs, not a word of a sentence
			p = values.InLine
		}
	case pg.leads(i):
		p = values.InLine
		for to = commentStart(s, j, to); to > j && chars.IsBlank(s[to-1]); to-- {
		}
	}
	if p == values.InText && k == names.Cookie {
		return Value{Start: j, End: min(to, PairsEnd(s, j, chars.MaxBare)), Place: p}, true
	}
	return Value{Start: j, End: schemeEnd(s, j, to), Place: p}, j < to
}

// PairsEnd gives the end of the cookies at j, of which it looks at so many bytes: a=b; c=d. More may come behind.
func PairsEnd(s string, j, most int) int {
	for end := j; ; {
		for end < len(s) && end-j < most && (!EndsBare(s[end]) || s[end] == '&') {
			end++
		}
		if !strings.HasPrefix(s[end:], "; ") || end-j >= most {
			return trimEnd(s, j, end)
		}
		end += len("; ")
	}
}

// manyPairs says whether a credential is a list of pairs, whose values may be quoted.
func manyPairs(t string) bool {
	return chars.HasPrefixFold(t, "digest ") || chars.HasPrefixFold(t, "oauth ") || chars.HasPrefixFold(t, "hawk ") || chars.HasPrefixFold(t, "mac ")
}

// endsInComma says whether the line that j is on goes on as a list of arguments.
func (pg *Page) endsInComma(j int) bool {
	end := pg.lineEnd(j)
	return end > j && pg.s[end-1] == ','
}

// schemeEnd cuts a header's value after the credential where the scheme has just one word.
func schemeEnd(s string, j, to int) int {
	sp := strings.IndexByte(s[j:to], ' ')
	if sp < 0 {
		return to
	}
	switch strings.ToLower(s[j : j+sp]) {
	case "bearer", "basic", "token", "bot", "apikey", "negotiate", "jwt":
		from := chars.SkipBlanks(s, j+sp)
		return min(to, max(from, credentialEnd(s, from)))
	}
	return to
}

// headerEnd gives the first quote, end of line, or \r, \n or quote as an escape from j on.
func (pg *Page) headerEnd(j int) int {
	if j >= pg.stopFrom && j <= pg.stop {
		return pg.stop
	}
	s := pg.s
	pg.stopFrom = j
	for ; j < len(s) && s[j] != '\n' && s[j] != '\r' && !chars.IsQuote(s[j]); j++ {
		if s[j] == '\\' && j+1 < len(s) && (s[j+1] == 'n' || s[j+1] == 'r' || chars.IsQuote(s[j+1]) || s[j+1] == '\\') {
			break
		}
	}
	pg.stop = j
	return j
}
