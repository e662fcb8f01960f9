package conforms

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/compaction"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// texts is proto/testdata/texts.json.
type texts struct {
	Stub    string `json:"stub"`
	LeftOut []struct {
		RunLoops int64  `json:"run_loops"`
		Text     string `json:"text"`
	} `json:"left_out"`
	Line []struct {
		Name         string  `json:"name"`
		Tool         *string `json:"tool"`
		ToolCallID   *string `json:"tool_call_id"`
		Bytes        int     `json:"bytes"`
		NodeID       string  `json:"node_id"`
		MessageIndex int     `json:"message_index"`
		Text         string  `json:"text"`
	} `json:"line"`
	Arguments []struct {
		Name, Given, Shortened string
	} `json:"arguments"`
	Cut []struct {
		Name  string
		Limit int
		Texts []string
		Shown []string
	} `json:"cut"`
	Depth []struct {
		Depth       int64
		Text, Reply string
	} `json:"depth"`
}

// TestTexts: what the server writes itself is what the file says, which was computed by a program that is not in Go.
func TestTexts(t *testing.T) {
	file, err := os.ReadFile("../../proto/testdata/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all texts
	if err := json.Unmarshal(file, &all); err != nil {
		t.Fatal(err)
	}
	if all.Stub != runloop.StubText {
		t.Errorf("the stub says %q, want %q", runloop.StubText, all.Stub)
	}
	for _, c := range all.LeftOut {
		if got := canonical.LeftOut(c.RunLoops).GetParts()[0].GetText(); got != c.Text {
			t.Errorf("the left-out line of %d says %q, want %q", c.RunLoops, got, c.Text)
		}
	}
	for _, c := range all.Line {
		facts := &runloop.Facts{PartsLength: c.Bytes, CallID: optional(c.ToolCallID)}
		if got := runloop.LineText(optional(c.Tool), facts, runloop.Source{Node: c.NodeID[:12], Index: c.MessageIndex}); got != c.Text {
			t.Errorf("%s: the line says %q, want %q", c.Name, got, c.Text)
		}
	}
	for _, c := range all.Arguments {
		if got, _ := runloop.ShortenArguments(c.Given); got != c.Shortened {
			t.Errorf("%s: the arguments become %q, want %q", c.Name, got, c.Shortened)
		}
	}
	cuts(t, &all)
	depths(t, &all)
	if len(all.LeftOut) == 0 || len(all.Line) == 0 || len(all.Arguments) == 0 || len(all.Cut) == 0 || len(all.Depth) == 0 {
		t.Error("a list of the file is empty")
	}
}

func cuts(t *testing.T, all *texts) {
	t.Helper()
	for _, c := range all.Cut {
		given, want := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER}, &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Origin: transcriptv1.Origin_ORIGIN_SHORTENED}
		for _, text := range c.Texts {
			given.Parts = append(given.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}})
		}
		for _, text := range c.Shown {
			want.Parts = append(want.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: text}})
		}
		got, ok := compaction.AppendCut(nil, canonical.EncodePayload([]*transcriptv1.Message{given}), c.Limit)
		if !ok || !bytes.Equal(got, canonical.EncodePayload([]*transcriptv1.Message{want})) {
			t.Errorf("%s: a text is cut otherwise", c.Name)
		}
	}
}

func optional(s *string) runloop.Optional {
	if s == nil {
		return runloop.Optional{}
	}
	return runloop.Some(*s)
}

// depths puts chains of each depth and has the SDK hand their replies to people.
func depths(t *testing.T, all *texts) {
	t.Helper()
	conn := testserver.StartMemory(t)
	for _, c := range all.Depth {
		reply := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: c.Text}}}}
		put := &transcriptv1.PutNodeRequest{Aliases: []*transcriptv1.AliasUpdate{{Name: c.Reply}}}
		for range c.Depth - 1 {
			put.Messages = append(put.Messages, &transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER})
		}
		put.Messages = append(put.Messages, reply)
		if _, err := transcriptv1.NewTranscriptServiceClient(conn).PutNode(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		thread, err := client.New(conn).Open(t.Context(), c.Reply)
		if err != nil {
			t.Fatal(err)
		}
		if got := thread.ReplyText(reply); got != c.Reply {
			t.Errorf("a reply at depth %d is handed on as %q, want %q", c.Depth, got, c.Reply)
		}
	}
}
