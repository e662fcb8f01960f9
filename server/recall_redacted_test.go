package server_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const githubKey = "ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B"

// secretParts is a result with a secret in each kind of part and each text of it, and parts that hold none.
func secretParts(secret string) []*transcriptv1.Part {
	return []*transcriptv1.Part{
		{Extras: `{"x":"` + secret + `"}`, Kind: &transcriptv1.Part_Text{Text: strings.Repeat("é", 50) + " key " + secret + " end"}},
		{Kind: &transcriptv1.Part_Json{Json: `{"key":"` + secret + `","n":1}`}},
		{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: secret, Signature: secret, RedactedData: []byte(secret)}}},
		{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/" + secret, Source: &transcriptv1.Media_Uri{Uri: "https://x/?token=" + secret}}}},
		{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "text/plain", Source: &transcriptv1.Media_Inline{Inline: []byte("key " + secret)}}}},
		{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{Source: &transcriptv1.Media_Inline{Inline: []byte{0xff, 0, 1}}}}},
		{Kind: &transcriptv1.Part_Text{Text: "nothing secret"}},
	}
}

// TestRecallRedacts takes a secret out of everything, whatever the size of the pages, and changes nothing else.
func TestRecallRedacts(t *testing.T) {
	r := newRig(t)
	made := result("id:"+githubKey, "")
	made.Parts = secretParts(githubKey)
	head := byID(r.put("", user("go"), callOf("tool:"+githubKey, "id:"+githubKey, `{"key":"`+githubKey+`"}`), made))
	plain, _ := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("id:" + githubKey)})
	equal(r, "how often it stands there as it was put", strings.Count(protojson.Format(plain), githubKey), 3+7)
	want := secretParts("[redacted]")
	want[2].GetReasoning().RedactedData = []byte("[redacted]")
	for _, size := range []int32{1, 2, 3, 5, 8, 60, 100, 111, 500, 0} {
		whole, _ := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("id:" + githubKey), PageBytes: size, Redact: true})
		if strings.Contains(protojson.Format(whole), githubKey[:8]) || !proto.Equal(&Message{Parts: whole.Parts}, &Message{Parts: want}) {
			t.Errorf("pages of %d bytes are\n%s", size, protojson.Format(whole))
		}
		equal(r, "the call", strings.Join([]string{whole.Call.GetId(), whole.Call.GetName(), whole.Call.Arguments}, " "),
			`id:[redacted] tool:[redacted] {"key":"[redacted]"}`)
		equal(r, "the bytes of the result", whole.ResultBytes, plain.ResultBytes)
		equal(r, "the place", whole.ResultPlace.String(), plain.ResultPlace.String())
	}
}

// TestRecallRedactsBeforeItCuts: a page never ends within a secret, where what is left of it would be none.
func TestRecallRedactsBeforeItCuts(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("x", 30) + "\n-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n", 20) + "-----END PRIVATE KEY-----\nend"
	head := byID(r.put("", calling("f", "1"), result("1", text)))
	for size := range int32(80) {
		whole, _ := r.recallWhole(&Recall{Head: head, ToolCallId: ptr("1"), PageBytes: size + 1, Redact: true})
		if s := said(whole); strings.Contains(s, "MIIB") || !strings.HasSuffix(s, "\nend") {
			t.Fatalf("pages of %d bytes give %q", size+1, s)
		}
	}
}

// TestRecallTokensOfRedactedPages: an offset in what is left is none in what was put.
func TestRecallTokensOfRedactedPages(t *testing.T) {
	r := newRig(t)
	head := byID(r.put("", calling("f", "1"), result("1", githubKey+strings.Repeat(" x", 500))))
	for _, redact := range []bool{false, true} {
		req := &Recall{Head: head, ToolCallId: ptr("1"), PageBytes: 100, Redact: redact}
		req.PageToken = r.recall(req).NextPageToken
		r.recall(req)
		req.Redact = !redact
		_, err := r.RecallToolCall(r.ctx(), req)
		r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "page_token")
	}
}

// TestRecallOfWhatGrows: what would grow by much is not shown at all, so every reply can be sent; JSON stays JSON.
func TestRecallOfWhatGrows(t *testing.T) {
	r := newRig(t)
	pins := `{"all":[` + strings.Repeat(`{"pin":"4711"},`, 200_000) + `0]}`
	call := calling("f", "1")
	call.Parts[0].GetToolCall().Arguments = pins
	made := result("1", "")
	made.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Json{Json: pins}}}
	other := result("2", strings.Repeat("password=q7#Zk9\n", 10))
	other.Parts[0].Extras = pins
	head := r.put(r.put("", call), made)
	head = r.put(r.put(head, calling("f", "2")), other)
	whole, _ := r.recallWhole(&Recall{Head: byID(head), ToolCallId: ptr("1"), Redact: true})
	equal(r, "the arguments", whole.Call.Arguments[:min(50, len(whole.Call.Arguments))], `"[redacted]"`)
	equal(r, "the result", said(whole)[:min(50, len(said(whole)))], `"[redacted]"`)
	small, _ := r.recallWhole(&Recall{Head: byID(head), ToolCallId: ptr("2"), Redact: true})
	equal(r, "what grows a little", small.Parts[0].GetText(), strings.Repeat("password=[redacted]\n", 10))
	equal(r, "the bytes of extras", len(small.Parts[0].Extras), 0)
}
