package server_test

import (
	"encoding/binary"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestForgedSearchTokens: tokens with a right checksum that lead out of what is searched.
func TestForgedSearchTokens(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat/1", user("needle"), assistant("needle"))
	r.chain("secret", user("needle"))
	other := r.put(ids[1], user("needle"))
	search := func(req *transcriptv1.SearchRequest, head string, tail ...byte) error {
		req.Pattern = &transcriptv1.SearchRequest_Text{Text: "needle"}
		scope, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		req.PageToken = forge("Search", string(scope), head, tail...)
		_, err = r.Search(r.ctx(), req)
		return err
	}
	in := func(head string, tail ...byte) error {
		return search(&transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_Head{Head: byID(ids[1])}}, head, tail...)
	}
	if err := in(ids[1], 1, 0); err != nil {
		t.Errorf("a right token: %v", err)
	}
	for _, head := range []string{absent, other, ids[0]} {
		r.fails(in(head, 0, 0), codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
	}
	under := func(window, name string) error {
		cursor := binary.AppendVarint(nil, 1)
		for _, s := range []string{window, name} {
			cursor = append(binary.AppendUvarint(cursor, uint64(len(s))), s...)
		}
		return search(&transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: "chat/"}}, "", cursor...)
	}
	if err := under("", "chat/1"); err != nil {
		t.Errorf("a right token of a prefix: %v", err)
	}
	for _, names := range [][2]string{
		{"", ""}, {"", "secret"}, {"secret", "secret"}, {"chat/2", "chat/1"}, {"", "chat/\xff"}, {"chat/\xff", "chat/\xff"}, {"", "chat/\n"},
		{"", "chat/" + string(make([]byte, 600))},
	} {
		r.fails(under(names[0], names[1]), codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
	}
}
