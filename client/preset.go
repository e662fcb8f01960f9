package client

import transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"

// The policies that have names. What fields of them are, the server says, and reports tell it (Report.Policy). A field that the
// caller sets goes before them.

// Chat is the policy for chats: the server's defaults by name, which hold where there is no policy too.
func Chat() *transcriptv1.Policy { return preset(transcriptv1.Preset_PRESET_CHAT) }

// Coding is the policy for agents that work with tools: Chat in which old tool results become lines, all but the newest few, once
// that pays.
func Coding() *transcriptv1.Policy { return preset(transcriptv1.Preset_PRESET_CODING) }

// Long is Coding for tasks that look back more: it keeps more results.
func Long() *transcriptv1.Policy { return preset(transcriptv1.Preset_PRESET_LONG) }

// Frugal is the cheapest: it keeps the fewest results, and shortens the arguments of the calls before them. A model may come to write
// what it so sees in its own past calls.
func Frugal() *transcriptv1.Policy { return preset(transcriptv1.Preset_PRESET_FRUGAL) }

// Unbounded is the policy that bounds nothing.
func Unbounded() *transcriptv1.Policy { return preset(transcriptv1.Preset_PRESET_UNBOUNDED) }

func preset(p transcriptv1.Preset) *transcriptv1.Policy { return &transcriptv1.Policy{Preset: p} }
