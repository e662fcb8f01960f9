package describe

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// nameChars is the code points of a name in the text block.
	nameChars = 64
	// lineChars is the code points after which a list goes on in a line of its own.
	lineChars = 120
	// shortID is the digits of a node's id in the text block.
	shortID = 12
)

// textOf is a description as text, of at most d.text code points. Everything that a client named or wrote stands
// in it as nameText or strconv.Quote writes it, so each line is the server's own.
func (d *description) textOf(reply *transcriptv1.DescribeResponse) string {
	b := &block{}
	b.head(reply)
	b.loop(reply.Loop)
	b.lineage(reply.Lineage)
	b.tools(reply)
	b.aliases(reply)
	b.variables(reply, d.since)
	return b.cut(d.text)
}

// block is a text under way.
type block struct{ lines []string }

func (b *block) line(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

// cut is the block, or as many whole lines of it as fit with one that says how many do not; nothing where not even that
// one fits.
func (b *block) cut(most int) string {
	size := -1
	for _, l := range b.lines {
		size += utf8.RuneCountInString(l) + 1
	}
	if size <= most {
		return strings.Join(b.lines, "\n")
	}
	for n := len(b.lines) - 1; n >= 0; n-- {
		size -= utf8.RuneCountInString(b.lines[n]) + 1
		last := fmt.Sprintf("[%d more lines left out]", len(b.lines)-n)
		if size+1+len(last) <= most {
			return strings.Join(append(b.lines[:n:n], last), "\n")
		}
	}
	return ""
}

// list writes entries in lines that begin with what it is a list of, the further ones with two spaces; nothing without
// entries. more is what follows the last entry.
func (b *block) list(what string, entries []string, more string) {
	if len(entries) == 0 {
		return
	}
	line, size := what, utf8.RuneCountInString(what)
	for i, text := range entries {
		if i < len(entries)-1 {
			text += ","
		} else {
			text += more
		}
		n := utf8.RuneCountInString(text) + 1
		if i > 0 {
			if size+n > lineChars {
				b.lines = append(b.lines, line)
				line, size = "  ", 0
			} else {
				text = " " + text
			}
		}
		line, size = line+text, size+n
	}
	b.lines = append(b.lines, line)
}

// moreText follows a list of which there is more.
func moreText(more bool) string {
	if more {
		return " and more"
	}
	return ""
}

// countText follows a list of which there is more.
func countText(more int32) string {
	if more > 0 {
		return fmt.Sprintf(" and %d more", more)
	}
	return ""
}

func (b *block) head(r *transcriptv1.DescribeResponse) {
	b.line("head: %s, put %s ago, %s", short(r.HeadId), ago(r.Age), counted(r.Lineage.Ancestors, "ancestor"))
	full, effective := totalsText(r.Counters.Full), totalsText(r.Counters.Effective)
	if full == effective {
		b.line("all: %s", full)
		return
	}
	b.line("all: %s", full)
	b.line("effective view: %s", effective)
}

func totalsText(c *transcriptv1.Counters) string {
	about := ""
	if c.TokensEstimated {
		about = "about "
	}
	return fmt.Sprintf("%s in %s, %s, %s, %s%s", counted(c.Messages, "message"), counted(c.Nodes, "node"),
		counted(c.RunLoops, "run loop"), counted(c.Bytes, "byte"), about, counted(c.Tokens, "token"))
}

func (b *block) loop(l *transcriptv1.LoopStatus) {
	text := "loop: "
	switch l.State {
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN:
		text += "open for " + ago(l.OpenFor)
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED:
		text += "closed"
	case transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED:
		text += "closed, with a call that was interrupted"
	default:
		text += "none"
	}
	if l.Outcome != transcriptv1.RunOutcome_RUN_OUTCOME_UNSPECIFIED {
		text += ", " + strings.ToLower(strings.TrimPrefix(l.Outcome.String(), "RUN_OUTCOME_"))
	}
	if l.Stale {
		text += ", stale"
	}
	if l.LeadIn {
		text += ", asked for by nobody"
	}
	if l.First != nil {
		text += fmt.Sprintf(", began at %s.%d", short(l.First.NodeId), l.First.MessageIndex)
	}
	if n := int64(len(l.Pending)) + int64(l.MorePending); n == 0 {
		b.line("%s", text)
	} else {
		verb := "await results"
		if n == 1 {
			verb = "awaits its result"
		}
		b.list(fmt.Sprintf("%s, %s %s: ", text, counted(n, "call"), verb), pendingTexts(l.Pending), countText(l.MorePending))
	}
	if l.UserPreview != "" {
		b.line("  its user begins: %s", strconv.Quote(l.UserPreview))
	}
	if l.LastPreview != "" {
		b.line("  the last text begins: %s", strconv.Quote(l.LastPreview))
	}
}

func pendingTexts(calls []*transcriptv1.PendingCall) []string {
	var texts []string
	for _, c := range calls {
		texts = append(texts, fmt.Sprintf("%s (%s)", optionalName(c.Name), optionalName(c.Id)))
	}
	return texts
}

func (b *block) lineage(l *transcriptv1.Lineage) {
	var forks, compactions, spawned []string
	for _, n := range l.ForkNodes {
		forks = append(forks, nodeText(n))
	}
	for _, c := range l.Compactions {
		text := fmt.Sprintf("%s at %d through %s (%s, %s", short(c.NodeId), c.Ancestors, short(c.CoversThroughId),
			counted(c.MessageCount, "message"), counted(c.SizeBytes, "byte"))
		if c.HasSummary {
			text += ", summary"
		}
		compactions = append(compactions, text+")")
	}
	for _, s := range l.Spawned {
		spawned = append(spawned, fmt.Sprintf("%s by %s", short(s.NodeId), callText(s.SpawnedFrom)))
	}
	b.list(fmt.Sprintf("forks: %d, nearest ", l.Forks), forks, "")
	b.list("compactions: ", compactions, moreText(l.HasMoreCompactions))
	if l.SpawnedFrom != nil {
		b.line("spawned from: %s, began at %s%s, %s above", callText(l.SpawnedFrom), short(l.SpawnedNodeId), inheritanceText(l.Inheritance), depthText(l))
	}
	if len(spawned) == 0 && l.HasMoreSpawned {
		b.line("spawned: none near the head; what lies farther back was not looked at")
	}
	b.list("spawned: ", spawned, moreText(l.HasMoreSpawned))
}

func inheritanceText(i transcriptv1.Inheritance) string {
	switch i {
	case transcriptv1.Inheritance_INHERITANCE_NONE:
		return ", inherits nothing"
	case transcriptv1.Inheritance_INHERITANCE_ARGUMENTS:
		return ", inherits arguments"
	case transcriptv1.Inheritance_INHERITANCE_PREFIX:
		return ", inherits prefix"
	default:
		return ""
	}
}

func depthText(l *transcriptv1.Lineage) string {
	if l.SpawnDepthAtLeast {
		return fmt.Sprintf("%d or more spawns", l.SpawnDepth)
	}
	return counted(l.SpawnDepth, "spawn")
}

func (b *block) tools(r *transcriptv1.DescribeResponse) {
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, fmt.Sprintf("%s %d", optionalName(t.Name), t.Calls))
	}
	more := ""
	if r.OtherCalls > 0 {
		more = fmt.Sprintf(" and %s of others", counted(r.OtherCalls, "call"))
	}
	b.list("tools: ", tools, more)
}

