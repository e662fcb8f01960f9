// Package values says whether a value that stands under a name is a secret, by the kind of the name, what the value looks like, and
// how much its place says. It does not know the text around it.
package values

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// Place is where a value stands; it says how much the name before it can be believed.
type Place uint8

const (
	InJSON  Place = iota // a string under a quoted name: a member of a JSON object, of a Python or Ruby dictionary
	InQuote              // a string literal after a name: password: "…"
	InLine               // .env lines, query strings, connection strings, flags: a value and nothing else
	InYAML               // the only word of a line after "name: ": headers, YAML, notes
	InINI                // the same after "name = ", which may be source
	InText               // an unquoted word after a name in text or source
	InHint               // less than an assignment: ("name", "value"), name == "value", password is value
)

// Judge says which part [a, b) of the value v under a name of kind k is secret.
func Judge(k names.Kind, v string, p Place, name string) (a, b int, ok bool) {
	a, b = chars.TrimSpace(v)
	t := v[a:b]
	if k == names.None || t == "" || t == edit.Mark {
		return 0, 0, false
	}
	if p <= InQuote && k != names.Named && speaksOf(t, name) {
		return 0, 0, false
	}
	if k == names.Authz {
		return judgeAuthz(v, a, b, p)
	}
	if Harmless(t, name) && !(p <= InQuote && isDollarWord(t)) || isVersion(t) && !isChosen(k, t) {
		return 0, 0, false
	}
	return a, b, judgers[k](t, p)
}

// isChosen says whether what is a version under the name of a package ("cookie": "0.6.0") can be a date as a password.
func isChosen(k names.Kind, t string) bool {
	return (k == names.Password || k == names.Pass || k == names.PIN || k == names.Phrase || k == names.Named) && chars.IsDigit(t[0])
}

// judgers say whether a trimmed value that is no placeholder is secret in its place.
var judgers = [names.Kinds]func(t string, p Place) bool{
	names.None:     func(string, Place) bool { return false },
	names.Password: judgePassword,
	names.Secret:   judgeSecret,
	names.Token:    judgeToken,
	names.Weak:     judgeWeak,
	names.Invoice:  judgeInvoice,
	names.PIN:      judgePin,
	names.Pass:     judgePass,
	names.Phrase:   judgePhrase,
	names.Seed:     judgeSeed,
	names.Group:    judgeGroup,
	names.Cookie:   judgeCookie,
	names.Query:    func(t string, p Place) bool { return p == InLine && looks.Random(t) },
	names.Authz:    func(string, Place) bool { return false }, // judgeAuthz
	names.Named:    func(string, Place) bool { return true },
}

func judgePassword(t string, p Place) bool {
	switch p {
	case InJSON:
		return !isPath(t) && !describes(t)
	case InQuote:
		return !isPath(t) && !describes(t) && (!isProse(t) || IsWords(t, 2))
	case InLine:
		return !isPath(t) && (!isExpression(t) || isDotted(t))
	case InYAML, InINI:
		return !IsReference(t) && !isPath(t) && !isTypeName(t) && !isVariable(t)
	case InText:
		return !IsReference(t) && !namesSecret(t) && !isTag(t) && (looks.Chosen(t) || looks.Random(t) || IsCode(t, 0, chars.DigitsEnd(t, 0)))
	default:
		return looks.Chosen(t) && looks.Mixed(t) && !IsReference(t) || looks.Random(t)
	}
}

func judgeSecret(t string, p Place) bool {
	if isFile(t) {
		return false
	}
	switch p {
	case InJSON:
		return !describes(t)
	case InQuote:
		if chars.HasSpace(t) {
			return isShortMix(t) || IsWords(t, 2) && !describes(t)
		}
		return len(t) >= 4 && (looks.IsAlnumText(t) || looks.Chosen(t) || looks.Random(t))
	case InLine:
		return !isExpression(t) && (len(t) >= 4 || looks.Chosen(t))
	case InYAML:
		return standsAlone(t)
	case InINI:
		return !IsReference(t) && (len(t) >= 6 && looks.Mixed(t) || looks.Random(t) || len(t) >= 20 && looks.IsWord(t))
	default:
		return longEnough(t, p) && !IsReference(t) && !namesSecret(t) && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t) || looks.IsOneCaseKey(t))
	}
}

