package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// call takes the first argument of a call whose name is the name [i, end) of a secret with set or with before it, in any spelling, or
// which is a method of that name: setPassword("…"), with_api_key("…"), builder.password("…").
func (sc *scanner) call(i, end int) int {
	q, ok := openQuote(sc.s, end+1)
	if !ok || end-i > names.MaxName {
		return 0
	}
	name, p := sc.s[i:end], inQuote
	k := sc.r.names.SetterKind(name)
	if k == names.None && (i > 0 && sc.s[i-1] == '.' || strings.IndexByte(name, '.') > 0) {
		k, p = sc.r.names.Kind(name), inHint
		if k != names.Password && k != names.Secret && k != names.Named {
			return 0
		}
	}
	text := sc.s[q.start:q.close(sc.s)]
	if a, b, ok := judge(k, text, p, name); ok {
		return sc.take(q.start+a, q.start+b)
	}
	return 0
}
