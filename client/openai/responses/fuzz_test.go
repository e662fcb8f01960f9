package responses_test

import (
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/responsesapi"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Any bytes are refused, or become messages that a server accepts, that become equal JSON again, and of which the API accepts what ForModel writes.
func FuzzParse(f *testing.F) {
	for _, c := range append(vectorCases(), frameworkCases()...) {
		f.Add([]byte(c.Provider))
	}
	for _, c := range refused() {
		f.Add([]byte(c.provider))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, report, err := responses.Parse(data)
		if err != nil {
			if !errors.Is(err, responses.ErrInvalid) {
				t.Fatalf("%v is not ErrInvalid", err)
			}
			return
		}
		for _, m := range messages {
			if err := canonical.Validate([]*transcriptv1.Message{m}, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		again, formatted, err := responses.Format(messages)
		if convtest.FrameworksOnly(formatted) {
			return
		}
		if err != nil || len(formatted.Changes) > 0 {
			t.Fatalf("Format: %v, %v", formatted, err)
		}
		if len(report.Changes) == 0 && !convtest.Equal(data, again) {
			t.Fatalf("became %s", again)
		}
		request, _, err := responses.ForModel(messages)
		if errors.Is(err, responses.ErrNoMessages) {
			return
		}
		if err := errors.Join(err, responsesapi.Check(request)); err != nil {
			t.Fatalf("ForModel: %v: %s", err, request)
		}
	})
}
