package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// place is where a value stands; it says how much the name before it can be believed.
type place uint8

const (
	inJSON  place = iota // a string under a quoted name: a member of a JSON object, of a Python or Ruby dictionary
	inQuote              // a string literal after a name: password: "…"
	inLine               // .env lines, query strings, connection strings, flags: a value and nothing else
	inYAML               // the only word of a line after "name: ": headers, YAML, notes
	inINI                // the same after "name = ", which may be source
	inText               // an unquoted word after a name in text or source
	inHint               // less than an assignment: ("name", "value"), name == "value", password is value
)

// judge says which part [a, b) of the value v under a name of kind k is secret.
func judge(k names.Kind, v string, p place, name string) (a, b int, ok bool) {
	a, b = chars.TrimSpace(v)
	t := v[a:b]
	if k == names.None || t == "" || t == edit.Mark {
		return 0, 0, false
	}
	if p <= inQuote && k != names.Named && speaksOf(t, name) {
		return 0, 0, false
	}
	if k == names.Authz {
		return judgeAuthz(v, a, b, p)
	}
	if harmless(t, name) && !(p <= inQuote && isDollarWord(t)) || isVersion(t) && !isChosen(k, t) {
		return 0, 0, false
	}
	return a, b, judgers[k](t, p)
}

// isChosen says whether what is a version under the name of a package ("cookie": "0.6.0") can be a date as a password.
func isChosen(k names.Kind, t string) bool {
	return (k == names.Password || k == names.Pass || k == names.PIN || k == names.Phrase || k == names.Named) && chars.IsDigit(t[0])
}

// judgers say whether a trimmed value that is no placeholder is secret in its place.
var judgers = [names.Kinds]func(t string, p place) bool{
	names.None:     func(string, place) bool { return false },
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
	names.Query:    func(t string, p place) bool { return p == inLine && looks.Random(t) },
	names.Authz:    func(string, place) bool { return false }, // judgeAuthz
	names.Named:    func(string, place) bool { return true },
}

func judgePassword(t string, p place) bool {
	switch p {
	case inJSON:
		return !isPath(t) && !describes(t)
	case inQuote:
		return !isPath(t) && !describes(t) && (!isProse(t) || isWords(t, 2))
	case inLine:
		return !isPath(t) && (!isExpression(t) || isDotted(t))
	case inYAML, inINI:
		return !isReference(t) && !isPath(t) && !isTypeName(t) && !isVariable(t)
	case inText:
		return !isReference(t) && !namesSecret(t) && (looks.Chosen(t) || looks.Random(t) || isCode(t, 0, chars.DigitsEnd(t, 0)))
	default:
		return looks.Chosen(t) && looks.Mixed(t) && !isReference(t) || looks.Random(t)
	}
}

func judgeSecret(t string, p place) bool {
	if isFile(t) {
		return false
	}
	switch p {
	case inJSON:
		return !describes(t)
	case inQuote:
		if chars.HasSpace(t) {
			return isShortMix(t) || isWords(t, 2) && !describes(t)
		}
		return len(t) >= 4 && (looks.IsAlnumText(t) || looks.Chosen(t) || looks.Random(t))
	case inLine:
		return !isExpression(t) && (len(t) >= 4 || looks.Chosen(t))
	case inYAML:
		return standsAlone(t)
	case inINI:
		return !isReference(t) && (len(t) >= 6 && looks.Mixed(t) || looks.Random(t) || len(t) >= 20 && looks.IsWord(t))
	default:
		return longEnough(t, p) && !isReference(t) && !namesSecret(t) && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t) || looks.IsOneCaseKey(t))
	}
}

func judgeToken(t string, p place) bool {
	switch {
	case p != inJSON && len(t) < leastDigits[names.Token] && chars.DigitsEnd(t, 0) == len(t):
		return false // a count
	case isFile(t) || isSyntax(t) || p != inJSON && isConstant(t):
		return false
	}
	switch p {
	case inJSON:
		return !describes(t) && chars.HasAlnum(t) && len(t) >= 3 && (len(t) > 3 || !looks.IsWord(t)) && (looks.Mixed(t) || strings.IndexByte(t, '/') < 0)
	case inQuote:
		return !chars.HasSpace(t) && len(t) >= 6 && !isReference(t) && (looks.Mixed(t) || len(t) >= 16 || chars.HasAlnum(t) && !namesSecret(t))
	case inLine:
		return !chars.HasSpace(t) && len(t) >= 4 && !isReference(t) && !namesSecret(t)
	case inYAML:
		return standsAlone(t)
	default:
		return longEnough(t, p) && !isReference(t) && !namesSecret(t) && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t))
	}
}

