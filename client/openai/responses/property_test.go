package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/responsesapi"
	"github.com/transcriptd/transcriptd/client/openai/responses"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func orOther(g *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.OneOf(g, g, rapid.Just("null"), convtest.JSON(1))
}

func text() *rapid.Generator[string] { return rapid.Map(convtest.Text(), convtest.Quote) }

func list(items []string) string { return "[" + strings.Join(items, ",") + "]" }

// item draws an item within the format: every documented member, null, absent or of another kind where it may be, and members that nobody
// documents.
func item(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{
		"message", "message", "", "", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "shell_call",
		"shell_call_output", "computer_call_output", "tool_search_call", "tool_search_output", "web_search_call", "compaction", "other",
	}).Draw(t, "type")
	m := map[string]string{}
	if kind != "" {
		m["type"] = convtest.Quote(kind)
	}
	convtest.Maybe(t, m, "id", orOther(text()))
	convtest.Maybe(t, m, "status", rapid.Just(`"completed"`))
	for _, member := range []string{"call_id", "name", "arguments", "input"} {
		convtest.Maybe(t, m, member, orOther(text()))
	}
	convtest.Maybe(t, m, "action", convtest.JSON(2))
	convtest.Maybe(t, m, "tools", convtest.JSON(2))
	convtest.Maybe(t, m, "output", orOther(content("input_text")))
	convtest.Maybe(t, m, "summary", orOther(content("summary_text")))
	convtest.Maybe(t, m, "encrypted_content", orOther(text()))
	if kind == "message" || kind == "" {
		role := rapid.SampledFrom([]string{"system", "developer", "user", "assistant", "assistant", "assistant"}).Draw(t, "role")
		m["role"] = convtest.Quote(role)
		delete(m, "content")
		switch role {
		case "assistant":
			convtest.Maybe(t, m, "content", orOther(content("output_text")))
		default:
			convtest.Maybe(t, m, "content", rapid.OneOf(text(), rapid.Just("null"), content("input_text")))
		}
		convtest.Maybe(t, m, "item", convtest.JSON(1))
		convtest.Others(t, m, "type", "role", "content", "item")
	} else {
		convtest.Maybe(t, m, "content", orOther(content("reasoning_text")))
		convtest.Others(t, m, "type")
	}
	return convtest.Object(m, rapid.Bool().Draw(t, "reversed"))
}

// content draws a list of content with texts of a kind.
func content(kind string) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(part(kind), part(kind), convtest.JSON(1)), 0, 3), list)
}

func part(kind string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		p := map[string]string{"type": convtest.Quote(rapid.SampledFrom([]string{kind, kind, "input_image", "input_file", "refusal", "other"}).Draw(t, "part"))}
		convtest.Maybe(t, p, "text", orOther(text()))
		for _, member := range []string{"image_url", "file_data", "file_url", "file_id"} {
			convtest.Maybe(t, p, member, rapid.SampledFrom([]string{
				`""`, `"https://example.com/a"`, `"data:image/png;base64,AAAA"`, `"data:application/pdf;base64,AAAA"`, `"data:image/PNG;base64,AA"`, "null", "1",
			}))
		}
		for _, member := range []string{"item", "json", "annotations", "refusal"} {
			convtest.Maybe(t, p, member, rapid.OneOf(convtest.JSON(1), rapid.Just(`{"content":""}`), rapid.Just(`"item"`)))
		}
		return convtest.Object(p, rapid.Bool().Draw(t, "reversed"))
	})
}

func TestRandomItemsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := []byte(list(rapid.SliceOfN(rapid.Custom(item), 0, 5).Draw(t, "items")))
		messages := parseAndBack(t, source)
		var respelled bytes.Buffer
		if err := json.Indent(&respelled, source, "", "\t"); err != nil {
			t.Fatal(err)
		}
		if again := parseAndBack(t, respelled.Bytes()); !bytes.Equal(canonical.EncodePayload(messages), canonical.EncodePayload(again)) {
			t.Fatalf("%v is not %v", messages, again)
		}
	})
}

// parseAndBack parses what must be valid, and checks that it becomes the same JSON again.
func parseAndBack(t *rapid.T, source []byte) []*transcriptv1.Message {
	messages, _, err := responses.Parse(source)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	again, report, err := responses.Format(messages)
	if err != nil || len(report.Changes) > 0 && !convtest.FrameworksOnly(report) {
		t.Fatalf("Format: %v, %v", report, err)
	}
	if !convtest.FrameworksOnly(report) && !convtest.Equal(source, again) {
		t.Fatalf("became %s", again)
	}
	return messages
}

func TestForModelOfAnythingIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		request, report, err := responses.ForModel(messages)
		if errors.Is(err, responses.ErrNoMessages) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := responsesapi.Check(request); err != nil {
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
			if c.Kind == responses.Added {
				added--
			}
		}
		if leftOut != 0 || added != 0 {
			t.Fatalf("the server's repair leaves out %d results more, and adds %d stubs more: %v", leftOut, added, report)
		}
	})
}

func TestForModelOfItemsIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, _, err := responses.Parse([]byte(list(rapid.SliceOfN(rapid.Custom(item), 0, 6).Draw(t, "items"))))
		if err != nil {
			t.Fatal(err)
		}
		request, _, err := responses.ForModel(messages)
		if errors.Is(err, responses.ErrNoMessages) {
			return
		}
		if err := errors.Join(err, responsesapi.Check(request)); err != nil {
			t.Fatalf("%v: %s", err, request)
		}
	})
}

// What is sent for a chain begins what is sent for a longer one, unless the chain ended within a group or in reasoning.
func TestForModelOfAPrefixIsAPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		n := rapid.IntRange(0, len(messages)).Draw(t, "n")
		if convtest.OpenCalls(messages[:n]) || n > 0 && n < len(messages) && messages[n-1].GetRole() == transcriptv1.Role_ROLE_TOOL {
			return
		}
		all, part := sentItems(t, messages), sentItems(t, messages[:n])
		if len(part) > len(all) || list(part) != list(all[:len(part)]) {
			t.Fatalf("%s does not begin %s", list(part), list(all))
		}
	})
}

func sentItems(t *rapid.T, messages []*transcriptv1.Message) []string {
	request, _, err := responses.ForModel(messages)
	if errors.Is(err, responses.ErrNoMessages) {
		return nil
	}
	var items []json.RawMessage
	if err := errors.Join(err, json.Unmarshal(request, &items)); err != nil {
		t.Fatal(err)
	}
	sent := make([]string, len(items))
	for i, one := range items {
		sent[i] = string(one)
	}
	return sent
}

// What no provider wrote is written too, and what cannot be read back is reported.
func TestFormatOfAnythingTellsWhatItLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages := convtest.Messages().Draw(t, "messages")
		out, report, err := responses.Format(messages)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		if len(report.Changes) > 0 {
			return
		}
		again, _, err := responses.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(canonical.EncodePayload(messages), canonical.EncodePayload(again)) {
			t.Fatalf("%v is not %v", messages, again)
		}
	})
}
