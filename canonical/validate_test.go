package canonical_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestValidateAccepts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, metadata := drawMessages(t, false), drawMetadata(t)
		salt := make([]byte, rapid.SampledFrom([]int{0, 16, 17, 31, 32}).Draw(t, "salt"))
		if err := canonical.Validate(messages, metadata, salt); err != nil {
			t.Fatal(err)
		}
	})
}

// What only Go can build, and what parsing refuses before Validate sees it.
func TestValidateRefusesWhatIsBuiltInGo(t *testing.T) {
	bad := "a\xff"
	text := &transcriptv1.Part_Text{Text: "a"}
	part := func(k *transcriptv1.Part) *transcriptv1.Message {
		return &transcriptv1.Message{Role: 4, Parts: []*transcriptv1.Part{{Kind: text}, k}}
	}
	media := func(m *transcriptv1.Media) *transcriptv1.Message {
		return part(&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: m}})
	}
	call := func(c *transcriptv1.ToolCall) *transcriptv1.Message {
		return part(&transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: c}})
	}
	reasoning := func(r *transcriptv1.Reasoning) *transcriptv1.Message {
		return part(&transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: r}})
	}
	const null, kind = "must not be null", "must have a kind"
	for _, c := range []struct {
		message     *transcriptv1.Message
		field, rule string
		sentinel    error
	}{
		{nil, "", null, canonical.ErrInvalid},
		{part(nil), ".parts[1]", null, canonical.ErrInvalid},
		{part(&transcriptv1.Part{}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_Text)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_Json)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_Media)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_Reasoning)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_ToolCall)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{media(nil), ".parts[1].media", null, canonical.ErrInvalid},
		{call(nil), ".parts[1].tool_call", null, canonical.ErrInvalid},
		{reasoning(nil), ".parts[1].reasoning", null, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: (*transcriptv1.Part_Opaque)(nil)}), ".parts[1]", kind, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: &transcriptv1.Part_Opaque{}}), ".parts[1].opaque", null, canonical.ErrInvalid},
		{part(&transcriptv1.Part{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: bad}}}), ".parts[1].opaque.type", utf8Rule, canonical.ErrMalformed},
		{media(&transcriptv1.Media{Source: (*transcriptv1.Media_Inline)(nil)}), ".parts[1].media.source", null, canonical.ErrInvalid},
		{media(&transcriptv1.Media{Source: (*transcriptv1.Media_Uri)(nil)}), ".parts[1].media.source", null, canonical.ErrInvalid},
		{media(&transcriptv1.Media{Source: (*transcriptv1.Media_BlobDigest)(nil)}), ".parts[1].media.source", null, canonical.ErrInvalid},
		{media(&transcriptv1.Media{Source: &transcriptv1.Media_Uri{Uri: bad}}), ".parts[1].media.uri", utf8Rule, canonical.ErrMalformed},
		{media(&transcriptv1.Media{MediaType: bad}), ".parts[1].media.media_type", utf8Rule, canonical.ErrMalformed},
		{part(&transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: bad}}), ".parts[1].text", utf8Rule, canonical.ErrMalformed},
		{part(&transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: bad}}), ".parts[1].json", utf8Rule, canonical.ErrMalformed},
		{part(&transcriptv1.Part{Kind: text, Extras: `{"a":"` + bad + `"}`}), ".parts[1].extras", utf8Rule, canonical.ErrMalformed},
		{reasoning(&transcriptv1.Reasoning{Text: bad}), ".parts[1].reasoning.text", utf8Rule, canonical.ErrMalformed},
		{reasoning(&transcriptv1.Reasoning{Signature: bad}), ".parts[1].reasoning.signature", utf8Rule, canonical.ErrMalformed},
		{call(&transcriptv1.ToolCall{Id: &bad}), ".parts[1].tool_call.id", utf8Rule, canonical.ErrMalformed},
		{call(&transcriptv1.ToolCall{Name: &bad}), ".parts[1].tool_call.name", utf8Rule, canonical.ErrMalformed},
		{call(&transcriptv1.ToolCall{Arguments: bad}), ".parts[1].tool_call.arguments", utf8Rule, canonical.ErrMalformed},
		{&transcriptv1.Message{Role: 5, ToolCallId: &bad}, ".tool_call_id", utf8Rule, canonical.ErrMalformed},
		{&transcriptv1.Message{Role: 5, Name: &bad}, ".name", utf8Rule, canonical.ErrMalformed},
		{&transcriptv1.Message{Role: 5, Extras: bad}, ".extras", utf8Rule, canonical.ErrMalformed},
	} {
		err := canonical.Validate([]*transcriptv1.Message{{Role: 1}, c.message}, nil, nil)
		expect(t, err, "messages[1]"+c.field, c.rule, c.sentinel)
	}
	expectEntry := func(e *transcriptv1.MetadataEntry, field, rule string, kind error) {
		t.Helper()
		expect(t, canonical.Validate(nil, []*transcriptv1.MetadataEntry{{Key: "a"}, e}, nil), "metadata[1]"+field, rule, kind)
	}
	expectEntry(nil, "", null, canonical.ErrInvalid)
	expectEntry(&transcriptv1.MetadataEntry{Key: bad}, ".key", utf8Rule, canonical.ErrMalformed)
	expectEntry(&transcriptv1.MetadataEntry{Key: "b", Value: bad}, ".value", utf8Rule, canonical.ErrMalformed)
	_, err := canonical.ParseSpawnedFrom(&transcriptv1.SpawnedFromRef{NodeId: idA, ToolCallId: &bad})
	expect(t, err, "spawned_from.tool_call_id", utf8Rule, canonical.ErrMalformed)
}

