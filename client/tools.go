package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// Tool is a tool that an agent can hand to its model, ready made: what the model is told of it, and what runs its calls.
type Tool struct {
	// Name and Description are what the model is told; Parameters is a JSON Schema of its arguments.
	Name, Description string
	Parameters        json.RawMessage
	// Call runs it with the arguments as the model wrote them and gives the text of the result. What the model can put
	// right, such as a call id that is not there, is a text too; an error is a failure of the service or the context.
	Call func(ctx context.Context, arguments string) (string, error)
}

// OpenAI is the tool as OpenAI's chat completions take it in "tools".
func (t *Tool) OpenAI() json.RawMessage {
	return encoded(map[string]any{"type": "function", "function": map[string]any{
		"name": t.Name, "description": t.Description, "parameters": t.Parameters,
	}})
}

// Anthropic is the tool as Anthropic's messages take it in "tools".
func (t *Tool) Anthropic() json.RawMessage {
	return encoded(map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
}

// encoded is v as JSON; v is made of strings and of JSON that was parsed.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

const recallParameters = `{"type":"object","properties":{` +
	`"call_id":{"type":"string","description":"The id of the tool call, as the line names it after 'recall'. '-' where it has none."},` +
	`"place":{"type":"string","description":"What stands behind the id in the line, such as 3f2a9c0d1e4b.0: names exactly that result."},` +
	`"arguments":{"type":"boolean","description":"Whether to get the arguments of the call in place of its result. Default false."},` +
	`"offset":{"type":"integer","description":"Where to go on in a long text, in characters. Default 0."}},` +
	`"required":["call_id"]}`

const searchParameters = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"The text to find, in any case of its letters; or an RE2 pattern where regexp is true."},` +
	`"regexp":{"type":"boolean","description":"Whether query is an RE2 pattern. Default false."}},` +
	`"required":["query"]}`

// toolText is how many characters of a result, or of arguments that it asks for, a model is given at once, toolArguments of those
// beside a result; toolHits how many hits of a search, and toolPages how many pages are looked at for them: each is about half a
// second at most.
const (
	toolText      = 20_000
	toolArguments = 2_000
	toolHits      = 10
	toolPages     = 20
)

// The names of the tools.
const (
	recallName = "recall_tool_call"
	searchName = "search_history"
)

// RecallTool gives the tool recall_tool_call, with which a model gets back a result, or the arguments of a call, that were left out of
// what it sees. A text is given in parts of 20,000 characters, as it was put: see RedactedRecallTool.
func (t *Thread) RecallTool() *Tool { return t.recallTool(false) }

// RedactedRecallTool is RecallTool without secrets: they are taken out of the call and of the whole result before it is
// given in parts. The model is told the same of it.
func (t *Thread) RedactedRecallTool() *Tool { return t.recallTool(true) }

func (t *Thread) recallTool(redacts bool) *Tool {
	return &Tool{
		Name: recallName,
		Description: "Get back the full result of an earlier tool call of this conversation. Results that were left out are " +
			"shown as a line '[result of NAME, B bytes, left out; recall CALL_ID PLACE]'. Where arguments of a call show " +
			"'[N bytes left out]', get them back with its id and arguments true.",
		Parameters: json.RawMessage(recallParameters),
		Call: func(ctx context.Context, arguments string) (string, error) {
			return t.recall(ctx, arguments, redacts)
		},
	}
}

// SearchTool gives the tool search_history, with which a model finds what was said earlier in its conversation, also what
// it no longer sees. It gives at most 10 messages, newest first, as they were put (see RedactedSearchTool), and takes some
// 10 seconds at most.
func (t *Thread) SearchTool() *Tool { return t.searchTool(false) }

// RedactedSearchTool is SearchTool without secrets: they are taken out of what is shown, and nothing is found by them. The
// model is told the same of it.
func (t *Thread) RedactedSearchTool() *Tool { return t.searchTool(true) }

func (t *Thread) searchTool(redacts bool) *Tool {
	return &Tool{
		Name:        searchName,
		Description: "Search everything that was said earlier in this conversation, also what is no longer shown. Newest first.",
		Parameters:  json.RawMessage(searchParameters),
		Call: func(ctx context.Context, arguments string) (string, error) {
			return t.search(ctx, arguments, redacts)
		},
	}
}

// parses reads the arguments that a model gave; false: they are no JSON, or of another shape.
func parses(arguments string, into any) bool { return json.Unmarshal([]byte(arguments), into) == nil }

func (t *Thread) recall(ctx context.Context, arguments string, redacts bool) (string, error) {
	var in struct {
		CallID    string `json:"call_id"`
		Place     string `json:"place"`
		Arguments bool   `json:"arguments"`
		Offset    int    `json:"offset"`
	}
	if !parses(arguments, &in) || in.CallID == "" && in.Place == "" {
		return "The arguments have to be a JSON object with call_id and, where the line has one, place, both texts; offset is a whole number, " +
			"arguments true or false.", nil
	}
	call := Recall{Place: in.Place, Redact: redacts}
	// An id without its secret is none; its place is exact.
	unknown := redacts && in.Place != "" && strings.Contains(in.CallID, redact.Mark)
	if in.CallID != "-" && in.CallID != "" && !unknown {
		call.ID, call.HasID = in.CallID, true
	}
	got, err := t.c.Recall(ctx, ByID(t.Head()), call)
	switch {
	case errors.Is(err, ErrToolCallNotFound):
		return "There is no such tool call in this conversation.", nil
	case errors.Is(err, ErrInvalidField), errors.Is(err, ErrLimitExceeded):
		return "That is not the id and place of a tool call: copy both from the line.", nil
	case err != nil:
		return "", err
	}
	if in.Arguments {
		return recalledArguments(got, in.Offset), nil
	}
	text := partsText(got.Parts)
	if redacts {
		text = redact.Text(text) // parts may make a secret together
	}
	return recalledText(got, text, in.Offset), nil
}

// recalledText is a recalled call as a model reads it, with the text of its result from an offset on.
func recalledText(got *Recalled, text string, offset int) string {
	var b strings.Builder
	if got.Call != nil {
		fmt.Fprintf(&b, "call: %s %s\n", got.Call.GetName(), clip(got.Call.Arguments, toolArguments))
	}
	switch {
	case got.ResultPlace == nil:
		return b.String() + "It has no result."
	case got.State == transcriptv1.ToolCallState_TOOL_CALL_STATE_ERROR:
		b.WriteString("result, an error:\n")
	default:
		b.WriteString("result:\n")
	}
	writePart(&b, text, offset)
	return b.String()
}

// recalledArguments is a recalled call with its arguments from an offset on.
func recalledArguments(got *Recalled, offset int) string {
	if got.Call == nil {
		return "The call of this result is not in this conversation."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "call: %s, with the arguments:\n", got.Call.GetName())
	writePart(&b, got.Call.Arguments, offset)
	return b.String()
}

// writePart writes what a model is given at once of a text, from an offset on.
func writePart(b *strings.Builder, text string, offset int) {
	whole := []rune(text)
	if offset > 0 && offset >= len(whole) {
		fmt.Fprintf(b, "[it has %d characters: there is nothing at offset %d]", len(whole), offset)
		return
	}
	begin := max(offset, 0)
	end := min(len(whole), begin+toolText)
	b.WriteString(string(whole[begin:end]))
	if end < len(whole) {
		fmt.Fprintf(b, "\n[%d more characters: ask again with offset %d]", len(whole)-end, end)
	}
}

// partsText is the text of parts; what is not text is named.
func partsText(parts []*transcriptv1.Part) string {
	var b strings.Builder
	for _, part := range parts {
		switch k := part.Kind.(type) {
		case *transcriptv1.Part_Text:
			b.WriteString(k.Text)
		case *transcriptv1.Part_Json:
			b.WriteString(k.Json)
		case *transcriptv1.Part_Media:
			fmt.Fprintf(&b, "[%s]", k.Media.GetMediaType())
		}
	}
	return b.String()
}

// clip is the first n characters of s.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}

func (t *Thread) search(ctx context.Context, arguments string, redacts bool) (string, error) {
	var in struct {
		Query  string `json:"query"`
		Regexp bool   `json:"regexp"`
	}
	if !parses(arguments, &in) || in.Query == "" {
		return "The arguments have to be a JSON object with query, a text; regexp is true or false.", nil
	}
	req := &transcriptv1.SearchRequest{
		Scope:   &transcriptv1.SearchRequest_Head{Head: ByID(t.Head()).ref},
		Pattern: &transcriptv1.SearchRequest_Text{Text: in.Query}, PageSize: 2 * toolHits, Redact: redacts,
	}
	if in.Regexp {
		req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: in.Query}
	}
	hits, more, err := t.c.searchHits(ctx, req)
	switch {
	case errors.Is(err, ErrInvalidPattern):
		return "That is not an RE2 pattern, or one that is too large.", nil
	case errors.Is(err, ErrInvalidField), errors.Is(err, ErrLimitExceeded):
		return "That cannot be searched for: query has to be 1 byte to 1 KiB of text.", nil
	case err != nil:
		return "", err
	}
	return hitsText(hits, more), nil
}

// searchHits are the first hits of a search, one more than are shown if there are so many, but for what matches only in calls
// and results of the tools themselves: a model's search would always find itself; and, redacted, in secrets alone. more tells that not all was looked at.
func (c *Client) searchHits(ctx context.Context, req *transcriptv1.SearchRequest) (hits []*transcriptv1.SearchHit, more bool, err error) {
	token := ""
	for range toolPages {
		page, err := c.SearchPage(ctx, req, token)
		if err != nil {
			return nil, false, err
		}
		for _, hit := range page.Hits {
			if ofTools(hit.GetToolName()) || req.Redact && len(hit.Matches) == 0 { // it matches in a secret
				if hit, err = c.hitBehind(ctx, req, hit); err != nil {
					return nil, false, err
				}
			}
			if hit != nil {
				hits = append(hits, hit)
			}
		}
		if token = page.NextPageToken; token == "" || len(hits) > toolHits {
			break
		}
	}
	return hits, token != "", nil
}

// ofTools tells whether a tool is one of these.
func ofTools(name string) bool { return name == searchName || name == recallName }

// hitBehind is what a message matches in besides calls of the tools themselves and secrets: a hit names only the first part
// that matches, and behind a call may come another tool's, or a text. nil: there is nothing else, as in a result of the tools.
func (c *Client) hitBehind(ctx context.Context, req *transcriptv1.SearchRequest, hit *transcriptv1.SearchHit) (*transcriptv1.SearchHit, error) {
	if hit.Role != transcriptv1.Role_ROLE_ASSISTANT && ofTools(hit.GetToolName()) {
		return nil, nil
	}
	expr := req.GetRegexp()
	if expr == "" {
		expr = "(?i)" + regexp.QuoteMeta(req.GetText())
	}
	pattern, err := regexp.Compile(expr)
	if err != nil {
		return nil, badReply(err) // the server has compiled it
	}
	node, err := c.Node(ctx, ByID(hit.Place.GetNodeId()))
	if errors.Is(err, ErrUseStreamAssemble) {
		return nil, nil // more than a model wants to find in
	}
	if err != nil {
		return nil, err
	}
	at, part := int(hit.Place.GetMessageIndex()), int(hit.PartIndex)
	if at >= len(node.Messages) || part >= len(node.Messages[at].Parts) {
		return nil, fault(ErrBadReply, "a hit in what is not there")
	}
	for _, p := range node.Messages[at].Parts[part:] {
		if excerpt := besideTools(p, pattern, req.Redact); excerpt != "" {
			return hitIn(hit, p, excerpt, req.Redact), nil
		}
	}
	return nil, nil
}

// hitIn is a hit in another part of its message.
func hitIn(hit *transcriptv1.SearchHit, p *transcriptv1.Part, excerpt string, redacts bool) *transcriptv1.SearchHit {
	other := &transcriptv1.SearchHit{Place: hit.Place, Role: hit.Role, SentAt: hit.SentAt, Excerpt: excerpt}
	if hit.Role == transcriptv1.Role_ROLE_TOOL {
		other.ToolCallId, other.ToolName = hit.ToolCallId, hit.ToolName
	}
	if call := p.GetToolCall(); call != nil && call.Name != nil {
		name := call.GetName()
		if redacts {
			name = redact.Text(name)
		}
		other.ToolName = &name
	}
	return other
}

// besideTools is what a part has around its first match; empty where it has none, or is a call of the tools themselves.
// redacts says that secrets are taken out before anything is looked for, as the server does.
func besideTools(p *transcriptv1.Part, pattern *regexp.Regexp, redacts bool) string {
	call := p.GetToolCall()
	if ofTools(call.GetName()) {
		return ""
	}
	for _, text := range []string{p.GetText(), p.GetReasoning().GetText(), p.GetJson(), call.GetName(), call.GetArguments()} {
		if redacts {
			text = redact.Text(text)
		}
		if found := pattern.FindStringIndex(text); found != nil && text != "" {
			return around(text, found[0])
		}
	}
	return ""
}

// around is some 200 characters of a text, a third of them before a byte, as the server's excerpts are.
func around(text string, at int) string {
	const chars = 200
	before, behind := []rune(text[:at]), []rune(text[at:])
	return string(before[max(0, len(before)-chars/3):]) + string(behind[:min(len(behind), chars-chars/3)])
}

// hitsText is what was found as a model reads it.
func hitsText(hits []*transcriptv1.SearchHit, more bool) string {
	var b strings.Builder
	for _, hit := range hits[:min(len(hits), toolHits)] {
		b.WriteString(hitText(hit))
	}
	switch {
	case len(hits) > toolHits:
		b.WriteString("[there is more: use a narrower query]\n")
	case more:
		b.WriteString("[the oldest messages were not looked at: it would take too long]\n")
	case len(hits) == 0:
		b.WriteString("Nothing was found.")
	}
	return b.String()
}

// hitText is a hit as a model reads it, with what recall_tool_call needs to give all of a result.
func hitText(hit *transcriptv1.SearchHit) string {
	what := strings.ToLower(strings.TrimPrefix(hit.Role.String(), "ROLE_"))
	if hit.ToolName != nil {
		what += " " + *hit.ToolName
	}
	if hit.SentAt != nil {
		what += hit.SentAt.AsTime().UTC().Format(" 2006-01-02 15:04")
	}
	if hit.Role == transcriptv1.Role_ROLE_TOOL && len(hit.Place.GetNodeId()) >= placeDigits {
		id := "-"
		if hit.ToolCallId != nil {
			id = *hit.ToolCallId
		}
		what += fmt.Sprintf(" (recall %s %s.%d)", id, hit.Place.NodeId[:placeDigits], hit.Place.MessageIndex)
	}
	return fmt.Sprintf("- %s: %s\n", what, strings.Join(strings.Fields(hit.Excerpt), " "))
}

// placeDigits is how many digits of a node's id name it in a place.
const placeDigits = 12
