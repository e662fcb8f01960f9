package promises

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// stored are trees written down, each a chain: nodes are parted by "/", messages are letters as in docs/views.md (u, a, s, e,
// c1, r1; R1 is a result long enough to be cleared, B1 one of 1,500 bytes, C1 and K1 calls with long arguments, !stopped an outcome; calls are
// of f, but C1 of g; A a reply that counts no fewer bytes when cut, with a note that tells more
// tokens than those), and compact(N), compact(N,M), compact(N,only), compact(N,tight) compact the chain through node N, with summary M; only keeps no
// closed loop, nothing not even a line that says so, tight one.
var stored = map[string]string{
	"an orphan before the user, and a compaction":      "r1 / u a R1 a / compact(1) / u / a",
	"a result is left out within the preamble":         "s r1 s / s u c1 R1 a / u / compact(1,M) / a",
	"absent and repeated ids in one group":             "s / u c c1 c1 / R1 r R1 r1 / a / u / compact(3)",
	"late, and then answered by an equal id":           "u c1 / r1 a r1 / c1 R1 / a / u c1 / s / R1 a / compact(3,M) / r1 u",
	"an open loop is asked again":                      "s / u c1 R1 a / u c2 R2 / compact(2,M) / u c3 / R3 a / u / compact(5,N)",
	"a lead-in with its system messages":               "s / a s c1 R1 / compact(1,M) / s r1 / u a / u / compact(5) / a",
	"through a node before the last compaction":        "u c1 R1 a / u c2 R2 a / u c3 R3 a / compact(0) / u a / compact(2) / u / a",
	"through the compaction itself":                    "s / u c1 R1 a / u c2 R2 a / compact(2) / u a / compact(3,only) / c4 R4 / a",
	"nothing but the preamble":                         "s / s s / compact(1) / s / u",
	"many results of one loop, in lines twice":         "u c1 R1 c2 R2 c3 R3 c4 R4 c5 R5 e / compact(0) / c6 R6 c7 R7 a / compact(2) / u",
	"results behind a compaction answer a call before": "s / u c1 R1 a / u c2 c3 / compact(1) / R2 / r3 a / u",
	"empty messages end loops and reopen them":         "u e a e / e a / u e / u a e c1 / a / compact(1)",
	"replies whose notes tell more than a cut leaves":  "u A / u A / u A / u A",
	"lines of compactions are added up":                "s / u a / u a / u c1 R1 a / u a / compact(4,tight) / u a / u a / u a / compact(8,tight) / u a / u / a",
	"a line is kept where nothing more is dropped":     "s / u a / u a / u c1 R1 a / compact(3,tight) / s / u c2 R2 a / compact(6) / u a / u",
	"a line behind a summary":                          "s / u c1 R1 a / u a / u a / compact(3,M) / u a / u a / u a / u c2 R2 a / u a / compact(8,tight) / u a / u a / u / a",
	"a line without loops, and system messages":        "s / u c1 R1 a / u c2 R2 a / compact(2,only) / s / s u a / u a / compact(5,only) / s / u / u a / u",
	"a compaction of nothing lies behind the next":     "s / u a / u c1 R1 a / u / compact(1,nothing) / compact(2) / a / u / a",
	"a summary takes a line's place":                   "u c1 R1 a / u c2 R2 a / compact(1,only) / u a / u a / u c3 R3 a / compact(5,M) / u a / u a / u",
	"a stub makes a point":                             "u c1 R1 c2 c3 r3 / a u / c4 R4 c5 / s / a u c6 c7 / r7 s / a",
	"an open group makes no point":                     "u C1 B1 c2 c3 c4 / r3 / r2 / r4 / c5 / r5 c6 c7 / r6 / u",
	"an outcome in the middle":                         "u c1 B1 C2 R2 !stopped / c3 R3 a / u c4 B4 c5 !failed / r5 C6 R6 / r9 c7 R7 a / !replied / c8 R8 c9 r9",
	"cleared in part, compacted, and then more":        "s / u c1 R1 C2 B2 c3 R3 a / compact(1) / c4 R4 c5 B5 e / c6 R6 / compact(3) / C7 R7 a / C8 R8 / u",
	"nothing is kept":                                  "u C1 / R1 / C2 c3 / R3 R2 / C4 / u",
	"arguments, and calls that answer":                 "u K1 C1 R1 R1 / K2 R2 C3 / R3 / C4K4 R4 B4 / K5 r5 a / u K6 C6K6 R6 R6 r6 / compact(4) / C7 R7 a / u",
	"a loop cleared twice":                             "u C1 B1 C2 B2 / c3 R3 / c4 r4 c5 r5 / C6 B6 C7 B7 / c8 R8 / c9 r9 c1 r1 c2 r2 / a",
	"a debt that is paid late":                         "u c1 B1 c2 R2 / c3 r3 / c4 r4 / c5 r5 / c6 r6 / c7 r7 / c8 r8 / c9 r9 / C1 R1 / c2 r2 / c3 r3 / c4 r4",
	"lines of one policy, and calls of another":        "u C1 R1 C2 R2 C3 R3 / compact(0) / C4 R4 C5 R5 / compact(2,M) / C6 R6 c7 r7 a / u",
	"system messages anywhere":                         "s u s s a s / u s c1 s R1 / s a s / compact(2,M) / s u s / a s",
}