func expect(t *testing.T, err error, field, rule string, kind error) {
	t.Helper()
	var refused *canonical.FieldError
	if !errors.As(err, &refused) || refused.Field != field || refused.Rule != rule || !errors.Is(err, kind) {
		t.Errorf("%v, want %s: %s (%v)", err, field, rule, kind)
	}
}

// A field that is not known is refused in every message that a put can hold.
func TestValidateRefusesUnknownFieldsEverywhere(t *testing.T) {
	id := ""
	whole := &transcriptv1.PutNodeRequest{
		Messages: []*transcriptv1.Message{{Role: 4, Parts: []*transcriptv1.Part{
			{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{}}},
			{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{}}},
			{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{}}},
		}}, {Role: 3, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: &transcriptv1.Opaque{Type: "t"}}}}}},
		Metadata:    []*transcriptv1.MetadataEntry{{Key: "k"}},
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: idA, ToolCallId: &id},
	}
	judge := func() error {
		if err := canonical.Validate(whole.Messages, whole.Metadata, nil); err != nil {
			return err
		}
		_, err := canonical.ParseSpawnedFrom(whole.SpawnedFrom)
		return err
	}
	if err := judge(); err != nil {
		t.Fatal(err)
	}
	inside := subMessages(whole.ProtoReflect())[1:]
	if len(inside) != 12 {
		t.Fatalf("%d messages", len(inside))
	}
	for _, m := range inside {
		m.SetUnknown([]byte{0xf8, 0x07, 0x01})
		if err := judge(); !errors.Is(err, canonical.ErrMalformed) {
			t.Errorf("%s: %v", m.Descriptor().FullName(), err)
		}
		m.SetUnknown(nil)
	}
}

// subMessages are m and all messages in it.
func subMessages(m protoreflect.Message) []protoreflect.Message {
	all := []protoreflect.Message{m}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				all = append(all, subMessages(v.List().Get(i).Message())...)
			}
		default:
			all = append(all, subMessages(v.Message())...)
		}
		return true
	})
	return all
}

