package client_test

import (
	"encoding/json"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/openaiapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// TestRealViewsForOpenAI asks for the views of every real conversation before every assistant message, at which no call is
// unanswered, and checks that the API would take each, that there always is something to send, and that reports are
// founded, and whole where the view is the conversation's last; of the conversations as they are it would not take all.
func TestRealViewsForOpenAI(t *testing.T) {
	c := client.New(testserver.StartMemory(t))
	requests, n := 0, 0
	breaches, changes := map[string]int{}, map[openai.ChangeKind]int{}
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		if n++; testing.Short() && n%10 != 0 {
			return
		}
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := openaiapi.Check(source); err != nil {
			breaches[cause(err)]++
		}
		last := map[int][]*transcriptv1.Message{}
		testserver.Requests(t, c, messages, func(query int, view []*transcriptv1.Message) {
			requests++
			last[query] = view
			request, report, err := openai.ForModel(view)
			if err == nil {
				err = openaiapi.Check(request)
			}
			if unfounded := convtest.Unfounded(view, 0, report, request); err != nil || len(unfounded) > 0 {
				t.Errorf("%s, query %d, %d messages: %v, %v", id, query, len(view), err, unfounded)
			}
			for _, change := range report.Changes {
				changes[change.Kind]++
			}
		})
		for query, view := range last {
			request, report, err := openai.ForModel(view)
			if untold := convtest.Untold(view, report, request); err != nil || len(untold) > 0 {
				t.Errorf("%s, query %d, %d messages: %v, neither in the request nor in the report: %v", id, query, len(view), err, untold)
			}
		}
	})
	t.Logf("%d requests, changed: %v; conversations as they are would be refused for: %v", requests, changes, breaches)
	if breaches[openaiapi.ErrUnanswered.Error()] == 0 || breaches[openaiapi.ErrCallID.Error()] == 0 || requests == 0 {
		t.Errorf("%d requests; what the checker finds in the conversations as they are: %v", requests, breaches)
	}
}
