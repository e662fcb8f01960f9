package server_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

// backedUp is the archive that Backup sends, and its last response.
func (r *rig) backedUp(req *transcriptv1.BackupRequest) ([]byte, *transcriptv1.BackupResponse, error) {
	r.Helper()
	stream := must[transcriptv1.AdminService_BackupClient](r)(r.admin.Backup(r.ctx(), req))
	var out []byte
	for {
		reply, err := stream.Recv()
		if err != nil {
			return out, nil, err
		}
		if out = append(out, reply.Data...); reply.Done {
			return out, reply, nil
		}
	}
}

// TestBackup: the stream is an archive of the namespace, or of the store, and can be gone on from.
func TestBackup(t *testing.T) {
	bothEngines(t, func(r *rig) {
		head := r.put("", user("one"))
		r.point("a", head)
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: "other", Messages: []*Message{user("two")}}))
		read := func(data []byte) *archive.Reader {
			a, err := archive.NewReader(bytes.NewReader(data))
			if err != nil {
				r.Fatal(err)
			}
			for {
				if _, err := a.Next(); errors.Is(err, io.EOF) {
					return a
				} else if err != nil {
					r.Fatal(err)
				}
			}
		}
		data, last, err := r.backedUp(&transcriptv1.BackupRequest{})
		if err != nil {
			r.Fatal(err)
		}
		one := read(data)
		equal(r, "the digest", string(last.Digest), string(digestOf(one)))
		equal(r, "what a namespace has", one.Counts(), archive.Counts{Namespaces: 1, Nodes: 1, Messages: 1, MessageBytes: one.Counts().MessageBytes, Aliases: 1})
		data, _, err = r.backedUp(&transcriptv1.BackupRequest{Scope: transcriptv1.Scope_SCOPE_STORE})
		if err != nil {
			r.Fatal(err)
		}
		equal(r, "nodes of the store", read(data).Counts().Nodes, 2)
		r.put(head, user("three"))
		data, _, err = r.backedUp(&transcriptv1.BackupRequest{SinceCursor: one.Ended().Cursor, SinceDigest: last.Digest})
		if err != nil {
			r.Fatal(err)
		}
		equal(r, "nodes since", read(data).Counts().Nodes, 1)
		for field, req := range map[string]*transcriptv1.BackupRequest{
			"since_cursor":         {SinceCursor: []byte("x"), SinceDigest: last.Digest},
			"since_digest":         {SinceCursor: one.Ended().Cursor},
			"scope":                {Scope: 77},
			"namespace":            {Scope: transcriptv1.Scope_SCOPE_STORE, Namespace: "a"},
			"max_bytes_per_second": {MaxBytesPerSecond: -1},
			"continue_cursor":      {ContinueCursor: one.Ended().Cursor, ContinueDigest: last.Digest},
			"continue_digest":      {ContinueDigest: last.Digest},
		} {
			_, _, err := r.backedUp(req)
			r.fails(err, codes.InvalidArgument, "INVALID_FIELD", field)
		}
	})
}

func digestOf(r *archive.Reader) []byte {
	d := r.Digest()
	return d[:]
}
