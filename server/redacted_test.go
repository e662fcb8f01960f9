package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// shown are the replies that show text again, a call's by its id, redacted or not. ReplayTools always redacts.
func (r *rig) shown(alias, call string, redact bool) map[string]proto.Message {
	r.Helper()
	head := byAlias(alias)
	search := &transcriptv1.SearchRequest{Pattern: &transcriptv1.SearchRequest_Text{Text: "needle"}, Redact: redact,
		Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: ""}}
	all := map[string]proto.Message{
		"Describe":       r.describe(&Describe{Head: head, Mode: modePreview, Redact: redact}),
		"ListRunLoops":   r.loops(&ListLoops{Head: head, PreviewChars: 1000, Redact: redact}),
		"RecallToolCall": r.recall(&Recall{Head: head, ToolCallId: &call, Redact: redact}),
		"Search":         must[*transcriptv1.SearchResponse](r)(r.Search(r.ctx(), search)),
	}
	if redact {
		all["ReplayTools"] = r.replay(&Replay{Head: head})
	}
	return all
}

// TestNamesAreRedacted: no name and no id that a caller chose shows a secret; nothing else of them changes.
func TestNamesAreRedacted(t *testing.T) {
	const key, alias = "ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B", "chat/1"
	r := newRig(t)
	at := r.putWith("", &PutNode{Messages: []*Message{user("needle"), callOf("tool:"+key, "id:"+key, `"needle"`), result("id:"+key, "needle")}})
	r.putWith("", &PutNode{Messages: []*Message{user("sub")}, SpawnedFrom: spawnedBy(at, "id:"+key)})
	r.putWith(at, &PutNode{
		Messages: []*Message{callOf("tool:"+key, "late:"+key, "{}")}, Metadata: variables("var:"+key, "1"),
		Aliases: []*Update{{Name: alias}, {Name: "alias:" + key}}, SpawnedFrom: spawnedBy(at, "id:"+key),
	})
	for rpc, got := range r.shown(alias, "id:"+key, false) {
		if !strings.Contains(protojson.Format(got), key) {
			t.Errorf("%s hides what nobody asked it to hide: %v", rpc, got)
		}
	}
	for rpc, got := range r.shown(alias, "id:"+key, true) {
		text := protojson.Format(got)
		if strings.Contains(text, key[:12]) {
			t.Errorf("%s shows a secret: %s", rpc, text)
		}
		if !strings.Contains(text, `"tool:[redacted]"`) || !strings.Contains(text, `"id:[redacted]"`) {
			t.Errorf("%s lacks names: %s", rpc, text)
		}
	}
	d := r.describe(&Describe{Head: byAlias(alias), Redact: true})
	got := append(d.Aliases, d.Variables[0].Name, d.Loop.Pending[0].GetId(), d.Lineage.SpawnedFrom.GetToolCallId(),
		d.Lineage.Spawned[0].SpawnedFrom.GetToolCallId())
	equal(r, "names", strings.Join(got, " "), "alias:[redacted] chat/1 var:[redacted] late:[redacted] id:[redacted] id:[redacted]")
}

// TestRedactedRepliesAreUTF8: what a rule cuts short is no code point, so the reply can be sent.
func TestRedactedRepliesAreUTF8(t *testing.T) {
	const key = "needle -----BEGIN PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n-----END密"
	r := newRig(t)
	r.putWith("", &PutNode{
		Messages: []*Message{user(key), callOf("run", "1", key), result("1", key), assistant(key)},
		Metadata: variables("a", key), Aliases: []*Update{{Name: "chat"}},
	})
	for rpc, got := range r.shown("chat", "1", true) {
		if text := protojson.Format(got); strings.Contains(text, "MIIB") || !strings.Contains(text, "[redacted]密") {
			t.Errorf("%s gives %s", rpc, text)
		}
	}
}

// TestRepliesThatDoNotEncodeAreLogged: gRPC encodes a reply when the interceptors have ended.
func TestRepliesThatDoNotEncodeAreLogged(t *testing.T) {
	r := &rig{T: t, logs: &safeBuffer{}}
	r.Stack = testserver.StartWith(t, memstore.New(memstore.Options{}), server.Config{
		Logger:    slog.New(slog.NewJSONHandler(r.logs, nil)),
		Renderers: map[string]compaction.Renderer{"run": func(*compaction.ReplayCall) string { return canary + "\xff" }},
	})
	r.TranscriptServiceClient = transcriptv1.NewTranscriptServiceClient(r.Conn)
	head := r.chain("", callOf("run", "1", "{}"))
	if _, err := r.ReplayTools(r.ctx(), &Replay{Head: byID(head[0])}); status.Code(err) != codes.Internal {
		t.Fatalf("the call ends with %v", err)
	}
	logs := r.logs.String()
	if !strings.Contains(logs, `"level":"ERROR"`) || !strings.Contains(logs, `"message":"transcript.v1.ReplayToolsResponse"`) || strings.Contains(logs, canary) {
		t.Errorf("the log is %s", logs)
	}
}