// One spelling per meaning: of the content that a provider can have written (null, no member, a string, a list) each
// is spelled by exactly one accepted form, for all lists of up to three parts.
func TestContentFormHasOneSpelling(t *testing.T) {
	kinds := []*transcriptv1.Part{
		{Kind: &transcriptv1.Part_Text{}},
		{Kind: &transcriptv1.Part_Text{}, Extras: `{"a":1}`},
		{Kind: &transcriptv1.Part_Json{}},
		{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{}}},
		{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{}}},
		{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{}}, Extras: `{"a":1}`},
	}
	lists := [][]*transcriptv1.Part{{}}
	for size, from := 1, 0; size <= 3; size++ {
		to := len(lists)
		for _, shorter := range lists[from:to] {
			for _, p := range kinds {
				lists = append(lists, append(slices.Clone(shorter), p))
			}
		}
		from = to
	}
	for _, parts := range lists {
		content, text := 0, 0
		for i := range parts {
			p := parts[i]
			if p == kinds[4] || p == kinds[5] {
				continue
			}
			if content++; p == kinds[0] {
				text++
			}
		}
		implied, want := "list", []string{"list"}
		switch {
		case content == 0:
			implied, want = "null", []string{"absent", "list", "null"}
		case content == 1 && text == 1:
			implied, want = "string", []string{"list", "string"}
		}
		var spelled []string
		for form, meaning := range map[transcriptv1.ContentForm]string{0: implied, 1: "list", 2: "absent"} {
			m := &transcriptv1.Message{Role: 4, Parts: parts, ContentForm: form}
			if canonical.Validate([]*transcriptv1.Message{m}, nil, nil) == nil {
				spelled = append(spelled, meaning)
			}
		}
		if slices.Sort(spelled); !slices.Equal(spelled, want) {
			t.Errorf("%d parts, %d content, %d plain text: %q, want %q", len(parts), content, text, spelled, want)
		}
	}
}

// Errors never repeat what was given.
func TestErrorsHoldNoContent(t *testing.T) {
	const canary = "c4n4ry"
	long := strings.Repeat(canary, 1000)
	bad, empty := canary+"\xff", ""
	for i, m := range []*transcriptv1.Message{
		{Role: 5, ToolCallId: &long},
		{Role: 5, Name: &bad},
		{Role: 3, ToolCallId: &long},
		{Role: 3, Extras: `{"` + canary + `":1,"` + canary + `":1}`},
		{Role: 3, Extras: `{"a": "` + canary + `"}`},
		{Role: 3, Extras: canary},
		{Role: 4, ContentForm: 2, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: canary}}}},
		{Role: 4, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: &empty, Name: &long}}}}},
	} {
		err := canonical.Validate([]*transcriptv1.Message{m}, nil, nil)
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%d: %v", i, err)
		}
	}
	entries := []*transcriptv1.MetadataEntry{{Key: canary, Value: canary}, {Key: canary}}
	if err := canonical.Validate(nil, entries, nil); err == nil || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
	stored := canonical.EncodePayload([]*transcriptv1.Message{{Role: 5, Name: proto.String(canary)}})
	if _, err := canonical.CheckPayload(append(stored, canary...)); err == nil || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
	if _, err := canonical.CheckPayload(slices.Concat([]byte{0x0a, 0x08, 0x2a, 0x06}, []byte(canary))); err == nil || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}

