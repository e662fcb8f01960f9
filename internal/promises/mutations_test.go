package promises

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var mutate = flag.Bool("promises.mutate", false, "promises: show that each mutation of the rules is caught, which takes minutes")

// draws is how often 80,000 pairs are drawn for a mutant that passes: the one that is hardest to catch is caught by every second draw or so.
const draws = 8

// mutation is a rule made wrong: in a file, one text is put in another's place.
type mutation struct{ rule, file, from, to string }

// mutations are wrong rules, each of which TestPromises catches.
var mutations = []mutation{
	{
		"more work takes no outcome back", "compaction/runloop/fold.go",
		"l.Phase, l.Outcome = Working, NoOutcome", "l.Phase = Working",
	},
	{
		"an outcome ends no group", "compaction/runloop/fold.go",
		"stubs := f.endGroup()", "var stubs []Call",
	},
	{
		"calls before an outcome count as unanswered", "compaction/runloop/fold.go",
		"\tl.Unanswered = false\n", "",
	},
	{
		"an outcome closes the lead-in", "compaction/runloop/fold.go",
		"if l.Phase != None && !l.LeadIn {", "if l.Phase != None {",
	},
	{
		"what did not come whole is a final reply", "compaction/runloop/fold.go",
		" && !b.Partial }", " }",
	},
	{
		"run loops of copies are found in their messages", "server/internal/chainview/window.go",
		"h.Covers.Present && !h.Version1", "false",
	},
	{
		"only the first unanswered call of a group gets a stub", "compaction/runloop/fold.go",
		"\t\tif !answered {", "\t\tif !answered && len(due) == 0 {",
	},
	{
		"an absent call id equals an empty one", "compaction/runloop/fold.go",
		"\t\tif c.ID != m.CallID {", "\t\tif c.ID.Value != m.CallID.Value {",
	},
	{
		"calls behind a result still belong to its group", "compaction/runloop/fold.go",
		"len(m.Calls) > 0 && !f.Group.Results", "len(m.Calls) > 0",
	},
	{
		"developer messages end the preamble", "compaction/runloop/fold.go",
		"!f.PreambleClosed && m.Role != System && m.Role != Developer", "!f.PreambleClosed && m.Role != System",
	},
	{
		"each user message begins a loop", "compaction/runloop/fold.go",
		"m.Role == User && l.Phase == Asked:", "m.Role == User && l.Phase == Asked && l.LeadIn:",
	},
	{
		"a loop that was answered once is closed, whatever came since", "compaction/runloop/state.go",
		"!l.LeadIn && l.ReplyLast", "!l.LeadIn && l.Replied",
	},
	{
		"windows by number slide one step late", "compaction/policy.go",
		"(n - limit + step - 1) / step", "(n - limit) / step",
	},
	{
		"old loops are shown whole", "compaction/planner.go",
		"|| i < p.recent), !settled", "), !settled",
	},
	{
		"old loops keep their calls", "compaction/planner.go",
		"p.o.Policy.TraceRequests && i >= p.recent)", "p.o.Policy.TraceRequests)",
	},
	{
		"what grows too old is weighed as it was", "compaction/window.go",
		"\t\tp.reshape(p.recent - 1)\n", "",
	},
	{
		"the time of a loop is that of its user alone", "compaction/planner.go",
		"!p.heard || at > p.latest {", "!p.heard || at != p.latest {",
	},
	{
		"messages count as sent, also later than first put", "compaction/runloop/brief.go",
		"if t.AsSent {", "if t.AsSent || !t.AsSent {",
	},
	{
		"copies count by when the compaction was put", "chainstore/header.go",
		"AsSent: h.Version1 || h.Covers.Present}", "AsSent: h.Version1}",
	},
	{
		"behind a window's start nobody knows who spoke before", "server/internal/chainview/window.go",
		"p.Skip(w.loops, w.before.LatestUser, w.before.HasLatestUser)", "p.Skip(w.loops, 0, false)",
	},
	{
		"the final reply is the last message of the assistant", "compaction/item.go",
		"loop[final].kind() != reply", "!loop[final].assistant()",
	},
	{
		"system messages go with the work that a summary stands for", "compaction/item.go",
		"i.kind() == user || i.kind() == system", "i.kind() == user",
	},
	{
		"a cut counts bytes over several parts", "compaction/cut.go",
		"c.left, end = c.left-1, end+size", "c.left, end = c.left-size, end+size",
	},
	{
		"a cut may give more text than there was", "compaction/cut.go",
		"return points-len(", "return points-0*len(",
	},
	{
		"a window over its limit is cut to the limit, not to half", "compaction/window.go",
		"w.shown.bytes > policy.MaxBytes/2", "w.shown.bytes > policy.MaxBytes",
	},
	{
		"loops that keep_whole_run_loops has passed are weighed whole", "compaction/window.go",
		"p.last() - 1 - int64(p.o.Policy.KeepWholeRunLoops)", "p.last() - 1",
	},
	{
		"the lead-in stays once a user spoke", "compaction/planner.go",
		"\t\tp.spans.reset(-1)\n", "\t\tp.spans.reset(0)\n",
	},
	{
		"summary_only keeps the last closed loop", "compaction/planner.go",
		"\t\treturn n\n", "\t\treturn max(0, n-1)\n",
	},
	{
		"a compaction may be as large as what it stands for", "server/internal/chainview/compacted.go",
		"c.after.Bytes < c.before.Bytes", "c.after.Bytes <= c.before.Bytes",
	},
	{
		"a compaction forgets when messages were first put", "server/internal/chainview/compacted.go",
		"= h.Times().Of(m.brief), true", "= note.SentAt, note.HasSentAt",
	},
	{
		"a line names the compaction node that it was copied to", "server/internal/chainview/origins.go",
		"if !h.Covers.Present || !p.Present {", "if !h.Covers.Present || !p.Present || p.Present {",
	},
	{
		"what compactions dropped is not told of", "compaction/leftout.go",
		"min(p.older.loops+out.Dropped,", "min(out.Dropped,",
	},
	{
		"a compaction with a summary tells what it left out", "compaction/leftout.go",
		" && !p.replacesSummary() }", " }",
	},
	{
		"the left-out line cannot be omitted", "compaction/leftout.go",
		"return !p.o.Policy.OmitLeftOutLine && ", "return ",
	},
	{
		"an older left-out line stays, whatever was dropped since", "compaction/leftout.go",
		"p.older.early && p.older.says == says", "p.older.early",
	},
	{
		"the left-out line counts as if it said one", "compaction/planner.go",
		"leftOutSize(runloop.MaxLeftOut)", "leftOutSize(1)",
	},
	{
		"what lies before the start that was found is not left out", "compaction/planner.go",
		"\tout.Dropped = p.passed\n", "",
	},
	{
		"the left-out line is a user's", "compaction/runloop/brief.go",
		"return b.Summary || b.LeftOutLine", "return b.Summary",
	},
	{
		"a node that the left-out line is told with is verbatim", "server/internal/chainview/conversation_rows.go",
		"m.stubs+m.lines+m.shortened == 0", "m.stubs+m.shortened == 0",
	},
	{
		"an older left-out line counts as left out", "server/internal/chainview/conversation.go",
		"c.view.lines()\n", "compaction.Size{}\n",
	},
	{
		"an etag does not know of omit_left_out_line", "server/internal/chainview/conversation.go",
		", byte(boolToInt(c.policy.OmitLeftOutLine))", "",
	},
	{
		"an etag does not know of max_age", "server/internal/chainview/conversation.go",
		"int64(p.MaxRunLoops), p.MaxAge,", "int64(p.MaxRunLoops),",
	},
	{
		"behind a compaction the group at its end is open, whatever came between", "compaction/runloop/refold.go",
		"\tif !r.tail {", "\tif r.tail || !r.tail {",
	},
	{
		"a run loop that ends without a reply is closed", "compaction/runloop/state.go",
		"l.Unanswered || !l.Replied && l.Phase != Ended", "l.Unanswered",
	},
	{
		"a cut message counts at its limit in bytes, whatever its text", "compaction/size.go",
		"octets = 4 * limit", "octets = limit",
	},
	{
		"older compactions are shown", "server/internal/chainview/effective.go",
		"(row.Seq <= c.Covers.Seq || row.Raw.IsCompaction())", "row.Seq <= c.Covers.Seq",
	},
	{
		"what is covered already cannot be covered once more", "server/internal/chainview/cover.go",
		"return e.compaction.Covers.Seq", "return e.compaction.Covers.Seq + 1",
	},
	{
		"a view is continued over a compaction", "server/internal/chainview/assembly.go",
		"link.Seq <= a.Chain.After()", "link.Seq <= a.Chain.After()+1",
	},
	{
		"an etag does not know of condense_last", "server/internal/chainview/conversation.go",
		"byte(boolToInt(condenseLast)), byte", "0, byte",
	},
	{
		"the start of a window is looked for one loop too late", "server/internal/chainview/window.go",
		"max(0, s.Effective.Loops-1))}", "max(0, s.Effective.Loops-1)) + 1}",
	},
	{
		"of a message with an answer all calls stay", "compaction/cut.go",
		"return at >= 0 && !c.tools.answersBy(call)", "return at < 0 && !c.tools.answersBy(call)",
	},
	{
		"a message that loses calls keeps its reasoning", "compaction/cut.go",
		"if _, at := fieldOf(part, reasoningField); at >= 0 {", "if _, at := fieldOf(part, reasoningField); at > len(part) {",
	},
	{
		"a message that loses calls is not cut", "compaction/cut.go",
		"if p.cuts(m, p.MaxReplyChars) {", "if p.cuts(m, 0) {",
	},
	{
		"each result answers the first call of its group", "compaction/answers.go",
		"return a.calls[call].share()", "return a.calls[0].share()",
	},
	{
		"calls behind a result are of the group before", "compaction/answers.go",
		"m.Calls == 0 || a.results:", "m.Calls == 0:",
	},
	{
		"stubs are no part of an answer", "compaction/answers.go",
		"if !a.calls[k].answered {", "if !a.calls[k].answered && !a.calls[k].replies {",
	},
	{
		"a result of an answer that was cut is cut again", "compaction/item.go",
		"!m.Made && p.cuts", "p.cuts",
	},
	{
		"with tool_trace other calls of an answer go", "compaction/item.go",
		"\tcase trace && i.hasCalls():\n", "\tcase trace && i.kind() == partly:\n\t\treturn Answer\n\tcase trace && i.hasCalls():\n",
	},
	{
		"results of answers do not count for max_bytes", "compaction/window.go",
		"case answered:\n\t\tlast.condense(short)", "case answered:",
	},
	{
		"an etag does not know of reply_tools", "server/internal/chainview/conversation.go",
		"range p.ReplyTools {", "range p.ReplyTools[:0] {",
	},
	{
		"an opaque message is folded like another", "compaction/runloop/fold.go",
		"\tif m.Opaque {", "\tif m.Opaque && m.Role == Tool {",
	},
	{
		"every view shows opaque messages", "compaction/runloop/brief.go",
		"return !b.Opaque && b.Mark.LeftOut == Shown", "return b.Mark.LeftOut == Shown",
	},
	{
		"opaque messages have tokens", "compaction/runloop/brief.go",
		"if b.Opaque {", "if b.Opaque && b.Role == Tool {",
	},
	{
		"the depth counts opaque messages", "compaction/runloop/fold.go",
		"!m.Opaque && (m.Role == User || m.Role == Assistant)", "(m.Role == User || m.Role == Assistant)",
	},
	{
		"a run loop counts opaque messages", "server/internal/loops/loop.go",
		"s.read += m.Length; m.Opaque {", "s.read += m.Length; m.Opaque && m.Role == runloop.Tool {",
	},
	{
		"reply_tools are as they are given", "server/internal/wire/policy.go",
		"slices.Sort(sorted)", "slices.Sort(sorted[:0])",
	},
}

