package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// userinfo gives the password of the URL whose authority begins at i, or the token that is all of its user; 0, 0 if there is none.
func userinfo(s string, i int) (from, to int) {
	end, at, colon := i, -1, -1
	for end < len(s) && !chars.IsSpace(s[end]) && strings.IndexByte("\"'<>`\\", s[end]) < 0 {
		if strings.IndexByte("/?#,()", s[end]) >= 0 && !inPassword(s, colon+1, end, at) {
			break
		}
		switch {
		case s[end] == '@':
			at = end
		case s[end] == ':' && colon < 0 && at < 0:
			colon = end
		case strings.HasPrefix(s[end:], "${") || strings.HasPrefix(s[end:], "{{"):
			end++ // a template's own signs do not matter
		}
		end++
	}
	if at < 0 {
		return 0, 0
	}
	if colon >= 0 && colon+1 < at {
		if pw := s[colon+1 : at]; pw != edit.Mark && !values.IsTemplate(pw) && !values.IsFiller(pw) {
			return colon + 1, at
		}
		return 0, 0
	}
	if colon < 0 && at-i >= 20 && looks.Random(s[i:at]) {
		return i, at
	}
	return 0, 0
}

// inPassword says whether a sign that ends an authority belongs to a password that was not escaped, which begins at i: there
// is something before it that is no port, and an '@' and a host after it.
func inPassword(s string, i, end, at int) bool {
	if i == 0 || at >= 0 || i == end || chars.DigitsEnd(s, i) >= end || s[i] == '[' {
		return false
	}
	rest := s[end:min(len(s), end+chars.MaxBlanks)]
	for n := 0; n < len(rest)-1; n++ {
		if rest[n] == '@' {
			return chars.IsAlnum(rest[n+1]) || rest[n+1] == '['
		}
		if chars.IsSpace(rest[n]) || strings.IndexByte("\"'<>`\\=:", rest[n]) >= 0 {
			return false
		}
	}
	return false
}

// mysqlDSN gives the password before the "@tcp(" or "@unix(" at i, which begins at low or after it; 0, 0 if there is none.
func mysqlDSN(s string, i, low int) (from, to int) {
	if !strings.HasPrefix(s[i:], "@tcp(") && !strings.HasPrefix(s[i:], "@unix(") {
		return 0, 0
	}
	from = i // names of users have no colon
	for a := i - 1; a >= low && a > i-128 && !chars.IsSpace(s[a]) && strings.IndexByte("\"'`=/", s[a]) < 0; a-- {
		if s[a] == ':' {
			from = a + 1
		}
	}
	if t := s[from:i]; t == "" || t == edit.Mark || values.IsTemplate(t) {
		return 0, 0
	}
	return from, i
}
