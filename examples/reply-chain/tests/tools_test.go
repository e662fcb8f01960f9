package tests

import (
	"path/filepath"
	"strings"
	"testing"
)

// What the model does wrong with a tool it is told, and the agent goes on.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	const wrong = "The arguments are not those that the tool takes."
	calls := []struct{ call, told string }{
		{`call pay {"to":"alice"}`, "pay: " + wrong},
		{`call pay {"to":5,"amount":5}`, "pay: " + wrong},
		{`call pay {"to":"alice","amount":"5"}`, "pay: " + wrong},
		{`call pay {"to":"alice","amount":null}`, "pay: " + wrong},
		{`call pay alice 5`, "pay: " + wrong},
		{`call pay []`, "pay: " + wrong},
		{`call pay null`, "pay: " + wrong},
		{`call calculate {"a":1.5,"op":"+","b":1}`, "calculate: " + wrong},
		{`calc 1 / 2`, "calculate: op has to be +, - or *."},
		{`calc 10000001 + 1`, "calculate: The numbers may be up to 10000000."},
		{`calc 10000000 * -10000000`, "calculate: -100000000000000"},
		{`read nothing`, "read_note: There is no such note."},
		{`call read_note {"name":"../../inbox.jsonl"}`, "read_note: There is no such note."},
		{`call read_note {"name":"a\u0000b"}`, "read_note: There is no such note."},
		{`call read_note {"name":"` + strings.Repeat("long", 200) + `"}`, "read_note: There is no such note."},
		{`recall pay`, "recall_tool_call: There is no such tool call in this conversation."},
		{`call fly {}`, "fly: There is no such tool."},
	}
	var asked, told []string
	for _, c := range calls {
		asked, told = append(asked, c.call), append(told, c.told)
	}
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		w := newWorld(t, command, letter{"w1", "", strings.Join(asked, " & ")})
		w.runs(t, d.addr, filepath.Base(t.Name()))
		equal(t, "the outbox", w.outbox(t), []reply{{"re-w1", "w1", "[depth:3] " + strings.Join(told, "; "), 3}})
		equal(t, "the ledger", lines[payment](t, w.dir, "ledger.jsonl"), nil)
	})
}
