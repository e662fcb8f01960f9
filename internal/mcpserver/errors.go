package mcpserver

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// refusal is an error whose text is for the model: what is wrong, and what to call next.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

func errPlace(argument string) error {
	return refuse("%s: must be the place of a message, such as 3f2a9c0d1e4b.0: 12 to 64 hex digits, a dot and a number, as tools show it", argument)
}

func errNoConversation() error {
	return refuse("no such conversation: call list_conversations to see names; a name is written whole, such as chat/42")
}

// rules are what a request broke, by the names of a tool's arguments. What the server says of fields repeats no value.
func rules(e *client.Error) string {
	if len(e.Violations) == 0 {
		return e.Message
	}
	list := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		list[i] = argument(v.Field) + ": " + v.Rule
	}
	return strings.Join(list, "; ")
}

// argument is the argument of a tool that a field of a request comes from; the field's own name where they are called alike.
func argument(field string) string {
	switch base, _, _ := strings.Cut(field, "["); base {
	case "head.alias":
		return "conversation"
	case "alias_prefix", "folder":
		return "prefix"
	case "text", "regexp":
		return "query"
	case "tool_names":
		return "tool"
	case "tool_call_id":
		return "call_id"
	case "messages":
		return "text"
	case "aliases":
		return "the new name"
	case "parent":
		return "head"
	default:
		return field
	}
}

// told is the text of an error for the model. It has what the server said of fields, which is no content.
func (s *caller) told(err error) string {
	var own *refusal
	var remote *client.Error
	switch err = client.Typed(err); {
	case errors.As(err, &own):
		return own.text
	case !errors.As(err, &remote):
		return "the call failed; try it again"
	}
	switch remote.Reason {
	case client.ErrAliasNotFound, client.ErrNodeNotFound:
		if s.cfg.Binding.bound() {
			return "the conversation of this server does not exist (yet): ask who started the server to look at --chain and --namespace"
		}
		return errNoConversation().Error()
	case client.ErrToolCallNotFound:
		return "no such tool call in this conversation: call list_run_loops to see calls with their ids and places"
	case client.ErrNotInView, client.ErrNotAnAncestor:
		return "cursor: it is not of this conversation, which may have begun anew: call again without cursor"
	case client.ErrAmbiguousPrefix:
		return "message: the id is too short to be of one node: give more digits of it"
	case client.ErrInvalidPageToken:
		return "cursor: it is not of this call: give the cursor of the last reply with the same arguments, or call again without cursor"
	case client.ErrInvalidPattern:
		return "query: not a regular expression of RE2: mend it, or leave out regexp to find the text as it is"
	case client.ErrAliasExists, client.ErrAliasMoved, client.ErrParentNotFound: // which of these it is would tell what there is elsewhere
		return "head: the conversation has moved on, or exists already: call read_conversation, decide again, and give the head that it shows"
	case client.ErrInvalidField, client.ErrLimitExceeded, client.ErrMalformedRequest, client.ErrTooManyOpenCalls:
		return clip("refused: "+rules(remote), 1000) + ". Change the arguments and call again"
	case client.ErrQuotaExceeded:
		return "the namespace is full: nothing was written, and repeating will not help; tell the user"
	case client.ErrRateLimited, client.ErrOverloaded, client.ErrDraining:
		return "the transcript server has too much to do: wait some seconds and call again"
	case client.ErrDeadlineExceeded:
		return "the transcript server took too long: ask for less, with a narrower prefix or one conversation, or call again"
	case client.ErrNodeCorrupt:
		return "what is stored of this conversation is damaged: tell the user"
	default:
	}
	switch remote.Code {
	case codes.Unauthenticated:
		return "the transcript server does not know this caller: tell the user that a valid token is needed"
	case codes.PermissionDenied:
		return fmt.Sprintf("this caller may not do that in namespace %s: tell the user; reading needs the role read, writing the role append", s.cfg.Namespace)
	case codes.Unavailable:
		return "the transcript server cannot be reached: tell the user to start it or to look at the address, then call again"
	default:
		return "the transcript server failed: call again, and tell the user if it fails again"
	}
}