func (b *block) aliases(r *transcriptv1.DescribeResponse) {
	var names []string
	for _, a := range r.Aliases {
		names = append(names, nameText(a))
	}
	b.list("aliases: ", names, moreText(r.HasMoreAliases))
}

// variables writes a line for each variable; since is how long ago a time was.
func (b *block) variables(r *transcriptv1.DescribeResponse, since func(ms int64) *durationpb.Duration) {
	for _, v := range r.Variables {
		text := fmt.Sprintf("variable %s: %s, %s", nameText(v.Name), nameText(v.Type), counted(v.SizeBytes, "byte"))
		if v.Type == "" {
			text = fmt.Sprintf("variable %s: erased", nameText(v.Name))
		}
		if v.Iteration != nil {
			text += fmt.Sprintf(", iteration %d", *v.Iteration)
		}
		text += fmt.Sprintf(", set %s ago by %s", ago(since(v.SetAt.AsTime().UnixMilli())), nodeText(v.SetBy))
		if v.Preview != "" {
			text += ", begins: " + strconv.Quote(v.Preview)
		}
		b.line("%s", text)
	}
	if r.MoreVariables > 0 {
		b.line("variables: %d more", r.MoreVariables)
	}
}

func nodeText(n *transcriptv1.PathNode) string {
	return fmt.Sprintf("%s at %d", short(n.NodeId), n.Ancestors)
}

func callText(from *transcriptv1.SpawnedFromRef) string {
	return fmt.Sprintf("%s of %s", optionalName(from.ToolCallId), short(from.NodeId))
}

func short(id string) string { return id[:shortID] }

// optionalName is a name, or - where there is none.
func optionalName(name *string) string {
	if name == nil {
		return "-"
	}
	return nameText(*name)
}

// nameText is a name as it is where it has only letters and digits of ASCII and _ . / : @ + -, and is not "-"; else in
// quotes and escaped as strconv.Quote does. Of a long one it is the beginning, with … behind it.
func nameText(name string) string {
	begin := wire.FirstPoints(name, nameChars)
	text := begin
	if text == "" || text == "-" || strings.ContainsFunc(text, needsQuotes) {
		text = strconv.Quote(begin)
	}
	if len(begin) < len(name) {
		text += "…"
	}
	return text
}

func needsQuotes(c rune) bool {
	isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return !isLetter && (c < '0' || c > '9') && !strings.ContainsRune("_./:@+-", c)
}

// counted is a number of things.
func counted[N int32 | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ago is a duration in its two greatest units, seconds the least.
func ago(d *durationpb.Duration) string {
	s := d.GetSeconds()
	units := []struct {
		seconds int64
		name    string
	}{{24 * 60 * 60, "d"}, {60 * 60, "h"}, {60, "m"}, {1, "s"}}
	for i, u := range units[:len(units)-1] {
		if s < u.seconds {
			continue
		}
		text := fmt.Sprint(s/u.seconds) + u.name
		if rest := s % u.seconds / units[i+1].seconds; rest > 0 {
			text += fmt.Sprint(rest) + units[i+1].name
		}
		return text
	}
	return fmt.Sprintf("%ds", s)
}
