package search

import (
	"strings"
	"unicode/utf8"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// excerpt is the part of a text that is shown of a hit: at most size code points, about a third of what is not the match
// before it. found are the matches in the text; around is where the excerpt lies, the first of them if there is one.
func excerpt(text string, around textRange, found []textRange, size int) (string, []*transcriptv1.TextRange) {
	start, end := around.start, around.start
	left := size
	for ; left > 0 && end < around.end; left-- {
		end += runeAt(text[end:])
	}
	for before := left / 3; before > 0 && start > 0; before, left = before-1, left-1 {
		start -= runeBefore(text[:start])
	}
	for ; left > 0 && end < len(text); left-- {
		end += runeAt(text[end:])
	}
	for ; left > 0 && start > 0; left-- {
		start -= runeBefore(text[:start])
	}
	return strings.Clone(text[start:end]), within(text, textRange{start, end}, found)
}

func runeAt(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

func runeBefore(text string) int {
	_, n := utf8.DecodeLastRuneInString(text)
	return n
}

// within are the matches in a part of a text, cut to it, in code points from its start. None begins before it.
func within(text string, part textRange, found []textRange) (ranges []*transcriptv1.TextRange) {
	for _, m := range found {
		if m.end = min(m.end, part.end); m.start >= m.end {
			continue
		}
		first := utf8.RuneCountInString(text[part.start:m.start])
		ranges = append(ranges, &transcriptv1.TextRange{
			Start: int32(first), End: int32(first + utf8.RuneCountInString(text[m.start:m.end])),
		})
	}
	return ranges
}

// redactedAt is where the byte of a text lies once the text is redacted; at the mark where it is a secret's, or before
// where that cannot be told.
func redactedAt(text, redacted string, at int) int {
	old, now := 0, 0
	for {
		piece, rest, more := strings.Cut(redacted[now:], redact.Mark)
		skipped := strings.Index(text[old:], piece)
		if skipped < 0 || old+skipped > at {
			return now
		}
		old += skipped
		if at < old+len(piece) || !more {
			return min(now+at-old, len(redacted))
		}
		old += len(piece)
		now = len(redacted) - len(rest)
	}
}
