package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Any bytes are refused, or become messages that a server accepts, whose system and messages become equal JSON again,
// and of which the API accepts what ForModel writes.
func FuzzParse(f *testing.F) {
	for _, c := range append(vectorCases(), frameworkCases()...) {
		f.Add([]byte(c.Provider))
	}
	for _, c := range refused() {
		f.Add([]byte(c.provider))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, report, err := anthropic.Parse(data)
		if err != nil {
			if !errors.Is(err, anthropic.ErrInvalid) {
				t.Fatalf("%v is not ErrInvalid", err)
			}
			return
		}
		for _, m := range messages {
			if err := canonical.Validate([]*transcriptv1.Message{m}, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		again, formatted, err := anthropic.Format(messages)
		if convtest.FrameworksOnly(formatted) {
			return
		}
		if err != nil || len(formatted.Changes) > 0 {
			t.Fatalf("Format: %v, %v", formatted, err)
		}
		if !hasSurrogates(report) && !convtest.Equal(systemAndMessages(t, data), again) {
			t.Fatalf("became %s", again)
		}
		request, _, err := anthropic.ForModel(messages)
		if errors.Is(err, anthropic.ErrNoMessages) {
			return
		}
		if err := errors.Join(err, anthropicapi.Check(request)); err != nil {
			t.Fatalf("ForModel: %v: %s", err, request)
		}
	})
}

func hasSurrogates(report anthropic.Report) bool {
	for _, c := range report.Changes {
		if c.Kind == anthropic.Surrogates {
			return true
		}
	}
	return false
}

// systemAndMessages is a request's part that is a transcript.
func systemAndMessages(t *testing.T, request []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(request, &members); err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if name != "system" && name != "messages" {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
