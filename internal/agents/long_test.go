package agents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestThirtyLoopsOverFortyDays: a chat that asks 30 questions, each some 32 hours after the one before. A model is sent at most ten turns
// before the last and, once there were ten, never fewer than five; those of the last three days with what their tools gave. It is told how
// many are missing, and what it was sent stays the beginning of what it is sent next, but where the window moves. A compaction in the
// middle changes nothing of that, and the first question's result can still be recalled on the last day.
func TestThirtyLoopsOverFortyDays(t *testing.T) {
	s := start(t)
	c := s.agent("gardener")
	chat := must[*client.Thread](s)(c.Chat(s.ctx(), "garden", client.System("You water a garden.")))
	window := &policy{
		MaxRunLoops: proto.Int32(10), KeepWholeRunLoops: proto.Int32(3), MaxAge: durationpb.New(72 * time.Hour),
	}
	days := &days{service: s, chat: chat, window: window}
	for i := 1; i <= 30; i++ {
		if i == 16 {
			made := must[*transcriptv1.CompactResponse](s)(chat.Compact(s.ctx(), client.Compaction{Policy: window}))
			equal(s, "that the middle was compacted", made.Written, true)
		}
		days.ask(i)
		s.passes(32 * time.Hour)
	}
	equal(s, "the turns that were dropped in the end", days.missing > 0, true)

	// On no day is the same chain another: a month later the view is not sent again.
	ask := client.Query{View: transcriptv1.View_VIEW_CONVERSATION, Policy: window}
	now := must[*client.Assembly](s)(c.Assemble(s.ctx(), client.ByID(chat.Head()), ask))
	s.passes(30 * 24 * time.Hour)
	ask.IfNoneMatch = now.Etag
	equal(s, "that nothing has changed a month later", must[*client.Assembly](s)(c.Assemble(s.ctx(), client.ByID(chat.Head()), ask)).NotModified, true)

	got := must[*client.Recalled](s)(c.Recall(s.ctx(), client.ByID(chat.Head()), client.Recall{ID: "water-1", HasID: true}))
	equal(s, "what the first question's tool gave", got.Parts[0].GetText(), gave(1))
	whole := must[*client.Assembly](s)(c.Assemble(s.ctx(), client.ByID(chat.Head()), client.Query{View: transcriptv1.View_VIEW_FULL}))
	equal(s, "all that was ever said", len(must[[]*message](s)(whole.Messages())), 1+30*4)
}

func gave(i int) string {
	return fmt.Sprintf("bed %d: ", i) + strings.Repeat("soil is dry, ", 40)
}

// days are those of a chat.
type days struct {
	*service
	chat    *client.Thread
	window  *policy
	before  []string // the lines that the last question was sent with
	first   string   // the first question shown then
	missing int
}

// ask is one turn: the question, a tool, the answer; and what the model was sent is what was promised.
func (d *days) ask(i int) {
	d.Helper()
	d.ok(d.chat.Append(d.ctx(), client.User(fmt.Sprintf("question %d", i))))
	d.judge(i, strings.Split(d.sends(d.chat, d.window), "\n"))
	call := client.Call(fmt.Sprintf("water-%d", i), "water", "{}")
	d.ok(d.chat.Append(d.ctx(), client.Assistant("", call)))
	d.ok(d.chat.AppendResults(d.ctx(), client.Result(call, gave(i))))
	d.ok(d.chat.Finish(d.ctx(), client.Replied, client.Assistant(fmt.Sprintf("answer %d", i))))
}

// judge judges what question i is sent with.
func (d *days) judge(i int, lines []string) {
	d.Helper()
	equal(d.service, "the first line", lines[0], "system: You water a garden.")
	body, missing := lines[1:], 0
	if _, err := fmt.Sscanf(body[0], "user: [%d earlier turns are not shown]", &missing); err == nil {
		body = body[1:]
	}
	var asked, whole []string
	for _, line := range body {
		switch who, rest, _ := strings.Cut(line, ": "); who {
		case "user":
			asked = append(asked, rest)
		case "tool":
			whole = append(whole, strings.Split(rest, ":")[0])
		}
	}
	shown := len(asked) - 1 // before the last
	equal(d.service, fmt.Sprint("that every turn before question ", i, " is shown or said to be missing"), missing+shown, i-1)
	if shown > 10 || i > 10 && shown < 5 {
		d.Fatalf("question %d is sent with %d turns before it", i, shown)
	}
	for k, question := range asked {
		equal(d.service, "a question", question, fmt.Sprintf("question %d", i-shown+k))
	}
	// 32 hours apart, two turns are not older than 72 hours; what the compaction kept whole grows as old as it would have.
	equal(d.service, fmt.Sprint("the results that question ", i, " is sent with"), len(whole), min(2, i-1))
	d.stays(i, body, asked[0])
	d.missing = missing
}

// stays holds that what the question before was sent with is the beginning, less the turns that were shown whole, unless the window moved.
func (d *days) stays(i int, body []string, first string) {
	d.Helper()
	if first == d.first {
		same := 0
		for same < len(body) && same < len(d.before) && body[same] == d.before[same] {
			same++
		}
		condensed := len(d.before) - 1 - 3*4 // the question itself, and three turns shown whole
		if same < condensed {
			d.Fatalf("question %d shares %d lines with the one before, of %d", i, same, condensed)
		}
	}
	d.before, d.first = body, first
}
