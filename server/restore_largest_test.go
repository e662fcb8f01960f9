package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestRestoresTheLargest: the largest node that a client may put comes back.
func TestRestoresTheLargest(t *testing.T) {
	r := newRig(t)
	put := &PutNode{Messages: []*Message{user(strings.Repeat("a", 3<<20-1000)), user(strings.Repeat("b", 820<<10))}}
	for i := range 64 {
		put.Metadata = append(put.Metadata, &transcriptv1.MetadataEntry{Key: fmt.Sprint("k", i), Value: strings.Repeat("v", 1)})
	}
	for i := 0; proto.Size(put) < 4<<20-5000; i++ {
		put.Metadata[i].Value = strings.Repeat("v", 4096)
	}
	for i := 62; i < 64; i++ {
		put.Metadata[i].Value = strings.Repeat("v", max(1, min(4096, 4<<20-proto.Size(put)-3)))
	}
	t.Logf("request %d of %d", proto.Size(put), 4<<20)
	_, err := r.PutNode(r.ctx(), put)
	if err != nil {
		t.Fatal(err)
	}
	data, _, err := r.backedUp(&transcriptv1.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recordsOf(r, data) {
		if n := rec.GetNode(); n != nil {
			t.Logf("archived %d", proto.Size(n))
		}
	}
	r.restored(data, "copy")
}
