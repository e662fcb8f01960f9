package conformance

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A chain is put by letters, those of docs/views.md, each a node of its own:
//
//	s d u a    a message of the system, developer, user, assistant
//	U A        the same with 600 code points of text
//	e p        an assistant message that says nothing; one that is PARTIAL
//	c1 k1 c1k2 a message with calls, c of the tool "look", k of the tool "reply"
//	r1 R1      a result for call 1; one of 2,000 bytes
//	o          an opaque message
//	!stopped   an outcome: a node without messages
//	|          nothing
type chain struct {
	p *probe
	// ids are those of the nodes, tokens their letters.
	ids, tokens []string
	messages    []*transcriptv1.Message
	// shown tells what a message of a view is called, by its encoding.
	shown map[string]string
}

// head is the last node; empty before the first.
func (c *chain) head() string {
	if len(c.ids) == 0 {
		return ""
	}
	return c.ids[len(c.ids)-1]
}

// chain puts a chain. Its root has a salt, so that no other chain has its nodes.
func (p *probe) chain(letters string) *chain {
	c := &chain{p: p, shown: map[string]string{}}
	c.put(letters)
	return c
}

// put appends to the chain.
func (c *chain) put(letters string) {
	for _, token := range strings.Fields(letters) {
		if token == "|" {
			continue
		}
		r := &transcriptv1.PutNodeRequest{Parent: byID(c.head())}
		if outcome, ok := strings.CutPrefix(token, "!"); ok {
			r.Metadata = []*transcriptv1.MetadataEntry{{Key: "run/end", Value: outcome}}
		} else {
			m := c.p.letter(token)
			r.Messages = []*transcriptv1.Message{m}
			c.messages = append(c.messages, m)
			c.shown[string(canonical.EncodePayload(r.Messages))] = token
		}
		c.ids, c.tokens = append(c.ids, c.p.put(r).GetNodeId()), append(c.tokens, token)
	}
}

// callTool is the tool of a call, by its letter.
var callTool = map[string]string{"c": "look", "k": "reply"}

var callLetters = regexp.MustCompile(`([ck])(\d+)`)

// letter is the message of a letter, with a text of its own.
func (p *probe) letter(token string) *transcriptv1.Message {
	words := p.text(token)
	if token == "U" || token == "A" {
		words += " " + strings.Repeat("x", 600-len(words)-1)
	}
	switch token[0] {
	case 's':
		return text(transcriptv1.Role_ROLE_SYSTEM, words)
	case 'd':
		return text(transcriptv1.Role_ROLE_DEVELOPER, words)
	case 'u', 'U':
		return text(transcriptv1.Role_ROLE_USER, words)
	case 'a', 'A':
		return text(transcriptv1.Role_ROLE_ASSISTANT, words)
	case 'p':
		m := text(transcriptv1.Role_ROLE_ASSISTANT, words)
		m.State = transcriptv1.MessageState_MESSAGE_STATE_PARTIAL
		return m
	case 'e':
		return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	case 'o':
		return &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{
			Opaque: &transcriptv1.Opaque{Type: "conformance", Data: []byte(words)},
		}}}}
	case 'r':
		return result(token[1:], words)
	case 'R':
		return result(token[1:], words+strings.Repeat("y", 2000-len(words)))
	}
	m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	for _, call := range callLetters.FindAllStringSubmatch(token, -1) {
		m.Parts = append(m.Parts, callPart(call[2], callTool[call[1]], fmt.Sprintf(`{"q":%q}`, words)))
	}
	return m
}

func result(id, words string) *transcriptv1.Message {
	m := text(transcriptv1.Role_ROLE_TOOL, words)
	m.ToolCallId = &id
	return m
}

func callPart(id, tool, arguments string) *transcriptv1.Part {
	return &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: &id, Name: &tool, Arguments: arguments}}}
}

// view is what Assemble makes of the chain's head, by a request whose namespace and head are set here.
func (c *chain) view(r *transcriptv1.AssembleRequest) *transcriptv1.AssembleResponse {
	r.Namespace = c.p.namespace
	if r.Head == nil {
		r.Head = byID(c.head())
	}
	if r.AfterId != "" && r.AfterErasures == 0 { // other checks erase
		now, err := c.p.Assemble(c.p.ctx, &transcriptv1.AssembleRequest{Namespace: r.Namespace, Head: r.Head, LastMessages: 1})
		c.p.ok(err, "Assemble")
		r.AfterErasures = now.GetErasures()
	}
	reply, err := c.p.Assemble(c.p.ctx, r)
	c.p.ok(err, "Assemble")
	return reply
}

// letters are the messages of a reply. What stands for a call or a result that was put, and what the server made, has the mark of
// docs/views.md; what is none of these is "?".
func (c *chain) letters(messages []*transcriptv1.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, c.letterOf(m))
	}
	return strings.Join(all, " ")
}

func (c *chain) letterOf(m *transcriptv1.Message) string {
	switch m.GetOrigin() {
	case transcriptv1.Origin_ORIGIN_UNSPECIFIED:
		if token, ok := c.shown[string(canonical.EncodePayload([]*transcriptv1.Message{m}))]; ok {
			return token
		}
	case transcriptv1.Origin_ORIGIN_SUMMARY:
		return "m"
	case transcriptv1.Origin_ORIGIN_STUB:
		for _, tool := range callTool {
			call := runloop.Call{ID: runloop.Some(m.GetToolCallId()), Name: runloop.Some(tool)}
			if proto.Equal(m, canonical.Stub(call)) {
				return "+" + m.GetToolCallId()
			}
		}
	case transcriptv1.Origin_ORIGIN_LEFT_OUT:
		if n := runloop.LeftOutIn(m.GetParts()[0].GetText()); n > 0 && proto.Equal(m, canonical.LeftOut(n)) {
			return fmt.Sprint("l", n)
		}
	case transcriptv1.Origin_ORIGIN_SHORTENED:
		return shortened(m)
	}
	return "?"
}

// cutMark ends a text that was cut.
const cutMark = "...[truncated]"

// shortened is the letter of a message that was cut, lost calls, or became a line.
func shortened(m *transcriptv1.Message) string {
	if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
		return "r" + m.GetToolCallId() + "'"
	}
	var calls string
	for _, part := range m.GetParts() {
		if call := part.GetToolCall(); call != nil {
			calls += map[string]string{"look": "c", "reply": "k"}[call.GetName()] + call.GetId()
		}
	}
	switch {
	case calls != "":
		return calls + "…"
	case m.GetRole() == transcriptv1.Role_ROLE_USER:
		return "u…"
	case m.GetRole() == transcriptv1.Role_ROLE_ASSISTANT:
		return "a…"
	}
	return "?"
}

// written is a list of letters without what separates them.
func written(letters string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(letters, "|", " ")), " ")
}