// longEnough: what a key has at least that is unquoted or in a list; with signs of source in it, more.
func longEnough(t string, p place) bool {
	return len(t) >= 8 || p == inText && len(t) >= 6 && looks.IsAlnumText(t)
}

// standsAlone: a word that is a line's whole value is taken, unless it is an expression, a type, a file, a scope or another name.
func standsAlone(t string) bool {
	switch {
	case len(t) < 4 || chars.HasSpace(t) || !chars.HasAlnum(t) || strings.ContainsAny(t, "{}()[]<>;,"):
		return false
	case t[0] == ':' || strings.IndexByte("@&*", t[0]) >= 0 && looks.IsIdent(t[1:]) || strings.IndexByte(":.", t[len(t)-1]) >= 0:
		return false
	case isReference(t) || isTypeName(t) || isFile(t) || scopeWords[strings.ToLower(t)]:
		return false
	}
	return looks.Mixed(t) || !namesSecret(t)
}

func judgeWeak(t string, p place) bool {
	if p == inJSON || p == inLine || p == inQuote {
		return looks.Random(t) && !looks.IsUUID(t) || isWords(t, 12) || looks.Chosen(t) && looks.Mixed(t) && !isReference(t) && !isPath(t) &&
			(looks.HasMark(t) || p == inJSON && !looks.WordsAndNumbers(t))
	}
	return looks.Random(t) && looks.Mixed(t) && !looks.IsUUID(t) && !isReference(t) || isWords(t, 12)
}

// judgeInvoice takes what can be paid, also cut short, and not the numbers of shops.
func judgeInvoice(t string, p place) bool {
	if len(t) >= 20 && chars.HasPrefixFold(t, "ln") && looks.IsAlnumText(t) && looks.Mixed(t) {
		return true
	}
	return looks.Random(t) && !looks.IsUUID(t) && (p <= inLine || looks.Mixed(t) && !isReference(t))
}

func judgePin(t string, p place) bool {
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
		return len(t) >= 4 && len(t) <= 12 || p == inJSON && len(t) == 3
	}
	return digits >= 2 && len(t) >= 6 && !chars.HasSpace(t) && (len(t) <= 24 || looks.Random(t)) || looks.Random(t)
}

// judgePass takes what a password could be and a result of tests could not.
func judgePass(t string, p place) bool {
	switch {
	case scopeWords[strings.ToLower(t)] || chars.HasSpace(t):
		return false
	case p <= inLine:
		return len(t) >= 4 && judgePassword(t, inJSON) && !isReference(t) && !namesSecret(t) && strings.IndexByte(t, '\\') < 0
	case p == inYAML:
		return looks.Mixed(t) && standsAlone(t) && !strings.HasPrefix(t, "Test")
	}
	return looks.Random(t) && looks.Mixed(t) && !isReference(t)
}

// judgePhrase takes words in a row, or what a password would be: an assembler's mnemonic is shorter.
func judgePhrase(t string, p place) bool {
	switch {
	case isWords(t, 3):
		return p <= inLine || isWords(t, 12)
	case !chars.HasAlnum(t), looks.IsWord(t) && (len(t) < 7 || looks.IsCamel(t)), p == inQuote && chars.HasSpace(t) && !isShortMix(t):
		return false
	case p <= inQuote:
		return judgePassword(t, p)
	case p == inLine:
		return judgePassword(t, p) && !namesSecret(t)
	case p == inYAML:
		return standsAlone(t)
	}
	return judgePassword(t, p) && (len(t) >= 8 && looks.Mixed(t) || looks.Random(t))
}

// judgeSeed takes words in a row and what a password would be.
func judgeSeed(t string, p place) bool {
	switch {
	case isWords(t, 3):
		return p <= inLine && !describes(t) || isWords(t, 12)
	case chars.HasSpace(t) || !chars.HasAlnum(t) || startsGenerator(t, p) || fillsDatabase(t) || namesSecret(t) || isReference(t):
		return false
	}
	switch p {
	case inJSON:
		return true
	case inQuote, inLine:
		return looks.IsWord(t) || looks.Mixed(t) || strings.IndexByte(t, '_') < 0
	case inYAML:
		return standsAlone(t)
	case inINI:
		return looks.Mixed(t) && standsAlone(t)
	default:
		return looks.Random(t) && looks.Mixed(t)
	}
}

