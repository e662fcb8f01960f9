package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// MaxPattern is the most bytes of a text or pattern to search for.
	MaxPattern = 1 << 10
	// maxProgram is the most instructions that a pattern may compile to: what a byte takes grows with them.
	maxProgram = 2000
	// maxRanges is how many matches of an excerpt are told.
	maxRanges = 10
	// maxSteps is the product of instructions and bytes up to which a pattern is matched in one go, which takes less than
	// half a second. Beyond, it is matched so that the end of the call ends it. Each match may take as long as the first, so
	// that only the first is found in texts of more than an eighth of that.
	maxSteps = 1 << 25
)

// ErrPattern says that a pattern does not compile or is too large. Comes in a canonical.FieldError.
var ErrPattern = errors.New("not a pattern that can be searched for")

// pattern is what a search looks for: a literal, or a regular expression. It may be used by one call alone.
type pattern struct {
	literal *folded
	re      *regexp.Regexp
	// program is how many instructions re has.
	program int
	// Every match of re holds needExact, as it stands, or needFolded, in some case of its letters; nil: nothing is known.
	needExact  []byte
	needFolded *folded
}

// textRange is a range of bytes of a text.
type textRange struct{ start, end int }

func parsePattern(req *transcriptv1.SearchRequest) (*pattern, error) {
	switch p := req.Pattern.(type) {
	case *transcriptv1.SearchRequest_Text:
		if err := checkPattern("text", p.Text); err != nil {
			return nil, err
		}
		return &pattern{literal: newFolded(p.Text)}, nil
	case *transcriptv1.SearchRequest_Regexp:
		if err := checkPattern("regexp", p.Regexp); err != nil {
			return nil, err
		}
		return compilePattern(p.Regexp)
	default:
		return nil, wire.ExactlyOne("text", "regexp")
	}
}

func checkPattern(field, s string) error {
	switch {
	case s == "":
		return wire.InvalidField(field, "must not be empty")
	case len(s) > MaxPattern:
		return wire.OverLimit(field, "must be at most %d bytes", MaxPattern)
	}
	return nil
}

func compilePattern(expr string) (*pattern, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, badPattern(err)
	}
	if instructions(tree) > 4*maxProgram {
		return nil, largePattern()
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, badPattern(err)
	}
	if len(program.Inst) > maxProgram {
		return nil, largePattern()
	}
	p := &pattern{program: len(program.Inst)}
	if p.re, err = regexp.Compile(expr); err != nil {
		return nil, badPattern(err)
	}
	if tree, err = syntax.Parse(expr, syntax.Perl); err != nil {
		return nil, badPattern(err)
	}
	p.need(required(tree))
	return p, nil
}

// instructions is about the instructions that a tree compiles to, repeats written out: a pattern of 1 KiB can stand for 400,000,
// which take 100 MiB to compile.
func instructions(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return 0
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return n * max(re.Min, re.Max)
	default:
		return n
	}
}

func largePattern() error {
	rule := fmt.Sprintf("must compile to at most %d instructions: repeat fewer times", maxProgram)
	return &canonical.FieldError{Field: "regexp", Rule: rule, Kind: ErrPattern}
}

// badPattern names the rule of the syntax that is broken, and nothing of the pattern.
func badPattern(err error) error {
	rule := "must be an RE2 pattern"
	var fault *syntax.Error
	if errors.As(err, &fault) {
		rule += ": " + string(fault.Code)
	}
	return &canonical.FieldError{Field: "regexp", Rule: rule, Kind: ErrPattern}
}

func (p *pattern) need(literal *syntax.Regexp) {
	switch {
	case literal == nil:
	case literal.Flags&syntax.FoldCase != 0:
		p.needFolded = newFolded(string(literal.Rune))
	default:
		p.needExact = []byte(string(literal.Rune))
	}
}

// required is the longest literal that every match of re holds; nil if none is known.
func required(re *syntax.Regexp) (longest *syntax.Regexp) {
	switch {
	case re.Op == syntax.OpLiteral:
		return re
	case re.Op == syntax.OpCapture, re.Op == syntax.OpPlus, re.Op == syntax.OpRepeat && re.Min > 0:
		return required(re.Sub[0])
	case re.Op != syntax.OpConcat:
		return nil
	}
	for _, sub := range re.Sub {
		if l := required(sub); l != nil && (longest == nil || len(l.Rune) > len(longest.Rune)) {
			longest = l
		}
	}
	return longest
}

// may tells whether bytes that hold texts, each in one piece, may hold a match; false is certain.
func (p *pattern) may(b []byte) bool {
	found := 0
	switch {
	case p.literal != nil:
		found, _ = p.literal.find(b, 0)
	case p.needFolded != nil:
		found, _ = p.needFolded.find(b, 0)
	case p.needExact != nil:
		found = bytes.Index(b, p.needExact)
	}
	return found >= 0
}

// find is the first matches in a text, at most maxRanges, none if there is none; only the first may be empty. The
// cause of the context's end if it ended meanwhile.
func (p *pattern) find(ctx context.Context, text string) (found []textRange, err error) {
	ranges, steps := maxRanges, len(text)*p.program
	switch {
	case p.literal != nil:
		return p.findLiteral([]byte(text)), nil
	case steps > maxSteps:
		return p.findSlowly(ctx, text)
	case steps > maxSteps/8:
		ranges = 1
	}
	for i, at := range p.re.FindAllStringIndex(text, ranges) {
		if i == 0 || at[0] < at[1] {
			found = append(found, textRange{at[0], at[1]})
		}
	}
	return found, nil
}

func (p *pattern) findLiteral(b []byte) (found []textRange) {
	for at := 0; len(found) < maxRanges; {
		start, end := p.literal.find(b, at)
		if start < 0 {
			break
		}
		found = append(found, textRange{start, end})
		at = end
	}
	return found
}

func (p *pattern) findSlowly(ctx context.Context, text string) ([]textRange, error) {
	at := p.re.FindReaderIndex(&textReader{ctx: ctx, text: text})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if at == nil {
		return nil, nil
	}
	return []textRange{{at[0], at[1]}}, nil
}

// textReader reads a text, which seems to end where the context does.
type textReader struct {
	ctx  context.Context
	text string
	at   int
	read int
}

func (r *textReader) ReadRune() (c rune, size int, err error) {
	if r.read++; r.at >= len(r.text) || r.read%256 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.text[r.at:])
	r.at += size
	return c, size, nil
}
