package canonical_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Messages of the cases are protojson: the files hold them as they stand here, in protojson's one spelling.

const (
	system    = `{"role":"ROLE_SYSTEM","parts":[{"text":"Be brief."}]}`
	user      = `{"role":"ROLE_USER","parts":[{"text":"What is the weather in Oslo?"}]}`
	assistant = `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"call_1","name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]}`
	tool      = `{"role":"ROLE_TOOL","parts":[{"text":"4 degrees, rain"}],"toolCallId":"call_1"}`

	salt16 = "000102030405060708090a0b0c0d0e0f"
	salt32 = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	idA    = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	idB    = "00000000000000000000000000000000000000000000000000000000000000ff"
	idC    = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
)

// spell puts protojson into the spelling of the files.
func spell(t *testing.T, messages ...string) []json.RawMessage {
	t.Helper()
	all := []json.RawMessage{}
	for _, s := range messages {
		m, _, _ := expand(t, input{Messages: []json.RawMessage{json.RawMessage(s)}})
		all = append(all, raw(t, m[0]))
	}
	return all
}

// acceptedCases are the vectors, not yet completed.
func acceptedCases(t *testing.T) []vector {
	var all []vector
	for _, c := range messageCases() {
		all = append(all, vector{Name: c[0], input: input{Messages: spell(t, c[1:]...)}})
	}
	for _, c := range storedCases() {
		all = append(all, vector{Name: c[0], input: input{Messages: spell(t, c[1:]...)}, Stored: true})
	}
	all = append(all, sizeCases(t)...)
	all = append(all, metadataCases(t)...)
	all = append(all, envelopeCases(t)...)
	return append(all, wireCases(t)...)
}

