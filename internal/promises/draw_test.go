package promises

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// draw draws what trees are made of.
type draw struct {
	t *rapid.T
	// texts counts, so that most texts differ.
	texts int
}

func (d *draw) n(max int) int   { return rapid.IntRange(0, max).Draw(d.t, "n") }
func (d *draw) one(in int) bool { return rapid.IntRange(1, in).Draw(d.t, "one") == in }
func (d *draw) time() *timestamppb.Timestamp {
	return timestamppb.New(time.UnixMilli(int64(1000 * d.n(latest))).UTC())
}

// latest is the last second at which anything happens.
const latest = 60

// roles are drawn from so that loops with calls and results are likely, and everything else happens.
var roles = []transcriptv1.Role{user, assistant, assistant, tool, tool, assistant, user, system, developer, assistant}

func (d *draw) message() *transcriptv1.Message {
	m := &transcriptv1.Message{Role: roles[d.n(len(roles)-1)]}
	switch m.Role {
	case tool:
		m.ToolCallId = d.callID()
		m.Name = d.name()
		m.IsError = d.one(5)
	case assistant:
		if d.one(2) {
			for range 1 + d.n(2) {
				m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{
					Id: d.callID(), Name: d.name(), Arguments: d.arguments(),
				}}})
			}
		}
	}
	if !d.one(6) {
		m.Parts = append(m.Parts, d.part())
	}
	if d.one(5) {
		m.Parts = append(m.Parts, d.part(), d.part())
	}
	if d.one(12) {
		d.oddities(m)
	}
	return m
}

func (d *draw) oddities(m *transcriptv1.Message) {
	switch d.n(5) {
	case 0:
		m.Extras = `{"k":1}`
	case 1:
		m.Name = proto.String("n")
	case 2:
		m.State = transcriptv1.MessageState_MESSAGE_STATE_ABORTED
	case 3:
		m.Joined = true
	case 4:
		if len(m.Parts) == 0 {
			m.ContentForm = transcriptv1.ContentForm_CONTENT_FORM_ABSENT
		}
	case 5:
		if len(m.Parts) == 0 || len(m.Parts) == 1 && isText(m.Parts[0]) && m.Parts[0].Extras == "" {
			m.ContentForm = transcriptv1.ContentForm_CONTENT_FORM_PARTS
		}
	}
}

func isText(p *transcriptv1.Part) bool { _, ok := p.Kind.(*transcriptv1.Part_Text); return ok }

func (d *draw) callID() *string {
	switch n := d.n(7); n {
	case 6:
		return nil
	case 7:
		return proto.String("")
	default:
		return proto.String(fmt.Sprint(n % 4))
	}
}

// longName is a tool's; a header does not tell it of messages with two such calls.
var longName = strings.Repeat("tool", 150)

func (d *draw) name() *string {
	if d.one(20) {
		return &longName
	}
	switch d.n(3) {
	case 0:
		return proto.String("f")
	case 1:
		return proto.String("grep")
	default:
		return nil
	}
}

func (d *draw) part() *transcriptv1.Part {
	switch n := d.n(15); n {
	case 15:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: d.text()}}}
	case 14:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
			MediaType: "image/png", Source: &transcriptv1.Media_Inline{Inline: make([]byte, d.n(200))},
		}}}
	case 13:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: `{"a":"` + strings.Repeat("j", d.n(120)) + `"}`}}
	case 12:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: " \u0085\u2003"}}
	case 11:
		return &transcriptv1.Part{Extras: `{"x":[1]}`, Kind: &transcriptv1.Part_Text{Text: d.text()}}
	case 10:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{}}
	default:
		return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: d.text()}}
	}
}

// long is text that is worth clearing.
func (d *draw) long() *transcriptv1.Part {
	text := strings.Repeat("long ", 50+d.n(450))
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}}
}

// values are how strings stand in arguments.
var values = []string{"x", "é", `\\`, `\"`, `\u00e9`, `":`, "{ ", "longer "}

// value is a JSON string, of a length around that from which on it gets a mark, or long.
func (d *draw) value() string {
	v := values[d.n(len(values)-1)]
	v = strings.Repeat(v, []int{400, 600, 201, 1, 200, 20, 199}[d.n(6)]/len(v)) + strings.Repeat("y", d.n(6))
	if strings.HasPrefix(v, `":`) {
		v = strings.ReplaceAll(v, `"`, `\"`)
	}
	return `"` + v + `"`
}

