package gateway

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestFaults: what is refused names the field, and says what it must be, so that whoever wrote it goes on without the documentation.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		into       proto.Message
		body, says string
	}{
		{&transcriptv1.ResolveAliasRequest{}, `{"alias":"a"}`, `request: has no member "alias": its members are namespace, name`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":[{},{"role":"user"}]}`, `messages[1].role: must be one of ROLE_SYSTEM, ROLE_DEVELOPER, ROLE_USER,`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":[{"text":"hi"}]}`, `messages[0]: has no member "text": its members are role, parts`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":[{"parts":["hi"]}]}`, `messages[0].parts[0]: must be an object, whose members are extras, text`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":{"role":"ROLE_USER"}}`, `messages: must be a list (line 1:13)`},
		{&transcriptv1.PutNodeRequest{}, "{\n \"messages\": [\n  {\"parts\": [{\"text\": 5}]}]}", `messages[0].parts[0].text: must be a text, in quotes (line 3:23)`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":"本","parent":"chat/1"}`, `parent: must be an object, whose members are nodeId, alias (line 1:27)`},
		{&transcriptv1.PutNodeRequest{}, `{"parent":{"nodeId":"a","alias":"b"}}`, `parent: must have no more than one of nodeId, alias`},
		{&transcriptv1.PutNodeRequest{}, `{"parent":{"node_id":"a","nodeId":"b"}}`, `parent: must have no more than one of nodeId, alias`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":"a","namespace":"b"}`, `request: has the member "namespace" twice`},
		{&transcriptv1.PutNodeRequest{}, `{"salt":"-?-"}`, `salt: must be a text in base64`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":[null]}`, `messages[0]: must be an object`},
		{&transcriptv1.PutNodeRequest{}, `{"notes":[{"sentAt":"today"}]}`, `notes[0].sent_at: must be a time such as "2006-01-02T15:04:05Z"`},
		{&transcriptv1.PutNodeRequest{}, `{"notes":[{"attributes":{"SECRET":1}}]}`, `notes[0].attributes: must be an object of texts`},
		{&transcriptv1.PutNodeRequest{}, `{"notes":[{"attributes":"SECRET"}]}`, `notes[0].attributes: must be an object of texts`},
		{&transcriptv1.ListAliasesRequest{}, `{"pageSize":"SECRET"}`, `page_size: must be a whole number of 32 bits`},
		{&transcriptv1.PutNodeRequest{}, `{"messages":[{"parts":[{"text":"SECRET`, `request: is cut off: the body ends before its JSON does`},
		{&transcriptv1.PutNodeRequest{}, `{"parent":"chat/1"`, `parent: must be an object`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":"a" "salt":""}`, `namespace: is no JSON from here on (line 1:18)`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":"a",}`, `request: is no JSON from here on (line 1:18)`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":SECRET}`, `namespace: is no JSON from here on`},
		{&transcriptv1.PutNodeRequest{}, `{namespace:"SECRET"}`, `request: is no JSON from here on`},
		{&transcriptv1.PutNodeRequest{}, `SECRET`, `request: is no JSON from here on (line 1:1)`},
		{&transcriptv1.PutNodeRequest{}, `[]`, `request: must be an object, whose members are namespace`},
		{&transcriptv1.PutNodeRequest{}, `{}{}`, `request: must be one object, with nothing behind it`},
		{&transcriptv1.PutNodeRequest{}, "{\"namespace\":\"\xff\"}", `namespace: must be in UTF-8`},
		{&transcriptv1.PutNodeRequest{}, `{"namespace":"\ud800SECRET"}`, `namespace: has an escape that stands for no character`},
		{&transcriptv1.PutNodeRequest{}, `{"` + strings.Repeat("SECRET", 100) + `":1}`, `request: has no member: its members are namespace`},
		{&transcriptv1.PutNodeRequest{}, `{"a\"b":1}`, `request: has no member "a\"b"`},
		{&transcriptv1.ServerInfoRequest{}, `[]`, `request: must be an object without members: {}`},
		{&transcriptv1.ServerInfoRequest{}, `{"a":1}`, `request: has no member "a": it has none`},
	} {
		refused := protojson.UnmarshalOptions{RecursionLimit: maxDepth}.Unmarshal([]byte(c.body), c.into)
		if refused == nil {
			t.Errorf("%s is taken", c.body)
			continue
		}
		got := newFaults().of([]byte(c.body), c.into.ProtoReflect().Descriptor(), refused).Error()
		if !strings.HasPrefix(got, c.says) || strings.Contains(got, "SECRET") {
			t.Errorf("%.100s\n%s; want\n%s (%v)", c.body, got, c.says, refused)
		}
	}
}

// FuzzFaults: whatever is refused has a fault that names a field, and no value.
func FuzzFaults(f *testing.F) {
	for _, seed := range []string{`{"parent":"a"}`, `{"messages":[{"parts":[{"text":1}]}]}`, "{\n\"a\":\xff", `}{`, `[[[`, `{"notes":[{"attributes":{"a":1}}]}`, `{"a":`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		into := &transcriptv1.PutNodeRequest{}
		if refused := protojson.Unmarshal([]byte(body), into); refused != nil {
			if err := newFaults().of([]byte(body), into.ProtoReflect().Descriptor(), refused); strings.HasPrefix(err.Error(), ":") {
				t.Error(err)
			}
		}
	})
}
