package jsonwalk

import (
	"slices"
	"sort"
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
	"github.com/transcriptd/transcriptd/redact/internal/names"
)

// siblings is what the members of an object say of one another: name and value of a pair, and company in which a name
// means something else.
type siblings struct {
	name     names.Kind // what the value of its name member means as a name
	nameText string
	nameAt   edit.Span
	start    int // inside of the string under value; 0 if there is none
	end      int
	company  company
	doubts   [names.Kinds]edit.Span // of each kind the first value that company may make harmless
}

// company is what stands beside a value and takes the secret out of its name.
type company uint8

const (
	model    company = 1 << iota // {"token": "the", "logprob": -0.3}
	lexer                        // {"token": "return", "line": 3}, {"token": "USDC", "chain": 1}
	sampling                     // {"seed": 3844321984, "temperature": 0.2}
	assembly                     // {"mnemonic": "vfmadd231ps", "operands": "…"}
	tests                        // {"pass": 1234567, "fail": 0}
)

// companyOf says which company a member's name, folded, is.
var companyOf = func() map[string]company {
	m := map[string]company{}
	for is, names := range map[company]string{
		model:    `logprob logprobs lexeme lemma bytes tokenid tokenstr toptokens startoffset endoffset prob probability`,
		lexer:    `line lineno linenumber column col freq frequency chain chainid symbol decimals`,
		tests:    `fail failed failures total skip skipped passed tests`,
		assembly: `operands opstr opcode`,
		sampling: `temperature topp topk minp maxtokens maxnewtokens maxcompletiontokens maxoutputtokens frequencypenalty
			presencepenalty repetitionpenalty repeatpenalty numpredict numctx steps numinferencesteps guidancescale cfgscale cfg
			sampler samplername scheduler width height negativeprompt prompt messages stop epochs batchsize learningrate lr model`,
	} {
		for name := range chars.Words(names) {
			m[name] |= is
		}
	}
	return m
}()

// excuses is the company that matters to names of a kind.
var excuses = [names.Kinds]company{names.Token: model | lexer, names.Seed: sampling, names.Phrase: assembly, names.Pass: tests}

// excused says whether company makes the value t under a name of kind k harmless: no phrase, no password and nothing that
// looks random.
func excused(k names.Kind, t string, c company) bool {
	switch {
	case c&excuses[k] == 0:
		return false
	case k == names.Token:
		return !looks.Random(t) && (c&model != 0 || !looks.Mixed(t))
	case k == names.Phrase:
		return !chars.HasSpace(t)
	}
	return chars.DigitsEnd(t, 0) == len(t)
}

// doubt notes the value [start, end) under a name of kind k, if it is a string or a number, which begin with c.
func (p *siblings) doubt(k names.Kind, start, end int, c byte) {
	if excuses[k] != 0 && p.doubts[k].End == 0 && (c == '"' || c == '-' || chars.IsDigit(c)) {
		p.doubts[k] = edit.Span{Start: start, End: end}
	}
}

// settle gives back what company excuses, and judges the value of a pair.
func (w *Walker) settle(p *siblings) {
	for _, k := range [...]names.Kind{names.Token, names.Seed, names.Phrase, names.Pass} {
		at := p.doubts[k]
		if p.company&excuses[k] != 0 && at.End > 0 && excused(k, strings.Trim(w.s[at.Start:at.End], `"-`), p.company) {
			w.giveBack(at.Start, at.End)
		}
	}
	if p.name == names.None || p.start == 0 {
		return
	}
	w.giveBack(p.nameAt.Start, p.nameAt.End)
	if a, b, ok := w.judged(p.start, p.end, p.name, p.nameText); ok {
		w.put(p.start, p.end, edit.Span{Start: a, End: b})
	}
}

// giveBack leaves of what was found in the value [start, end) what is secret without a name.
func (w *Walker) giveBack(start, end int) {
	again := Walker{names: w.names, find: w.find, s: w.s, depth: w.depth}
	w.put(start, end, again.Value(start, names.None, "")...)
}

// put replaces the spans within [start, end) of the text.
func (w *Walker) put(start, end int, with ...edit.Span) {
	from := sort.Search(len(w.spans), func(i int) bool { return w.spans[i].Start >= start })
	to := from
	for to < len(w.spans) && w.spans[to].Start < end {
		to++
	}
	w.spans = slices.Replace(w.spans, from, to, with...)
}
