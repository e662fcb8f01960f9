// Package openai converts between OpenAI's chat-completions messages and transcript messages. docs/conversion.md says
// member by member what becomes what.
//
// Parse and Format are the lossless form: what Parse read, Format writes again, equal as JSON (the order of an
// object's members aside, numbers by their spelling; members of a framework, which no provider is sent, are left out), and nothing
// else becomes the same messages. ForModel is the form
// for a model: what the API accepts, whatever the messages hold.
package openai

import (
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
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
	// Inexact: OpenAI's form has no place for this, so that Parse would give something else. Format only.
	Inexact = providerjson.Inexact
	// LeftOut: not written. ForModel, as are all that follow; and Format, of what is a framework's own.
	LeftOut = providerjson.LeftOut
	// Replaced: something else was written in its place.
	Replaced = providerjson.Replaced
	// Renamed: a call id or name that the API refuses became another.
	Renamed = providerjson.Renamed
	// Joined: written as part of the message before it.
	Joined = providerjson.Joined
	// Moved: written in another place.
	Moved = providerjson.Moved
	// Added: a result was written for a call that has none.
	Added = providerjson.Added
)

// ErrInvalid is in every error of this package. Such an error names the member by its path
// ("messages[3].tool_calls[0].function.arguments is not a string") and never shows a value.
var ErrInvalid = providerjson.ErrInvalid

// ErrNoMessages says that ForModel has nothing to send: the API refuses an empty list.
var ErrNoMessages = providerjson.ErrNoMessages
