package server_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// TestAges: ages count from the server's clock, unless the policy gives a time; defaults hold where fields are absent, and
// nothing without a policy.
func TestAges(t *testing.T) {
	at := time.UnixMilli(epoch)
	stack := testserver.StartWith(t, memstore.New(memstore.Options{Now: func() time.Time { return at }}), server.Config{Now: func() time.Time { return at }})
	r := &rig{T: t, Stack: stack, TranscriptServiceClient: transcriptv1.NewTranscriptServiceClient(stack.Conn)}
	r.chain("chat", user("old"), assistant("ancient"))
	at = at.Add(200 * time.Hour)
	r.chain("", user("another"))
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("chat"), Messages: []*Message{user("new")}, Aliases: []*Update{{Name: "chat"}},
	}))
	ask := func(p *Policy) int {
		return len(r.assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: p}).Messages)
	}
	equal(r, "the messages without a policy", ask(nil), 3)
	equal(r, "the messages of the default policy", ask(&Policy{}), 1)
	equal(r, "the messages without a bound", ask(&Policy{MaxAge: durationpb.New(0)}), 3)
	equal(r, "the messages of a longer time", ask(&Policy{MaxAge: durationpb.New(1000 * time.Hour)}), 3)
	equal(r, "the messages as of an earlier time", ask(&Policy{Now: timestamppb.New(time.UnixMilli(epoch))}), 3)
}