// TestStored holds the promises over the trees that are written down: corners of the rules, one each. Of the policies each engine has a half.
func TestStored(t *testing.T) {
	var sum tally
	for half, engine := range slices.Sorted(maps.Keys(engines)) {
		s := start(t, engine)
		for name, chain := range stored {
			t.Run(engine+"/"+name, func(t *testing.T) {
				w := s.plant(t.Context(), t)
				w.write(chain)
				t.Logf("compactions so far: %v", s.outcomes)
				w.holdTree()
				for i := 18 * half; i < 18*(half+1); i++ {
					w.holdPolicy(&asking{policy: somePolicy(i), condenseLast: i%5 == 1}, &sum)
				}
			})
		}
	}
	t.Logf("results cleared in %d conversations, calls with marks in %d, several steps in %d", sum.cleared, sum.marked, sum.twice)
	if sum.cleared == 0 || sum.marked == 0 || sum.twice == 0 {
		t.Errorf("the trees show too little of clear_tool_results: %+v", sum)
	}
}

// someClears are those of somePolicy.
var someClears = []*transcriptv1.ClearToolResults{
	{Keep: proto.Int32(0), CachedPercent: proto.Int32(100)},
	{Keep: proto.Int32(1), ClearArguments: proto.Bool(true), CachedPercent: proto.Int32(100)},
	{Keep: proto.Int32(0)},
	{Keep: proto.Int32(2), ClearArguments: proto.Bool(true), CachedPercent: proto.Int32(50)},
	{Keep: proto.Int32(1), CachedPercent: proto.Int32(30)},
	{Keep: proto.Int32(0), ClearArguments: proto.Bool(true), CachedPercent: proto.Int32(10)},
	nil,
	{},
	{Keep: proto.Int32(3), CachedPercent: proto.Int32(1)},
}

// somePolicy is one of many policies.
func somePolicy(i int) *transcriptv1.Policy {
	n := func(modulus int) *int32 { return proto.Int32(int32(i % modulus)) }
	p := &transcriptv1.Policy{
		MaxRunLoops: n(4), KeepWholeRunLoops: n(3), ClearToolResults: proto.CloneOf(someClears[i/2%len(someClears)]), MaxUserChars: n(2), MaxReplyChars: n(7),
		ToolTrace: transcriptv1.ToolTrace(i % 3), OmitLeftOutLine: i%5 == 4,
	}
	if i/4%2 == 1 {
		p.ReplyTools = []string{"f"}
	}
	switch i % 4 {
	case 1:
		p.MaxBytes = proto.Int64(int64(150 * (1 + i/4)))
	case 2:
		p.MaxTokens = proto.Int64(int64(30 * (1 + i/4)))
	case 3:
		p.MaxAge = durationpb.New(time.Duration(1+i/4) * time.Second)
	}
	return p
}

