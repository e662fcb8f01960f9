package responses_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/responsesapi"
	"github.com/transcriptd/transcriptd/client/openai"
	"github.com/transcriptd/transcriptd/client/openai/responses"
)

func TestRealExchangesAreLossless(t *testing.T) {
	inputs, outputs := 0, 0
	convtest.Lines(t, "native/api-wire/responses.jsonl.gz", func(line []byte) {
		var e struct {
			Exchange          string
			Request, Response json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		var request struct{ Input json.RawMessage }
		if json.Unmarshal(e.Request, &request) == nil && len(request.Input) > 0 && request.Input[0] == '[' { // else a request for something else
			inputs++
			roundTrip(t, e.Exchange, request.Input)
		}
		var response struct{ Output json.RawMessage }
		if json.Unmarshal(e.Response, &response) == nil && len(response.Output) > 0 && response.Output[0] == '[' { // else an event stream as text
			outputs++
			roundTrip(t, e.Exchange, response.Output)
		}
	})
	if inputs != 133 || outputs < 90 {
		t.Errorf("%d inputs, %d outputs", inputs, outputs)
	}
}

// roundTrip checks that items become the same JSON again, and that what a model is sent of them is accepted.
func roundTrip(t *testing.T, name string, source []byte) {
	t.Helper()
	messages, report, err := responses.Parse(source)
	if err != nil || len(report.Changes) > 0 {
		t.Fatalf("%s: Parse: %v, %v", name, report, err)
	}
	again, report, err := responses.Format(messages)
	if err != nil || len(report.Changes) > 0 {
		t.Fatalf("%s: Format: %v, %v", name, report, err)
	}
	if !convtest.Equal(source, again) {
		t.Errorf("%s: not the same JSON again", name)
	}
	request, _, err := responses.ForModel(messages)
	if errors.Is(err, responses.ErrNoMessages) {
		return
	}
	if err := errors.Join(err, responsesapi.Check(request)); err != nil {
		t.Errorf("%s: ForModel: %v", name, err)
	}
}

func TestRealConversationsForModel(t *testing.T) {
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		request, _, err := responses.ForModel(messages)
		if err := errors.Join(err, responsesapi.Check(request)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	})
}
