package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/openaiapi"
	"github.com/transcriptd/transcriptd/client/openai"
)

func TestRealConversationsAreLossless(t *testing.T) {
	count, messages := 0, 0
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		count++
		messages += roundTrip(t, id, source)
	})
	if count != 970 || messages != 17773 {
		t.Errorf("%d conversations with %d messages, want 970 with 17773", count, messages)
	}
}

func TestRealExchangesAreLossless(t *testing.T) {
	requests, answers := 0, 0
	convtest.Lines(t, "native/api-wire/chat.jsonl.gz", func(line []byte) {
		var e struct {
			Exchange string
			Request  struct{ Messages json.RawMessage }
			Response json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Request.Messages != nil {
			requests++
			roundTrip(t, e.Exchange, e.Request.Messages)
		}
		var response struct {
			Choices []struct{ Message json.RawMessage }
		}
		if json.Unmarshal(e.Response, &response) != nil {
			return // an event stream as text
		}
		for _, c := range response.Choices {
			answers++
			roundTrip(t, e.Exchange, append(append([]byte{'['}, c.Message...), ']'))
		}
	})
	if requests != 116 || answers != 81 {
		t.Errorf("%d requests, %d answers, want 116, 81", requests, answers)
	}
}

// roundTrip checks that source becomes the same JSON again and returns the number of its messages.
func roundTrip(t *testing.T, name string, source []byte) int {
	t.Helper()
	messages, report, err := openai.Parse(source)
	if err != nil {
		t.Fatalf("%s: Parse: %v", name, err)
	}
	if len(report.Changes) > 0 {
		t.Errorf("%s: Parse reports %v", name, report.Changes)
	}
	again, report, err := openai.Format(messages)
	if err != nil {
		t.Fatalf("%s: Format: %v", name, err)
	}
	if len(report.Changes) > 0 {
		t.Errorf("%s: Format reports %v", name, report.Changes)
	}
	if !convtest.Equal(source, again) {
		t.Errorf("%s: not the same JSON again", name)
	}
	return len(messages)
}

func TestRealConversationsForModel(t *testing.T) {
	changes := map[openai.ChangeKind]int{}
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		request, report, err := openai.ForModel(messages)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if err := openaiapi.Check(request); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		for _, c := range report.Changes {
			changes[c.Kind]++
		}
	})
	t.Log(changes)
}