// messageCases are a name and messages each.
func messageCases() [][]string {
	part := func(name, part string) []string {
		return []string{name, `{"role":"ROLE_ASSISTANT","parts":[` + part + `]}`}
	}
	return [][]string{
		{"role system", system},
		{"role developer", `{"role":"ROLE_DEVELOPER","parts":[{"text":"Answer in Norwegian."}]}`},
		{"role user", user},
		{"role assistant", `{"role":"ROLE_ASSISTANT","parts":[{"text":"Rain."}]}`},
		{"role tool", tool},
		{"smallest message: a role alone", `{"role":"ROLE_USER"}`},
		{"a turn with a call and its result", system, user, assistant, tool, `{"role":"ROLE_ASSISTANT","parts":[{"text":"It rains."}]}`},
		{"equal messages twice", user, user},

		part("part: empty text", `{"text":""}`),
		part("part: reasoning", `{"reasoning":{"text":"It may rain.","signature":"c2ln","redactedData":"AAH/"}}`),
		part("part: empty reasoning", `{"reasoning":{}}`),
		part("part: reasoning, redacted alone", `{"reasoning":{"redactedData":"/w=="}}`),
		part("part: media inline", `{"media":{"mediaType":"image/png","inline":"iVBORw0KGgo="}}`),
		part("part: media inline, empty", `{"media":{"mediaType":"image/png","inline":""}}`),
		part("part: media uri", `{"media":{"mediaType":"image/jpeg","uri":"https://example.com/a.jpg"}}`),
		part("part: media uri, empty", `{"media":{"uri":""}}`),
		part("part: media without source", `{"media":{"mediaType":"application/pdf"}}`),
		part("part: empty media", `{"media":{}}`),
		part("part: json", `{"json":"{\"type\":\"server_tool_use\", \"id\": 1.0}"}`),
		part("part: json that is none", `{"json":"{not parsed"}`),
		part("part: json, empty", `{"json":""}`),
		part("part: tool call", `{"toolCall":{"id":"call_1","name":"weather","arguments":"{}"}}`),
		part("part: tool call, all absent", `{"toolCall":{}}`),
		part("part: tool call, id and name empty", `{"toolCall":{"id":"","name":""}}`),
		part("part: tool call, id alone", `{"toolCall":{"id":"call_1"}}`),
		part("part: tool call, name alone", `{"toolCall":{"name":"weather"}}`),
		part("part: tool call, arguments that are no JSON", `{"toolCall":{"id":"c","name":"f","arguments":"{\"cut"}}`),
		part("part: calls with one id", `{"toolCall":{"id":"c"}},{"toolCall":{"id":"c"}}`),
		part("every part kind", `{"text":"a"},{"reasoning":{"text":"b"}},{"media":{"uri":"c"}},{"json":"d"},{"toolCall":{"arguments":"e"}}`),
		part("the same parts in another order", `{"toolCall":{"arguments":"e"}},{"json":"d"},{"media":{"uri":"c"}},{"reasoning":{"text":"b"}},{"text":"a"}`),

		part("part: opaque", `{"opaque":{"type":"adk.session/state","data":"AAH/"}}`),
		part("part: opaque, without data", `{"opaque":{"type":"t"}}`),
		part("part: opaque, a type of 256 bytes, the most", `{"opaque":{"type":"`+strings.Repeat("\u00e9", 128)+`","data":"AA=="}}`),
		{"opaque messages of all roles but TOOL", `{"role":"ROLE_SYSTEM","parts":[{"opaque":{"type":"t","data":"cw=="}}]}`,
			`{"role":"ROLE_DEVELOPER","parts":[{"opaque":{"type":"t","data":"cw=="}}]}`, `{"role":"ROLE_USER","parts":[{"opaque":{"type":"t","data":"cw=="}}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"opaque":{"type":"t","data":"cw=="}}]}`},
		{"an opaque message between a call and its result", user, assistant, `{"role":"ROLE_USER","parts":[{"opaque":{"type":"t","data":"cw=="}}]}`, tool},

		{"tool call id absent", `{"role":"ROLE_TOOL","parts":[{"text":"ok"}]}`},
		{"tool call id empty", `{"role":"ROLE_TOOL","parts":[{"text":"ok"}],"toolCallId":""}`},
		{"tool: is_error", `{"role":"ROLE_TOOL","parts":[{"text":"no such city"}],"toolCallId":"call_1","isError":true}`},
		{"tool: name", `{"role":"ROLE_TOOL","parts":[{"text":"ok"}],"toolCallId":"call_1","name":"weather"}`},
		{"name on a user message", `{"role":"ROLE_USER","parts":[{"text":"hi"}],"name":"ada"}`},
		{"name empty", `{"role":"ROLE_USER","parts":[{"text":"hi"}],"name":""}`},
		{"state partial", `{"role":"ROLE_ASSISTANT","parts":[{"text":"It r"}],"state":"MESSAGE_STATE_PARTIAL"}`},
		{"state aborted", `{"role":"ROLE_ASSISTANT","state":"MESSAGE_STATE_ABORTED"}`},
		{"joined", user, `{"role":"ROLE_USER","parts":[{"text":"And tomorrow?"}],"joined":true}`},
		{"content form PARTS without parts", `{"role":"ROLE_ASSISTANT","contentForm":"CONTENT_FORM_PARTS"}`},
		{"content form ABSENT without parts", `{"role":"ROLE_ASSISTANT","contentForm":"CONTENT_FORM_ABSENT"}`},
		{"content form PARTS with a single text", `{"role":"ROLE_USER","parts":[{"text":"hi"}],"contentForm":"CONTENT_FORM_PARTS"}`},
		{"content form PARTS with a single empty text", `{"role":"ROLE_USER","parts":[{"text":""}],"contentForm":"CONTENT_FORM_PARTS"}`},
		{"content form PARTS, text beside a call and reasoning", `{"role":"ROLE_ASSISTANT","parts":[{"reasoning":{"text":"r"}},{"text":"hi"},{"toolCall":{"id":"c"}}],"contentForm":"CONTENT_FORM_PARTS"}`},
		{"content form PARTS with a call alone", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"c"}}],"contentForm":"CONTENT_FORM_PARTS"}`},
		{"content form ABSENT with a call alone", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"c"}}],"contentForm":"CONTENT_FORM_ABSENT"}`},
		{"content form ABSENT with reasoning alone", `{"role":"ROLE_ASSISTANT","parts":[{"reasoning":{"text":"r"}}],"contentForm":"CONTENT_FORM_ABSENT"}`},
		{"content form PARTS with a call that has extras", `{"role":"ROLE_ASSISTANT","parts":[{"extras":"{\"index\":0}","toolCall":{"id":"c"}}],"contentForm":"CONTENT_FORM_PARTS"}`},

		{"extras on a message", `{"role":"ROLE_ASSISTANT","parts":[{"text":"hi"}],"extras":"{\"refusal\":null,\"annotations\":[]}"}`},
		{"extras on a part", `{"role":"ROLE_USER","parts":[{"text":"hi","extras":"{\"cache_control\":{\"type\":\"ephemeral\"}}"}]}`},
		{"extras: members in source order, numbers as spelled", `{"role":"ROLE_USER","extras":"{\"b\":1.50,\"a\":1E5,\"10\":-0,\"9\":[0.0,1e+2]}"}`},
		{"extras: strings as JSON.stringify", `{"role":"ROLE_USER","extras":"{\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\":\"\u007f\u2028\u2029\ufeff\ud83d\ude00\"}"}`},
		{"extras nested 128 deep", `{"role":"ROLE_USER","extras":"{\"a\":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `}"}`},
		{"extras: one name in two objects, and an empty one", `{"role":"ROLE_USER","extras":"{\"\":{\"a\":{}},\"b\":{\"a\":{}}}"}`},

		{"text: U+0000", `{"role":"ROLE_USER","parts":[{"text":"a\u0000b"}]}`},
		{"text: leading U+FEFF", `{"role":"ROLE_USER","parts":[{"text":"\ufeffhello"}]}`},
		{"text: beyond the basic plane", `{"role":"ROLE_USER","parts":[{"text":"\ud83d\ude00\ud800\udc00\udbff\udfff"}]}`},
		{"text: composed", `{"role":"ROLE_USER","parts":[{"text":"\u00e9"}]}`},
		{"text: with a combining mark (not normalised)", `{"role":"ROLE_USER","parts":[{"text":"e\u0301"}]}`},
		{"text: Hangul as jamo (not normalised)", `{"role":"ROLE_USER","parts":[{"text":"\u1112\u1161\u11ab"}]}`},
		{"text: line ends", `{"role":"ROLE_USER","parts":[{"text":"a\r\nb\rc\nd\u2028e"}]}`},
		{"text: U+FFFD, as a lone surrogate becomes", `{"role":"ROLE_USER","parts":[{"text":"\ufffd"}]}`},
		{"text: noncharacters", `{"role":"ROLE_USER","parts":[{"text":"\uffff\ufdd0"}]}`},
		{"ids and names: U+0000, U+FEFF and beyond the basic plane", `{"role":"ROLE_TOOL","toolCallId":"\ufeff\u0000","name":"\ud83d\ude00"}`},
		{"order of messages: a system message in the middle, a result without a call", user, system, tool, assistant},
	}
}

