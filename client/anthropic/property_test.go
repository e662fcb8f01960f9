package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// providerRequest draws system and messages within the format: every documented member, null or absent where it may
// be, and members that nobody documents.
func providerRequest(t *rapid.T) string {
	r := map[string]string{
		"messages": list(rapid.SliceOfN(rapid.Custom(providerMessage), 0, 3).Draw(t, "messages")),
	}
	convtest.Maybe(t, r, "system", content(false))
	return convtest.Object(r, rapid.Bool().Draw(t, "reversed"))
}

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }

func providerMessage(t *rapid.T) string {
	m := map[string]string{
		"role": rapid.SampledFrom([]string{`"user"`, `"user"`, `"assistant"`, `"system"`}).Draw(t, "role"),
	}
	convtest.Maybe(t, m, "content", content(true))
	convtest.Maybe(t, m, "stop_reason", orNull(convtest.Text()))
	convtest.Others(t, m, "role", "content")
	return convtest.Object(m, rapid.Bool().Draw(t, "reversed"))
}

func orNull(text *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just("null"), rapid.Map(text, convtest.Quote))
}

func content(results bool) *rapid.Generator[string] {
	blocks := []*rapid.Generator[string]{rapid.Custom(providerBlock), rapid.Custom(providerBlock), convtest.JSON(2)}
	if results {
		blocks = append(blocks, rapid.Custom(providerResult), rapid.Custom(providerResult))
	}
	return rapid.OneOf(
		orNull(convtest.Text()),
		rapid.Map(rapid.SliceOfN(rapid.OneOf(blocks...), 0, 4), list),
	)
}

func providerBlock(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{
		"text", "text", "thinking", "redacted_thinking", "tool_use", "image", "document", "server_tool_use", "other",
	}).Draw(t, "type")
	b := map[string]string{"type": convtest.Quote(kind)}
	for _, member := range []string{"text", "thinking", "signature"} {
		convtest.Maybe(t, b, member, rapid.OneOf(rapid.Map(convtest.Text(), convtest.Quote), convtest.JSON(1)))
	}
	convtest.Maybe(t, b, "data", base64Text())
	convtest.Maybe(t, b, "id", orNull(convtest.Text()))
	convtest.Maybe(t, b, "name", orNull(convtest.Text()))
	convtest.Maybe(t, b, "input", convtest.JSON(3))
	convtest.Maybe(t, b, "source", rapid.OneOf(rapid.Custom(providerSource), convtest.JSON(1)))
	convtest.Others(t, b, "type", "text", "id", "name", "tool_use_id", "content")
	return convtest.Object(b, rapid.Bool().Draw(t, "reversed"))
}

func base64Text() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{`""`, `"AAAA"`, `"AAA"`, `"AA=="`, `"AB=="`, `"AA\nAA"`, `"-_-_"`, "null", "1"})
}

func providerSource(t *rapid.T) string {
	s := map[string]string{}
	convtest.Maybe(t, s, "type", rapid.SampledFrom([]string{`"base64"`, `"base64"`, `"url"`, `"file"`, `"text"`, "null"}))
	convtest.Maybe(t, s, "media_type", rapid.SampledFrom([]string{
		`"image/png"`, `"application/pdf"`, `"Image/PNG"`, `"text/plain; charset=utf-8"`, `""`, "null",
	}))
	convtest.Maybe(t, s, "data", base64Text())
	convtest.Maybe(t, s, "url", orNull(convtest.Text()))
	convtest.Others(t, s, "type", "media_type", "data", "url")
	return convtest.Object(s, rapid.Bool().Draw(t, "reversed"))
}

func providerResult(t *rapid.T) string {
	r := map[string]string{"type": `"tool_result"`}
	convtest.Maybe(t, r, "tool_use_id", orNull(convtest.Text()))
	convtest.Maybe(t, r, "content", content(false))
	convtest.Maybe(t, r, "is_error", rapid.SampledFrom([]string{"true", "false", "null", "1"}))
	convtest.Others(t, r, "type", "tool_use_id", "content", "is_error")
	return convtest.Object(r, rapid.Bool().Draw(t, "reversed"))
}

func TestRandomProviderJSONIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := []byte(rapid.Custom(providerRequest).Draw(t, "request"))
		messages := parseAndBack(t, source)

		var respelled bytes.Buffer
		if err := json.Indent(&respelled, source, "", "\t"); err != nil {
			t.Fatal(err)
		}
		equalMessages(t, messages, parseAndBack(t, respelled.Bytes()))
	})
}

func TestAMessageAloneIsWhatItIsInARequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.Custom(providerMessage).Draw(t, "message")
		alone, _, err := anthropic.ParseMessage([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		equalMessages(t, alone, parseAndBack(t, []byte(`{"messages":[`+source+`]}`)))
		again, report, err := anthropic.FormatMessage(alone)
		if err != nil || len(report.Changes) > 0 || !convtest.Equal([]byte(source), again) {
			t.Fatalf("%v, %v: became %s", err, report, again)
		}
	})
}

// parseAndBack parses what must be valid, and checks that it becomes the same JSON again.
func parseAndBack(t *rapid.T, source []byte) []*transcriptv1.Message {
	messages, _, err := anthropic.Parse(source)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	again, report, err := anthropic.Format(messages)
	if err != nil || len(report.Changes) > 0 {
		t.Fatalf("Format: %v, %v", report, err)
	}
	if !convtest.Equal(source, again) {
		t.Fatalf("became %s", again)
	}
	return messages
}

func equalMessages(t *rapid.T, a, b []*transcriptv1.Message) {
	if !bytes.Equal(canonical.EncodePayload(a), canonical.EncodePayload(b)) {
		t.Fatalf("%v is not %v", a, b)
	}
}

func TestForModelOfAnythingIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		request, report, err := anthropic.ForModel(messages)
		if errors.Is(err, anthropic.ErrNoMessages) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := anthropicapi.Check(request); err != nil {
			t.Fatalf("%v: %s", err, request)
		}
		if untold := convtest.Untold(messages, report, request); len(untold) > 0 {
			t.Fatalf("%v: neither in the request nor in the report: %s, %v", untold, request, report)
		}
		leftOut, _ := convtest.Repairs(messages)
		for _, c := range report.Changes {
			if c.Why == "answers no call of its group" {
				leftOut--
			}
		}
		if leftOut != 0 {
			t.Fatalf("left out %d results more or less than the server's repair", leftOut)
		}
	})
}

// What was sent begins what is sent next, but for the last message, unless calls were open.
func TestForModelOfAPrefixIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		cut := rapid.IntRange(0, len(messages)).Draw(t, "cut")
		if convtest.OpenCalls(messages[:cut]) {
			return
		}
		before, after := requestItems(t, messages[:cut]), requestItems(t, messages)
		if len(before) > len(after) {
			t.Fatalf("%d messages became %d", len(before), len(after))
		}
		for i := 0; i < len(before)-1; i++ {
			if !bytes.Equal(before[i], after[i]) {
				t.Fatalf("%s became %s", before[i], after[i])
			}
		}
	})
}

func requestItems(t *rapid.T, messages []*transcriptv1.Message) []json.RawMessage {
	request, _, err := anthropic.ForModel(messages)
	if errors.Is(err, anthropic.ErrNoMessages) {
		return nil
	}
	var items struct{ Messages []json.RawMessage }
	if err := errors.Join(err, json.Unmarshal(request, &items)); err != nil {
		t.Fatal(err)
	}
	return items.Messages
}

// What no provider wrote is written too, and what cannot be read back is reported.
func TestFormatOfAnythingTellsWhatItLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		out, report, err := anthropic.Format(messages)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		if len(report.Changes) > 0 {
			return
		}
		again, _, err := anthropic.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		equalMessages(t, messages, again)
	})
}
