package client_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestLeftOutLine: what a window leaves out is said to the model by a user's message, and replies with it are verified.
func TestLeftOutLine(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := worked(t, c, 3)
	policy := &transcriptv1.Policy{MaxRunLoops: proto.Int32(1)}
	want := append(messages{system, canonical.LeftOut(2)}, append(condensed(1), work(2)...)...)
	got := must(thread.Messages(ctx, policy))(t)
	same(t, got, want...)
	for name, forModel := range map[string]func([]*transcriptv1.Message) (string, error){
		"openai": func(m []*transcriptv1.Message) (string, error) {
			b, _, err := openai.ForModel(m)
			return string(b), err
		},
		"anthropic": func(m []*transcriptv1.Message) (string, error) {
			b, _, err := anthropic.ForModel(m)
			return string(b), err
		},
	} {
		sent := must(forModel(got))(t)
		if !strings.Contains(sent, "[2 earlier turns are not shown]") || strings.Contains(strings.ToLower(sent), "left_out") {
			t.Errorf("%s is sent %s", name, sent)
		}
	}

	res := must(thread.Compact(ctx, client.Compaction{Policy: policy}))(t)
	if !res.Written || res.Report.RunLoopsDropped != 3 {
		t.Fatalf("compacted: %v", res)
	}
	shows(t, thread, append(messages{system, canonical.LeftOut(3)}, condensed(2)...)...)
	same(t, must(thread.Messages(ctx, policy))(t), append(messages{system, canonical.LeftOut(3)}, condensed(2)...)...)
}
