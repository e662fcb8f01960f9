package redact

import "strings"

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

// maxHeader is how long a header's value can be and still be something else than a secret.
const maxHeader = 4096

// judge says which part [a, b) of the value v under a name of kind k is secret.
func judge(k kind, v string, p place, name string) (a, b int, ok bool) {
	a, b = trimSpace(v)
	t := v[a:b]
	if k == none || t == "" || t == Mark {
		return 0, 0, false
	}
	if p <= inQuote && k != named && speaksOf(t, name) {
		return 0, 0, false
	}
	if k == authz {
		return judgeAuthz(v, a, b, p)
	}
	if harmless(t, name) && !(p <= inQuote && isDollarWord(t)) || isVersion(t) && !isChosen(k, t) {
		return 0, 0, false
	}
	return a, b, judgers[k](t, p)
}

// isChosen says whether what is a version under the name of a package ("cookie": "0.6.0") can be a date as a password.
func isChosen(k kind, t string) bool {
	return (k == password || k == pass || k == pin || k == phrase || k == named) && isDigit(t[0])
}

// judgers say whether a trimmed value that is no placeholder is secret in its place.
var judgers = [kinds]func(t string, p place) bool{
	none:     func(string, place) bool { return false },
	password: judgePassword,
	secret:   judgeSecret,
	token:    judgeToken,
	weak:     judgeWeak,
	invoice:  judgeInvoice,
	pin:      judgePin,
	pass:     judgePass,
	phrase:   judgePhrase,
	seed:     judgeSeed,
	group:    judgeGroup,
	cookie:   judgeCookie,
	query:    func(t string, p place) bool { return p == inLine && looksRandom(t) },
	authz:    func(string, place) bool { return false }, // judgeAuthz
	named:    func(string, place) bool { return true },
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
		return !isReference(t) && !namesSecret(t) && (looksChosen(t) || looksRandom(t) || isCode(t, 0, digitsEnd(t, 0)))
	}
	return looksChosen(t) && mixed(t) && !isReference(t) || looksRandom(t)
}

func judgeSecret(t string, p place) bool {
	if isFile(t) {
		return false
	}
	switch p {
	case inJSON:
		return !describes(t)
	case inQuote:
		if hasSpace(t) {
			return isShortMix(t) || isWords(t, 2) && !describes(t)
		}
		return len(t) >= 4 && (isAlnumText(t) || looksChosen(t) || looksRandom(t))
	case inLine:
		return !isExpression(t) && (len(t) >= 4 || looksChosen(t))
	case inYAML:
		return standsAlone(t)
	case inINI:
		return !isReference(t) && (len(t) >= 6 && mixed(t) || looksRandom(t) || len(t) >= 20 && isWord(t))
	}
	return longEnough(t, p) && !isReference(t) && !namesSecret(t) && (looksRandom(t) || looksChosen(t) && mixed(t) || isOneCaseKey(t))
}

func judgeToken(t string, p place) bool {
	switch {
	case p != inJSON && len(t) < leastDigits[token] && digitsEnd(t, 0) == len(t):
		return false // a count
	case isFile(t) || isSyntax(t) || p != inJSON && isConstant(t):
		return false
	}
	switch p {
	case inJSON:
		return !describes(t) && hasAlnum(t) && len(t) >= 3 && (len(t) > 3 || !isWord(t)) && (mixed(t) || strings.IndexByte(t, '/') < 0)
	case inQuote:
		return !hasSpace(t) && len(t) >= 6 && !isReference(t) && (mixed(t) || len(t) >= 16 || hasAlnum(t) && !namesSecret(t))
	case inLine:
		return !hasSpace(t) && len(t) >= 4 && !isReference(t) && !namesSecret(t)
	case inYAML:
		return standsAlone(t)
	}
	return longEnough(t, p) && !isReference(t) && !namesSecret(t) && (looksRandom(t) || looksChosen(t) && mixed(t))
}