// write puts a chain that is written down.
func (w *tree) write(chain string) {
	var head *node
	for i, text := range strings.Split(chain, " / ") {
		w.clock.Store(int64(1000 * (i + 1)))
		if args, ok := strings.CutPrefix(text, "compact("); ok {
			w.compactAt(head, strings.TrimSuffix(args, ")"))
		} else {
			w.put(head, []*transcriptv1.NewNode{spelled(text)})
		}
		head = w.nodes[len(w.nodes)-1]
	}
}

func (w *tree) compactAt(head *node, args string) {
	number, summary, _ := strings.Cut(args, ",")
	var through int
	if _, err := fmt.Sscan(number, &through); err != nil {
		w.t.Fatalf("compact(%s): %v", args, err)
	}
	req := &transcriptv1.CompactRequest{Head: ref(head), ThroughId: w.nodes[through].id, Summary: summary}
	keep := somePolicy(0)
	if summary == "only" || summary == "nothing" {
		req.Summary, req.SummaryOnly, keep.OmitLeftOutLine = "", true, summary == "nothing"
	}
	keep.ClearToolResults = &transcriptv1.ClearToolResults{Keep: proto.Int32(1), CachedPercent: proto.Int32(100)}
	if summary == "tight" {
		req.Summary, keep.MaxRunLoops = "", proto.Int32(1)
	}
	req.Policy = keep
	w.compact(req, head, w.nodes[through], true)
}

// spelled is a node of messages written as letters.
func spelled(text string) *transcriptv1.NewNode {
	n := &transcriptv1.NewNode{}
	for i, word := range strings.Fields(text) {
		if outcome, ok := strings.CutPrefix(word, "!"); ok {
			n.Metadata = []*transcriptv1.MetadataEntry{{Key: "run/end", Value: outcome}}
			continue
		}
		m, note := saying(assistant, fmt.Sprintf("%s, message %d of its node", word, i)), &transcriptv1.MessageNote{}
		switch word[0] {
		case 's':
			m.Role = system
		case 'u':
			m.Role = user
		case 'A':
			// Where code points may be wide, four bytes are counted for each that a limit leaves.
			m, note.TokenCount = saying(assistant, "wide "+strings.Repeat("x", 17)+"é"), proto.Int32(14)
		case 'e':
			m.Parts = nil
		case 'c', 'C', 'K':
			m.Parts = callsSpelled(word)
		case 'R':
			m = saying(tool, strings.Repeat("long ", 80))
		case 'B':
			m = saying(tool, strings.Repeat("longer ", 214))
		case 'r':
			m.Role = tool
		}
		if m.Role == tool && len(word) > 1 {
			m.ToolCallId = proto.String(word[1:])
		}
		n.Messages, n.Notes = append(n.Messages, m), append(n.Notes, note)
	}
	return n
}

func saying(role transcriptv1.Role, text string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}
}

// spelledCalls are calls written as letters, such as c1 and C1K1.
var spelledCalls = regexp.MustCompile(`([cCK])(\d*)`)

func callsSpelled(word string) (out []*transcriptv1.Part) {
	for _, found := range spelledCalls.FindAllStringSubmatch(word, -1) {
		c := &transcriptv1.ToolCall{Name: proto.String("f")}
		if found[2] != "" {
			c.Id = proto.String(found[2])
		}
		if found[1] != "c" {
			c.Arguments = `{"path": "a", "edits": [{"new": "` + strings.Repeat(`a \"line\"\n`, 40) + `"}]}`
		}
		if found[1] == "C" {
			c.Name = proto.String("g")
		}
		out = append(out, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: c}})
	}
	return out
}
