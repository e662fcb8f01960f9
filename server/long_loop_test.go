package server_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// readsOfALongLoop is what a window over a loop of 1,000 calls, each message a node, asked of the database when 5 results were kept by
// count.
var readsOfALongLoop = cost{gets: 2, seeks: 3, nexts: 4113}

// TestReadsOfALongLoop: what is cleared is found in headers, so that a window over one long loop reads no more than each row twice, for the
// plan and for what is shown, whatever is cleared.
func TestReadsOfALongLoop(t *testing.T) {
	c := openTurns(t, t.TempDir(), uncached)
	var nodes []*transcriptv1.NewNode
	for _, m := range longLoop(1000) {
		nodes = append(nodes, node(m))
	}
	c.put("loop", nodes...)
	for name, p := range map[string]*Policy{
		"no policy": nil, "coding": {Preset: presetCoding}, "long": {Preset: presetLong}, "frugal": {Preset: presetFrugal}, "all": clearsAll(),
		"keep 5 at once": {ClearToolResults: clears(proto.Int32(5))},
	} {
		at := c.reads(c.view("loop", conversation, p))
		stream := c.reads(c.streamed(&transcriptv1.StreamAssembleRequest{Head: byAlias("loop"), View: conversation, Policy: p}))
		for how, got := range map[string]cost{"at once": at, "as a stream": stream} {
			if most := readsOfALongLoop.sum() * 1.1; got.sum() > most {
				t.Errorf("%s, %s: a window costs %+v, of at most %v", name, how, got, most)
			}
			if got.nexts > 2*uint64(len(nodes)) {
				t.Errorf("%s, %s: %d steps over %d rows", name, how, got.nexts, len(nodes))
			}
		}
	}
}