// arguments draws those of a call: JSON objects, other JSON, and what is none.
func (d *draw) arguments() string {
	if d.one(2) {
		return "{}"
	}
	switch d.n(9) {
	case 9:
		return ""
	case 8:
		return d.value()
	case 7:
		return `[{"a":` + d.value() + `},` + d.value() + `]`
	case 6:
		return `{"a":` + d.value() + `,"b":` // broken
	case 5:
		return `{"a":` + d.value() + "}" + d.value() // broken
	case 4:
		return "\t{" + d.value() + " :\n1, \"k\" : [" + d.value() + ", {\"n\":" + d.value() + "}] , " + d.value() + ":" + d.value() + "}\r\n "
	case 3:
		return `{"a":{"b":[1.5e3,null,` + d.value() + `]},"c":` + d.value() + `,"c":true}`
	default:
		return `{"path":"a.go","text":` + d.value() + `}`
	}
}

var letters = []string{"x", "x", "é", "😀", "x😀"}

// text is short, around the limits, or long enough that a line is shorter.
func (d *draw) text() string {
	d.texts++
	text := fmt.Sprint(d.texts % 50)
	if d.one(400) {
		return text + strings.Repeat("long ", 4_000+d.n(12_000)) // frames and rows of their own
	}
	long := []int{0, 1, 4, 8, 15, 20, 40, 120, 200}
	return text + strings.Repeat(letters[d.n(len(letters)-1)], long[d.n(len(long)-1)])
}

// noteOf is a note of a message: an opaque one has no tokens.
func (d *draw) noteOf(m *transcriptv1.Message) *transcriptv1.MessageNote {
	n := d.note()
	if len(m.Parts) == 1 && isOpaque(m.Parts[0]) {
		n.TokenCount, n.TokenCountEstimated = nil, false
	}
	return n
}

// withStates has opaque messages between others.
func (d *draw) withStates(messages []*transcriptv1.Message) (out []*transcriptv1.Message) {
	for i := range len(messages) + 1 {
		if d.one(3) {
			state := &transcriptv1.Opaque{Type: "t", Data: []byte(d.text())}
			out = append(out, &transcriptv1.Message{
				Role:  []transcriptv1.Role{user, assistant, system, developer}[d.n(3)],
				Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Opaque{Opaque: state}}},
			})
		}
		if i < len(messages) {
			out = append(out, messages[i])
		}
	}
	return out
}

func (d *draw) note() *transcriptv1.MessageNote {
	n := &transcriptv1.MessageNote{}
	if d.one(2) {
		n.SentAt = d.time()
	}
	if d.one(2) {
		n.TokenCount = proto.Int32(int32(d.n(60)))
		n.TokenCountEstimated = d.one(2)
	}
	if d.one(4) {
		n.Model, n.FinishReason = d.word("", "model-1", "model-2"), d.word("", "stop", "length")
		n.InputTokens = proto.Int32(int32(d.n(3)))
		n.Attributes = map[string]string{"provider": d.word("", "one", "another")}
	}
	if d.one(8) {
		n.OutputTokens, n.CachedTokens = proto.Int32(math.MaxInt32), proto.Int32(0)
	}
	return n
}

func (d *draw) word(of ...string) string { return rapid.SampledFrom(of).Draw(d.t, "word") }

// loop draws a run loop as agents write them, but for what goes wrong now and then.
func (d *draw) loop() (out []*transcriptv1.Message) {
	say := func(role transcriptv1.Role) *transcriptv1.Message {
		m := &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: d.text()}}}}
		for role != tool && d.one(3) {
			m.Parts = append(m.Parts, d.part())
		}
		return m
	}
	out = append(out, say(user))
	rounds := d.n(4)
	if d.one(3) {
		rounds += d.n(6)
	}
	for range rounds {
		call := &transcriptv1.Message{Role: assistant}
		if d.one(3) {
			call.Parts = append(call.Parts, d.part(), d.part())
		} else if d.one(3) {
			call.ContentForm = transcriptv1.ContentForm(1 + d.n(1))
		}
		var results []*transcriptv1.Message
		for range 1 + d.n(2) {
			c := &transcriptv1.ToolCall{Id: d.callID(), Name: d.name(), Arguments: d.arguments()}
			part := &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: c}}
			if d.one(6) {
				part.Extras = `{"cache":1}`
			}
			call.Parts = append(call.Parts, part)
			if !d.one(8) {
				r := say(tool)
				r.ToolCallId, r.Parts = c.Id, append(r.Parts, d.part())
				if d.one(2) {
					r.Parts = append(r.Parts, d.long())
				}
				results = append(results, r)
			}
		}
		if d.one(3) {
			slices.Reverse(results)
		}
		out = append(append(out, call), results...)
		if d.one(8) {
			out = append(out, d.message())
		}
	}
	if !d.one(6) {
		out = append(out, say(assistant))
	}
	return out
}

