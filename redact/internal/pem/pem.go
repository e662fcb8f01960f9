// Package pem finds where private keys in PEM end, also those that are cut off or have something before each line.
package pem

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
)

// Text is a text in which private keys in PEM are looked for.
type Text struct {
	s    string
	next int // where the next "-----END" is, from from on; -1: there is none
	from int // what next was looked for from; -1: nothing was
}

func New(s string) Text { return Text{s: s, from: -1} }

// KeyEnd gives the end of the private key in PEM that begins at i, or 0 if it is no private key. A key that is cut off
// ends with its last character of base64.
func (p *Text) KeyEnd(i int) int {
	s := p.s
	label := i + len("-----BEGIN ")
	end := label
	for end < len(s) && (chars.IsUpper(s[end]) || chars.IsDigit(s[end]) || s[end] == ' ') {
		end++
	}
	if !strings.Contains(s[label:end], "PRIVATE KEY") || !strings.HasPrefix(s[end:], "-----") {
		return 0
	}
	end += len("-----")
	if closes := p.nextEnd(end); closes >= 0 && !strings.Contains(s[end:min(closes, end+1<<16)], "-----BEGIN") && closes-end < 1<<16 {
		to := closes + len("-----END")
		for to < len(s) && (chars.IsUpper(s[to]) || chars.IsDigit(s[to]) || s[to] == ' ') {
			to++
		}
		for n := 0; n < 5 && to < len(s) && s[to] == '-'; n++ {
			to++
		}
		return to
	}
	front := lines.Front(s, i)
	end = nextKeyLine(s, end, front)
	if first := strings.IndexFunc(s[end:min(len(s), end+16)], func(r rune) bool { return r >= 0x80 || !chars.InBase64(byte(r)) }); first >= 0 || end+16 > len(s) {
		return 0 // the words alone
	}
	for {
		end = chars.Base64End(s, end, len(s))
		next := nextKeyLine(s, end, front)
		if next == end || next == len(s) || !chars.InBase64(s[next]) {
			return end
		}
		end = next
	}
}

// nextKeyLine gives where the next line of a key begins after the one that ends at j, without what stands before the text of
// each; j if there is none.
func nextKeyLine(s string, j int, front string) int {
	if strings.HasPrefix(s[j:], `\n`) {
		return j + len(`\n`)
	}
	next := lines.Next(s, j, front)
	if next > j {
		return chars.SkipSpace(s, next)
	}
	return j
}

// nextEnd gives the next "-----END" from i on. It is looked for once between two of them, so that the time stays linear.
func (p *Text) nextEnd(i int) int {
	if p.from < 0 || p.next >= 0 && p.next < i {
		p.from = i
		p.next = strings.Index(p.s[i:], "-----END")
		if p.next >= 0 {
			p.next += i
		}
	}
	return p.next
}
