package redact

import "strings"

// call takes the first argument of a call whose name is the name [i, end) of a secret with set or with before it, in any spelling, or
// which is a method of that name: setPassword("…"), with_api_key("…"), builder.password("…").
func (sc *scanner) call(i, end int) int {
	q, ok := openQuote(sc.s, end+1)
	if !ok || end-i > maxName {
		return 0
	}
	name, p := sc.s[i:end], inQuote
	k := sc.r.setterKind(name)
	if k == none && (i > 0 && sc.s[i-1] == '.' || strings.IndexByte(name, '.') > 0) {
		k, p = sc.r.classify(name), inHint
		if k != password && k != secret && k != named {
			return 0
		}
	}
	text := sc.s[q.start:q.close(sc.s)]
	if a, b, ok := judge(k, text, p, name); ok {
		return sc.take(q.start+a, q.start+b)
	}
	return 0
}

// setterKind is what the words of a name mean that come after set or with. What it is a method of does not matter.
func (r *Redactor) setterKind(name string) kind {
	name = name[strings.LastIndexByte(name, '.')+1:]
	w := splitWords(name)
	if w.n < 2 || string(w.word(0)) != "set" && string(w.word(0)) != "with" {
		return none
	}
	return r.classify(name[w.from[1]:])
}

// below is the value that stands alone on the line, or the next but one, after the line that ends at j, under a name of kind k. A
// word that could be another is none.
func below(s string, j int, k kind) (value, bool) {
	for n := 0; n < 2 && j < len(s) && (s[j] == '\r' || s[j] == '\n'); n++ {
		j += len(s[j:]) - len(strings.TrimPrefix(strings.TrimPrefix(s[j:], "\r"), "\n"))
		j = skipBlanks(s, j)
	}
	line := firstLine(s[j:min(len(s), j+maxBare)])
	a, b := trimSpace(line)
	t := line[a:b]
	if len(line) == maxBare || t == "" || hasSpace(t) || strings.ContainsAny(t, "{}()[]<>;,\"'`") || strings.HasSuffix(t, ":") || strings.HasSuffix(t, "++") || strings.HasSuffix(t, "--") {
		return value{}, false
	}
	switch k {
	case pin, named:
	case password, secret, token, pass, phrase:
		if !mixed(t) || !looksChosen(t) && !looksRandom(t) {
			return value{}, false
		}
	default:
		return value{}, false
	}
	return value{start: j + a, end: j + b, place: inINI}, true
}