// startsGenerator: digits, outside of JSON any number of them, short variables, and words for where random numbers begin.
func startsGenerator(t string, p place) bool {
	if chars.DigitsEnd(t, 0) == len(t) {
		return p != inJSON || !isSecretNumber(t, names.Seed)
	}
	return p != inJSON && (len(t) < 6 || len(t) < 20 && strings.HasPrefix(t, "0x")) || t == "random" || t == "time" || scopeWords[strings.ToLower(t)]
}

// fillsDatabase: seed.ts, db/seeds.
func fillsDatabase(t string) bool { return strings.ContainsAny(t, "./") && !looks.Random(t) }

// judgeGroup takes a word under credentials or secrets where JSON says it is a value; elsewhere these are titles.
func judgeGroup(t string, p place) bool {
	switch {
	case isTypeName(t):
		return false
	case p == inJSON && len(t) >= 4 && !chars.HasSpace(t) && !isPath(t) && !isReference(t) && !namesSecret(t) && (looks.IsWord(t) || looks.Mixed(t)):
		return !looks.IsUUID(t)
	}
	return judgeWeak(t, p)
}

func judgeCookie(t string, p place) bool {
	if len(t) > chars.MaxHeader {
		return true
	}
	if eq := strings.IndexByte(t, '='); eq > 0 && eq+1 < len(t) && !chars.HasSpace(t[:eq]) {
		value, _, _ := strings.Cut(t[eq+1:], ";")
		return !isReference(t[eq+1:]) && (p <= inINI || len(value) >= 6 && looks.Mixed(value))
	}
	switch p {
	case inJSON:
		return len(t) >= 4 && !strings.ContainsAny(t, " \\") && chars.HasAlnum(t) && !namesHeader(t) && !scopeWords[strings.ToLower(t)] && !isPath(t) && !isExpression(t)
	case inLine, inYAML:
		return standsAlone(t) && !namesHeader(t)
	default:
		return looks.Random(t)
	}
}

// schemes stand before the credential in an authorization header.
var schemes = chars.Words(`bearer basic token apikey api-key bot digest negotiate ntlm hawk mac oauth dpop key ssws
	aws4-hmac-sha256 l402 lsat genie-key splunk zoho-oauthtoken discogs privatetoken jwt`)

// judgeAuthz leaves the scheme and takes the rest of v[a:b].
func judgeAuthz(v string, a, b int, p place) (int, int, bool) {
	t := v[a:b]
	if hasScheme(t) {
		c := chars.SkipBlanks(t, strings.IndexByte(t, ' '))
		return a + c, b, isCredential(t[c:], p)
	}
	if len(t) > chars.MaxHeader {
		return a, b, true
	}
	if harmless(t, "authorization") || schemes[strings.ToLower(t)] || namesHeader(t) {
		return 0, 0, false
	}
	if p == inJSON {
		return a, b, !describes(t) && !scopeWords[strings.ToLower(t)]
	}
	if p <= inYAML && standsAlone(t) {
		return a, b, true
	}
	return a, b, !isReference(t) && !strings.ContainsAny(t, " {}()[]<>") && (looks.Random(t) || looks.Chosen(t) && looks.Mixed(t))
}

// hasScheme says whether t begins with a scheme and a blank.
func hasScheme(t string) bool {
	sp := strings.IndexByte(t[:min(len(t), 32)], ' ')
	return sp > 0 && schemes[strings.ToLower(t[:sp])]
}

// namesHeader says whether what stands under a header is the name of one: Proxy-Authorization, X-Auth, cookieJar.
func namesHeader(t string) bool {
	k := names.Of(t)
	return k == names.Authz || k == names.Cookie || !looks.Mixed(t) && (strings.HasPrefix(t, "X-") || namesSecret(t))
}

// isCredential says whether what follows a scheme is one: it is not another word of the sentence.
func isCredential(t string, p place) bool {
	switch {
	case t == "" || harmless(t, "") || isProse(t) && len(t) < 12:
		return false
	case looks.IsWord(t) && (stopWords[strings.ToLower(t)] || namesSecret(t)):
		return false
	case p <= inLine:
		return p == inJSON || t[0] != '$'
	}
	return !isReference(t)
}