// storedCases are what is stored and no client may put: what only a server makes, and blobs, which no server takes yet.
func storedCases() [][]string {
	return [][]string{
		{"origin summary", `{"role":"ROLE_USER","parts":[{"text":"They spoke of the weather."}],"origin":"ORIGIN_SUMMARY"}`},
		{"origin stub", `{"role":"ROLE_TOOL","parts":[{"text":"[no result: the call was interrupted]"}],"toolCallId":"call_1","name":"weather","origin":"ORIGIN_STUB"}`},
		{"origin stub of a call without id and name", `{"role":"ROLE_TOOL","parts":[{"text":"[no result: the call was interrupted]"}],"origin":"ORIGIN_STUB"}`},
		{"origin left out", `{"role":"ROLE_USER","parts":[{"text":"[47 earlier turns are not shown]"}],"origin":"ORIGIN_LEFT_OUT"}`},
		{"part: media blob digest", `{"role":"ROLE_ASSISTANT","parts":[{"media":{"mediaType":"audio/wav","blobDigest":"X+zrZv/IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V+k="}}]}`},
		{"origin shortened", `{"role":"ROLE_TOOL","parts":[{"text":"[result of weather, 1200 bytes, left out; recall call_1 5feceb66ffc8.3]"}],"toolCallId":"call_1","origin":"ORIGIN_SHORTENED"}`},
	}
}

// sized is a vector of one user message whose text is a, times over.
func sized(t *testing.T, name string, times int) vector {
	return vector{Name: name, input: input{
		Messages: spell(t, `{"role":"ROLE_USER","parts":[{"text":""}]}`),
		Fill:     []fill{{Unit: "a", Times: times}},
	}}
}

