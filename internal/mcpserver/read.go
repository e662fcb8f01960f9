package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// windowMessages and windowBytes bound what is asked of the store for one window, maxWindow what a caller may ask for.
	windowMessages, maxWindow, windowBytes = 50, 200, 64 << 10
	// messageChars is how much of one message a window shows, so that one does not fill it.
	messageChars = 4000
	// keptBytes is what is held of a window until it is written. A group of messages is not split by the server, and can be far larger.
	keptBytes = 8 << 20
)

func (s *caller) readTool() *tool {
	return &tool{
		name: "read_conversation", title: "Read a conversation",
		says: "Shows the last messages of a conversation as they were said, the newest at the end. Each has its place in brackets. The cursor leads to older messages. " +
			"A long message is cut: give its place as message to read all of it.",
		params: s.conversation(true,
			param{name: "messages", kind: "integer", says: "About how many messages to show, 1 to 200. Without it: 50."},
			param{name: "message", kind: "string", says: "The place of one message, such as 3f2a9c0d1e4b.0, to read it whole."},
			cursorParam()),
		run: s.read,
	}
}

func (s *caller) read(ctx context.Context, a *arguments) (string, error) {
	head, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	if a.Message != "" {
		if a.given["messages"] {
			return "", refuse("messages: not together with message, which is one; leave out either")
		}
		return s.readOne(ctx, head, a.Message, a.Cursor)
	}
	n := windowMessages
	if a.given["messages"] {
		if n = a.Messages; n < 1 || n > maxWindow {
			return "", refuse("messages: must be from 1 to %d", maxWindow)
		}
	}
	var before *transcriptv1.MessagePlace
	if a.Cursor != "" {
		if before = parsePlace(a.Cursor, 64); before == nil {
			return "", errCursor()
		}
	}
	w, err := s.window(ctx, &transcriptv1.StreamAssembleRequest{
		Namespace: s.cfg.Namespace, Head: head, View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS,
		LastMessages: int32(n), LastBytes: windowBytes, Before: before, // at most maxWindow
	}, false)
	if err != nil {
		return "", err
	}
	return s.writeWindow(a, w), nil
}

func errCursor() error {
	return refuse("cursor: not one that this tool gave: give the cursor of the last reply as it is, or call again without cursor")
}

// parsePlace reads NODE.I, with a node of at least so many digits; nil: it is none.
func parsePlace(text string, digits int) *transcriptv1.MessagePlace {
	node, index, ok := strings.Cut(text, ".")
	i, err := strconv.ParseInt(index, 10, 31)
	if !ok || err != nil || i < 0 || len(node) < digits || len(node) > 64 || strings.Trim(node, "0123456789abcdef") != "" {
		return nil
	}
	return &transcriptv1.MessagePlace{NodeId: node, MessageIndex: int32(i)}
}

// window is the end of a view, or of what stands before a message of it.
type window struct {
	head     string
	counters *transcriptv1.Counters
	messages []placed
	// more tells that there are older ones.
	more bool
}

// window reads one. Of a group that is larger than keptBytes it keeps the end, and of a view of which only the beginning is asked for
// the first frame.
func (s *caller) window(ctx context.Context, req *transcriptv1.StreamAssembleRequest, first bool) (*window, error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	stream, err := s.cfg.Client.StreamAssemble(ctx, req)
	if err != nil {
		return nil, err
	}
	w, kept, node, index := &window{}, 0, "", int32(0)
	for frames := 0; ; frames++ {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return w, nil
		}
		if err != nil {
			return nil, err
		}
		if frames == 0 {
			w.head, w.counters, w.more = frame.GetHeadId(), frame.GetCounters().GetFull(), frame.GetHasMoreBefore()
			node, index = frame.GetBegin().GetNodeId(), frame.GetBegin().GetMessageIndex()
		}
		rest := frame.GetMessages()
		for _, n := range frame.GetNodes() {
			if n.GetNodeId() != node {
				node, index = n.GetNodeId(), 0
			}
			count := min(max(0, int(n.GetMessageCount())), len(rest)) // whatever a server says
			for i := range count {
				m := placed{rest[i], &transcriptv1.MessagePlace{NodeId: node, MessageIndex: index}, nil}
				if i < len(n.GetNotes()) {
					m.note = n.GetNotes()[i]
				}
				w.messages = append(w.messages, m)
				kept += proto.Size(m.Message)
				index++
			}
			rest = rest[count:]
		}
		for kept > keptBytes && len(w.messages) > 1 {
			kept -= proto.Size(w.messages[0].Message)
			w.messages, w.more = w.messages[1:], true
		}
		if first {
			return w, nil
		}
	}
}

