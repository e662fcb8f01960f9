// Package groups finds the groups of tool calls in messages, for converters that write what a provider accepts: each
// call with its one result directly after. It pairs calls and results as the server's repair does (docs/design.md,
// "Groups and repair").
package groups

import (
	"strconv"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Call is a call of a group.
type Call struct {
	// Message and Part say where it stands.
	Message, Part int
	// Call is the call.
	Call *transcriptv1.ToolCall
	// Result is the message that answers it, or -1.
	Result int
}

// Step is a message by itself, or a group.
type Step struct {
	// Message is the message, or the group's first.
	Message int
	// Assistants are the group's messages with calls; none for a message by itself.
	Assistants []int
	// Calls are the group's calls, in order.
	Calls []Call
	// Answered are indices of the calls that have results, in the order of the results.
	Answered []int
}

// Split cuts messages into steps, in order. leftOut are the results that answer no call of their group; they are in
// no step, and nor are opaque messages.
func Split(messages []*transcriptv1.Message) (steps []Step, leftOut []int) {
	var group *Step // the open group, the last of steps
	for i, m := range messages {
		calls := callsOf(m, i)
		switch {
		case canonical.IsOpaque(m):
			continue
		case m.GetRole() == transcriptv1.Role_ROLE_TOOL:
			if group == nil || !group.answer(m, i) {
				leftOut = append(leftOut, i)
			}
			continue
		case len(calls) == 0:
			steps = append(steps, Step{Message: i})
			group = nil
			continue
		case group == nil || len(group.Answered) > 0:
			steps = append(steps, Step{Message: i})
			group = &steps[len(steps)-1]
		}
		group.Assistants = append(group.Assistants, i)
		group.Calls = append(group.Calls, calls...)
	}
	return steps, leftOut
}

// callsOf is the calls of an assistant; others have none, whatever their parts are.
func callsOf(m *transcriptv1.Message, message int) []Call {
	if m.GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
		return nil
	}
	var calls []Call
	for i, p := range m.GetParts() {
		if c := p.GetToolCall(); c != nil {
			calls = append(calls, Call{Message: message, Part: i, Call: c, Result: -1})
		}
	}
	return calls
}

// answer gives the first unanswered call with the result's id its result, if there is one.
func (s *Step) answer(m *transcriptv1.Message, message int) bool {
	for i := range s.Calls {
		if s.Calls[i].Result < 0 && providerjson.SameString(s.Calls[i].Call.Id, m.ToolCallId) {
			s.Calls[i].Result = message
			s.Answered = append(s.Answered, i)
			return true
		}
	}
	return false
}

// Names makes names that a provider accepts: of letters, digits, "_" and "-", at most Max bytes.
type Names struct {
	// Max is the most bytes of a name.
	Max int
	// Default stands for a name of which nothing is left.
	Default string
	used    map[string]bool
	last    map[string]int // the last end that was tried for a clean name
}

// Clean is the name itself where it is accepted; else it with "_" for each byte that is not, cut to Max.
func (n *Names) Clean(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			clean[i] = '_'
		}
	}
	if len(clean) == 0 {
		return n.Default
	}
	return string(clean[:min(len(clean), n.Max)])
}

// Take gives a name out, if it is accepted and was not given before.
func (n *Names) Take(name string) bool {
	return name != "" && n.Clean(name) == name && !n.used[name] && n.Unique(name) == name
}

// Unique is the clean name, or, where it was given before, it with the first of "_2", "_3", … that was not.
func (n *Names) Unique(name string) string {
	if n.used == nil {
		n.used, n.last = map[string]bool{}, map[string]int{}
	}
	clean := n.Clean(name)
	unique := clean
	for i := max(2, n.last[clean]+1); n.used[unique]; i++ {
		end := "_" + strconv.Itoa(i)
		unique = clean[:min(len(clean), n.Max-len(end))] + end
		n.last[clean] = i
	}
	n.used[unique] = true
	return unique
}