// A blob is refused from clients, since no server keeps any; stored by an earlier version, it is what it was.
func TestBlobsAreStoredOnly(t *testing.T) {
	for length, rule := range map[int]string{31: "must be 32 bytes", 32: ""} {
		messages := []*transcriptv1.Message{{Role: 3, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
			Source: &transcriptv1.Media_BlobDigest{BlobDigest: make([]byte, length)}}}}}}}
		const field = "messages[0].parts[0].media.blob_digest"
		expect(t, canonical.Validate(messages, nil, nil), field, blobRule, canonical.ErrInvalid)
		_, err := canonical.CheckPayload(canonical.EncodePayload(messages))
		if rule != "" {
			expect(t, err, field, rule, canonical.ErrInvalid)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestFieldErrorUnder(t *testing.T) {
	err := canonical.Validate([]*transcriptv1.Message{{}}, nil, nil)
	var refused *canonical.FieldError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if got := refused.Under("nodes[7]").Error(); got != "nodes[7].messages[0].role: must be set" {
		t.Error(got)
	}
	if (*canonical.FieldError)(nil).Under("a") != nil {
		t.Error("nil under a path is an error")
	}
}

func TestParseSpawnedFrom(t *testing.T) {
	if from, err := canonical.ParseSpawnedFrom(nil); from != nil || err != nil {
		t.Error(from, err)
	}
	empty := ""
	from, err := canonical.ParseSpawnedFrom(&transcriptv1.SpawnedFromRef{NodeId: idB, ToolCallId: &empty})
	if err != nil || from.Node != *idOf(t, idB) || !from.CallID.Present || from.CallID.Value != "" {
		t.Error(from, err)
	}
	from, err = canonical.ParseSpawnedFrom(&transcriptv1.SpawnedFromRef{NodeId: idC})
	if err != nil || from.Node != *idOf(t, idC) || from.CallID.Present {
		t.Error(from, err)
	}
}

func TestVariables(t *testing.T) {
	var entries []*transcriptv1.MetadataEntry
	for _, key := range []string{"var/b", "varinfo/b", "varinfo/", "varinfo", "varinfo/d", "var", "var/", "a", "var/a/b", "VAR/c", "var/\U00010000", "var/\ufffd", "xvar/y"} {
		entries = append(entries, &transcriptv1.MetadataEntry{Key: key})
	}
	want := []runloop.VariableChange{
		{Name: "a/b", Unset: true}, {Name: "b", Unset: true}, {Name: "d", Declared: true, Unset: true}, {Name: "\ufffd", Unset: true},
		{Name: "\U00010000", Unset: true},
	}
	if got := canonical.Variables(entries); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := canonical.Variables(nil); got != nil {
		t.Error(got)
	}
}

// Whatever bit of a stored payload is changed and wherever it is cut, what passes is the one encoding of what it holds.
func TestCheckPayloadOfChangedBytes(t *testing.T) {
	payload := payloadSeeds()[1]
	if _, err := canonical.CheckPayload(payload); err != nil {
		t.Fatal(err)
	}
	for i := range payload {
		for bit := range 8 {
			changed := slices.Clone(payload)
			changed[i] ^= 1 << bit
			messages, err := canonical.DecodePayload(changed)
			if _, bad := canonical.CheckPayload(changed); bad == nil && (err != nil || !slices.Equal(canonical.EncodePayload(messages), changed)) {
				t.Errorf("byte %d, bit %d passes", i, bit)
			}
		}
		if _, err := canonical.CheckPayload(payload[:i]); err == nil && !boundary(payload, i) {
			t.Errorf("cut at %d passes", i)
		}
	}
}

// What stands beside the messages or the entries is not dropped in silence.
func TestDecodeRefusesUnknownFields(t *testing.T) {
	beside := []byte{0x10, 0x00}
	if _, err := canonical.DecodePayload(beside); !errors.Is(err, canonical.ErrNotCanonical) {
		t.Error(err)
	}
	if _, err := canonical.DecodeMetadata(beside); !errors.Is(err, canonical.ErrNotCanonical) {
		t.Error(err)
	}
	if _, err := canonical.DecodeEnvelope([]byte{0x30, 0x00}); !errors.Is(err, canonical.ErrNotCanonical) {
		t.Error(err)
	}
}

// boundary tells whether a payload ends a message at byte i.
func boundary(payload []byte, i int) bool {
	at := 0
	messages, _ := canonical.DecodePayload(payload)
	for _, f := range canonical.Facts(messages) {
		if at == i {
			return true
		}
		at += f.Length
	}
	return at == i
}

func ExampleValidate() {
	err := canonical.Validate([]*transcriptv1.Message{{
		Role:  transcriptv1.Role_ROLE_USER,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "hi"}, Extras: `{"a": 1}`}},
	}}, nil, nil)
	fmt.Println(err)
	fmt.Println(errors.Is(err, canonical.ErrInvalid))
	// Output:
	// messages[0].parts[0].extras: must be a JSON object in compact form, strings escaped as JSON.stringify does
	// true
}
