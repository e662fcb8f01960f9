package mcpserver

import (
	"fmt"
	"strings"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Binding is what a Server's callers may reach of a namespace: one chain, the conversations under a prefix of names, or, where neither
// is set, all of them.
type Binding struct {
	// Chain is the last node of the only chain.
	Chain *transcriptv1.NodeRef
	// Prefix is what the names of all conversations begin with.
	Prefix string
}

// bound tells whether there is one chain alone, so that no call names a conversation.
func (b *Binding) bound() bool { return b.Chain != nil }

// says tells a model what it may reach.
func (b *Binding) says(namespace string) string {
	switch {
	case b.Chain != nil:
		return fmt.Sprintf("Every call is about one conversation of namespace %s.", namespace)
	case b.Prefix != "":
		return fmt.Sprintf("Every call is about conversations of namespace %s whose names begin with %q.", namespace, b.Prefix)
	default:
		return fmt.Sprintf("Every call is about conversations of namespace %s.", namespace)
	}
}

// head is the last node of the conversation that a call names. A name that is not the binding's is not there; the store is not asked,
// so that nothing tells such a name that exists from one that does not. A name is an alias, whatever it looks like: ids of nodes lead
// to every chain of the namespace.
func (b *Binding) head(conversation string) (*transcriptv1.NodeRef, error) {
	switch {
	case b.Chain != nil && conversation != "":
		return nil, refuse("conversation: this server serves one conversation; leave the argument out")
	case b.Chain != nil:
		return b.Chain, nil
	case conversation == "":
		return nil, refuse("conversation: a name is needed; call list_conversations to see names")
	case !strings.HasPrefix(conversation, b.Prefix):
		return nil, errNoConversation()
	default:
		return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: conversation}}, nil
	}
}

// narrowed is a prefix that a call gives, within the binding's.
func (b *Binding) narrowed(prefix string) (string, error) {
	switch {
	case prefix == "":
		return b.Prefix, nil
	case !strings.HasPrefix(prefix, b.Prefix):
		return "", refuse("prefix: names here begin with %q, so a prefix must too; leave the argument out to have all", b.Prefix)
	default:
		return prefix, nil
	}
}