func sizeCases(t *testing.T) []vector {
	var all []vector
	for _, n := range []int{1, 118, 119, 120, 121, 122, 127, 128, 16374, 16375, 16376, 16377, 16378, 16383, 16384, 2097151, 2097152} {
		all = append(all, sized(t, fmt.Sprintf("text of %d bytes", n), n))
	}
	all = append(all, vector{Name: "text of 16384 bytes in 4096 code points", input: input{
		Messages: spell(t, `{"role":"ROLE_USER","parts":[{"text":""}]}`),
		Fill:     []fill{{Unit: "\U0001F600", Times: 4096}},
	}})

	// A message at its limit: role 2, parts 1+4+..., text 1+4+...
	all = append(all, sized(t, "a message of 3 MiB, the most", canonical.MaxMessageBytes-2-5-5))
	full := vector{Name: "a payload of 4 MiB - 128 KiB, the most", input: input{
		Messages: spell(t, `{"role":"ROLE_USER","parts":[{"text":""}]}`, `{"role":"ROLE_ASSISTANT","parts":[{"text":""}]}`),
	}}
	half := canonical.MaxPayloadBytes / 2
	full.Fill = []fill{{Unit: "a", Times: half - 14}, {Message: 1, Unit: "b", Times: half - 14}}
	all = append(all, full)

	return append(all,
		vector{Name: "opaque data of 1 MiB, the most", input: input{
			Messages: spell(t, `{"role":"ROLE_USER","parts":[{"opaque":{"type":"t"}}]}`),
			Fill:     []fill{{Opaque: true, Unit: "\u00e9", Times: canonical.MaxOpaqueBytes / 2}},
		}},
		vector{Name: "1000 messages, the most", input: input{Messages: spell(t, user, assistant), MessageCopies: 500}},
		vector{Name: "256 calls, the most", input: input{Messages: spell(t, assistant), PartCopies: 256}},
		vector{Name: "ids and names of 1 KiB, the most", input: input{Messages: spell(t,
			`{"role":"ROLE_ASSISTANT","name":"`+strings.Repeat("n", 1024)+`","parts":[{"toolCall":{"id":"`+
				strings.Repeat("\u00e9", 512)+`","name":"`+strings.Repeat("t", 1024)+`"}}]}`)}},
	)
}

func metadataCases(t *testing.T) []vector {
	with := func(name string, salt string, entries ...entry) vector {
		return vector{Name: name, input: input{Messages: spell(t, user), Metadata: entries, Salt: salt}}
	}
	var many []entry
	for i := range 64 {
		many = append(many, entry{fmt.Sprintf("var/%d", 63-i), fmt.Sprint(i)})
	}
	return []vector{
		with("metadata: one entry", "", entry{"model", "m-1"}),
		with("metadata: an empty value", "", entry{"k", ""}),
		with("metadata: sorted by key, whatever the order given", "", entry{"b", "1"}, entry{"a", "2"}, entry{"B", "3"}, entry{"aa", "4"}, entry{"a/b", "5"}),
		with("metadata: keys that sort differently in UTF-8 and UTF-16", "", entry{"\U00010000", "second"}, entry{"\ufffd", "first"}, entry{"\uffff", "between"}),
		with("metadata: keys of U+0000, U+FEFF, composed and not", "", entry{"\u00e9", "c"}, entry{"e\u0301", "d"}, entry{"\ufeff", "b"}, entry{"\x00", "a"}),
		with("metadata: a variable", "", entry{"var/step", `{"n": 3}`}),
		with("metadata: 64 entries, the most", "", many...),
		with("metadata: key of 256 bytes and value of 4 KiB, the most", "", entry{strings.Repeat("k", 256), strings.Repeat("v", 4096)}),
		with("metadata under a salt", salt32, entry{"model", "m-1"}),
		{Name: "no messages, metadata alone", input: input{Messages: spell(t), Metadata: []entry{{"note", "x"}}}},
		{Name: "no messages, metadata alone, under a salt", input: input{Messages: spell(t), Metadata: []entry{{"note", "x"}}, Salt: salt16}, Parent: idA},
	}
}