// longEnough: what a key has at least that is unquoted or in a list; with signs of source in it, more.
func longEnough(t string, p place) bool {
	return len(t) >= 8 || p == inText && len(t) >= 6 && isAlnumText(t)
}

// standsAlone: a word that is a line's whole value is taken, unless it is an expression, a type, a file, a scope or another name.
func standsAlone(t string) bool {
	switch {
	case len(t) < 4 || hasSpace(t) || !hasAlnum(t) || strings.ContainsAny(t, "{}()[]<>;,"):
		return false
	case t[0] == ':' || strings.IndexByte("@&*", t[0]) >= 0 && isIdent(t[1:]) || strings.IndexByte(":.", t[len(t)-1]) >= 0:
		return false
	case isReference(t) || isTypeName(t) || isFile(t) || scopeWords[strings.ToLower(t)]:
		return false
	}
	return mixed(t) || !namesSecret(t)
}

func judgeWeak(t string, p place) bool {
	if p == inJSON || p == inLine || p == inQuote {
		return looksRandom(t) && !isUUID(t) || isWords(t, 12) || looksChosen(t) && mixed(t) && !isReference(t) && !isPath(t) &&
			(hasMark(t) || p == inJSON && !wordsAndNumbers(t))
	}
	return looksRandom(t) && mixed(t) && !isUUID(t) && !isReference(t) || isWords(t, 12)
}

// judgeInvoice takes what can be paid, also cut short, and not the numbers of shops.
func judgeInvoice(t string, p place) bool {
	if len(t) >= 20 && hasPrefixFold(t, "ln") && isAlnumText(t) && mixed(t) {
		return true
	}
	return looksRandom(t) && !isUUID(t) && (p <= inLine || mixed(t) && !isReference(t))
}

func judgePin(t string, p place) bool {
	digits := 0
	for i := 0; i < len(t); i++ {
		switch {
		case isDigit(t[i]):
			digits++
		case t[i] != '-' && t[i] != ' ' && !isAlpha(t[i]):
			return looksRandom(t)
		}
	}
	if digits == len(t) {
		return len(t) >= 4 && len(t) <= 12 || p == inJSON && len(t) == 3
	}
	return digits >= 2 && len(t) >= 6 && !hasSpace(t) && (len(t) <= 24 || looksRandom(t)) || looksRandom(t)
}

// judgePass takes what a password could be and a result of tests could not.
func judgePass(t string, p place) bool {
	switch {
	case scopeWords[strings.ToLower(t)] || hasSpace(t):
		return false
	case p <= inLine:
		return len(t) >= 4 && judgePassword(t, inJSON) && !isReference(t) && !namesSecret(t) && strings.IndexByte(t, '\\') < 0
	case p == inYAML:
		return mixed(t) && standsAlone(t) && !strings.HasPrefix(t, "Test")
	}
	return looksRandom(t) && mixed(t) && !isReference(t)
}

// judgePhrase takes words in a row, or what a password would be: an assembler's mnemonic is shorter.
func judgePhrase(t string, p place) bool {
	switch {
	case isWords(t, 3):
		return p <= inLine || isWords(t, 12)
	case !hasAlnum(t), isWord(t) && (len(t) < 7 || isCamel(t)), p == inQuote && hasSpace(t) && !isShortMix(t):
		return false
	case p <= inQuote:
		return judgePassword(t, p)
	case p == inLine:
		return judgePassword(t, p) && !namesSecret(t)
	case p == inYAML:
		return standsAlone(t)
	}
	return judgePassword(t, p) && (len(t) >= 8 && mixed(t) || looksRandom(t))
}

// judgeSeed takes words in a row and what a password would be.
func judgeSeed(t string, p place) bool {
	switch {
	case isWords(t, 3):
		return p <= inLine && !describes(t) || isWords(t, 12)
	case hasSpace(t) || !hasAlnum(t) || startsGenerator(t, p) || fillsDatabase(t) || namesSecret(t) || isReference(t):
		return false
	}
	switch p {
	case inJSON:
		return true
	case inQuote, inLine:
		return isWord(t) || mixed(t) || strings.IndexByte(t, '_') < 0
	case inYAML:
		return standsAlone(t)
	case inINI:
		return mixed(t) && standsAlone(t)
	}
	return looksRandom(t) && mixed(t)
}

