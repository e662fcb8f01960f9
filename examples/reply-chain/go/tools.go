package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/client"
)

// tools are those of a thread's model. What has an effect is written down under a key, which tells the call.
func (a *agent) tools(thread *client.Thread, key string) []*client.Tool {
	return []*client.Tool{
		tool("read_note", "Read a note.", []property{{"name", text}}, func(in struct{ Name string }) (string, error) {
			return a.files.note(in.Name)
		}),
		tool("calculate", "Calculate with two whole numbers.", []property{{"a", whole}, {"op", operator}, {"b", whole}}, calculate),
		tool("pay", "Pay somebody an amount of euros.", []property{{"to", text}, {"amount", whole}}, func(in struct {
			To     string
			Amount int
		}) (string, error) {
			return a.files.pay(payment{Key: key, To: in.To, Amount: in.Amount})
		}),
		tool("ring", "Ring the bell at the door.", nil, func(struct{}) (string, error) { return a.files.ring(key) }),
		thread.RecallTool(),
	}
}

// property is an argument of a tool, with its JSON Schema. All are needed.
type property struct{ name, schema string }

const (
	text     = `{"type":"string"}`
	whole    = `{"type":"integer"}`
	operator = `{"type":"string","enum":["+","-","*"]}`
)

// tool is a tool whose arguments are an In.
func tool[In any](name, description string, properties []property, run func(In) (string, error)) *client.Tool {
	var schemas, names []string
	for _, p := range properties {
		schemas = append(schemas, `"`+p.name+`":`+p.schema)
		names = append(names, `"`+p.name+`"`)
	}
	parameters := `{"type":"object","properties":{` + strings.Join(schemas, ",") + `},"required":[` + strings.Join(names, ",") + `]}`
	return &client.Tool{
		Name: name, Description: description, Parameters: json.RawMessage(parameters),
		Call: func(_ context.Context, arguments string) (string, error) {
			var in In
			var given map[string]any
			err := errors.Join(json.Unmarshal([]byte(arguments), &in), json.Unmarshal([]byte(arguments), &given))
			for _, p := range properties {
				if given[p.name] == nil {
					err = errors.Join(err, errors.New("an argument is missing"))
				}
			}
			if err != nil {
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
	note, err := os.ReadFile(filepath.Join(f.dir, "notes", filepath.Base(name)+".txt"))
	if err != nil {
		return "There is no such note.", nil //nolint:nilerr // the model may name another
	}
	return strings.ToValidUTF8(string(note), "\uFFFD"), nil
}
