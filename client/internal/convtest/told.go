package convtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Says tells whether a message has anything that each provider is sent, in its place if need be: text that is not blank, a
// call, or whatever else a user or a result has but reasoning.
func Says(m *transcriptv1.Message) bool {
	for _, p := range m.GetParts() {
		switch k := p.GetKind().(type) {
		case *transcriptv1.Part_Text:
			if strings.TrimSpace(k.Text) != "" {
				return true
			}
		case *transcriptv1.Part_Media, *transcriptv1.Part_Json:
			if m.GetRole() == transcriptv1.Role_ROLE_USER || m.GetRole() == transcriptv1.Role_ROLE_TOOL {
				return true
			}
		case *transcriptv1.Part_ToolCall:
			if m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT {
				return true
			}
		}
	}
	return false
}

// Unfounded are the changes that ForModel reports of a view without a reason: a view has no result without a call, and no
// call without a result but those that are open; what says something is left out only before the message with index first;
// and no call id is renamed that is well-formed and no other call's.
func Unfounded(messages []*transcriptv1.Message, first int, report providerjson.Report, request []byte) (found []providerjson.Change) {
	for _, c := range report.Changes {
		at := -1
		if n, err := fmt.Sscanf(c.Path, "messages[%d]", &at); err != nil || n != 1 || at >= len(messages) {
			return append(found, c)
		}
		bad := false
		switch c.Kind {
		case providerjson.Added:
			bad = true
		case providerjson.LeftOut:
			bad = c.Path == fmt.Sprintf("messages[%d]", at) && at >= first && Says(messages[at])
		case providerjson.Renamed:
			bad = strings.HasSuffix(c.Path, ".tool_call.id") && wellFormed(c.From) && !strings.Contains(string(request), `"id":"`+c.From+`"`)
		}
		if bad {
			found = append(found, c)
		}
	}
	return found
}

// wellFormed tells whether each provider takes a call id that no other call has.
func wellFormed(id string) bool {
	for _, c := range []byte(id) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return id != "" && len(id) <= 40
}

// Untold are the paths of what messages say and a request does not have, though the report tells of no change there:
// texts, reasoning, media, JSON, calls with their ids, names and arguments.
func Untold(messages []*transcriptv1.Message, report providerjson.Report, request []byte) (paths []string) {
	said := map[string]bool{}
	v, err := decode(request)
	if err != nil {
		return []string{err.Error()}
	}
	collect(v, said)
	told := map[string]bool{}
	for _, c := range report.Changes {
		switch c.Kind {
		case providerjson.LeftOut, providerjson.Replaced, providerjson.Renamed:
			told[c.Path] = true
		}
	}
	for i, m := range messages {
		whole := fmt.Sprintf("messages[%d]", i)
		for j, p := range m.GetParts() {
			part := fmt.Sprintf("%s.parts[%d]", whole, j)
			for member, texts := range textsOf(p) {
				if path := part + member; !hasAll(said, texts) && !told[whole] && !told[part] && !told[path] {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

func hasAll(said map[string]bool, texts []string) bool {
	for _, text := range texts {
		if text != "" && !said[text] {
			return false
		}
	}
	return true
}

// textsOf is what a part says, by the path below it. Of JSON it is the strings, and of arguments, where they are an object,
// the object in one spelling or, as text, they themselves: one provider has them so, one so.
func textsOf(p *transcriptv1.Part) map[string][]string {
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		return map[string][]string{"": {k.Text}}
	case *transcriptv1.Part_Reasoning:
		return map[string][]string{"": {k.Reasoning.GetText()}}
	case *transcriptv1.Part_Json:
		v, err := decode([]byte(k.Json))
		if err != nil {
			return map[string][]string{"": {k.Json}}
		}
		return map[string][]string{"": stringsIn(v)}
	case *transcriptv1.Part_Media:
		data := providerjson.EncodeBase64(k.Media.GetInline())
		if k.Media.GetMediaType() == "text/plain" {
			data = string(k.Media.GetInline())
		}
		return map[string][]string{"": {data, k.Media.GetUri()}}
	case *transcriptv1.Part_ToolCall:
		return map[string][]string{
			".tool_call.id": {k.ToolCall.GetId()}, ".tool_call.name": {k.ToolCall.GetName()},
			".tool_call.arguments": {spelled(k.ToolCall.GetArguments())},
		}
	}
	return nil
}

// stringsIn are all strings of a JSON value, names of members aside.
func stringsIn(v any) (found []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			found = append(found, stringsIn(item)...)
		}
	case map[string]any:
		for _, member := range v {
			found = append(found, stringsIn(member)...)
		}
	}
	return found
}

// collect adds what a request says: its strings, in them what stands behind the head of data: URLs, and its calls'
// arguments in one spelling.
func collect(v any, said map[string]bool) {
	for _, text := range stringsIn(v) {
		said[text], said[spelled(text)] = true, true
		if head, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
			said[data] = true
		}
	}
	collectInputs(v, said)
}

// collectInputs adds the members named input, in one spelling.
func collectInputs(v any, said map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			collectInputs(item, said)
		}
	case map[string]any:
		if b, err := json.Marshal(v["input"]); err == nil {
			said[spelled(string(b))] = true
		}
		for _, member := range v {
			collectInputs(member, said)
		}
	}
}

// spelled is a JSON object in one spelling; all else as it is.
func spelled(text string) string {
	v, err := decode([]byte(text))
	if _, object := v.(map[string]any); err != nil || !object {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(b)
}

// FrameworksOnly tells whether something was changed, and all of it is what is a framework's own.
func FrameworksOnly(report providerjson.Report) bool {
	for _, c := range report.Changes {
		if c.Kind != providerjson.LeftOut || c.Why != providerjson.FrameworksOwn {
			return false
		}
	}
	return len(report.Changes) > 0
}
