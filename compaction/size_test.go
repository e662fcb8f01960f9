package compaction

import (
	"testing"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// A message made shorter counts no more bytes than it has, and its tokens are those of so many bytes, though its note tells
// more: what is made has no note.
func TestShortSizeIsNeverMoreThanFull(t *testing.T) {
	p := Policy{MaxReplyChars: 100, MaxTokens: 1}
	m := &runloop.Brief{Length: 160, TextOctets: 122, TextPoints: 121, Note: runloop.Note{Tokens: 70, HasTokens: true}}
	full := fullSize(m)
	if full != (size{160, 70}) {
		t.Fatalf("in full: %+v", full)
	}
	if short := p.shortSize(reply|shorter, m, full); short != (size{160, 40}) {
		t.Errorf("cut, with room for wide characters: %+v", short)
	}
}
