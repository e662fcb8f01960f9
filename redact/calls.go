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
