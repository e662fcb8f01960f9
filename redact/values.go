package redact

import "strings"

// place is where a value stands; it says how much the name before it can be believed.
type place uint8

const (
	inJSON  place = iota // a string member of a JSON object
	inQuote              // a string literal after a name: password: "…"
	inLine               // .env lines, query strings, connection strings, flags: a value and nothing else
	inYAML               // the only word of a line after "name: "
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
	if k == authz {
		return judgeAuthz(v, a, b, p)
	}
	if harmless(t, name) {
		return 0, 0, false
	}
	return a, b, judgers[k](t, p)
}

// judgers say whether a trimmed value that is no placeholder is secret in its place.
var judgers = [...]func(t string, p place) bool{
	none:     func(string, place) bool { return false },
	password: judgePassword,
	secret:   judgeSecret,
	token:    judgeToken,
	weak:     judgeWeak,
	pin:      judgePin,
	phrase:   judgePhrase,
	cookie:   judgeCookie,
	query:    func(t string, p place) bool { return p == inLine && looksRandom(t) },
	authz:    func(string, place) bool { return false }, // judgeAuthz
	named:    func(string, place) bool { return true },
}

func judgePassword(t string, p place) bool {
	switch p {
	case inJSON, inQuote:
		return isWords(t, 4) || !isProse(t) && !isPath(t)
	case inLine:
		return !isPath(t) && (!isExpression(t) || isDotted(t))
	case inYAML:
		return !isReference(t) && !isPath(t) && !isTypeName(t)
	case inText:
		return !isReference(t) && (looksChosen(t) || looksRandom(t))
	}
	return looksChosen(t) && mixed(t) && !isReference(t) || looksRandom(t)
}

func judgeSecret(t string, p place) bool {
	if isPath(t) && !looksRandom(t) {
		return false
	}
	switch p {
	case inJSON:
		return !hasSpace(t) || isShortMix(t)
	case inQuote:
		return isShortMix(t) || !hasSpace(t) && len(t) >= 4 && (isAlnumText(t) || looksChosen(t) || looksRandom(t))
	case inLine:
		return !isExpression(t) && (len(t) >= 4 || looksChosen(t))
	case inYAML:
		return !isReference(t) && (len(t) >= 6 && mixed(t) || looksRandom(t) || len(t) >= 20 && isWord(t))
	}
	return len(t) >= 8 && !isReference(t) && (looksRandom(t) || looksChosen(t) && mixed(t) || isOneCaseKey(t))
}

func judgeToken(t string, p place) bool {
	if hasSpace(t) || isPath(t) && !looksRandom(t) || isReference(t) && p != inJSON {
		return false
	}
	switch p {
	case inJSON:
		return len(t) >= 3 && hasAlnum(t) && !(len(t) < 8 && isWord(t))
	case inQuote, inLine:
		return len(t) >= 6 && (mixed(t) || looksRandom(t) || len(t) >= 16)
	}
	return len(t) >= 8 && (looksRandom(t) || looksChosen(t) && mixed(t))
}

func judgeWeak(t string, p place) bool {
	if len(t) >= 20 && hasPrefixFold(t, "ln") && isAlnumText(t) && mixed(t) {
		return true // an invoice
	}
	if p == inJSON || p == inLine || p == inQuote {
		return looksRandom(t) && !isUUID(t) || isWords(t, 12) || looksChosen(t) && mixed(t) && !isReference(t) && !isPath(t) && hasMark(t)
	}
	return looksRandom(t) && mixed(t) && !isUUID(t) && !isReference(t) || isWords(t, 12)
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

// judgePhrase takes words in a row, or what a password would be.
func judgePhrase(t string, p place) bool {
	if isWords(t, 3) {
		return p == inJSON || p == inQuote || p == inLine || isWords(t, 12)
	}
	return judgePassword(t, p) && (len(t) >= 8 && mixed(t) || looksRandom(t))
}

func judgeCookie(t string, p place) bool {
	if len(t) > maxHeader {
		return true
	}
	if eq := strings.IndexByte(t, '='); eq > 0 && eq+1 < len(t) {
		return p <= inLine && !isReference(t[eq+1:])
	}
	return looksRandom(t) || p == inJSON && len(t) >= 8 && isAlnumText(t) && mixed(t)
}

// schemes stand before the credential in an authorization header.
var schemes = set(`bearer basic token apikey api-key bot digest negotiate ntlm hawk mac oauth dpop key ssws
	aws4-hmac-sha256 l402 lsat genie-key splunk zoho-oauthtoken discogs privatetoken jwt`)

// judgeAuthz leaves the scheme and takes the rest of v[a:b].
func judgeAuthz(v string, a, b int, p place) (int, int, bool) {
	t := v[a:b]
	if sp := strings.IndexByte(t[:min(len(t), 32)], ' '); sp > 0 && schemes[strings.ToLower(t[:sp])] {
		c := sp + 1
		for c < len(t) && t[c] == ' ' {
			c++
		}
		if c == len(t) || harmless(t[c:], "") || isProse(t[c:]) && c+12 > len(t) {
			return 0, 0, false
		}
		if p == inLine {
			return a + c, b, !stopWords[strings.ToLower(t[c:])] && !(isWord(t[c:]) && len(t)-c < 12) && t[c] != '$'
		}
		return a + c, b, p == inJSON || !isReference(t[c:])
	}
	if len(t) > maxHeader {
		return a, b, true
	}
	if harmless(t, "authorization") || isReference(t) && p != inJSON || schemes[strings.ToLower(t)] {
		return 0, 0, false
	}
	return a, b, !hasSpace(t) && (looksRandom(t) || looksChosen(t) && mixed(t))
}