func judgeToken(t string, p Place) bool {
	switch {
	case p != InJSON && len(t) < leastDigits[names.Token] && chars.DigitsEnd(t, 0) == len(t):
		return false // a count
	case isFile(t) || isSyntax(t) || p != InJSON && isConstant(t):
		return false
	}
	switch p {
	case InJSON:
		return !describes(t) && chars.HasAlnum(t) && len(t) >= 3 && (len(t) > 3 || !looks.IsWord(t)) && (looks.Mixed(t) || strings.IndexByte(t, '/') < 0)
	case InQuote:
		return !chars.HasSpace(t) && len(t) >= 6 && !IsReference(t) && (looks.Mixed(t) || len(t) >= 16 || chars.HasAlnum(t) && !namesSecret(t))
	case InLine:
		return !chars.HasSpace(t) && len(t) >= 4 && !IsReference(t) && !namesSecret(t)
	case InYAML:
		return standsAlone(t)
	default:
		return longEnough(t, p) && !IsReference(t) && !namesSecret(t) && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t))
	}
}

// longEnough: what a key has at least that is unquoted or in a list; with signs of source in it, more.
func longEnough(t string, p Place) bool {
	return len(t) >= 8 || p == InText && len(t) >= 6 && looks.IsAlnumText(t)
}

// standsAlone: a word that is a line's whole value is taken, unless it is an expression, a type, a file, a scope or another name.
func standsAlone(t string) bool {
	switch {
	case len(t) < 4 || chars.HasSpace(t) || !chars.HasAlnum(t) || strings.ContainsAny(t, "{}()[]<>;,"):
		return false
	case t[0] == ':' || strings.IndexByte("@&*", t[0]) >= 0 && looks.IsIdent(t[1:]) || strings.IndexByte(":.", t[len(t)-1]) >= 0:
		return false
	case IsReference(t) || isTypeName(t) || isFile(t) || scopeWords[strings.ToLower(t)]:
		return false
	}
	return looks.Mixed(t) || !namesSecret(t)
}

func judgeWeak(t string, p Place) bool {
	if p == InJSON || p == InLine || p == InQuote {
		return looks.Random(t) && !looks.IsUUID(t) || IsWords(t, 12) || looks.Chosen(t) && looks.Mixed(t) && !IsReference(t) && !isPath(t) &&
			(looks.HasMark(t) || p == InJSON && !looks.WordsAndNumbers(t))
	}
	return looks.Random(t) && looks.Mixed(t) && !looks.IsUUID(t) && !IsReference(t) || IsWords(t, 12)
}

// judgeInvoice takes what can be paid, also cut short, and not the numbers of shops.
func judgeInvoice(t string, p Place) bool {
	if len(t) >= 20 && chars.HasPrefixFold(t, "ln") && looks.IsAlnumText(t) && looks.Mixed(t) {
		return true
	}
	return looks.Random(t) && !looks.IsUUID(t) && (p <= InLine || looks.Mixed(t) && !IsReference(t))
}

func judgePin(t string, p Place) bool {
	if chars.HasPrefixFold(t, "gpio") {
		return false // of a circuit
	}
	digits := 0
	for i := 0; i < len(t); i++ {
		switch {
		case chars.IsDigit(t[i]):
			digits++
		case t[i] != '-' && t[i] != ' ' && !chars.IsAlpha(t[i]):
			return looks.Random(t)
		}
	}
	if digits == len(t) {
		return len(t) >= 4 && len(t) <= 12 || p == InJSON && len(t) == 3
	}
	return digits >= 2 && len(t) >= 6 && !chars.HasSpace(t) && (len(t) <= 24 || looks.Random(t)) || looks.Random(t)
}

// judgePass takes what a password could be and a result of tests could not.
func judgePass(t string, p Place) bool {
	switch {
	case scopeWords[strings.ToLower(t)] || chars.HasSpace(t):
		return false
	case p <= InLine:
		return len(t) >= 4 && judgePassword(t, InJSON) && !IsReference(t) && !namesSecret(t) && strings.IndexByte(t, '\\') < 0
	case p == InYAML:
		return looks.Mixed(t) && standsAlone(t) && !strings.HasPrefix(t, "Test")
	}
	return looks.Random(t) && looks.Mixed(t) && !IsReference(t)
}

// judgePhrase takes words in a row, or what a password would be: an assembler's mnemonic is shorter.
func judgePhrase(t string, p Place) bool {
	switch {
	case IsWords(t, 3):
		return p <= InLine || IsWords(t, 12)
	case !chars.HasAlnum(t), looks.IsWord(t) && (len(t) < 7 || looks.IsCamel(t)), p == InQuote && chars.HasSpace(t) && !isShortMix(t):
		return false
	case p <= InQuote:
		return judgePassword(t, p)
	case p == InLine:
		return judgePassword(t, p) && !namesSecret(t)
	case p == InYAML:
		return standsAlone(t)
	}
	return judgePassword(t, p) && (len(t) >= 8 && looks.Mixed(t) || looks.Random(t))
}

