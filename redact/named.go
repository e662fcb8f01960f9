package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/places"
	"github.com/transcriptd/transcriptd/redact/internal/tokens"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// named looks for the value of the word [i, end), if it is the name of one, and takes what is secret in it. It gives the
// offset to go on from, or 0 if nothing was taken.
func (sc *scanner) named(i, end int, prev [2]int) int {
	if end < sc.left {
		return 0
	}
	if strings.HasPrefix(sc.s[end:], "(") {
		if from, to := callSecret(sc.s, sc.r.names, i, end); to > 0 {
			return sc.take(from, to)
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
	v, ok := sc.page.ValueAfter(start, end, k)
	if !ok {
		return sc.codeBefore(start, end, k)
	}
	if v.JSON {
		if next := sc.bracketOf(v.Start, k, name); next > 0 {
			return next
		}
		return sc.enter(start, v.Start, k)
	}
	if in != names.None && v.Place > values.InQuote {
		v.Place = values.InINI // the name says nothing
	}
	text := sc.s[v.Start:v.End]
	if strings.HasPrefix(text, edit.Mark) {
		return 0
	}
	if strings.HasPrefix(text, "-----BEGIN ") {
		if to := sc.pem.KeyEnd(v.Start); to > 0 {
			return sc.take(v.Start, to)
		}
	}
	a, b, ok := values.Judge(k, text, v.Place, name)
	if !ok {
		if end := min(v.End, places.BareEnd(sc.s, v.Start)); v.Place >= values.InYAML && end-v.Start > chars.MaxBlanks {
			sc.left = end
		}
		return 0
	}
	to := v.Start + b
	if b == len(text) {
		if to = sc.restOf(v.Start, v.End); k == names.Cookie && v.Place == values.InText {
			to = max(to, places.PairsEnd(sc.s, v.Start, chars.MaxHeader))
		}
	}
	return sc.take(v.Start+a, sc.wholeEnd(v.Start+a, to))
}

// wholeEnd gives the end of the secret [start, end), or of the token that begins there: it may have been cut at a sign that belongs
// to it.
func (sc *scanner) wholeEnd(start, end int) int {
	if !tokens.Begins(sc.s[start]) {
		return end
	}
	return max(end, tokens.At(sc.s, start))
}

// codeBefore takes a code that stands before its name, the word [i, end) of kind k: 493021 is your OTP.
func (sc *scanner) codeBefore(i, end int, k names.Kind) int {
	from := chars.SkipBlanks(sc.s, end)
	if next := places.WordEnd(sc.s, from); k != names.PIN || next > from && !values.IsStopWord(sc.s[from:next]) {
		return 0
	}
	for at := max(sc.taken(), sc.page.LeadStart(i)); at < i; at = places.WordEnd(sc.s, at) + 1 {
		to := chars.DigitsEnd(sc.s, at)
		rest := sc.s[to:i]
		if values.IsCode(sc.s, at, to) && (strings.HasPrefix(rest, " is ") || strings.HasPrefix(rest, " as ")) {
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
	for end < len(sc.s) && !places.EndsBare(sc.s[end]) && sc.s[end] != '\\' {
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
	case end < len(s) && s[end] == '=' && sc.page.InQuery(i) && queryNames[strings.ToLower(w)]:
		return sc.queryValue(end + 1)
	case len(w) == 5 && strings.EqualFold(w, "basic") && end < len(s) && s[end] == ' ':
		return sc.basic(end + 1)
	case len(w) == 2 && strings.EqualFold(w, "by") && prev[1] > 0 && strings.EqualFold(s[prev[0]:prev[1]], "identified"):
		j := chars.SkipBlanks(s, end)
		if q, ok := places.OpenQuote(s, j); ok {
			return sc.takeUnlessEmpty(q.Start, q.Close(s))
		}
	case w[0] == '-' && sc.command != "":
		if from, to := sc.command.flagSecret(s, i, end); to > 0 {
			return sc.take(from, to)
		}
	}
	return 0
}

func (sc *scanner) takeUnlessEmpty(a, b int) int {
	if t := sc.s[a:b]; t == "" || t == edit.Mark || values.Harmless(t, "") {
		return 0
	}
	return sc.take(a, b)
}

func (sc *scanner) queryValue(i int) int {
	end := places.BareEnd(sc.s, i)
	if t := sc.s[i:end]; !looks.Random(t) || looks.IsUUID(t) {
		return 0
	}
	return sc.take(i, sc.wholeEnd(i, sc.restOf(i, end)))
}

// basic takes base64 of name:password.
func (sc *scanner) basic(i int) int {
	end := i
	for end < len(sc.s) && chars.InBase64(sc.s[end]) {
		end++
	}
	if !values.IsBasic(sc.s[i:end]) {
		return 0
	}
	return sc.take(i, end)
}
