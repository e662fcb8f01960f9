package redact

import "strings"

// assigned finds the value after a separator. The name is [i, end), the separator [at, after).
func (sc *scanner) assigned(i, end, at, after int, k kind) (value, bool) {
	s := sc.s
	j := after
	for n := 0; n < 2 && j < len(s) && s[j] == '*'; n++ { // **Password:** x
		j++
	}
	j = skipBlanks(s, j)
	if j == len(s) {
		return value{}, false
	}
	if isQuote(s[j]) && i > 0 && s[j] == s[i-1] && s[end-1] != s[j] {
		return value{}, false // the quote that was opened before the name ends here
	}
	if k == query && !(s[at] == '=' && sc.inQuery(i)) {
		return value{}, false
	}
	if (k == authz || k == cookie) && s[at] == ':' {
		return sc.header(i, end, j)
	}
	if v, ok := quotedAt(s, j, inQuote, inHint); ok {
		return v, true
	}
	if strings.HasPrefix(s[j:], "[]byte(") {
		return quotedAt(s, j+2, inQuote, inQuote)
	}
	if s[j] == '{' || s[j] == '[' {
		return value{start: j, json: true}, !strings.HasPrefix(s[j:], Mark)
	}
	if v, ok := sc.typed(j); ok {
		return v, true
	}
	if s[j] == '\n' || s[j] == '\r' {
		return value{}, false
	}
	if (s[j] == '|' || s[j] == '>') && s[at] == ':' {
		return sc.block(i, j)
	}
	if k == phrase || k == weak {
		if to := wordsEnd(s, j); to > j && (isWords(s[j:to], 12) || k == phrase && to == sc.lineEnd(j)) {
			return value{start: j, end: to, place: inLine}, true
		}
	}
	return sc.bare(i, at, after, j, k)
}

// bare is the unquoted value at j of the name at i, with the separator [at, after) between them.
func (sc *scanner) bare(i, at, after, j int, k kind) (value, bool) {
	s := sc.s
	tight := s[at] == '=' && after == j && at > 0 && !isBlank(s[at-1]) || s[at] == '%'
	first := sc.lineStart(i)
	switch {
	case k == query:
		end := bareEnd(s, j)
		return value{start: j, end: end, place: queryPlace(s[j:end])}, true
	case tight && (sc.inQuery(i) || s[at] == '%'):
		return value{start: j, end: bareEnd(s, j), place: inLine}, true
	case tight && s[i] == '-':
		return value{start: j, end: spaceEnd(s, j), place: inLine}, true
	case tight && first && !sc.endsInComma(j):
		end := sc.lineEnd(j)
		if sp := strings.IndexByte(s[j:min(end, j+maxBare)], ' '); sp >= 0 {
			end = j + sp
		}
		return value{start: j, end: trimEnd(s, j, end), place: inLine}, true
	case s[at] == '=' && sc.inPairs(i):
		end := pairEnd(s, j)
		return value{start: j, end: end, place: inLine}, true
	case tight && (isScreaming(s[i:at]) || i > 0 && isBlank(s[i-1])):
		end := bareEnd(s, j)
		if end < len(s) && strings.IndexByte(",)(]}[", s[end]) >= 0 && !isScreaming(s[i:at]) {
			break
		}
		return value{start: j, end: trimEnd(s, j, max(end, envEnd(s, j, isScreaming(s[i:at])))), place: inLine}, true
	case first && after < j && yamlWord(s, j, sc.lineEnd(j)) > 0:
		return value{start: j, end: yamlWord(s, j, sc.lineEnd(j)), place: inYAML}, true
	}
	end := trimEnd(s, j, bareEnd(s, j))
	if end < len(s) && strings.IndexByte("([", s[end]) >= 0 {
		return value{}, false // a call or an index
	}
	return value{start: j, end: end, place: inText}, true
}

// queryPlace is the place of a parameter whose name is a secret only if its value looks random.
func queryPlace(t string) place {
	if looksRandom(t) {
		return inLine
	}
	return inText
}

// lineStart says whether only blanks, "- ", a quote or "export " stand before i on its line.
func (sc *scanner) lineStart(i int) bool {
	s := sc.s
	a := i
	for a > 0 && i-a < maxBlanks && s[a-1] != '\n' {
		a--
	}
	if a > 0 && s[a-1] != '\n' {
		return false
	}
	before := strings.TrimSpace(s[a:i])
	before = strings.TrimPrefix(before, "+") // a diff
	switch strings.TrimSpace(before) {
	case "", "-", `"`, "'", "*", "export", "set", "SET", "ENV", "ARG", "setx", "//", "#", "**", "$", "$env:":
		return true
	}
	return false
}

// inPairs says whether name=value pairs with ';' between them go on at i: Server=x;Password=y.
func (sc *scanner) inPairs(i int) bool {
	for i > 0 && isBlank(sc.s[i-1]) {
		i--
	}
	return i > 0 && sc.s[i-1] == ';'
}

