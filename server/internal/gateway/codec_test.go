package gateway

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// FuzzJSON: whatever a body is, it is a request or the caller's fault, in a text of some lines that is good UTF-8.
func FuzzJSON(f *testing.F) {
	for _, body := range []string{
		`{"messages": [{"role": "ROLE_USER", "parts": [{"text": "Will it rain?"}]}], "aliases": [{"name": "chat/1", "labels": {"a": "b"}}], "salt": "AAEC"}`,
		`{"head": {"nodeId": "x", "alias": "y"}, "policy": {"maxBytes": "1e3"}, "pageSize": -0.5}`, `{"movedBefore": "2006-01-02T15:04:05Z", "all": true}`,
		`{"messages":[{"parts":[{"text":"\ud83d"}]}]}`, "\ufeff{}", `{"a":{"a":[[[[`, `[{}]`, `{"messages":null,"messages":[]}`, "{\"name\":\"\xff\"}", `{"x"`, "{\n\n\"é\":1}", `"`, `{"":`, "{\"\x00",
	} {
		f.Add([]byte(body))
	}
	d := &door{}
	codec := newJSON(protoregistry.GlobalTypes, newRefusals(nil, d.told))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, into := range []proto.Message{&transcriptv1.PutNodeRequest{}, &transcriptv1.AssembleRequest{}, &transcriptv1.DeleteAliasesRequest{}} {
			err := codec.Unmarshal(body, into)
			if err == nil {
				continue
			}
			var told *connect.Error
			if !errors.As(err, &told) || told.Code() != connect.CodeInvalidArgument {
				t.Fatalf("%q: %v", body, err)
			}
			if text := told.Message(); !utf8.ValidString(text) || len(text) > 2000 || strings.ContainsRune(text, 0) {
				t.Errorf("%q: %q", body, text)
			}
		}
	})
}
