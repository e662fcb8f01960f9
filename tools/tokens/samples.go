package main

import (
	"hash/fnv"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	perRule = 40 // tokens made for each rule
	tries   = 20 // for each of them
	more    = 8  // how many more than the least where an expression sets no upper bound
)

// samples are tokens that the rule knows where they stand alone, the same in every run; none where it needs a name beside
// them.
func (r *rule) samples() (tokens []string) {
	tree, err := syntax.Parse(r.source, syntax.Perl)
	if err != nil {
		return nil
	}
	seed := fnv.New64a()
	seed.Write([]byte(r.id))
	m := maker{source: r.source, random: rand.New(rand.NewPCG(seed.Sum64(), 1))}
	for range perRule * tries {
		if len(tokens) == perRule {
			break
		}
		var text strings.Builder
		m.write(&text, tree)
		if token := r.secret(text.String()); token != "" && r.secret(token) == token && isToken(token) {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) < perRule/2 {
		return nil
	}
	return tokens
}

// isToken leaves out keys in PEM, URLs with a password and other texts of several words, which are no token forms, and what is
// too short to be known by itself.
func isToken(t string) bool {
	return len(t) >= 16 && !strings.ContainsAny(t, " \t\r\n\"'`<>{}\\") && !strings.Contains(t, "-----")
}

// maker makes texts that an expression matches.
type maker struct {
	source string
	random *rand.Rand
}

func (m *maker) write(out *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(m.literal(re))
	case syntax.OpCharClass:
		out.WriteByte(m.char(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('.') // mostly one that its author did not escape
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			m.write(out, sub)
		}
	case syntax.OpAlternate:
		m.write(out, re.Sub[m.random.IntN(len(re.Sub))])
	case syntax.OpQuest:
		m.repeat(out, re.Sub[0], 0, 1)
	case syntax.OpStar:
		m.repeat(out, re.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.repeat(out, re.Sub[0], 1, -1)
	case syntax.OpRepeat:
		m.repeat(out, re.Sub[0], re.Min, re.Max)
	default: // what matches no text of its own
	}
}

func (m *maker) repeat(out *strings.Builder, re *syntax.Regexp, least, most int) {
	if most < 0 {
		most = least + more
	}
	for range least + m.random.IntN(most-least+1) {
		m.write(out, re)
	}
}

// literal gives a literal as the expression's author wrote it: where case does not matter, the parser has changed its case.
func (m *maker) literal(re *syntax.Regexp) string {
	text := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		return text
	}
	text = strings.ToLower(text)
	if i := strings.Index(strings.ToLower(m.source), text); i >= 0 {
		return m.source[i : i+len(text)]
	}
	return text
}

// char picks one of the class, letters and digits first where it has other signs beyond those of tokens.
func (m *maker) char(class []rune) byte {
	var chars []byte
	for c := byte(' '); c < 0x7f; c++ {
		if inClass(class, rune(c)) {
			chars = append(chars, c)
		}
	}
	if len(chars) == 0 {
		return '\n'
	}
	if usual := slices.DeleteFunc(slices.Clone(chars), isUnusual); len(usual) > 0 {
		chars = usual
	}
	return chars[m.random.IntN(len(chars))]
}

func isUnusual(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return false
	}
	return strings.IndexByte("_-.+/=~%", c) < 0
}

func inClass(class []rune, c rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= c && c <= class[i+1] {
			return true
		}
	}
	return false
}
