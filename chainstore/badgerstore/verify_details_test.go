package badgerstore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// TestVerifyFindsSpoiltDetails: every byte of the details counts, in the node's row and in pieces, and so does their length.
func TestVerifyFindsSpoiltDetails(t *testing.T) {
	s := openStore(t, Options{})
	for i, text := range []string{"x", strings.Repeat("x", layout.MaxChunk)} {
		n := node(nil, text)
		n.Details = chainstore.EncodeDetails([]chainstore.Detail{{Model: "m-1", FinishReason: "stop"}})
		put(t, s, n)
		mustBeClean(t, s)
		at := chainstore.Place{Segment: uint64(i + 1)}
		key, rows := string(layout.PlaceKey(1, layout.TableNodes, at)), allRows(t, s)
		r, _, err := layout.ParseRow(rows[key])
		if err != nil || r.DetailsLength != len(n.Details) || (r.Chunks > 0) != (i > 0) {
			t.Fatalf("the row is %+v, %v", r, err)
		}
		last := key
		if r.Chunks > 0 {
			last = string(layout.ChunkKey(1, at, r.Chunks))
		}
		spoil := func(what, key string, value []byte) {
			t.Helper()
			rewrite(t, s, map[string]commit.Write{key: {Value: value}})
			if found := problems(t, s, testNamespace, storetest.Simple().Judge); len(found) == 0 {
				t.Errorf("node %d: nobody minds %s", i, what)
			}
			rewrite(t, s, map[string]commit.Write{key: {Value: rows[key]}})
		}
		for k := range n.Details {
			value := bytes.Clone(rows[last])
			value[len(value)-1-k] ^= 1
			spoil("a byte that changed", last, value)
		}
		spoil("fewer bytes", last, rows[last][:len(rows[last])-1])
		r.DetailsLength, r.Details = 0, nil
		r.Chunks = min(r.Chunks, layout.ChunksOf(len(n.Payload)))
		spoil("that there are none", key, layout.AppendRow(nil, &r))
		mustBeClean(t, s)
	}
}
