package main

import (
	"context"
	"fmt"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type showCommand struct {
	Ref string `arg:"" help:"The node: id, beginning of an id (6 digits or more), or alias."`
}

func (c *showCommand) Help() string {
	return `Shows what a node is and the messages in it. Examples:

    transcriptctl show chat/42
    transcriptctl show 3f9a1c2b
    transcriptctl show chat/42 --output json | jq .info.envelope`
}

// Run shows a node.
func (c *showCommand) Run(ctx context.Context, s *session) error {
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	node, err := s.Node(ctx, ref)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(node)
	}
	if err := s.printRows(nodeRows(node)); err != nil {
		return err
	}
	for i, m := range node.GetMessages() {
		if err := s.printMessage("\n", m); err != nil {
			return err
		}
		if notes := node.GetInfo().GetNotes(); i < len(notes) && noteText(notes[i]) != "" {
			if err := s.printLine("[%s]", noteText(notes[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

func nodeRows(n *transcriptv1.GetNodeResponse) [][2]string {
	envelope := n.GetInfo().GetEnvelope()
	rows := [][2]string{{"node", n.GetInfo().GetNodeId()}, {"parent", orDash(envelope.GetParentId())}}
	if through := envelope.GetCoversThroughId(); through != "" {
		rows = append(rows, [2]string{"compaction", "stands for all before it behind the preamble, through " + through})
	}
	if e := n.GetErasure(); e != nil {
		rows = append(rows, [2]string{"erased", fmt.Sprintf("%d of %s: markers stand in their place", erasedMessages(e), count(int64(len(e.GetMessageBytes())), "message"))})
	}
	if from := envelope.GetSpawnedFrom(); from != nil {
		rows = append(rows, [2]string{"spawned from", strings.TrimSpace(from.GetNodeId() + " " + name(from.GetToolCallId()))})
	}
	if len(envelope.GetSalt()) > 0 {
		rows = append(rows, [2]string{"salt", fmt.Sprintf("%x", envelope.GetSalt())})
	}
	rows = append(rows, [2]string{"put", clock(n.GetFirstPutAt())},
		[2]string{"messages", roleNames(n.GetRoles()) + ", " + size(n.GetInfo().GetSizeBytes())})
	for _, e := range n.GetMetadata().GetEntries() {
		rows = append(rows, [2]string{"metadata", name(e.GetKey() + "=" + e.GetValue())})
	}
	for _, a := range n.GetAliases() {
		rows = append(rows, [2]string{"alias", name(a)})
	}
	if n.GetHasMoreAliases() {
		rows = append(rows, [2]string{"alias", "there may be more"})
	}
	return append(rows, counterRows(n.GetCounters())...)
}

// erasedMessages is how many messages of a node were erased.
func erasedMessages(e *transcriptv1.ArchivedErasure) (n int) {
	for _, was := range e.GetMessageBytes() {
		if was > 0 {
			n++
		}
	}
	return n
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// printMessage prints a message for people, after a separator: a line with the role, then what it says.
func (s *session) printMessage(separator string, m *transcriptv1.Message) error {
	_, err := s.out.WriteString(separator + messageHeading(m) + "\n")
	for _, p := range m.GetParts() {
		if err == nil {
			err = s.printPart(p)
		}
	}
	return err
}

// printPart prints a part for people, and ends the line.
func (s *session) printPart(p *transcriptv1.Part) error {
	text := visible(partText(p))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := s.out.WriteString(text)
	return err
}

func messageHeading(m *transcriptv1.Message) string {
	words := []string{"---", roleName(m.GetRole())}
	if m.Name != nil {
		words = append(words, name(m.GetName()))
	}
	if m.ToolCallId != nil {
		words = append(words, "(answers "+name(m.GetToolCallId())+")")
	}
	if m.GetIsError() {
		words = append(words, "(error)")
	}
	if state := m.GetState(); state != transcriptv1.MessageState_MESSAGE_STATE_UNSPECIFIED {
		words = append(words, "("+enumName(state.String(), "MESSAGE_STATE_")+")")
	}
	if origin := m.GetOrigin(); origin != transcriptv1.Origin_ORIGIN_UNSPECIFIED {
		words = append(words, "(made by the server: "+enumName(origin.String(), "ORIGIN_")+")")
	}
	return strings.Join(words, " ")
}

func enumName(value, prefix string) string { return strings.ToLower(strings.TrimPrefix(value, prefix)) }

// partText is a part for people; what is no text is named and measured.
func partText(p *transcriptv1.Part) string {
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		return k.Text
	case *transcriptv1.Part_Reasoning:
		return reasoningText(k.Reasoning)
	case *transcriptv1.Part_ToolCall:
		return fmt.Sprintf("→ %s(%s)  [call %s]", k.ToolCall.GetName(), k.ToolCall.GetArguments(), orDash(k.ToolCall.GetId()))
	case *transcriptv1.Part_Json:
		return k.Json
	case *transcriptv1.Part_Media:
		return mediaText(k.Media)
	case *transcriptv1.Part_Opaque:
		return opaqueText(k.Opaque)
	}
	return ""
}

func opaqueText(o *transcriptv1.Opaque) string {
	return fmt.Sprintf("[opaque %s, %s]", name(o.GetType()), size(int64(len(o.GetData()))))
}

func reasoningText(r *transcriptv1.Reasoning) string {
	if r.GetText() == "" {
		return fmt.Sprintf("[reasoning, %s not readable]", size(int64(len(r.GetRedactedData())+len(r.GetSignature()))))
	}
	return "[reasoning] " + r.GetText()
}

func mediaText(m *transcriptv1.Media) string {
	switch source := m.GetSource().(type) {
	case *transcriptv1.Media_Inline:
		return fmt.Sprintf("[%s, %s]", mediaName(m), size(int64(len(source.Inline))))
	case *transcriptv1.Media_Uri:
		return fmt.Sprintf("[%s at %s]", mediaName(m), source.Uri)
	case *transcriptv1.Media_BlobDigest:
		return fmt.Sprintf("[%s, blob %x]", mediaName(m), source.BlobDigest)
	}
	return "[" + mediaName(m) + "]"
}
