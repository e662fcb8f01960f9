package responses_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestConversions: the cases of this package's tests, for converters in other languages.
func TestConversions(t *testing.T) {
	var all convtest.Conversions
	for _, c := range refused() {
		all.AddRefusal(c.name, c.provider, c.err)
	}
	for _, name := range []string{"responses", "openai", "anthropic"} {
		from := sources()[name]
		for _, c := range from.cases {
			messages, _, err := from.parse([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			_, report, err := responses.ForModel(messages)
			if err != nil {
				t.Fatal(err)
			}
			all.ForModel = append(all.ForModel, convtest.Sending{Name: c.name, From: name, Provider: c.given, Sent: c.want, Changes: convtest.ChangesOf(report)})
		}
	}
	for _, w := range []struct {
		name     string
		messages []*transcriptv1.Message
	}{
		{"what only other providers have", inexactMessages()},
		{"two answers that one list would join", []*transcriptv1.Message{plain(transcriptv1.Role_ROLE_ASSISTANT, "a"), plain(transcriptv1.Role_ROLE_ASSISTANT, "b")}},
	} {
		written, report, err := responses.Format(w.messages)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Changes) == 0 {
			t.Errorf("%s: no change", w.name)
		}
		all.AddWriting(t, w.name, w.messages, string(written), report)
	}
	all.Golden(t, "../../../proto/testdata/responses_conversions.json", *update)
}

func plain(role transcriptv1.Role, text string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}
}

// inexactMessages have what items have no place for.
func inexactMessages() []*transcriptv1.Message {
	user := plain(transcriptv1.Role_ROLE_USER, "a")
	user.Name = proto.String("ann")
	user.Parts = append(user.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "hm"}}})
	answer := plain(transcriptv1.Role_ROLE_ASSISTANT, "b")
	answer.State = transcriptv1.MessageState_MESSAGE_STATE_PARTIAL
	answer.Parts = append(answer.Parts,
		&transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: "c"}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: "image/png", Source: &transcriptv1.Media_Inline{Inline: []byte("x")}}}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: "hm", Signature: "s"}}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Arguments: "{}"}}},
	)
	result := plain(transcriptv1.Role_ROLE_TOOL, "d")
	result.ToolCallId, result.Name, result.IsError = proto.String("a"), proto.String("f"), true
	result.Parts = append(result.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
		MediaType: "audio/wav", Source: &transcriptv1.Media_Inline{Inline: []byte("x")},
	}}})
	return []*transcriptv1.Message{user, answer, result}
}
