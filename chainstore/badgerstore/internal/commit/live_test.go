package commit

import (
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// What is named in segments that came after the collection began is not noted: it would be kept in memory, and nobody asks for it.
func TestNamingOfNewSegments(t *testing.T) {
	live := NewLive(5)
	n := &naming{ns: 2, last: live.Last(), seqs: map[uint64]uint32{}}
	for segment := range uint64(1000) {
		n.note(2, chainstore.Place{Segment: segment, Seq: 7})
	}
	if len(n.seqs) != 6 || n.seqs[5] != 7 {
		t.Errorf("it has noted %d segments, want those that the collection knows", len(n.seqs))
	}
}
