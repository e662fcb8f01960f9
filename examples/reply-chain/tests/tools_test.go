package tests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
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

// A line of any length is read, and arguments of any shape are: no message keeps the agent from the ones behind it.
func TestLongLines(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		deep := "call read_note " + strings.Repeat("[", 100_000)
		w := newWorld(t, command, letter{"l1", "", deep}, letter{"l2", "", "read latin"})
		w.write(t, "notes/latin.txt", []byte("caf\xe9"))
		w.runs(t, d.addr, filepath.Base(t.Name()), "--compact-at", "1000000")
		got := w.outbox(t)
		if len(got) != 2 || got[0].Text != "[depth:3] read_note: The arguments are not those that the tool takes." {
			t.Errorf("the outbox: %v", got)
		}
	})
}

// Models give the same id to calls of several rounds, and of one. After a crash each is looked up as itself.
func TestRepeatedCallIDs(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		namespace := filepath.Base(t.Name())
		w := newWorld(t, command, letter{"r1", "", "Thanks."})
		c, ctx := d.client(t, namespace), t.Context()
		thread, err := c.Start(ctx, client.Turn{MessageID: "r1", Messages: []*transcriptv1.Message{client.User("Thanks.")}})
		if err != nil {
			t.Fatal(err)
		}
		pays := func(arguments string) *transcriptv1.ToolCall { return client.Call("call_0", "pay", arguments) }
		first := pays(`{"to":"alice","amount":5}`)
		if err := thread.Append(ctx, client.Assistant("", first)); err != nil {
			t.Fatal(err)
		}
		if err := thread.AppendResults(ctx, client.Result(first, "paid 5 to alice")); err != nil {
			t.Fatal(err)
		}
		w.write(t, "ledger.jsonl", []byte(`{"key":"r1/2.0","to":"alice","amount":5}`+"\n"+`{"key":"r1/3.0","to":"bob","amount":7}`+"\n"))
		// Of these the first was paid before the crash.
		if err := thread.Append(ctx, client.Assistant("", pays(`{"to":"bob","amount":7}`), pays(`{"to":"carol","amount":9}`))); err != nil {
			t.Fatal(err)
		}
		w.runs(t, d.addr, namespace)
		equal(t, "the ledger", lines[payment](t, w.dir, "ledger.jsonl"), []payment{{"r1/2.0", "alice", 5}, {"r1/3.0", "bob", 7}, {"r1/3.1", "carol", 9}})
	})
}