// startsGenerator: digits, outside of JSON any number of them, short variables, and words for where random numbers begin.
func startsGenerator(t string, p place) bool {
	if digitsEnd(t, 0) == len(t) {
		return p != inJSON || !isSecretNumber(t, seed)
	}
	return p != inJSON && (len(t) < 6 || len(t) < 20 && strings.HasPrefix(t, "0x")) || t == "random" || t == "time" || scopeWords[strings.ToLower(t)]
}

// fillsDatabase: seed.ts, db/seeds.
func fillsDatabase(t string) bool { return strings.ContainsAny(t, "./") && !looksRandom(t) }

// judgeGroup takes a word under credentials or secrets where JSON says it is a value; elsewhere these are titles.
func judgeGroup(t string, p place) bool {
	switch {
	case isTypeName(t):
		return false
	case p == inJSON && len(t) >= 4 && !hasSpace(t) && !isPath(t) && !isReference(t) && !namesSecret(t) && (isWord(t) || mixed(t)):
		return !isUUID(t)
	}
	return judgeWeak(t, p)
}

func judgeCookie(t string, p place) bool {
	if len(t) > maxHeader {
		return true
	}
	if eq := strings.IndexByte(t, '='); eq > 0 && eq+1 < len(t) && !hasSpace(t[:eq]) {
		value, _, _ := strings.Cut(t[eq+1:], ";")
		return !isReference(t[eq+1:]) && (p <= inINI || len(value) >= 6 && mixed(value))
	}
	switch p {
	case inJSON:
		return len(t) >= 4 && !strings.ContainsAny(t, " \\") && hasAlnum(t) && !namesHeader(t) && !scopeWords[strings.ToLower(t)] && !isPath(t) && !isExpression(t)
	case inLine, inYAML:
		return standsAlone(t) && !namesHeader(t)
	}
	return looksRandom(t)
}

// schemes stand before the credential in an authorization header.
var schemes = set(`bearer basic token apikey api-key bot digest negotiate ntlm hawk mac oauth dpop key ssws
	aws4-hmac-sha256 l402 lsat genie-key splunk zoho-oauthtoken discogs privatetoken jwt`)

// judgeAuthz leaves the scheme and takes the rest of v[a:b].
func judgeAuthz(v string, a, b int, p place) (int, int, bool) {
	t := v[a:b]
	if hasScheme(t) {
		c := skipBlanks(t, strings.IndexByte(t, ' '))
		return a + c, b, isCredential(t[c:], p)
	}
	if len(t) > maxHeader {
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
	return a, b, !isReference(t) && !strings.ContainsAny(t, " {}()[]<>") && (looksRandom(t) || looksChosen(t) && mixed(t))
}

// hasScheme says whether t begins with a scheme and a blank.
func hasScheme(t string) bool {
	sp := strings.IndexByte(t[:min(len(t), 32)], ' ')
	return sp > 0 && schemes[strings.ToLower(t[:sp])]
}

// namesHeader says whether what stands under a header is the name of one: Proxy-Authorization, X-Auth, cookieJar.
func namesHeader(t string) bool {
	k := (&Redactor{}).classify(t)
	return k == authz || k == cookie || !mixed(t) && (strings.HasPrefix(t, "X-") || namesSecret(t))
}

// isCredential says whether what follows a scheme is one: it is not another word of the sentence.
func isCredential(t string, p place) bool {
	switch {
	case t == "" || harmless(t, "") || isProse(t) && len(t) < 12:
		return false
	case isWord(t) && (stopWords[strings.ToLower(t)] || namesSecret(t)):
		return false
	case p <= inLine:
		return p == inJSON || t[0] != '$'
	}
	return !isReference(t)
}