func envelopeCases(t *testing.T) []vector {
	call, empty := "call_1", ""
	with := func(name string, change func(v *vector)) vector {
		v := vector{Name: name, input: input{Messages: spell(t, user)}}
		change(&v)
		return v
	}
	return []vector{
		with("salt of 16 bytes", func(v *vector) { v.Salt = salt16 }),
		with("salt of 32 bytes", func(v *vector) { v.Salt = salt32 }),
		with("salt of 16 zeros", func(v *vector) { v.Salt = strings.Repeat("00", 16) }),
		with("salt of 17 zeros", func(v *vector) { v.Salt = strings.Repeat("00", 17) }),
		with("parent", func(v *vector) { v.Parent = idA }),
		with("another parent", func(v *vector) { v.Parent = idB }),
		with("spawned from a node", func(v *vector) { v.SpawnedFrom = &spawnedFrom{Node: idC} }),
		with("spawned from a call", func(v *vector) { v.SpawnedFrom = &spawnedFrom{Node: idC, ToolCallID: &call} }),
		with("spawned from a call with an empty id", func(v *vector) { v.SpawnedFrom = &spawnedFrom{Node: idC, ToolCallID: &empty} }),
		with("spawned, with a parent", func(v *vector) { v.Parent, v.SpawnedFrom = idA, &spawnedFrom{Node: idC, ToolCallID: &call} }),
		with("compaction: covers_through", func(v *vector) {
			v.Messages = spell(t, storedCases()[0][1], user)
			v.Parent, v.CoversThrough, v.Stored = idA, idC, true
		}),
		with("compaction of nothing but a summary, covering its parent", func(v *vector) {
			v.Messages = spell(t, storedCases()[0][1])
			v.Parent, v.CoversThrough, v.Stored = idC, idC, true
		}),
		with("everything at once", func(v *vector) {
			v.Messages = spell(t, system, user, assistant, tool)
			v.Metadata = []entry{{"var/x", "1"}, {"a", "b"}}
			v.Salt, v.Parent, v.SpawnedFrom = salt32, idB, &spawnedFrom{Node: idC, ToolCallID: &call}
		}),
	}
}

// wireCases give one payload in other spellings, with fields out of order, written out at their default, twice, and
// with long varints. Their ids are those of the canonical form.
func wireCases(t *testing.T) []vector {
	full := []string{system, user, assistant,
		`{"role":"ROLE_TOOL","parts":[{"text":"a","extras":"{\"x\":1}"},{"media":{"mediaType":"t","uri":"u"}}],"toolCallId":"call_1","isError":true,"name":"n","state":"MESSAGE_STATE_PARTIAL","joined":true,"extras":"{\"y\":2}"}`}
	var all []vector
	messages, _, _ := expand(t, input{Messages: spell(t, full...)})
	payload := canonical.EncodePayload(messages)
	for seed := range uint64(6) {
		r := speller{Rand: rand.New(rand.NewPCG(seed, 7))}
		wire, ok := r.respell(payload, (&transcriptv1.Payload{}).ProtoReflect().Descriptor())
		if !ok {
			t.Fatal("the payload does not parse")
		}
		all = append(all, vector{Name: fmt.Sprintf("wire: fields in another order, %d", seed+1),
			input: input{Messages: spell(t, full...)}, WireHex: hex.EncodeToString(wire)})
	}
	hi := `{"role":"ROLE_USER","parts":[{"text":"hi"}]}`
	for _, c := range [][3]string{
		{"wire: defaults written out", hi, "0a0e" + "0803" + "1206" + "0a00" + "4202" + "6869" + "2000" + "5200"},
		{"wire: a field twice, the last one counts", hi, "0a0a" + "0801" + "1204" + "4202" + "6869" + "0803"},
		{"wire: two members of the oneof, the last one counts", hi, "0a0a" + "0803" + "1206" + "4a00" + "4202" + "6869"},
		{"wire: long varints", hi, "0a8900" + "0803" + "128400" + "4202" + "6869"},
		{"wire: a long varint as a value", `{"role":"ROLE_USER"}`, "0a03" + "088300"},
		{"wire: a sub-message in two pieces", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"a","arguments":"b"}}]}`,
			"0a0e" + "0804" + "120a" + "6203" + "0a0161" + "6203" + "1a0162"},
	} {
		all = append(all, vector{Name: c[0], input: input{Messages: spell(t, c[1])}, WireHex: c[2]})
	}
	return all
}
