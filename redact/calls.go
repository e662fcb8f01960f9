package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/places"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// callSecret gives the first argument of a call whose name is the name [i, end) of a secret with set or with before it, in any spelling, or
// which is a method of that name: setPassword("…"), with_api_key("…"), builder.password("…"); 0, 0 if it is no secret.
func callSecret(s string, own names.Own, i, end int) (from, to int) {
	q, ok := places.OpenQuote(s, end+1)
	if !ok || end-i > names.MaxName {
		return 0, 0
	}
	name, p := s[i:end], values.InQuote
	k := own.SetterKind(name)
	if k == names.None && (i > 0 && s[i-1] == '.' || strings.IndexByte(name, '.') > 0) {
		k, p = own.Kind(name), values.InHint
		if k != names.Password && k != names.Secret && k != names.Named {
			return 0, 0
		}
	}
	text := s[q.Start:q.Close(s)]
	if a, b, ok := values.Judge(k, text, p, name); ok {
		return q.Start + a, q.Start + b
	}
	return 0, 0
}
