package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/transcriptd/transcriptd/client"
)

// tools are those of a thread's model. What has an effect is written down under a key, which tells the call.
func (a *agent) tools(thread *client.Thread, key string) []*client.Tool {
	return []*client.Tool{
		tool("read_note", "Read a note.", `"name":{"type":"string"}`, `"name"`, func(in struct{ Name string }) (string, error) {
			return a.files.note(in.Name)
		}),
		tool("calculate", "Calculate with two whole numbers.",
			`"a":{"type":"integer"},"op":{"type":"string","enum":["+","-","*"]},"b":{"type":"integer"}`, `"a","op","b"`, calculate),
		tool("pay", "Pay somebody an amount of euros.", `"to":{"type":"string"},"amount":{"type":"integer"}`, `"to","amount"`,
			func(in struct {
				To     string
				Amount int
			}) (string, error) {
				return a.files.pay(payment{Key: key, To: in.To, Amount: in.Amount})
			}),
		tool("ring", "Ring the bell at the door.", ``, ``, func(struct{}) (string, error) { return a.files.ring(key) }),
		thread.RecallTool(),
	}
}

// tool is a tool whose arguments are an In.
func tool[In any](name, description, properties, required string, run func(In) (string, error)) *client.Tool {
	return &client.Tool{
		Name: name, Description: description,
		Parameters: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`),
		Call: func(_ context.Context, arguments string) (string, error) {
			var in In
			if json.Unmarshal([]byte(arguments), &in) != nil {
				return "The arguments are not those that the tool takes.", nil //nolint:nilerr // the model may write others
			}
			return run(in)
		},
	}
}

func calculate(in struct {
	A, B int64
	Op   string
}) (string, error) {
	const limit = 10_000_000
	if max(in.A, -in.A, in.B, -in.B) > limit {
		return "The numbers may be up to 10000000.", nil
	}
	switch in.Op {
	case "+":
		return strconv.FormatInt(in.A+in.B, 10), nil
	case "-":
		return strconv.FormatInt(in.A-in.B, 10), nil
	case "*":
		return strconv.FormatInt(in.A*in.B, 10), nil
	}
	return "op has to be +, - or *.", nil
}

// note is the text of a note.
func (f *files) note(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(f.dir, "notes", filepath.Base(name)+".txt"))
	if err != nil {
		return "There is no such note.", nil //nolint:nilerr // the model may name another
	}
	return string(text), nil
}
