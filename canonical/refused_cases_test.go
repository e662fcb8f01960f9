package canonical_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
)

const (
	compactRule = "must be a JSON object in compact form, strings escaped as JSON.stringify does"
	objectRule  = "must be a JSON object in compact form, or empty"
	brokenRule  = "must be a JSON object in compact form: "
	unknownRule = "must not have fields that are not known"
	utf8Rule    = "must be valid UTF-8"
	formParts   = "must not be PARTS where the parts imply a list"
	formAbsent  = "must not be ABSENT where there is content"
	aloneRule   = "must be the only part of its message"
	onlyOpaque  = "must not be set on an opaque message"
	digitsRule  = "must be 64 lower-case hex digits"
	blobRule    = "must not be set where ServerInfo does not list the feature blobs: use inline or uri"

	reservedRule = "must not begin with run/, var/, varinfo/, spawn/, transcriptd/, unless it is run/end, var/NAME, varinfo/NAME or spawn/inherits"
)

func refusedCases(t *testing.T) []refusal {
	all := refusedMessages(t)
	all = append(all, refusedExtras(t)...)
	all = append(all, refusedLimits(t)...)
	all = append(all, refusedMetadata(t)...)
	all = append(all, refusedSpawners(t)...)
	all = append(all, refusedWire()...)
	return append(all, refusedStored()...)
}