// lineEnd gives the end of the line that i is on.
func (sc *scanner) lineEnd(i int) int {
	if i > sc.eol || i < sc.eolFrom {
		sc.eolFrom = i
		sc.eol = len(sc.s)
		if n := strings.IndexByte(sc.s[i:], '\n'); n >= 0 {
			sc.eol = i + n
		}
	}
	if sc.eol > i && sc.s[sc.eol-1] == '\r' {
		return sc.eol - 1
	}
	return sc.eol
}

// typed is a value after a type: password: str = "…".
func (sc *scanner) typed(j int) (value, bool) {
	s := sc.s
	at := j
	for at < len(s) && at-j < maxBlanks && (word(s[at]) || strings.IndexByte(".[]|<>?&", s[at]) >= 0) {
		at++
	}
	eq := skipBlanks(s, at)
	if at == j || eq == at || eq+1 >= len(s) || s[eq] != '=' || s[eq+1] == '=' {
		return value{}, false
	}
	return quotedAt(s, eq+1, inQuote, inHint)
}

// block is a YAML block scalar: the lines after "name: |" that are further in than the name.
func (sc *scanner) block(i, j int) (value, bool) {
	s := sc.s
	eol := sc.lineEnd(j)
	if eol-j > 3 || eol >= len(s) {
		return value{}, false
	}
	indent := 0
	for a := i; a > 0 && s[a-1] != '\n' && indent < maxName; a-- {
		indent++
	}
	from := strings.IndexByte(s[eol:], '\n') + eol + 1
	start, end := skipSpace(s, from), from
	for line := from; line < len(s) && line-from < maxQuote; {
		text := line
		for text < len(s) && s[text] == ' ' {
			text++
		}
		if text == len(s) || text-line <= indent && s[text] != '\n' {
			break
		}
		end = text + len(firstLine(s[text:]))
		line = end + 1
	}
	return value{start: start, end: end, place: inQuote}, start < end
}

func firstLine(s string) string {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return s[:n]
	}
	return s
}

// header is the value of an authorization or cookie header at j; its name is [i, end).
func (sc *scanner) header(i, end, j int) (value, bool) {
	s := sc.s
	if v, ok := quotedAt(s, j, inQuote, inHint); ok {
		return v, true
	}
	if s[j] == '[' || s[j] == '{' {
		if _, ok := jsonEnd(s, j); ok && j >= sc.notJSON {
			return value{start: j, json: true}, true
		}
		if to := strings.IndexByte(s[j:min(len(s), j+maxQuote)], ']'); to > 0 && s[j] == '[' {
			return value{start: j + 1, end: j + to, place: inLine}, true
		}
		return value{}, false
	}
	p := inText
	to := sc.headerEnd(j)
	if (i == 0 || !isQuote(s[i-1])) && manyPairs(s[j:to]) {
		to = sc.lineEnd(j)
	}
	if sc.lineStart(i) || i > 0 && isQuote(s[i-1]) || i > 1 && s[i-2] == '<' {
		p = inLine
	} else if to < len(s) && isQuote(s[to]) {
		p = inLine
	}
	for to > j && isSpace(s[to-1]) {
		to--
	}
	return value{start: j, end: schemeEnd(s, j, to), place: p}, j < to
}

// manyPairs says whether a credential is a list of pairs, whose values may be quoted.
func manyPairs(t string) bool {
	return hasPrefixFold(t, "digest ") || hasPrefixFold(t, "oauth ") || hasPrefixFold(t, "hawk ") || hasPrefixFold(t, "mac ")
}

// endsInComma says whether the line that j is on goes on as a list of arguments.
func (sc *scanner) endsInComma(j int) bool {
	end := sc.lineEnd(j)
	return end > j && sc.s[end-1] == ','
}

// schemeEnd cuts a header's value after the credential where the scheme has just one word.
func schemeEnd(s string, j, to int) int {
	sp := strings.IndexByte(s[j:to], ' ')
	if sp < 0 {
		return to
	}
	switch strings.ToLower(s[j : j+sp]) {
	case "bearer", "basic", "token", "bot", "apikey", "negotiate", "jwt":
		from := skipBlanks(s, j+sp)
		return min(to, max(from, trimEnd(s, from, bareEnd(s, from))))
	}
	return to
}

// headerEnd gives the first quote, end of line, or \r, \n or quote as an escape from j on.
func (sc *scanner) headerEnd(j int) int {
	if j >= sc.stopFrom && j <= sc.stop {
		return sc.stop
	}
	s := sc.s
	sc.stopFrom = j
	for ; j < len(s) && s[j] != '\n' && s[j] != '\r' && !isQuote(s[j]); j++ {
		if s[j] == '\\' && j+1 < len(s) && (s[j+1] == 'n' || s[j+1] == 'r' || isQuote(s[j+1]) || s[j+1] == '\\') {
			break
		}
	}
	sc.stop = j
	return j
}
