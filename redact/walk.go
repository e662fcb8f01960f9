package redact

// walker goes through a JSON value that is known to be valid and gathers spans.
type walker struct {
	r     *Redactor
	s     string
	depth int // how many JSON strings the text is in
	spans []span
}

// inherits are members of an object under a secret name that hold the secret itself: {"password": {"value": "…"}}.
var inherits = set(`value val plain plaintext raw text content data current secret key token string`)

// nameMembers and valueMembers are the halves of a pair written as an object: {"name": "DB_PASSWORD", "value": "…"}.
var (
	nameMembers  = set(`name key field header variable var parameter param label id k n`)
	valueMembers = set(`value val content data v plaintext string secretvalue stringvalue`)
)

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

// isSecretNumber: whole numbers of four digits or more under the name of a pin or a password, any under a caller's name.
func isSecretNumber(t string, k kind) bool {
	if k == named {
		return digitsEnd(t, 0) > 0 || t[0] == '-'
	}
	return (k == pin || k == password) && len(t) >= 4 && len(t) <= 20 && digitsEnd(t, 0) == len(t)
}

func (w *walker) array(i int, k kind, name string) int {
	i = skipSpace(w.s, i+1)
	words := 0
	first := len(w.spans)
	from := i
	for w.s[i] != ']' {
		if w.s[i] == '"' {
			words++
		}
		i = skipSpace(w.s, w.value(i, elementKind(k), name))
		if w.s[i] == ',' {
			i = skipSpace(w.s, i+1)
		}
	}
	if k == phrase && words >= 11 {
		w.phraseWords(from, i, first)
	}
	return i + 1
}

// elementKind: digits in a list are no pin.
func elementKind(k kind) kind {
	if k == pin {
		return weak
	}
	return k
}

// phraseWords takes every string of a list that is a phrase, word by word. Spans from first on are those of the list.
func (w *walker) phraseWords(i, end, first int) {
	w.spans = w.spans[:first]
	for i < end {
		at := i
		i = w.value(i, none, "")
		if w.s[at] == '"' && i-at > 4 && w.s[at+1:i-1] != Mark {
			w.spans = append(w.spans[:min(len(w.spans), w.before(at))], span{at + 1, i - 1, ""})
		}
		if i = skipSpace(w.s, i); i < end && w.s[i] == ',' {
			i = skipSpace(w.s, i+1)
		}
	}
}

// before gives how many spans end before at.
func (w *walker) before(at int) int {
	n := len(w.spans)
	for n > 0 && w.spans[n-1].start >= at {
		n--
	}
	return n
}

// pair is what an object's members say together.
type pair struct {
	name     kind // what the value of its name member means as a name
	nameText string
	start    int // inside of the string under value; 0 if there is none
	end      int
	spans    int // spans before that string
	logprob  bool
	token    int // spans before the member "token"; -1 if there is none
	tokenEnd int // and after it
}

func (w *walker) object(i int, k kind, name string) int {
	p := pair{token: -1}
	i = skipSpace(w.s, i+1)
	for w.s[i] != '}' {
		end, _ := stringEnd(w.s, i)
		member := w.text(i+1, end-1)
		w.str(i+1, end-1, none, "")
		i, _ = keyEnd(w.s, i)
		i = skipSpace(w.s, w.member(i, k, name, member, &p))
		if w.s[i] == ',' {
			i = skipSpace(w.s, i+1)
		}
	}
	w.settle(&p)
	return i + 1
}

// member walks the value at i of a member and notes in p what it is to the others.
func (w *walker) member(i int, k kind, name, member string, p *pair) int {
	under := w.r.classify(member)
	as := member
	folded := fold(member)
	if under == none && k != none && inherits[folded] {
		under, as = k, name
	} else if under == none && (k == weak || k == secret) && w.s[i] == '"' {
		under = weak
	}
	before := len(w.spans)
	end := w.value(i, under, as)
	if w.s[i] == '"' {
		if nameMembers[folded] && p.name == none {
			p.nameText = w.text(i+1, end-1)
			p.name = w.r.classify(p.nameText)
		}
		if valueMembers[folded] && p.start == 0 {
			p.start, p.end, p.spans = i+1, end-1, before
		}
	}
	if under == token && p.token < 0 {
		p.token, p.tokenEnd = before, len(w.spans)
	}
	p.logprob = p.logprob || folded == "logprob" || folded == "logprobs" || folded == "lexeme" || folded == "bytes"
	return end
}

// settle judges the value of a name-value pair, and gives back the tokens of a model, which have a logprob beside them.
func (w *walker) settle(p *pair) {
	if p.logprob && p.token >= 0 {
		w.spans = append(w.spans[:p.token], w.spans[p.tokenEnd:]...)
		return
	}
	if p.name == none || p.start == 0 {
		return
	}
	a, b, ok := w.judged(p.start, p.end, p.name, p.nameText)
	if !ok {
		return
	}
	rest := p.spans
	for rest < len(w.spans) && w.spans[rest].start < p.end {
		rest++
	}
	tail := append([]span{{a, b, ""}}, w.spans[rest:]...)
	w.spans = append(w.spans[:p.spans], tail...)
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

// fold lowers a short name and drops what is not a letter.
func fold(name string) string {
	if len(name) > 16 {
		return ""
	}
	var buf [16]byte
	n := 0
	for i := 0; i < len(name); i++ {
		if isAlpha(name[i]) {
			buf[n] = lower(name[i])
			n++
		}
	}
	return string(buf[:n])
}