// stretch draws messages that come after each other.
func (d *draw) stretch() (out []*transcriptv1.Message) {
	for range 1 + d.n(2) {
		if d.one(4) {
			for range 1 + d.n(3) {
				out = append(out, d.message())
			}
			continue
		}
		out = append(out, d.loop()...)
	}
	return out
}

// results draws results of calls that are open.
func (d *draw) results(open []*pairedCall) (out []*transcriptv1.Message) {
	for _, p := range open {
		if !d.one(4) {
			out = append(out, &transcriptv1.Message{Role: tool, ToolCallId: p.call.Id, Parts: []*transcriptv1.Part{d.part()}})
			if d.one(3) {
				last := out[len(out)-1]
				last.Parts = append(last.Parts, d.long())
			}
		}
	}
	return out
}

// newNodes draws a stretch of messages in nodes that are to follow a parent.
func (d *draw) newNodes(parent *node) (out []*transcriptv1.NewNode) {
	messages := d.stretch()
	if d.one(3) {
		messages = messages[:d.n(len(messages))]
	}
	if parent != nil && !d.one(3) {
		messages = append(d.results(parent.full().open), messages...)
	}
	if parent == nil && !d.one(4) {
		messages = append([]*transcriptv1.Message{{Role: system, Parts: []*transcriptv1.Part{d.part()}}}, messages...)
	}
	if d.one(4) {
		messages = d.withStates(messages)
	}
	for len(messages) > 0 {
		n := &transcriptv1.NewNode{}
		take := min(d.n(3), len(messages))
		if d.one(12) {
			take = len(messages)
		}
		n.Messages, messages = messages[:take], messages[take:]
		if d.one(2) {
			for _, m := range n.Messages {
				n.Notes = append(n.Notes, d.noteOf(m))
			}
		}
		if len(n.Messages) == 0 || d.one(10) {
			n.Metadata = []*transcriptv1.MetadataEntry{{Key: "k", Value: fmt.Sprint(d.n(3))}}
		}
		if d.one(8) {
			n.Metadata = append(n.Metadata, &transcriptv1.MetadataEntry{Key: "run/end", Value: []string{"replied", "stopped", "failed", "cancelled"}[d.n(3)]})
		}
		out = append(out, n)
	}
	return out
}

func (d *draw) int32(max int) *int32 {
	if d.one(2) {
		return nil
	}
	return proto.Int32(int32(d.n(max)))
}

func (d *draw) int64(unit, max int) *int64 {
	if !d.one(3) {
		return nil
	}
	return proto.Int64(int64(unit * d.n(max)))
}

// clears draws clear_tool_results; nil now and then, and without fields, which clears nothing.
func (d *draw) clears() *transcriptv1.ClearToolResults {
	switch d.n(7) {
	case 6:
		return nil
	case 7:
		return &transcriptv1.ClearToolResults{}
	}
	c := &transcriptv1.ClearToolResults{Keep: proto.Int32(int32(d.n(3)))}
	if d.one(2) {
		c.ClearArguments = proto.Bool(!d.one(4))
	}
	if percent := []int32{100, 50, 10, 1, 0, -1}[d.n(5)]; percent >= 0 {
		c.CachedPercent = &percent
	}
	return c
}

// policy draws every field of a policy; nil now and then.
func (d *draw) policy() *transcriptv1.Policy {
	if d.one(6) {
		return nil
	}
	p := &transcriptv1.Policy{
		MaxRunLoops: d.int32(5), MaxUserChars: d.int32(20), MaxReplyChars: d.int32(20),
		MaxBytes: d.int64(50, 30), MaxTokens: d.int64(15, 30),
		KeepWholeRunLoops: d.int32(3), ClearToolResults: d.clears(), ToolTrace: transcriptv1.ToolTrace(d.n(2)),
	}
	if d.one(2) {
		p.MaxAge = durationpb.New(time.Duration(d.n(40)) * time.Second)
	}
	p.OmitLeftOutLine = d.one(4)
	if d.one(2) {
		p.Preset = transcriptv1.Preset(d.n(5))
	}
	if d.one(2) {
		p.ReplyTools = [][]string{{"f"}, {"grep"}, {"grep", "f", "grep"}, {"f", "another"}, {longName, "f"}}[d.n(4)]
	}
	return p
}
