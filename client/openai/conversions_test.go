package openai_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestConversions: the cases of this package's tests, for converters in other languages.
func TestConversions(t *testing.T) {
	var all convtest.Conversions
	for _, c := range refused() {
		all.AddRefusal(c.name, c.provider, c.err)
	}
	type parse func([]byte) ([]*transcriptv1.Message, openai.Report, error)
	for _, from := range []struct {
		name  string
		parse parse
		cases []modelCase
	}{
		{"openai", openai.Parse, modelCases()},
	} {
		for _, c := range from.cases {
			messages, _, err := from.parse([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			_, report, err := openai.ForModel(messages)
			if err != nil {
				t.Fatal(err)
			}
			all.ForModel = append(all.ForModel, convtest.Sending{Name: c.name, From: from.name, Provider: c.given, Sent: c.want, Changes: convtest.ChangesOf(report)})
		}
	}
	written, report, err := openai.Format(inexactMessages())
	if err != nil {
		t.Fatal(err)
	}
	all.AddWriting(t, "what only other providers have", inexactMessages(), string(written), report)
	all.Golden(t, "../../proto/testdata/openai_conversions.json", *update)
}
