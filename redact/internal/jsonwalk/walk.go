// Package jsonwalk goes through JSON values and gathers what is secret in them: by the names of members, of those around them, and
// of those beside them. What strings hold is looked at by its caller.
package jsonwalk

import (
	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/jsontext"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// Walker goes through a JSON value that is known to be valid and gathers spans.
type Walker struct {
	names names.Own
	find  func(s string, depth int) []edit.Span // what is secret in a string
	s     string
	depth int  // how many JSON strings the text is in
	row   bool // the next list is an element of a list
	spans []edit.Span
}

// New returns a walker of a text that is in so many JSON strings. find gives what is secret in what strings hold.
func New(s string, depth int, own names.Own, find func(s string, depth int) []edit.Span) *Walker {
	return &Walker{names: own, find: find, s: s, depth: depth}
}

// Value gives what is secret in the JSON value at i, which stands under a name of kind k.
func (w *Walker) Value(i int, k names.Kind, name string) []edit.Span {
	w.value(i, k, name)
	return w.spans
}

// String gives what is secret in the string with the inside [a, b).
func (w *Walker) String(a, b int) []edit.Span {
	w.str(a, b, names.None, "")
	return w.spans
}

// value walks the value at i, which stands under a name of kind k, and gives its end.
func (w *Walker) value(i int, k names.Kind, name string) int {
	switch w.s[i] {
	case '{':
		return w.object(i, k, name)
	case '[':
		return w.array(i, k, name)
	case '"':
		end, _ := jsontext.StringEnd(w.s, i)
		w.str(i+1, end-1, k, name)
		return end
	}
	end, _ := jsontext.ScalarEnd(w.s, i)
	if values.IsSecretNumber(w.s[i:end], k) {
		w.spans = append(w.spans, edit.Span{Start: i, End: end, Text: `"` + edit.Mark + `"`})
	}
	return end
}

func (w *Walker) object(i int, k names.Kind, name string) int {
	var p siblings
	i = chars.SkipSpace(w.s, i+1)
	for w.s[i] != '}' {
		end, _ := jsontext.StringEnd(w.s, i)
		member := w.text(i+1, end-1)
		w.str(i+1, end-1, names.None, "")
		i, _ = jsontext.KeyEnd(w.s, i)
		i = chars.SkipSpace(w.s, w.member(i, k, name, member, &p))
		if w.s[i] == ',' {
			i = chars.SkipSpace(w.s, i+1)
		}
	}
	w.settle(&p)
	return i + 1
}

// member walks the value at i of a member and notes in p what it is to the others.
func (w *Walker) member(i int, k names.Kind, name, member string, p *siblings) int {
	under, as := w.names.Kind(member), member
	folded := names.Fold(member)
	if companyOf[folded]&excuses[under] != 0 {
		under = names.None // token_str
	}
	if (under == names.None || under == names.Query) && k != names.None {
		under, as = inherited(k, name, member, folded), name
	}
	end := w.value(i, under, as)
	if w.s[i] == '"' {
		if names.NameMembers[folded] && p.name == names.None {
			p.nameText = w.text(i+1, end-1)
			p.name, p.nameAt = w.names.Kind(p.nameText), edit.Span{Start: i, End: end}
		}
		if names.ValueMembers[folded] && p.start == 0 {
			p.start, p.end = i+1, end-1
		}
	}
	p.company |= companyOf[folded]
	p.doubt(under, i, end, w.s[i])
	return end
}

// inherited is the kind of a member whose own name says nothing, of an object under a name of kind k.
func inherited(k names.Kind, name, member, folded string) names.Kind {
	switch {
	case names.Inherits[folded]:
		return k
	case !names.Carries(k) || names.IsAbout(member) || names.IsAction(name) || k == names.Cookie && !names.IsPlural(name):
		return names.None
	case k == names.Group:
		return names.Password
	}
	return k
}

// text decodes the inside [a, b) of a string literal.
func (w *Walker) text(a, b int) string {
	for i := a; i < b; i++ {
		if w.s[i] == '\\' {
			return jsontext.Unquote(w.s[a:b])
		}
	}
	return w.s[a:b]
}

// str judges the string whose inside is [a, b), or looks for secrets in it.
func (w *Walker) str(a, b int, k names.Kind, name string) {
	if a == b {
		return
	}
	if from, to, ok := w.judged(a, b, k, name); ok {
		w.spans = append(w.spans, edit.Span{Start: from, End: to})
		return
	}
	raw := w.s[a:b]
	decoded := w.text(a, b)
	spans := w.find(decoded, w.depth+1)
	if len(spans) > 0 {
		w.spans = append(w.spans, jsontext.ToRaw(raw, a, spans)...)
	}
}

// judged gives the part of the string with the inside [a, b) that is secret under a name of kind k.
func (w *Walker) judged(a, b int, k names.Kind, name string) (from, to int, ok bool) {
	if k == names.None || k == names.Query {
		return 0, 0, false
	}
	decoded := w.text(a, b)
	from, to, ok = values.Judge(k, decoded, values.InJSON, name)
	if !ok {
		return 0, 0, false
	}
	if len(decoded) == b-a {
		return a + from, a + to, true
	}
	sp := jsontext.ToRaw(w.s[a:b], a, []edit.Span{{Start: from, End: to}})[0]
	return sp.Start, sp.End, true
}
