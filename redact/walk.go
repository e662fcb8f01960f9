package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// walker goes through a JSON value that is known to be valid and gathers spans.
type walker struct {
	r     *Redactor
	s     string
	depth int  // how many JSON strings the text is in
	row   bool // the next list is an element of a list
	spans []span
}

// inherits are members of an object under a secret name that hold the secret itself: {"password": {"value": "…"}}.
var inherits = chars.Words(`value val plain plaintext raw text content data current secret key token string`)

// nameMembers and valueMembers are the halves of a pair written as an object: {"name": "DB_PASSWORD", "value": "…"}.
var (
	nameMembers  = chars.Words(`name key field header variable var parameter param label id k n`)
	valueMembers = chars.Words(`value val content data v plaintext string secretvalue stringvalue`)
)

// about are the last words of members that say something of a secret without being one, and of JSON schemas.
var about = chars.Words(`type types title description label name names id ids kind source sources path file files filename uri url urls
	ref env required optional placeholder help hint message messages error errors code codes status pattern format minlength maxlength
	length username user users email host hostname domain port region zone created updated modified expires expiry expiration at
	on in scope scopes algorithm alg iss issuer audience provider service version permissions role roles policy policies samesite
	priority size unit mode state enabled project tenant tenants account namespace target external driver engine backend
	properties items enum examples oneof anyof allof comment comments note reason strength class method strategy
	flow flows language date time endpoint location profile charset age ttl timeout max min limit count interval
	integrity resolved license digest checksum sha256 labels annotations metadata tags aud azp sub exp iat nbf jti cid uid gid
	agent shape member members input output operation wrapper order nargs choices`)

// isAbout says whether a member of an object under a secret name is beside the secret: {"secrets": {"provider": "vault"}}.
func isAbout(member string) bool {
	w := splitWords(member)
	return w.n == 0 || about[string(w.word(w.n-1))]
}

// carries says whether members of an object under a name of kind k hold secrets though their names do not say so:
// {"secrets": {"db": "…"}}.
func carries(k kind) bool {
	return k == password || k == secret || k == group || k == phrase || k == seed || k == cookie || k == token
}

// actions begin the names of calls: {"GetPassword": {"shape": "…"}}.
var actions = chars.Words(`get list create delete update describe put batch post patch generate exchange validate verify revoke rotate
	associate disassociate sign import export`)

func isAction(name string) bool {
	w := splitWords(name)
	return w.n > 1 && actions[string(w.word(0))]
}

// value walks the value at i, which stands under a name of kind k, and gives its end.
func (w *walker) value(i int, k kind, name string) int {
	switch w.s[i] {
	case '{':
		return w.object(i, k, name)
	case '[':
		return w.array(i, k, name)
	case '"':
		end, _ := stringEnd(w.s, i)
		w.str(i+1, end-1, k, name)
		return end
	}
	end, _ := scalarEnd(w.s, i)
	if isSecretNumber(w.s[i:end], k) {
		w.spans = append(w.spans, span{i, end, `"` + Mark + `"`})
	}
	return end
}

// leastDigits of a whole number that is a secret under a name; none where there is no row. What is shorter counts, switches or
// limits something. A seed of less, or a date, starts a generator; longer ones do too, beside the parameters of a model.
var leastDigits = [kinds]int{pin: 4, password: 4, phrase: 4, authz: 4, cookie: 4, secret: 5, token: 6, pass: 6, group: 6, seed: 8, named: 1}

func isSecretNumber(t string, k kind) bool {
	if k == named && t != "" && (t[0] == '-' || chars.IsDigit(t[0])) {
		return true
	}
	digits := strings.TrimPrefix(t, "-")
	least := leastDigits[k]
	return least > 0 && len(digits) >= least && chars.DigitsEnd(digits, 0) == len(digits) && !(k == seed && isDate(digits))
}

// isDate: 20260301.
func isDate(digits string) bool {
	return len(digits) == 8 && (digits[:2] == "19" || digits[:2] == "20") && digits[4:6] <= "12" && digits[6:] <= "31"
}

func (w *walker) object(i int, k kind, name string) int {
	var p siblings
	i = chars.SkipSpace(w.s, i+1)
	for w.s[i] != '}' {
		end, _ := stringEnd(w.s, i)
		member := w.text(i+1, end-1)
		w.str(i+1, end-1, none, "")
		i, _ = keyEnd(w.s, i)
		i = chars.SkipSpace(w.s, w.member(i, k, name, member, &p))
		if w.s[i] == ',' {
			i = chars.SkipSpace(w.s, i+1)
		}
	}
	w.settle(&p)
	return i + 1
}

// member walks the value at i of a member and notes in p what it is to the others.
func (w *walker) member(i int, k kind, name, member string, p *siblings) int {
	under, as := w.r.classify(member), member
	folded := fold(member)
	if companyOf[folded]&excuses[under] != 0 {
		under = none // token_str
	}
	if (under == none || under == query) && k != none {
		under, as = inherited(k, name, member, folded), name
	}
	end := w.value(i, under, as)
	if w.s[i] == '"' {
		if nameMembers[folded] && p.name == none {
			p.nameText = w.text(i+1, end-1)
			p.name, p.nameAt = w.r.classify(p.nameText), span{start: i, end: end}
		}
		if valueMembers[folded] && p.start == 0 {
			p.start, p.end = i+1, end-1
		}
	}
	p.company |= companyOf[folded]
	p.doubt(under, i, end, w.s[i])
	return end
}

// inherited is the kind of a member whose own name says nothing, of an object under a name of kind k.
func inherited(k kind, name, member, folded string) kind {
	switch {
	case inherits[folded]:
		return k
	case !carries(k) || isAbout(member) || isAction(name) || k == cookie && !isPlural(name):
		return none
	case k == group:
		return password
	}
	return k
}

// text decodes the inside [a, b) of a string literal.
func (w *walker) text(a, b int) string {
	for i := a; i < b; i++ {
		if w.s[i] == '\\' {
			return unquote(w.s[a:b])
		}
	}
	return w.s[a:b]
}

// str judges the string whose inside is [a, b), or looks for secrets in it.
func (w *walker) str(a, b int, k kind, name string) {
	if a == b {
		return
	}
	if from, to, ok := w.judged(a, b, k, name); ok {
		w.spans = append(w.spans, span{from, to, ""})
		return
	}
	raw := w.s[a:b]
	decoded := w.text(a, b)
	spans := w.r.find(decoded, w.depth+1)
	if len(spans) > 0 {
		w.spans = append(w.spans, toRaw(raw, a, spans)...)
	}
}

// judged gives the part of the string with the inside [a, b) that is secret under a name of kind k.
func (w *walker) judged(a, b int, k kind, name string) (from, to int, ok bool) {
	if k == none || k == query {
		return 0, 0, false
	}
	decoded := w.text(a, b)
	from, to, ok = judge(k, decoded, inJSON, name)
	if !ok {
		return 0, 0, false
	}
	if len(decoded) == b-a {
		return a + from, a + to, true
	}
	sp := toRaw(w.s[a:b], a, []span{{from, to, ""}})[0]
	return sp.start, sp.end, true
}

const maxFold = 24

// fold lowers a short name and drops what is not a letter.
func fold(name string) string {
	if len(name) > maxFold {
		return ""
	}
	var buf [maxFold]byte
	n := 0
	for i := 0; i < len(name); i++ {
		if chars.IsAlpha(name[i]) {
			buf[n] = chars.Lower(name[i])
			n++
		}
	}
	return string(buf[:n])
}