// allMutations are those of all rules.
func allMutations() []mutation { return slices.Concat(mutations, clearMutations) }

// TestMutationsFit: each mutation has its place in the code as it is, whether or not the mutants are run.
func TestMutationsFit(t *testing.T) {
	for _, m := range allMutations() {
		m.overlay(t)
	}
}

// TestMutations shows that TestPromises catches each mutation.
func TestMutations(t *testing.T) {
	if !*mutate {
		t.Skip("set -promises.mutate to build and run TestPromises with each mutation, which takes minutes")
	}
	for _, m := range allMutations() {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			mutant := filepath.Join(t.TempDir(), "mutant")
			build := exec.CommandContext(t.Context(), "go", "test", "-overlay", m.overlay(t), "-ldflags=-s -w", "-c", "-o", mutant, ".")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("the mutant does not compile: %v\n%s", err, out)
			}
			var out []byte
			var err error
			for attempt := 0; attempt < draws && err == nil; attempt++ {
				run := exec.CommandContext(t.Context(), mutant, "-test.run", "^TestPromises$/"+m.engine(), "-promises.pairs", "80000", "-rapid.nofailfile", "-rapid.shrinktime", "0s")
				out, err = run.CombinedOutput()
			}
			if err == nil {
				t.Fatalf("the mutant passes\n%s", out)
			}
			if !strings.Contains(string(out), "[rapid] failed") {
				t.Fatalf("the mutant fails, but not by a promise: %v\n%s", err, out)
			}
		})
	}
}

// engine is the one that shows the mutation: Refold is the engine on disk's, the model in memory folds everything anew.
func (m *mutation) engine() string {
	if filepath.Base(m.file) == "refold.go" {
		return "badgerstore"
	}
	return "memstore"
}

// overlay writes the mutant and returns what go test -overlay takes.
func (m *mutation) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs(filepath.Join("..", "..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.from); n != 1 {
		t.Fatalf("%s has %q %d times: mend the mutation", m.file, m.from, n)
	}
	mutant := filepath.Join(dir, filepath.Base(m.file))
	write(t, mutant, []byte(strings.Replace(string(source), m.from, m.to, 1)))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, list)
	return overlay
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
