package client

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestAClientKeepsWhatItIsToldTo: however many views are read, those that are kept are within WithCacheBytes.
func TestAClientKeepsWhatItIsToldTo(t *testing.T) {
	for _, limit := range []int64{0, 30_000, 1 << 20} {
		var head string
		conn := &fakeConn{frames: func(context.Context, any) ([]proto.Message, error) {
			only := frame(User(strings.Repeat("x", 1000)))
			only.HeadId, only.Report = head, &transcriptv1.Report{}
			return []proto.Message{only}, nil
		}}
		c := New(conn, WithCacheBytes(limit))
		for i := range 100 {
			head = fmt.Sprintf("%064x", i)
			thread := &Thread{c: c, alias: fmt.Sprint("chat/", i), head: head}
			if _, err := thread.Messages(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			checkCache(t, c.cache)
			if c.cache.used > limit {
				t.Fatalf("%d bytes are kept, the limit is %d", c.cache.used, limit)
			}
		}
		if kept := c.cache.used; (kept > 0) != (limit > 0) || limit == 1<<20 && kept < 100*1000 {
			t.Errorf("%d bytes are kept of 100 views, the limit is %d", kept, limit)
		}
	}
}
