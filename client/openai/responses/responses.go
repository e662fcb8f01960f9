// Package responses converts between items of OpenAI's Responses API, those of a request's input and of a response's output, and transcript
// messages. docs/conversion.md says member by member what becomes what.
//
// Parse and Format are the lossless form: what Parse read, Format writes again, equal as JSON (the order of an object's members aside, numbers by
// their spelling; members of a framework, which no provider is sent, are left out), and nothing else becomes the same messages. ForModel is the
// form for a model: what the API accepts, whatever the messages hold.
package responses

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Report tells what a conversion changed, in order; the zero Report says that nothing was.
type Report = providerjson.Report

// Change is one thing that a conversion changed.
type Change = providerjson.Change

// ChangeKind says what was changed.
type ChangeKind = providerjson.ChangeKind

// The kinds of change.
const (
	// Surrogates: lone surrogates in a string became U+FFFD. Parse only.
	Surrogates = providerjson.Surrogates
	// Inexact: the form has no place for this, so that Parse would give something else. Format only.
	Inexact = providerjson.Inexact
	// LeftOut: not written. ForModel, as are all that follow; and Format, of what is a framework's own.
	LeftOut = providerjson.LeftOut
	// Replaced: something else was written in its place.
	Replaced = providerjson.Replaced
	// Renamed: a call id or name that the API refuses became another.
	Renamed = providerjson.Renamed
	// Added: a result was written for a call that has none.
	Added = providerjson.Added
)

// ErrInvalid is in every error of this package. Such an error names the member by its path ("items[3].role is not a string") and never shows a
// value.
var ErrInvalid = providerjson.ErrInvalid

// ErrNoMessages says that ForModel has nothing to send: the API refuses an empty list.
var ErrNoMessages = providerjson.ErrNoMessages

// Members of parts' extras that say which item a part is of. An item of content that has a member itemMember is a json part, whole.
const (
	// itemMember, of a content part of an assistant: the part begins an item of type message, and this is an object with the item's other
	// members; with "content":"" among them its content was a string. A part without it goes on with the item before, or is an item of nothing
	// but its role and its text, as a string.
	itemMember = "item"
	// jsonMember, of a json part: what the part is.
	jsonMember = "json"
	// jsonItem: a whole item. jsonOutput: what a result has as its output, where that is neither a string nor a list.
	jsonItem, jsonOutput = "item", "output"
)

// inner is where extras have the members of an item.
func inner() providerjson.Inner { return providerjson.Inner{Part: itemMember} }

// textMessage is the type of a message, which an item without a type has too.
const textMessage = "message"

// reasoningItem is the type of what a model thinks.
const reasoningItem = "reasoning"

// called is how an item that calls a tool of the caller's has it. Each has a call_id.
type called struct {
	// kind and output are the types of the call and of its result.
	kind, output string
	// arguments is the call's member with the arguments, result the result's with its content.
	arguments, result string
}

// The calls whose arguments are a text that stands beside a name.
const (
	functionCall = "function_call"
	customCall   = "custom_tool_call"
)

// calls are all of them. Those without a name are named by their type.
func calls() []called {
	return []called{
		{functionCall, "function_call_output", "arguments", "output"},
		{customCall, "custom_tool_call_output", "input", "output"},
		{"local_shell_call", "local_shell_call_output", "action", "output"},
		{"shell_call", "shell_call_output", "action", "output"},
		{"computer_call", "computer_call_output", "action", "output"},
		{"apply_patch_call", "apply_patch_call_output", "operation", "output"},
		{"tool_search_call", "tool_search_output", "arguments", "tools"},
	}
}

// callOf is the kind of call that an item is, or nil.
func callOf(kind string) *called {
	for _, c := range calls() {
		if c.kind == kind {
			return &c
		}
	}
	return nil
}

// resultOf is the kind of call that an item is the result of, or nil.
func resultOf(kind string) *called {
	for _, c := range calls() {
		if c.output == kind {
			return &c
		}
	}
	return nil
}

// named tells whether calls of a kind have a name beside a text of arguments.
func (c *called) named() bool { return c.kind == functionCall || c.kind == customCall }

// roles are the roles of messages.
func roles() map[string]transcriptv1.Role {
	return map[string]transcriptv1.Role{
		"system":    transcriptv1.Role_ROLE_SYSTEM,
		"developer": transcriptv1.Role_ROLE_DEVELOPER,
		"user":      transcriptv1.Role_ROLE_USER,
		"assistant": transcriptv1.Role_ROLE_ASSISTANT,
	}
}

// textOf is a string's text; "" of any other value, and of nil.
func textOf(v *providerjson.Value) string {
	if v == nil || v.Kind != providerjson.String {
		return ""
	}
	return v.Text
}

// isString tells whether a value is there and a string.
func isString(v *providerjson.Value) bool { return v != nil && v.Kind == providerjson.String }
