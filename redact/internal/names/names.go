package names

import (
	"strings"
)

// Own are names that mean secrets besides the built-in ones: their words, joined with '_'.
type Own map[string]bool

// NewOwn are the caller's names, in whatever spelling. One without words is none.
func NewOwn(spellings []string) Own {
	o := make(Own, len(spellings))
	for _, name := range spellings {
		if w := split(name); w.n > 0 {
			o[w.join(0)] = true
		}
	}
	return o
}

// Of says what a name means by the built-in rules.
func Of(name string) Kind { return Own(nil).Kind(name) }

// Kind says what a name means. Words before the last one narrow it; words that say nothing are cut from its end.
func (o Own) Kind(name string) Kind {
	if len(name) < 2 || len(name) > MaxName {
		return None
	}
	w := split(name)
	for ; w.n > 0; w.n-- {
		if o.has(&w) {
			return Named
		}
		if k, ok := w.kind(); ok {
			return k
		}
		if w.n == 1 || !tails[string(w.word(w.n-1))] {
			return None
		}
	}
	return None
}

// has says whether the words, or those from one of them on, are one of the names.
func (o Own) has(w *nameWords) bool {
	if len(o) == 0 {
		return false
	}
	for i := range w.n {
		if o[w.join(i)] {
			return true
		}
	}
	return false
}

// Noun is the last word of a name that says something of what it means, without digits at its end; "" if there is none.
func Noun(name string) string {
	w := split(name)
	for w.n > 1 && tails[string(w.word(w.n-1))] {
		w.n--
	}
	if w.n == 0 {
		return ""
	}
	return string(trimDigits(w.word(w.n - 1)))
}

// EndsName says whether the names of secrets can end in a word, in lower case.
func EndsName(w string) bool {
	_, ok := nouns[w]
	return ok
}

// IsPassword says whether a word, in lower case, is one for passwords.
func IsPassword(w string) bool { return nouns[w] == Password }

// NeedsFirst says whether t is the name of a secret, but not without its first letter, nor without its first word.
func NeedsFirst(t string) bool {
	is := func(t string) bool { return Of(t) != None }
	w := split(t)
	return is(t) && !is(t[1:]) && (w.n < 2 || !is(t[w.from[1]:]))
}

// SetterKind is what the words of a name mean that come after set or with. What it is a method of does not matter.
func (o Own) SetterKind(name string) Kind {
	name = name[strings.LastIndexByte(name, '.')+1:]
	w := split(name)
	if w.n < 2 || string(w.word(0)) != "set" && string(w.word(0)) != "with" {
		return None
	}
	return o.Kind(name[w.from[1]:])
}

// kind judges by the last word; false if it is not one that ends a secret's name.
func (w *nameWords) kind() (Kind, bool) {
	if w.n == 0 {
		return None, false
	}
	last := trimDigits(w.word(w.n - 1))
	k, ok := nouns[string(last)]
	if !ok {
		if k, ok = gluedKind(last); !ok && w.n > 1 && w.from[w.n-1] == w.to[w.n-2] {
			return gluedKind(w.buf[w.from[w.n-2]:w.to[w.n-1]]) // APIkey, which is split before the I
		}
		return k, ok
	}
	var before []byte
	if w.n > 1 {
		before = trimDigits(w.word(w.n - 2))
		if articles[string(before)] && string(last) != "pass" {
			before = nil
		}
	}
	return refine(k, string(last), before, w.n), true
}

func gluedKind(last []byte) (Kind, bool) {
	for _, g := range gluedByLast[last[len(last)-1]] {
		if len(last) >= len(g.end) && string(last[len(last)-len(g.end):]) == g.end {
			return g.k, true
		}
	}
	return None, false
}

// refine narrows what the last word says by the word before it (nil if there is none).
func refine(k Kind, last string, before []byte, n int) Kind {
	b := string(before)
	switch last {
	case "password", "passwords", "passwd", "pwd":
		return unless(notPassword[b], k)
	case "pass", "pw":
		if passWords[b] {
			return Password
		}
	case "token":
		if notToken[b] {
			return None
		}
		if b != "" {
			return Secret
		}
	case "tokens":
		return when(b != "" && StrongToken[b], Secret)
	case "secret":
		return unless(b == "is" || b == "has" || b == "no", k)
	case "key", "keys":
		if b == "session" {
			return Weak
		}
		return when(keyWords[b], Secret)
	case "code", "codes":
		return when(codeWords[b], PIN)
	case "phrase", "words":
		return when(phraseWords[b], Phrase)
	case "request", "req":
		return when(b == "payment" || b == "pay", Secret)
	case "word":
		return when(b == "pass", Password)
	case "image", "images":
		return when(b == "pre", Secret)
	case "header", "headers":
		return headerKind(b)
	case "seed", "seeds":
		return unless(notSeed[b], k)
	case "hash":
		return when(b == "password" || b == "passwd", Secret)
	case "id", "pin":
		return unless(n > 2, k)
	case "cookie", "cookies":
		return unless(b == "has" || b == "no", k)
	}
	return k
}

// headerKind is what a header holds, as far as its value is a secret.
func headerKind(b string) Kind {
	switch nouns[b] {
	case Authz, Cookie:
		return nouns[b]
	default:
		return when(b == "auth", Authz)
	}
}

func unless(not bool, k Kind) Kind {
	if not {
		return None
	}
	return k
}

func when(is bool, k Kind) Kind { return unless(!is, k) }
