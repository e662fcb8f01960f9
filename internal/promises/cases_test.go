package promises

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// stored are trees written down, each a chain: nodes are parted by "/", messages are letters as in docs/views.md (u, a, s, e,
// c1, r1; R1 is a result long enough for a line, A a reply that counts no fewer bytes when cut, with a note that tells more
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
	"system messages anywhere":                         "s u s s a s / u s c1 s R1 / s a s / compact(2,M) / s u s / a s",
}

// TestStored holds the promises over the trees that are written down: corners of the rules, one each.
func TestStored(t *testing.T) {
	for _, engine := range slices.Sorted(maps.Keys(engines)) {
		s := start(t, engine)
		for name, chain := range stored {
			t.Run(engine+"/"+name, func(t *testing.T) {
				w := s.plant(t.Context(), t)
				w.write(chain)
				t.Logf("compactions so far: %v", s.outcomes)
				w.holdTree()
				for i := range 24 {
					w.holdPolicy(&asking{policy: somePolicy(i), condenseLast: i%5 == 1}, &tally{})
				}
			})
		}
	}
}

// somePolicy is one of many policies.
func somePolicy(i int) *transcriptv1.Policy {
	n := func(modulus int) *int32 { return proto.Int32(int32(i % modulus)) }
	p := &transcriptv1.Policy{
		MaxRunLoops: n(4), KeepFullRuns: n(3), KeepToolResults: n(3), MaxUserChars: n(2), MaxReplyChars: n(7),
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
	keep.KeepToolResults = proto.Int32(1)
	if summary == "tight" {
		req.Summary, keep.MaxRunLoops = "", proto.Int32(1)
	}
	req.Policy = keep
	w.compact(req, head, w.nodes[through], true)
}

// spelled is a node of messages written as letters.
func spelled(text string) *transcriptv1.NewNode {
	n := &transcriptv1.NewNode{}
	say := func(role transcriptv1.Role, text string) *transcriptv1.Message {
		return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}
	}
	for i, word := range strings.Fields(text) {
		var id *string
		if len(word) > 1 {
			id = proto.String(word[1:])
		}
		m, note := say(assistant, fmt.Sprintf("%s, message %d of its node", word, i)), &transcriptv1.MessageNote{}
		switch word[0] {
		case 's':
			m.Role = system
		case 'u':
			m.Role = user
		case 'A':
			// Where code points may be wide, four bytes are counted for each that a limit leaves.
			m, note.TokenCount = say(assistant, "wide "+strings.Repeat("x", 17)+"é"), proto.Uint32(14)
		case 'e':
			m.Parts = nil
		case 'c':
			m.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: id, Name: proto.String("f")}}}}
		case 'R':
			m = say(tool, strings.Repeat("long ", 40))
			m.ToolCallId = id
		case 'r':
			m.Role, m.ToolCallId = tool, id
		}
		n.Messages, n.Notes = append(n.Messages, m), append(n.Notes, note)
	}
	return n
}
