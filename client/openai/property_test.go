package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/openaiapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// providerMessage draws a message within the format: every documented member, null or absent where it may be, and
// members that nobody documents.
func providerMessage(t *rapid.T) string {
	role := rapid.SampledFrom([]string{"system", "developer", "user", "assistant", "tool", "function"}).Draw(t, "role")
	m := map[string]string{"role": convtest.Quote(role)}
	convtest.Maybe(t, m, "content", content())
	convtest.Maybe(t, m, "name", orNull(convtest.Text()))
	convtest.Maybe(t, m, "reasoning_content", convtest.JSON(1))
	convtest.Maybe(t, m, "is_error", convtest.JSON(1))
	convtest.Maybe(t, m, "refusal", orNull(convtest.Text()))
	switch role {
	case "assistant":
		convtest.Maybe(t, m, "tool_calls", toolCalls())
		convtest.Maybe(t, m, "function_call", functionCall())
	case "tool", "function":
		convtest.Maybe(t, m, "tool_call_id", orNull(convtest.Text()))
		convtest.Maybe(t, m, "tool_calls", convtest.JSON(2))
	}
	convtest.Others(t, m, "role", "content", "name", "tool_calls", "function_call", "tool_call_id")
	return convtest.Object(m, rapid.Bool().Draw(t, "reversed"))
}

func orNull(text *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just("null"), rapid.Map(text, convtest.Quote))
}

func content() *rapid.Generator[string] {
	return rapid.OneOf(
		orNull(convtest.Text()),
		rapid.Map(rapid.SliceOfN(rapid.OneOf(rapid.Custom(providerPart), convtest.JSON(2)), 0, 3), list),
	)
}

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }

func providerPart(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{"text", "image_url", "input_audio", "file", "refusal", "other"}).Draw(t, "type")
	p := map[string]string{"type": convtest.Quote(kind)}
	convtest.Maybe(t, p, "text", rapid.OneOf(rapid.Map(convtest.Text(), convtest.Quote), convtest.JSON(1)))
	inner := map[string]string{}
	data := rapid.SampledFrom([]string{
		`""`, `"AAAA"`, `"AAA"`, `"AA=="`, `"AB=="`, `"A A="`, `"data:image/png;base64,AAAA"`, `"data:IMAGE/png;base64,AAAA"`,
		`"data:image/png;charset=x;base64,AAAA"`, `"data:application/pdf;base64,AAAA"`, `"data:audio/wav;base64,AAAA"`,
		`"data:application/pdf;base64,A\nAAA"`, `"https://example.com/a"`, `"file-1"`, "null", "1",
	})
	for _, member := range []string{"url", "data", "file_data"} {
		convtest.Maybe(t, inner, member, data)
	}
	convtest.Maybe(t, inner, "format", rapid.SampledFrom([]string{`"wav"`, `"mp3"`, `"MP3"`, `""`, "null"}))
	convtest.Maybe(t, inner, "detail", orNull(convtest.Text()))
	convtest.Others(t, inner, "url", "data", "file_data", "format", "detail")
	convtest.Maybe(t, p, kind, rapid.OneOf(rapid.Just(convtest.Object(inner, false)), convtest.JSON(1)))
	convtest.Others(t, p, "type", "text", kind)
	return convtest.Object(p, rapid.Bool().Draw(t, "reversed"))
}

func toolCalls() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just("null"), rapid.Map(rapid.SliceOfN(rapid.Custom(providerCall), 0, 3), list))
}

func providerCall(t *rapid.T) string {
	c := map[string]string{}
	convtest.Maybe(t, c, "id", orNull(convtest.Text()))
	convtest.Maybe(t, c, "type", rapid.SampledFrom([]string{`"function"`, `"function"`, `"custom"`, `"other"`, "null", "3"}))
	for object, member := range map[string]string{"function": "arguments", "custom": "input"} {
		inner := map[string]string{}
		convtest.Maybe(t, inner, "name", orNull(convtest.Text()))
		convtest.Maybe(t, inner, member, orNull(convtest.Text()))
		convtest.Others(t, inner, "name", member)
		convtest.Maybe(t, c, object, rapid.OneOf(rapid.Just(convtest.Object(inner, true)), rapid.Just("null")))
	}
	convtest.Others(t, c, "id", "type", "function", "custom")
	return convtest.Object(c, rapid.Bool().Draw(t, "reversed"))
}

func functionCall() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just("null"), rapid.Custom(func(t *rapid.T) string {
		c := map[string]string{
			"name":      convtest.Quote(convtest.Text().Draw(t, "name")),
			"arguments": convtest.Quote(convtest.Text().Draw(t, "arguments")),
		}
		convtest.Others(t, c, "name", "arguments")
		return convtest.Object(c, false)
	}))
}

func TestRandomProviderJSONIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(providerMessage), 0, 3).Draw(t, "messages")
		source := []byte(list(items))
		messages := parseAndBack(t, source)

		var respelled bytes.Buffer
		if err := json.Indent(&respelled, source, "", "\t"); err != nil {
			t.Fatal(err)
		}
		equalMessages(t, messages, parseAndBack(t, respelled.Bytes()))
		for i, item := range items {
			one, _, err := openai.ParseMessage([]byte(item))
			if err != nil || !proto.Equal(one, messages[i]) {
				t.Fatalf("a message alone becomes %v, %v, in a list %v", one, err, messages[i])
			}
		}
	})
}

// parseAndBack parses what must be valid, and checks that it becomes the same JSON again.
func parseAndBack(t *rapid.T, source []byte) []*transcriptv1.Message {
	messages, _, err := openai.Parse(source)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	again, report, err := openai.Format(messages)
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
		request, report, err := openai.ForModel(messages)
		if errors.Is(err, openai.ErrNoMessages) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := openaiapi.Check(request); err != nil {
			t.Fatalf("%v: %s", err, request)
		}
		if untold := convtest.Untold(messages, report, request); len(untold) > 0 {
			t.Fatalf("%v: neither in the request nor in the report: %s, %v", untold, request, report)
		}
		leftOut, added := convtest.Repairs(messages)
		for _, c := range report.Changes {
			if c.Why == "answers no call of its group" {
				leftOut--
			}
			if c.Kind == openai.Added {
				added--
			}
		}
		if leftOut != 0 || added != 0 {
			t.Fatalf("left out %d results and added %d more or less than the server's repair", leftOut, added)
		}
	})
}

// What was sent begins what is sent next, unless calls were open.
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
		for i := range before {
			if !bytes.Equal(before[i], after[i]) {
				t.Fatalf("%s became %s", before[i], after[i])
			}
		}
	})
}

func requestItems(t *rapid.T, messages []*transcriptv1.Message) []json.RawMessage {
	request, _, err := openai.ForModel(messages)
	if errors.Is(err, openai.ErrNoMessages) {
		return nil
	}
	var items []json.RawMessage
	if err := errors.Join(err, json.Unmarshal(request, &items)); err != nil {
		t.Fatal(err)
	}
	return items
}

// What no provider wrote is written too, and what cannot be read back is reported.
func TestFormatOfAnythingTellsWhatItLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		out, report, err := openai.Format(messages)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		if len(report.Changes) > 0 {
			return
		}
		again, _, err := openai.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		equalMessages(t, messages, again)
	})
}
