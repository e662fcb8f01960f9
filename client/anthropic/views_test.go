package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// TestRealViewsForModel asks for the views of every real conversation before every assistant message, at which no call is
// unanswered, and checks that the API would take each; of the conversations as they are it would not.
func TestRealViewsForModel(t *testing.T) {
	c := client.New(testserver.StartMemory(t))
	requests, breaches, n := 0, 0, 0
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		if n++; testing.Short() && n%10 != 0 {
			return
		}
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if raw, _, err := anthropic.Format(messages); err != nil || checkRequest(raw) != nil {
			breaches++
		}
		testserver.Requests(t, c, messages, func(query int, view []*transcriptv1.Message) {
			requests++
			request, _, err := anthropic.ForModel(view)
			if err == nil {
				err = checkRequest(request)
			}
			if err != nil && !errors.Is(err, anthropic.ErrNoMessages) {
				t.Errorf("%s, query %d, %d messages: %v", id, query, len(view), err)
			}
		})
	})
	t.Logf("%d requests; %d conversations as they are would be refused", requests, breaches)
	if breaches == 0 || requests == 0 {
		t.Error("the checker found no breach in the conversations as they are, or nothing was asked")
	}
}