func refusedMessages(t *testing.T) []refusal {
	var all []refusal
	for _, c := range [][4]string{
		{"role missing", `{"parts":[{"text":"hi"}]}`, "role", "must be set"},
		{"role not declared", `{"role":6}`, "role", "must be a declared value"},
		{"role negative", `{"role":-1}`, "role", "must be a declared value"},
		{"state not declared", `{"role":"ROLE_USER","state":3}`, "state", "must be a declared value"},
		{"content form not declared", `{"role":"ROLE_USER","contentForm":3}`, "content_form", "must be a declared value"},
		{"origin not declared", `{"role":"ROLE_USER","origin":5}`, "origin", "must be a declared value"},
		{"origin summary from a client", `{"role":"ROLE_USER","origin":"ORIGIN_SUMMARY"}`, "origin", "must not be set: it is the server's"},
		{"origin stub from a client", `{"role":"ROLE_TOOL","origin":"ORIGIN_STUB"}`, "origin", "must not be set: it is the server's"},
		{"origin shortened from a client", `{"role":"ROLE_TOOL","origin":"ORIGIN_SHORTENED"}`, "origin", "must not be set: it is the server's"},
		{"origin left out from a client", `{"role":"ROLE_USER","origin":"ORIGIN_LEFT_OUT"}`, "origin", "must not be set: it is the server's"},
		{"part without a kind", `{"role":"ROLE_USER","parts":[{"text":"a"},{}]}`, "parts[1]", "must have a kind"},
		{"part with extras and no kind", `{"role":"ROLE_USER","parts":[{"extras":"{\"a\":1}"}]}`, "parts[0]", "must have a kind"},
		{"call on a user message", `{"role":"ROLE_USER","parts":[{"toolCall":{"id":"c"}}]}`, "parts[0].tool_call", "must be on ASSISTANT messages only"},
		{"call on a system message", `{"role":"ROLE_SYSTEM","parts":[{"text":"a"},{"toolCall":{"id":"c"}}]}`, "parts[1].tool_call", "must be on ASSISTANT messages only"},
		{"call on a developer message", `{"role":"ROLE_DEVELOPER","parts":[{"toolCall":{}}]}`, "parts[0].tool_call", "must be on ASSISTANT messages only"},
		{"call on a tool message", `{"role":"ROLE_TOOL","parts":[{"toolCall":{}}]}`, "parts[0].tool_call", "must be on ASSISTANT messages only"},
		{"tool_call_id on an assistant message", `{"role":"ROLE_ASSISTANT","toolCallId":"c"}`, "tool_call_id", "must be set on TOOL messages only"},
		{"tool_call_id, empty, on a user message", `{"role":"ROLE_USER","toolCallId":""}`, "tool_call_id", "must be set on TOOL messages only"},
		{"is_error on an assistant message", `{"role":"ROLE_ASSISTANT","isError":true}`, "is_error", "must be set on TOOL messages only"},
		{"content form PARTS with two texts", `{"role":"ROLE_USER","parts":[{"text":"a"},{"text":"b"}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form PARTS with a text that has extras", `{"role":"ROLE_USER","parts":[{"text":"a","extras":"{\"b\":1}"}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form PARTS with media", `{"role":"ROLE_USER","parts":[{"media":{"uri":"u"}}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form PARTS with json", `{"role":"ROLE_USER","parts":[{"json":"{}"}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form PARTS with text and media", `{"role":"ROLE_USER","parts":[{"media":{"uri":"u"}},{"text":"a"}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form PARTS with two texts around a call", `{"role":"ROLE_ASSISTANT","parts":[{"text":"a"},{"toolCall":{}},{"text":"b"}],"contentForm":"CONTENT_FORM_PARTS"}`, "content_form", formParts},
		{"content form ABSENT with a text", `{"role":"ROLE_USER","parts":[{"text":""}],"contentForm":"CONTENT_FORM_ABSENT"}`, "content_form", formAbsent},
		{"content form ABSENT with json beside a call", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{}},{"json":"1"}],"contentForm":"CONTENT_FORM_ABSENT"}`, "content_form", formAbsent},
		{"opaque beside a text", `{"role":"ROLE_USER","parts":[{"text":"a"},{"opaque":{"type":"t"}}]}`, "parts[1].opaque", aloneRule},
		{"opaque before a call", `{"role":"ROLE_ASSISTANT","parts":[{"opaque":{"type":"t"}},{"toolCall":{"id":"c"}}]}`, "parts[0].opaque", aloneRule},
		{"opaque twice", `{"role":"ROLE_USER","parts":[{"opaque":{"type":"t"}},{"opaque":{"type":"u"}}]}`, "parts[0].opaque", aloneRule},
		{"opaque on a tool message", `{"role":"ROLE_TOOL","parts":[{"opaque":{"type":"t"}}]}`, "parts[0].opaque", "must not be on TOOL messages"},
		{"opaque on a tool message with a call id", `{"role":"ROLE_TOOL","toolCallId":"c","parts":[{"opaque":{"type":"t"}}]}`, "parts[0].opaque", "must not be on TOOL messages"},
		{"opaque without a type", `{"role":"ROLE_USER","parts":[{"opaque":{"data":"AA=="}}]}`, "parts[0].opaque.type", "must not be empty"},
		{"opaque with extras of the part", `{"role":"ROLE_USER","parts":[{"extras":"{\"a\":1}","opaque":{"type":"t"}}]}`, "parts[0].extras", onlyOpaque},
		{"opaque with a name", `{"role":"ROLE_USER","name":"","parts":[{"opaque":{"type":"t"}}]}`, "name", onlyOpaque},
		{"opaque with a state", `{"role":"ROLE_ASSISTANT","state":"MESSAGE_STATE_PARTIAL","parts":[{"opaque":{"type":"t"}}]}`, "state", onlyOpaque},
		{"opaque with content form PARTS", `{"role":"ROLE_USER","contentForm":"CONTENT_FORM_PARTS","parts":[{"opaque":{"type":"t"}}]}`, "content_form", onlyOpaque},
		{"opaque with content form ABSENT", `{"role":"ROLE_USER","contentForm":"CONTENT_FORM_ABSENT","parts":[{"opaque":{"type":"t"}}]}`, "content_form", onlyOpaque},
		{"opaque, joined", `{"role":"ROLE_USER","joined":true,"parts":[{"opaque":{"type":"t"}}]}`, "joined", onlyOpaque},
		{"opaque with extras", `{"role":"ROLE_USER","extras":"{\"a\":1}","parts":[{"opaque":{"type":"t"}}]}`, "extras", onlyOpaque},
		{"opaque with a tool_call_id", `{"role":"ROLE_ASSISTANT","toolCallId":"c","parts":[{"opaque":{"type":"t"}}]}`, "tool_call_id", "must be set on TOOL messages only"},
		{"blob digest", `{"role":"ROLE_USER","parts":[{"media":{"mediaType":"audio/wav","blobDigest":"X+zrZv/IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V+k="}}]}`, "parts[0].media.blob_digest", blobRule},
		{"blob digest of 31 bytes", `{"role":"ROLE_USER","parts":[{"media":{"blobDigest":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="}}]}`, "parts[0].media.blob_digest", blobRule},
		{"blob digest, empty", `{"role":"ROLE_USER","parts":[{"media":{"blobDigest":""}}]}`, "parts[0].media.blob_digest", blobRule},
	} {
		all = append(all, refusal{Name: c[0], input: input{Messages: spell(t, user, c[1])},
			Field: "messages[1]." + c[2], Rule: c[3], Kind: "invalid"})
	}
	return all
}

func refusedExtras(t *testing.T) []refusal {
	var all []refusal
	for _, c := range [][3]string{
		{"extras: empty object", `{}`, "must not be an empty object"},
		{"extras: array", `[1]`, objectRule},
		{"extras: string", `"a"`, objectRule},
		{"extras: null", `null`, objectRule},
		{"extras: white space before", ` {"a":1}`, objectRule},
		{"extras: byte order mark before", "\ufeff{\"a\":1}", objectRule},
		{"extras: white space inside", `{"a": 1}`, compactRule},
		{"extras: white space behind", `{"a":1} `, compactRule},
		{"extras: white space alone inside", `{ }`, compactRule},
		{"extras: an escape that is not needed", `{"a":"\u0041"}`, compactRule},
		{"extras: a solidus escaped", `{"a":"\/"}`, compactRule},
		{"extras: a control character by the long escape", `{"a":"\u000a"}`, compactRule},
		{"extras: hex digits in upper case", `{"a":"\u001F"}`, compactRule},
		{"extras: non-ASCII escaped", `{"a":"\u00e9"}`, compactRule},
		{"extras: a surrogate pair escaped", `{"a":"\ud83d\ude00"}`, compactRule},
		{"extras: a lone surrogate escaped", `{"a":"\ud83d"}`, compactRule},
		{"extras: a name spelled with an escape", `{"\u0061":1}`, compactRule},
		{"extras: a member twice", `{"a":1,"a":1}`, brokenRule + "a member stands twice in an object at byte 7"},
		{"extras: a member twice inside", `{"a":[{"b":1,"c":2,"b":3}]}`, brokenRule + "a member stands twice in an object at byte 19"},
		{"extras: nested 129 deep", `{"a":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, brokenRule + "nested deeper than 128 at byte 132"},
		{"extras: cut off", `{"a":1`, brokenRule + "a comma or the end of an object is missing at byte 6"},
		{"extras: something behind", `{"a":1}{"b":2}`, brokenRule + "something follows the value at byte 7"},
		{"extras: a trailing comma", `{"a":1,}`, brokenRule + "a member's name is missing at byte 7"},
		{"extras: a number that begins with 0", `{"a":01}`, brokenRule + "a number begins with 0 at byte 5"},
		{"extras: NaN", `{"a":NaN}`, brokenRule + "a value is missing at byte 5"},
		{"extras: a control character not escaped", "{\"a\":\"\n\"}", brokenRule + "a control character is not escaped at byte 6"},
	} {
		quoted, err := json.Marshal(c[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, refusal{Name: c[0] + " (message)", Field: "messages[0].extras", Rule: c[2], Kind: "invalid",
			input: input{Messages: spell(t, `{"role":"ROLE_USER","extras":`+string(quoted)+`}`)}})
		all = append(all, refusal{Name: c[0] + " (part)", Field: "messages[0].parts[0].extras", Rule: c[2], Kind: "invalid",
			input: input{Messages: spell(t, `{"role":"ROLE_USER","parts":[{"text":"a","extras":`+string(quoted)+`}]}`)}})
	}
	return all
}

func refusedLimits(t *testing.T) []refusal {
	text := `{"role":"ROLE_USER","parts":[{"text":""}]}`
	long := strings.Repeat("x", 1025)
	filled := func(times ...int) input {
		var in input
		for i, n := range times {
			in.Messages = append(in.Messages, spell(t, text)...)
			in.Fill = append(in.Fill, fill{Message: i, Unit: "a", Times: n})
		}
		return in
	}
	all := []refusal{
		{Name: "no messages and no metadata", input: input{Messages: spell(t)},
			Field: "messages", Rule: "must not be empty without metadata", Kind: "invalid"},
		{Name: "1001 messages", input: input{Messages: spell(t, user), MessageCopies: 1001},
			Field: "messages", Rule: "must be at most 1000", Kind: "limit"},
		{Name: "257 calls", input: input{Messages: spell(t, assistant), PartCopies: 257},
			Field: "messages[0].parts", Rule: "must hold at most 256 tool calls", Kind: "limit"},
		{Name: "a message of 3 MiB and a byte", input: filled(1, canonical.MaxMessageBytes-11),
			Field: "messages[1]", Rule: "must be at most 3145728 bytes in canonical encoding", Kind: "limit"},
		{Name: "a payload of 4 MiB - 128 KiB and a byte", input: filled(canonical.MaxPayloadBytes/2-14, canonical.MaxPayloadBytes/2-13),
			Field: "messages", Rule: "must together be at most 4063232 bytes in canonical encoding", Kind: "limit"},
	}
	for _, c := range [][3]string{
		{"name", `{"role":"ROLE_USER","name":"` + long + `"}`, "name"},
		{"tool_call_id", `{"role":"ROLE_TOOL","toolCallId":"` + long + `"}`, "tool_call_id"},
		{"call id", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"` + long + `"}}]}`, "parts[0].tool_call.id"},
		{"call name", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"name":"` + long + `"}}]}`, "parts[0].tool_call.name"},
		{"call id of 513 code points,", `{"role":"ROLE_ASSISTANT","parts":[{"toolCall":{"id":"` + strings.Repeat("é", 513) + `"}}]}`, "parts[0].tool_call.id"},
	} {
		all = append(all, refusal{Name: c[0] + " over 1 KiB", input: input{Messages: spell(t, c[1])},
			Field: "messages[0]." + c[2], Rule: "must be at most 1024 bytes", Kind: "limit"})
	}
	all = append(all,
		refusal{Name: "opaque: a type of 257 bytes",
			input: input{Messages: spell(t, `{"role":"ROLE_USER","parts":[{"opaque":{"type":"`+strings.Repeat("x", 257)+`"}}]}`)},
			Field: "messages[0].parts[0].opaque.type", Rule: "must be at most 256 bytes", Kind: "limit"},
		refusal{Name: "opaque: data of 1 MiB and a byte", input: input{
			Messages: spell(t, `{"role":"ROLE_USER","parts":[{"opaque":{"type":"t"}}]}`),
			Fill:     []fill{{Opaque: true, Unit: "a", Times: canonical.MaxOpaqueBytes + 1}}},
			Field: "messages[0].parts[0].opaque.data", Rule: "must be at most 1048576 bytes", Kind: "limit"})
	for _, n := range []int{1, 15, 33, 64, 256} {
		in := input{Messages: spell(t, user), Salt: strings.Repeat("ab", n)}
		all = append(all, refusal{Name: fmt.Sprintf("salt of %d bytes", n), input: in,
			Field: "salt", Rule: "must be empty or 16 to 32 bytes", Kind: "invalid"})
	}
	return all
}

func refusedMetadata(t *testing.T) []refusal {
	with := func(name, field, rule, kind string, entries ...entry) refusal {
		return refusal{Name: name, input: input{Messages: spell(t, user), Metadata: entries}, Field: field, Rule: rule, Kind: kind}
	}
	var many []entry
	for i := range 65 {
		many = append(many, entry{fmt.Sprint(i), ""})
	}
	return []refusal{
		with("metadata: a key twice", "metadata[2].key", "must not stand twice", "invalid", entry{"a", "1"}, entry{"b", "2"}, entry{"a", "3"}),
		with("metadata: an entry twice", "metadata[1].key", "must not stand twice", "invalid", entry{"a", "1"}, entry{"a", "1"}),
		with("metadata: empty key", "metadata[0].key", "must not be empty", "invalid", entry{"", "1"}),
		with("metadata: key of 257 bytes", "metadata[0].key", "must be at most 256 bytes", "limit", entry{strings.Repeat("k", 257), ""}),
		with("metadata: value of 4097 bytes", "metadata[1].value", "must be at most 4096 bytes", "limit", entry{"a", ""}, entry{"b", strings.Repeat("v", 4097)}),
		with("metadata: 65 entries", "metadata", "must have at most 64 entries", "limit", many...),
		with("metadata: a key of the service's that has no meaning", "metadata[1].key", reservedRule, "invalid", entry{"a", ""}, entry{"run/begin", "x"}),
		with("metadata: a variable without a name", "metadata[0].key", reservedRule, "invalid", entry{"var/", "1"}),
		with("metadata: a declaration without a name", "metadata[0].key", reservedRule, "invalid", entry{"varinfo/", ""}),
		with("metadata: a key of spawns that has no meaning", "metadata[0].key", reservedRule, "invalid", entry{"spawn/", "none"}),
		with("metadata: a key that is kept for later", "metadata[0].key", reservedRule, "invalid", entry{"transcriptd/x", ""}),
		with("metadata: outcome of another value", "metadata[1].value", "of run/end must be replied, stopped, failed or cancelled", "invalid", entry{"a", ""}, entry{"run/end", "done"}),
		with("metadata: outcome in capitals", "metadata[0].value", "of run/end must be replied, stopped, failed or cancelled", "invalid", entry{"run/end", "Replied"}),
		with("metadata: empty outcome", "metadata[0].value", "of run/end must be replied, stopped, failed or cancelled", "invalid", entry{"run/end", ""}),
		{Name: "metadata: unknown field", input: input{Messages: spell(t, user)}, MetadataWireHex: "0a05" + "0a0161" + "1801",
			Field: "metadata[0]", Rule: unknownRule, Kind: "malformed"},
		{Name: "metadata: key of invalid UTF-8", input: input{Messages: spell(t, user)}, MetadataWireHex: "0a03" + "0a01ff",
			Field: "metadata[0].key", Rule: utf8Rule, Kind: "malformed"},
		{Name: "metadata: value of invalid UTF-8", input: input{Messages: spell(t, user)}, MetadataWireHex: "0a06" + "0a0161" + "1201c0",
			Field: "metadata[0].value", Rule: utf8Rule, Kind: "malformed"},
	}
}

func refusedSpawners(t *testing.T) []refusal {
	var all []refusal
	for _, c := range [][5]string{
		{"no node", `{}`, "node_id", digitsRule, "invalid"},
		{"a short id", `{"nodeId":"` + idA[1:] + `"}`, "node_id", digitsRule, "invalid"},
		{"a long id", `{"nodeId":"` + idA + `0"}`, "node_id", digitsRule, "invalid"},
		{"an id in upper case", `{"nodeId":"` + strings.ToUpper(idA) + `"}`, "node_id", digitsRule, "invalid"},
		{"an id with a letter that is no digit", `{"nodeId":"g` + idA[1:] + `"}`, "node_id", digitsRule, "invalid"},
		{"a call id over 1 KiB", `{"nodeId":"` + idA + `","toolCallId":"` + strings.Repeat("c", 1025) + `"}`, "tool_call_id", "must be at most 1024 bytes", "limit"},
	} {
		all = append(all, refusal{Name: "spawned_from: " + c[0], input: input{Messages: spell(t, user)},
			SpawnedFrom: json.RawMessage(c[1]), Field: "spawned_from." + c[2], Rule: c[3], Kind: c[4]})
	}
	return all
}

// refusedWire are payloads that protojson cannot express.
func refusedWire() []refusal {
	var all []refusal
	for _, c := range [][4]string{
		{"unknown field in a message", "0a05" + "0803" + "f80101", "messages[0]", unknownRule},
		{"unknown field in a part", "0a08" + "0803" + "1204" + "4200" + "7001", "messages[0].parts[0]", unknownRule},
		{"unknown field in reasoning", "0a08" + "0803" + "1204" + "4a02" + "2001", "messages[0].parts[0].reasoning", unknownRule},
		{"unknown field in media", "0a08" + "0803" + "1204" + "5202" + "1001", "messages[0].parts[0].media", unknownRule},
		{"unknown field in a call", "0a08" + "0804" + "1204" + "6202" + "2001", "messages[0].parts[0].tool_call", unknownRule},
		{"unknown field in an opaque part", "0a0b" + "0803" + "1207" + "6a05" + "0a0174" + "1801", "messages[0].parts[0].opaque", unknownRule},
		{"unknown fields alone make no kind", "0a06" + "0803" + "1202" + "7200", "messages[0].parts[0]", unknownRule},
		{"a declared field of another wire type", "0a05" + "0803" + "22" + "0101", "messages[0]", unknownRule},
		{"invalid UTF-8 in text", "0a07" + "0803" + "1203" + "4201ff", "messages[0].parts[0].text", utf8Rule},
		{"a surrogate encoded in text", "0a09" + "0803" + "1205" + "4203eda080", "messages[0].parts[0].text", utf8Rule},
		{"overlong UTF-8 in text", "0a08" + "0803" + "1204" + "4202c080", "messages[0].parts[0].text", utf8Rule},
		{"a code point above U+10FFFF in text", "0a0a" + "0803" + "1206" + "4204f4908080", "messages[0].parts[0].text", utf8Rule},
		{"text cut inside a code point", "0a08" + "0803" + "1204" + "4202e282", "messages[0].parts[0].text", utf8Rule},
		{"invalid UTF-8 in reasoning", "0a09" + "0803" + "1205" + "4a03" + "0a01ff", "messages[0].parts[0].reasoning.text", utf8Rule},
		{"invalid UTF-8 in a signature", "0a09" + "0803" + "1205" + "4a03" + "1201ff", "messages[0].parts[0].reasoning.signature", utf8Rule},
		{"invalid UTF-8 in a media type", "0a09" + "0803" + "1205" + "5203" + "0a01ff", "messages[0].parts[0].media.media_type", utf8Rule},
		{"invalid UTF-8 in a uri", "0a09" + "0803" + "1205" + "5203" + "4a01ff", "messages[0].parts[0].media.uri", utf8Rule},
		{"invalid UTF-8 in json", "0a07" + "0803" + "1203" + "5a01ff", "messages[0].parts[0].json", utf8Rule},
		{"invalid UTF-8 in a call id", "0a09" + "0804" + "1205" + "6203" + "0a01ff", "messages[0].parts[0].tool_call.id", utf8Rule},
		{"invalid UTF-8 in a call name", "0a09" + "0804" + "1205" + "6203" + "1201ff", "messages[0].parts[0].tool_call.name", utf8Rule},
		{"invalid UTF-8 in arguments", "0a09" + "0804" + "1205" + "6203" + "1a01ff", "messages[0].parts[0].tool_call.arguments", utf8Rule},
		{"invalid UTF-8 in the type of an opaque part", "0a09" + "0803" + "1205" + "6a03" + "0a01ff", "messages[0].parts[0].opaque.type", utf8Rule},
		{"invalid UTF-8 in tool_call_id", "0a05" + "0805" + "1a01ff", "messages[0].tool_call_id", utf8Rule},
		{"invalid UTF-8 in name", "0a05" + "0803" + "2a01ff", "messages[0].name", utf8Rule},
		{"invalid UTF-8 in extras", "0a05" + "0803" + "5201ff", "messages[0].extras", utf8Rule},
	} {
		all = append(all, refusal{Name: "wire: " + c[0], input: input{Messages: []json.RawMessage{}}, WireHex: c[1],
			Field: c[2], Rule: c[3], Kind: "malformed"})
	}
	return all
}

// refusedStored are payloads that a verifier refuses: they are not the canonical encoding of what they hold.
func refusedStored() []refusal {
	var all []refusal
	const rule = "must be the canonical encoding"
	for _, c := range [][2]string{
		{"fields out of order", "0a08" + "1204" + "42026869" + "0803"},
		{"a default written out", "0a04" + "0803" + "2000"},
		{"an empty string without presence written out", "0a04" + "0803" + "5200"},
		{"a field twice", "0a04" + "0801" + "0803"},
		{"a long varint as a length", "0a8200" + "0803"},
		{"a long varint as a value", "0a03" + "088300"},
		{"a long varint as a tag", "8a0002" + "0803"},
		{"a bool of 2", "0a04" + "0805" + "2002"},
		{"two members of a oneof", "0a08" + "0803" + "1204" + "4200" + "5a00"},
		{"an unknown field beside the messages", "0a02" + "0803" + "1000"},
		{"cut off", "0a08" + "0803" + "1204" + "4202"},
		{"no protobuf", "ff"},
	} {
		all = append(all, refusal{Name: "stored: " + c[0], input: input{Messages: []json.RawMessage{}}, StoredHex: c[1],
			Field: "", Rule: rule, Kind: "not_canonical"})
	}
	return all
}