// judgeSeed takes words in a row and what a password would be.
func judgeSeed(t string, p Place) bool {
	switch {
	case IsWords(t, 3):
		return p <= InLine && !describes(t) || IsWords(t, 12)
	case chars.HasSpace(t) || !chars.HasAlnum(t) || startsGenerator(t, p) || fillsDatabase(t) || namesSecret(t) || IsReference(t):
		return false
	}
	switch p {
	case InJSON:
		return true
	case InQuote, InLine:
		return looks.IsWord(t) || looks.Mixed(t) || strings.IndexByte(t, '_') < 0
	case InYAML:
		return standsAlone(t)
	case InINI:
		return looks.Mixed(t) && standsAlone(t)
	default:
		return looks.Random(t) && looks.Mixed(t)
	}
}

// startsGenerator: digits, outside of JSON any number of them, short variables, and words for where random numbers begin.
func startsGenerator(t string, p Place) bool {
	if chars.DigitsEnd(t, 0) == len(t) {
		return p != InJSON || !IsSecretNumber(t, names.Seed)
	}
	return p != InJSON && (len(t) < 6 || len(t) < 20 && strings.HasPrefix(t, "0x")) || t == "random" || t == "time" || scopeWords[strings.ToLower(t)]
}

// fillsDatabase: seed.ts, db/seeds.
func fillsDatabase(t string) bool { return strings.ContainsAny(t, "./") && !looks.Random(t) }

// judgeGroup takes a word under credentials or secrets where JSON says it is a value; elsewhere these are titles.
func judgeGroup(t string, p Place) bool {
	switch {
	case isTypeName(t):
		return false
	case p == InJSON && len(t) >= 4 && !chars.HasSpace(t) && !isPath(t) && !IsReference(t) && !namesSecret(t) && (looks.IsWord(t) || looks.Mixed(t)):
		return !looks.IsUUID(t)
	}
	return judgeWeak(t, p)
}

func judgeCookie(t string, p Place) bool {
	if len(t) > chars.MaxHeader {
		return true
	}
	if eq := strings.IndexByte(t, '='); eq > 0 && eq+1 < len(t) && !chars.HasSpace(t[:eq]) {
		value, _, _ := strings.Cut(t[eq+1:], ";")
		return !IsReference(t[eq+1:]) && (p <= InINI || len(value) >= 6 && looks.Mixed(value))
	}
	switch p {
	case InJSON:
		return len(t) >= 4 && !strings.ContainsAny(t, " \\") && chars.HasAlnum(t) && !namesHeader(t) && !scopeWords[strings.ToLower(t)] && !isPath(t) && !isExpression(t)
	case InLine, InYAML:
		return standsAlone(t) && !namesHeader(t)
	default:
		return looks.Random(t)
	}
}

// schemes stand before the credential in an authorization header.
var schemes = chars.Words(`bearer basic token apikey api-key bot digest negotiate ntlm hawk mac oauth dpop key ssws
	aws4-hmac-sha256 l402 lsat genie-key splunk zoho-oauthtoken discogs privatetoken jwt`)

// judgeAuthz leaves the scheme and takes the rest of v[a:b].
func judgeAuthz(v string, a, b int, p Place) (int, int, bool) {
	t := v[a:b]
	if HasScheme(t) {
		c := chars.SkipBlanks(t, strings.IndexByte(t, ' '))
		return a + c, b, isCredential(t[c:], p)
	}
	if len(t) > chars.MaxHeader {
		return a, b, true
	}
	if Harmless(t, "authorization") || schemes[strings.ToLower(t)] || namesHeader(t) {
		return 0, 0, false
	}
	if p == InJSON {
		return a, b, !describes(t) && !scopeWords[strings.ToLower(t)]
	}
	if p <= InYAML && standsAlone(t) {
		return a, b, true
	}
	return a, b, !IsReference(t) && !strings.ContainsAny(t, " {}()[]<>") && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t))
}

// HasScheme says whether t begins with a scheme and a blank.
func HasScheme(t string) bool {
	sp := strings.IndexByte(t[:min(len(t), 32)], ' ')
	return sp > 0 && schemes[strings.ToLower(t[:sp])]
}

// namesHeader says whether what stands under a header is the name of one: Proxy-Authorization, X-Auth, cookieJar.
func namesHeader(t string) bool {
	k := names.Of(t)
	return k == names.Authz || k == names.Cookie || !looks.Mixed(t) && (strings.HasPrefix(t, "X-") || namesSecret(t))
}

// isCredential says whether what follows a scheme is one: it is not another word of the sentence.
func isCredential(t string, p Place) bool {
	switch {
	case t == "" || Harmless(t, "") || isProse(t) && len(t) < 12:
		return false
	case looks.IsWord(t) && (IsStopWord(t) || namesSecret(t)):
		return false
	case p <= InLine:
		return p == InJSON || t[0] != '$'
	}
	return !IsReference(t)
}
