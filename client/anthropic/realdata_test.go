package anthropic_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// exchange is a recorded request and its answer.
type exchange struct {
	Exchange string
	URI      string
	Request  json.RawMessage
	Response json.RawMessage
}

func TestRealExchangesAreLossless(t *testing.T) {
	requests, answers, streams := 0, 0, 0
	convtest.Lines(t, "native/api-wire/anthropic.jsonl.gz", func(line []byte) {
		var e exchange
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains([]byte(e.URI), []byte("/messages")) {
			return // exchanges with other providers, in conversations that moved from one to another
		}
		requests++
		roundTrip(t, e.Exchange, e.Request)
		if e.Response[0] != '{' {
			streams++ // an event stream as text
			return
		}
		answers++
		roundTripMessage(t, e.Exchange, e.Response)
	})
	if requests != 140 || answers != 138 || streams != 2 {
		t.Errorf("%d requests, %d answers, %d streams, want 140, 138, 2", requests, answers, streams)
	}
}

func TestRealClaudeCodeMessagesAreLossless(t *testing.T) {
	messages := 0
	for _, file := range []string{
		"claude-code/0b_6786ea0065_0.jsonl.gz", "claude-code/5a_c45bc32212_0.jsonl.gz",
		"claude-code/5c_1039ad85f4_0.jsonl.gz", "claude-code/89_7eb280e769_17.jsonl.gz",
		"claude-code/b0_2936744f3b_0.jsonl.gz", "claude-code-fixtures/dag_compact_after_rewind.jsonl",
		"claude-code-fixtures/edge_cases.jsonl", "claude-code-fixtures/representative_messages.jsonl",
		"claude-code-fixtures/sample_session.jsonl", "claude-code-fixtures/session_b.jsonl",
		"claude-code-fixtures/sidechain_integrated.jsonl", "claude-code-fixtures/todowrite_examples.jsonl",
	} {
		convtest.Lines(t, "native/"+file, func(line []byte) {
			d := json.NewDecoder(bytes.NewReader(line)) // one line holds two objects
			for {
				var record struct{ Message json.RawMessage }
				if d.Decode(&record) != nil {
					return
				}
				if len(record.Message) == 0 || record.Message[0] != '{' {
					continue // records of other kinds, and one whose message is a string
				}
				messages++
				roundTripMessage(t, file, record.Message)
			}
		})
	}
	messages += sampleSession(t)
	if messages != 1027 {
		t.Errorf("%d messages, want 1027", messages)
	}
}

// sampleSession checks the messages of a session of the API.
func sampleSession(t *testing.T) int {
	t.Helper()
	const file = "native/claude-code-fixtures/sample_session.json"
	var text []byte
	convtest.Lines(t, file, func(line []byte) { text = append(text, line...) })
	var session struct {
		Loglines []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal(text, &session); err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, line := range session.Loglines {
		if len(line.Message) > 0 {
			messages++
			roundTripMessage(t, file, line.Message)
		}
	}
	return messages
}

// roundTrip checks that a request's system and messages become the same JSON again.
func roundTrip(t *testing.T, name string, request []byte) {
	t.Helper()
	messages, report, err := anthropic.Parse(request)
	if err != nil {
		t.Fatalf("%s: Parse: %v", name, err)
	}
	for _, c := range report.Changes {
		if c.Kind != anthropic.LeftOut {
			t.Errorf("%s: Parse reports %v", name, c)
		}
	}
	again, report, err := anthropic.Format(messages)
	if err != nil {
		t.Fatalf("%s: Format: %v", name, err)
	}
	if len(report.Changes) > 0 {
		t.Errorf("%s: Format reports %v", name, report.Changes)
	}
	if !convtest.Equal(systemAndMessages(t, request), again) {
		t.Errorf("%s: not the same JSON again", name)
	}
}

// roundTripMessage checks that one message becomes the same JSON again, and the same messages as in a request.
func roundTripMessage(t *testing.T, name string, message []byte) {
	t.Helper()
	messages, _, err := anthropic.ParseMessage(message)
	if err != nil {
		t.Fatalf("%s: ParseMessage: %v", name, err)
	}
	again, report, err := anthropic.FormatMessage(messages)
	if err != nil {
		t.Fatalf("%s: FormatMessage: %v", name, err)
	}
	if len(report.Changes) > 0 {
		t.Errorf("%s: FormatMessage reports %v", name, report.Changes)
	}
	if !convtest.Equal(message, again) {
		t.Errorf("%s: not the same JSON again", name)
	}
	roundTrip(t, name, append(append([]byte(`{"messages":[`), message...), `]}`...))
}

// Also conversations from OpenAI's form: 970 of 970.
func TestRealConversationsForModel(t *testing.T) {
	changes, count := map[anthropic.ChangeKind]int{}, 0
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		count++
		forModel(t, id, messages, changes)
	})
	if count != 970 {
		t.Errorf("%d conversations, want 970", count)
	}
	t.Log(changes)
}

func TestRealExchangesForModel(t *testing.T) {
	changes := map[anthropic.ChangeKind]int{}
	convtest.Lines(t, "native/api-wire/anthropic.jsonl.gz", func(line []byte) {
		var e exchange
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(e.URI, "/messages") {
			return
		}
		messages, _, err := anthropic.Parse(e.Request)
		if err != nil {
			t.Fatal(err)
		}
		forModel(t, e.Exchange, messages, changes)
	})
	t.Log(changes)
}

// forModel checks that a request is accepted and counts what was changed.
func forModel(t *testing.T, name string, messages []*transcriptv1.Message, changes map[anthropic.ChangeKind]int) {
	t.Helper()
	request, report, err := anthropic.ForModel(messages)
	if err != nil {
		t.Errorf("%s: ForModel: %v", name, err)
		return
	}
	if err := anthropicapi.Check(request); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, c := range report.Changes {
		changes[c.Kind]++
	}
}
