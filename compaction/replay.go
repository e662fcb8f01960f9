package compaction

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// ReplayState is what became of a call.
type ReplayState string

// The states.
const (
	ReplayOK         ReplayState = "ok"
	ReplayError      ReplayState = "error"
	ReplayUnanswered ReplayState = "unanswered"
)

// ReplayCall is a past tool call as a Renderer gets it: secrets are replaced, and nothing is cut.
type ReplayCall struct {
	ID, Name runloop.Optional
	State    ReplayState
	// Arguments are as the model wrote them, JSON as a rule; Result is the result's text.
	Arguments, Result string
}

// Renderer makes text of a call for a prompt, of several lines if need be. It must be pure; what it makes is cut to what
// the request allows.
type Renderer func(*ReplayCall) string

// Render is the renderer of tools that have none: the name, the arguments on one line, and the result below.
//
//	read_file {"path":"a.txt"}
//	=> the file's text
func Render(c *ReplayCall) string {
	head := replayName(c.Name)
	if arguments := strings.Join(strings.Fields(c.Arguments), " "); arguments != "" {
		head += " " + arguments
	}
	switch c.State {
	case ReplayUnanswered:
		return head + "\n=> (no result)"
	case ReplayError:
		return head + "\n=> error: " + c.Result
	default:
		return head + "\n=> " + c.Result
	}
}

// maxReplayName is the most code points of a name that Render shows.
const maxReplayName = 100

// replayName is a name on one line: quoted where it could pass for something else.
func replayName(name runloop.Optional) string {
	if !name.Present {
		return "-"
	}
	s, _ := Clamp(name.Value, maxReplayName)
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return strconv.Quote(s)
	}
	return s
}

// Clamp cuts s to n code points, the mark included where there is room for it, and tells whether it did.
func Clamp(s string, n int) (clamped string, cut bool) {
	if utf8.RuneCountInString(s) <= n {
		return s, false
	}
	if n <= len(CutMark) {
		return s[:prefix(s, n)], true
	}
	return s[:prefix(s, n-len(CutMark))] + CutMark, true
}
