package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// saltBytes keeps a new conversation apart from another that begins with the same words.
const saltBytes = 16

// writers are the tools that write. A chain without a name has nothing that could move on; a fork of the only chain would be outside.
func (s *caller) writers() []*tool {
	switch {
	case !s.cfg.Write:
		return nil
	case !s.cfg.Binding.bound():
		return []*tool{s.putTool(), s.forkTool()}
	case s.cfg.Binding.Chain.GetAlias() != "":
		return []*tool{s.putTool()}
	default:
		return nil
	}
}

func (s *caller) putTool() *tool {
	return &tool{
		name: "put_message", title: "Append a message", writes: true,
		says: "Appends one message of text to a conversation, or begins one. Nothing that is there is changed. For a conversation that exists, head " +
			"must be the head that read_conversation shows, so that nothing is appended to what you have not seen.",
		params: s.conversation(true,
			param{name: "role", kind: "string", says: "Who says it.", required: true, enum: []string{"user", "assistant"}},
			param{name: "text", kind: "string", says: "The text of the message.", required: true},
			param{name: "head", kind: "string", says: "The head of the conversation, 64 hex digits. Leave it out to begin a new conversation."}),
		run: s.put,
	}
}

func (s *caller) put(ctx context.Context, a *arguments) (string, error) {
	ref, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(a.Text) == "" {
		return "", refuse("text: must not be empty")
	}
	m := client.User(a.Text)
	if a.Role == "assistant" {
		m = client.Assistant(a.Text)
	}
	alias := &transcriptv1.AliasUpdate{Name: ref.GetAlias(), Precondition: &transcriptv1.AliasPrecondition{}}
	req := &transcriptv1.PutNodeRequest{Namespace: s.cfg.Namespace, Messages: []*transcriptv1.Message{m}, Aliases: []*transcriptv1.AliasUpdate{alias}}
	if a.Head == "" {
		alias.Precondition.Condition = &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}
		req.Salt = make([]byte, saltBytes)
		if _, err := rand.Read(req.Salt); err != nil {
			return "", err
		}
	} else {
		if parsePlace(a.Head+".0", 64) == nil {
			return "", refuse("head: must be 64 hex digits, as read_conversation shows the head")
		}
		// Without a salt the same call once more finds its own node, and changes nothing.
		req.Parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: a.Head}}
		alias.Precondition.Condition = &transcriptv1.AliasPrecondition_HeadId{HeadId: a.Head}
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	got, err := s.cfg.Client.PutNode(ctx, req)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("appended as [%s.0]; the conversation has %d messages; head is now %s, for the next put_message", clip12(got.GetNodeId()),
		got.GetCounters().GetFull().GetMessages(), got.GetNodeId()), nil
}

func (s *caller) forkTool() *tool {
	return &tool{
		name: "fork_conversation", title: "Fork a conversation", writes: true,
		says: "Begins a new conversation with what another one has, up to a message or all of it. The other one stays as it is.",
		params: s.conversation(true,
			param{name: "new_name", kind: "string", says: "The name of the new conversation, which must not exist.", required: true},
			param{name: "message", kind: "string", says: "The place of the last message to have, such as 3f2a9c0d1e4b.0. Messages that were put with it, as one node, come along. Without it: all."}),
		run: s.fork,
	}
}

func (s *caller) fork(ctx context.Context, a *arguments) (string, error) {
	head, err := s.cfg.Binding.head(a.Conversation)
	if err != nil {
		return "", err
	}
	if a.NewName == "" || !strings.HasPrefix(a.NewName, s.cfg.Binding.Prefix) {
		return "", refuse("new_name: must be a name that begins with %q, and not be empty", s.cfg.Binding.Prefix)
	}
	if a.Message != "" {
		at := parsePlace(a.Message, shortID)
		if at == nil {
			return "", errPlace("message")
		}
		node, _, err := s.ancestor(ctx, head, at)
		if err != nil {
			return "", err
		}
		head = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: node}}
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err = s.cfg.Client.Alias(ctx, &transcriptv1.AliasRequest{Namespace: s.cfg.Namespace, Aliases: []*transcriptv1.AliasMove{{
		Name: a.NewName, Target: head, Precondition: &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}},
	}}})
	if errors.Is(client.Typed(err), client.ErrAliasExists) {
		return "", refuse("new_name: a conversation of that name exists: take another name")
	}
	if err != nil {
		return "", err
	}
	return "forked: call read_conversation with the new name to see it, and to get its head", nil
}
