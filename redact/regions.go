package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// region is where names that say nothing stand over values of a kind, outside of JSON: {'secrets': {'db': '…'}}, and the
// lines below "secrets:" that are further in.
type region struct {
	kind names.Kind
	end  int
}

// maxList bounds a list of words.
const maxList = 2048

// enter begins a region with what is under the name at i, whose value begins at j; or takes a phrase that is a list. It gives
// the offset to go on from, or 0.
func (sc *scanner) enter(i, j int, k names.Kind) int {
	if i < sc.within.end || !names.Carries(k) {
		return 0
	}
	if j < len(sc.s) && sc.s[j] == '[' {
		return sc.wordList(j+1, min(len(sc.s), j+maxList), k)
	}
	end := sc.underEnd(i, j)
	if end <= j {
		return 0
	}
	if next := sc.wordList(j, min(end, j+maxList), k); next > 0 {
		return next
	}
	if k == names.Group || k == names.Cookie || k == names.Password {
		sc.within = region{k, end}
		if k == names.Group {
			sc.within.kind = names.Secret
		}
	}
	return 0
}

// underEnd gives the end of a dictionary's literal at j, or of the lines from j on that are further in than the name at i.
func (sc *scanner) underEnd(i, j int) int {
	s := sc.s
	if j < len(s) && s[j] == '{' {
		if n := strings.IndexByte(s[j:min(len(s), j+chars.MaxBare)], '}'); n > 0 {
			return j + n
		}
		return min(len(s), j+chars.MaxBare)
	}
	if !sc.page.LineStart(i) {
		return 0
	}
	return lines.Deeper(s, i, j)
}

// wordList takes the words of a phrase between i and end: quoted or not, with commas, or each on a line of its own.
func (sc *scanner) wordList(i, end int, k names.Kind) int {
	if k != names.Phrase && k != names.Seed {
		return 0
	}
	first := len(sc.spans)
	var words values.WordList
	to := i
	for i < end {
		if strings.IndexByte(" \t\r\n,'\"-\\", sc.s[i]) >= 0 {
			i++
			continue
		}
		at := i
		for i < end && chars.IsAlpha(sc.s[i]) {
			i++
		}
		if i == at || i < len(sc.s) && (chars.IsAlnum(sc.s[i]) || strings.IndexByte(":=(._", sc.s[i]) >= 0) {
			break
		}
		words.Add(sc.s[at:i])
		sc.spans = append(sc.spans, edit.Span{Start: at, End: i})
		to = i
	}
	if !words.IsPlain() || !words.IsPhrase(k) {
		sc.spans = sc.spans[:first]
		return 0
	}
	return to
}

// inRegion gives the kind of the word [i, end) if it is a key of the region that the scanner is in.
func (sc *scanner) inRegion(i, end int) names.Kind {
	s := sc.s
	if i >= sc.within.end {
		return names.None
	}
	name := s[i:end]
	if end < len(s) && chars.IsQuote(s[end]) && i > 0 && s[i-1] == s[end] {
		end++
	} else if !sc.page.LineStart(i) && !(i > 0 && (s[i-1] == '{' || s[i-1] == ' ')) {
		return names.None
	}
	if !strings.HasPrefix(s[end:], ":") || strings.HasPrefix(s[end:], "://") || names.IsAbout(name) {
		return names.None
	}
	return sc.within.kind
}
