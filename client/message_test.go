package client

import (
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestOpenCalls(t *testing.T) {
	call := func(id string) *transcriptv1.ToolCall { return Call(id, "tool", "{}") }
	without := &transcriptv1.ToolCall{Arguments: "{}"}
	calls := func(calls ...*transcriptv1.ToolCall) *transcriptv1.Message { return Assistant("", calls...) }
	result := func(id string) *transcriptv1.Message { return Result(call(id), "r") }
	for name, c := range map[string]struct {
		messages []*transcriptv1.Message
		want     string
	}{
		"nothing":                    {nil, ""},
		"no call":                    {[]*transcriptv1.Message{User("u"), Assistant("a")}, ""},
		"all open":                   {[]*transcriptv1.Message{User("u"), calls(call("1"), call("2"))}, "1 2"},
		"one answered":               {[]*transcriptv1.Message{calls(call("1"), call("2")), result("1")}, "2"},
		"all answered":               {[]*transcriptv1.Message{calls(call("1"), call("2")), result("2"), result("1")}, ""},
		"over several assistants":    {[]*transcriptv1.Message{calls(call("1")), calls(call("2")), result("2")}, "1"},
		"not of the group before":    {[]*transcriptv1.Message{calls(call("1")), result("1"), calls(call("2"))}, "2"},
		"ended by a user message":    {[]*transcriptv1.Message{calls(call("1")), User("u")}, ""},
		"ended by a plain assistant": {[]*transcriptv1.Message{calls(call("1")), Assistant("a")}, ""},
		"repeated id":                {[]*transcriptv1.Message{calls(call("1"), call("1"), call("2")), result("1")}, "1 2"},
		"absent equals absent":       {[]*transcriptv1.Message{calls(without, call("")), Result(without, "r")}, "empty"},
		"empty is not absent":        {[]*transcriptv1.Message{calls(without, call("")), result("")}, "absent"},
	} {
		var got []string
		for _, open := range openCalls(c.messages) {
			switch {
			case open.Id == nil:
				got = append(got, "absent")
			case open.GetId() == "":
				got = append(got, "empty")
			default:
				got = append(got, open.GetId())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	m := Assistant("one ", Call("1", "t", "{}"))
	m.Parts = append(m.Parts, textPart("two"))
	if got := Text(m); got != "one two" {
		t.Errorf("got %q", got)
	}
	if len(Assistant("").Parts) != 1 || len(Assistant("", Call("1", "t", "{}")).Parts) != 1 {
		t.Error("an empty text is a part only where there is no call")
	}
}