// writeWindow writes as many messages as fit, from the last on.
func (s *caller) writeWindow(a *arguments, w *window) string {
	name := "conversation"
	if a.Conversation != "" {
		name += " " + a.Conversation
	}
	top := fmt.Sprintf("%s: %d messages in %d nodes, head %s", oneLine(s.clean(name)), w.counters.GetMessages(), w.counters.GetNodes(), w.head)
	var texts []string
	room := MaxReplyChars - headRoom - chars(top)
	i := len(w.messages)
	for ; i > 0; i-- {
		text := s.message(&w.messages[i-1])
		if room -= chars(text) + 1; room < 0 && len(texts) > 0 {
			break
		}
		texts = append(texts, text)
	}
	lines := []string{top}
	for j := len(texts) - 1; j >= 0; j-- {
		lines = append(lines, texts[j])
	}
	switch {
	case len(w.messages) == 0:
		lines = append(lines, "no messages before this; it is the beginning")
	case i > 0 || w.more:
		first := w.messages[i].place
		lines = append(lines, next("read_conversation", fmt.Sprintf("%s.%d", first.GetNodeId(), first.GetMessageIndex()), "for older messages"))
	}
	return strings.Join(lines, "\n")
}

// message is a message with its heading, cut where it is long.
func (s *caller) message(m *placed) string {
	text := s.heading(m)
	body := s.body(m.Message)
	if body == "" {
		return text
	}
	shown := beginning(body, messageChars)
	text += "\n" + indent(shown)
	if len(shown) < len(body) {
		text += fmt.Sprintf("\n[%s] goes on: %d more characters; call read_conversation with message=%q to read it whole", place(m.place),
			chars(body)-chars(shown), place(m.place))
	}
	return text
}

// readOne shows one message whole, in pages. The cursor is the number of characters that were shown.
func (s *caller) readOne(ctx context.Context, head *transcriptv1.NodeRef, text, cursor string) (string, error) {
	at := parsePlace(text, shortID)
	if at == nil {
		return "", errPlace("message")
	}
	from := 0
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 31)
		if err != nil {
			return "", errCursor()
		}
		from = int(n) // 31 bits
	}
	m, err := s.find(ctx, head, at)
	if err != nil {
		return "", err
	}
	body := s.body(m.Message)
	rest := body[offset(body, from):]
	lines := []string{s.heading(m)}
	shown := beginningIndented(rest, MaxReplyChars-headRoom-chars(lines[0]))
	lines = append(lines, indent(shown))
	if len(shown) < len(rest) {
		lines = append(lines, next("read_conversation", strconv.Itoa(from+chars(shown)), "for the rest of the message"))
	}
	return strings.Join(lines, "\n"), nil
}

func errNoMessage() error {
	return refuse("message: no such message in this conversation: call read_conversation to see places")
}

// find is a message of a chain. The node may be of any chain of the namespace, so it is first asked whether this chain has it; what is
// not here and what is nowhere look the same.
func (s *caller) find(ctx context.Context, head *transcriptv1.NodeRef, at *transcriptv1.MessagePlace) (*placed, error) {
	node, parent, err := s.ancestor(ctx, head, at)
	if err != nil {
		return nil, err
	}
	w, err := s.window(ctx, &transcriptv1.StreamAssembleRequest{
		Namespace: s.cfg.Namespace, Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: node}},
		View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS, AfterId: parent,
	}, false)
	if err != nil {
		return nil, err
	}
	for i := range w.messages {
		if p := w.messages[i].place; p.GetNodeId() == node && p.GetMessageIndex() == at.GetMessageIndex() {
			return &w.messages[i], nil
		}
	}
	return nil, errNoMessage()
}

// ancestor is the whole id of the node of a place, and its parent's, if the chain has that message.
func (s *caller) ancestor(ctx context.Context, head *transcriptv1.NodeRef, at *transcriptv1.MessagePlace) (node, parent string, err error) {
	asked, cancel := s.call(ctx)
	defer cancel()
	got, err := s.cfg.Client.GetNode(asked, &transcriptv1.GetNodeRequest{
		Namespace: s.cfg.Namespace, Node: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: at.GetNodeId()}}, OmitMessages: true,
	})
	if err != nil {
		return "", "", elsewhere(err)
	}
	info := got.GetInfo()
	_, err = s.window(ctx, &transcriptv1.StreamAssembleRequest{
		Namespace: s.cfg.Namespace, Head: head, View: transcriptv1.View_VIEW_FULL, LastMessages: 1,
		Before: &transcriptv1.MessagePlace{NodeId: info.GetNodeId(), MessageIndex: at.GetMessageIndex()},
	}, true)
	if err != nil {
		return "", "", elsewhere(err)
	}
	return info.GetNodeId(), info.GetEnvelope().GetParentId(), nil
}

// elsewhere is one error for a place that is in no chain, and for one that is in another.
func elsewhere(err error) error {
	for _, reason := range []client.Reason{client.ErrNodeNotFound, client.ErrAmbiguousPrefix, client.ErrNotInView, client.ErrNotAnAncestor, client.ErrInvalidField} {
		if errors.Is(client.Typed(err), reason) {
			return errNoMessage()
		}
	}
	return err
}
