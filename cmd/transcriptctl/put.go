package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type putCommand struct {
	File   string      `arg:"" optional:"" help:"Where the messages are; - or nothing: standard input. Not with --text."`
	Form   string      `default:"" enum:"openai,anthropic,responses,simple,protojson," aliases:"format" placeholder:"FORM" help:"The messages' form: openai, anthropic or simple (a message, a list of messages, or an object with messages), responses (an item, a list of items, or an object with items) or protojson ({\"messages\": [...]}). Default: simple where a message has text or calls and neither content nor tool_calls, else openai."`
	Role   string      `default:"user" enum:"system,developer,user,assistant,tool" help:"Of --text: system, developer, user, assistant or tool."`
	Text   *string     `placeholder:"TEXT" help:"Put one message with this text."`
	Bare   bool        `name:"no-messages" help:"Put metadata alone, such as an outcome, which ends a run."`
	Parent string      `short:"p" placeholder:"REF" help:"The node to append to. Default: begin a chain."`
	Alias  []aliasName `short:"a" sep:"none" completes:"alias" placeholder:"NAME" help:"Point this alias to the new node, in the same commit; may be repeated."`
	conditionFlags
	Metadata []string `short:"m" sep:"none" placeholder:"KEY=VALUE" help:"Metadata of the node; may be repeated."`
	Salt     string   `placeholder:"HEX" help:"16 to 32 bytes that make an equal sibling a node of its own, in hex, or 'random'."`
}

func (c *putCommand) Help() string {
	return `A message of the form simple has a role, a text, and, of an assistant, calls with id, name and arguments, of a tool the call_id that it answers, and error: true where it failed; name is for all. Other members are refused.

Putting what is there already writes nothing and tells its id. Examples:

    transcriptctl put --role system --text 'Be brief.' --alias chat/42 --if-new
    transcriptctl put --text 'What is a node?' --parent chat/42 --alias chat/42
    echo '{"role": "tool", "call_id": "c1", "text": "4"}' | transcriptctl put --parent chat/42 --alias chat/42
    transcriptctl put answer.json --parent chat/42 --alias chat/42 --if-head 3f9a1c2b
    curl ... | jq .choices[0].message | transcriptctl put --parent chat/42 --alias chat/42
    transcriptctl put --no-messages --metadata run/end=stopped --parent chat/42 --alias chat/42

Where --parent is an alias that --if-head conditions, or a node id, the command may be repeated safely.`
}

// Run puts one node.
func (c *putCommand) Run(ctx context.Context, s *session) error {
	node, err := c.node(ctx, s)
	if err != nil {
		return err
	}
	reply, err := s.Put(ctx, node)
	if err != nil {
		return err
	}
	if c.Parent == "" && !c.given() {
		s.remarkBegun(reply.GetAliases())
	}
	if s.json {
		return s.printReply(reply.PutNodeResponse)
	}
	rows := [][2]string{{"node", reply.GetNodeId()}, {"created", yesNo(reply.GetCreated())}}
	for _, a := range reply.GetAliases() {
		rows = append(rows, [2]string{"alias", name(a.GetName()) + " " + aliasFate(a)})
	}
	return s.printRows(append(rows, counterRows(reply.GetCounters())...))
}

// remarkBegun says of aliases under which a chain was begun that they pointed to another.
func (s *session) remarkBegun(aliases []*transcriptv1.AliasResult) {
	for _, a := range aliases {
		if a.GetPreviousId() != "" && a.GetChanged() {
			s.remark("%s begins anew: what it had ends at %s; --parent %[1]s appends", name(a.GetName()), short(a.GetPreviousId()))
		}
	}
}

func (c *putCommand) node(ctx context.Context, s *session) (n client.Node, err error) {
	if c.given() && len(c.Alias) == 0 {
		return n, usagef("--if-new, --if-exists, --if-head and --if-revision need an --alias to hold for")
	}
	if n.Metadata, err = pairs("--metadata", c.Metadata); err != nil {
		return n, err
	}
	if n.Salt, err = salt(c.Salt); err != nil {
		return n, err
	}
	if n.Messages, err = c.messages(ctx, s); err != nil {
		return n, err
	}
	n.Notes = withUsage(nil, n.Messages)
	if c.Parent != "" {
		if n.Parent, err = s.ref(ctx, c.Parent); err != nil {
			return n, err
		}
	}
	condition, err := c.condition(ctx, s)
	for _, alias := range c.Alias {
		n.Aliases = append(n.Aliases, client.AliasUpdate{Name: string(alias), If: condition})
	}
	return n, err
}

func (c *putCommand) messages(ctx context.Context, s *session) ([]*transcriptv1.Message, error) {
	if c.Bare {
		if c.File != "" || c.Text != nil || len(c.Metadata) == 0 {
			return nil, usagef("--no-messages goes with --metadata, and neither with FILE nor with --text")
		}
		return nil, nil
	}
	if c.Text != nil {
		if c.File != "" {
			return nil, usagef("give either FILE or --text")
		}
		if *c.Text == "" {
			return nil, usagef("--text must not be empty")
		}
		role := transcriptv1.Role(transcriptv1.Role_value["ROLE_"+strings.ToUpper(c.Role)])
		part := &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: *c.Text}}
		return []*transcriptv1.Message{{Role: role, Parts: []*transcriptv1.Part{part}}}, nil
	}
	data, place, err := s.readAll(ctx, c.File)
	if err != nil {
		return nil, err
	}
	messages, err := readMessages(data, c.Form, s)
	if errors.Is(err, errNotJSON) {
		return nil, &suggestion{inputf("%s: %s", place, strings.Replace(err.Error(), errNotJSON.Error(), "not a message", 1)),
			`A message is {"role": "user", "text": "Hello"}, or as --form says; --text puts a text as it is.`, true}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return messages, nil
}

// pairs reads KEY=VALUE arguments of a flag; nil where there are none.
func pairs(flag string, args []string) (map[string]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	values := make(map[string]string, len(args))
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if _, twice := values[key]; !ok || key == "" || twice {
			return nil, usagef("%s must be KEY=VALUE, each KEY once", flag)
		}
		values[key] = value
	}
	return values, nil
}

// saltBytes is the length of a random salt.
const saltBytes = 16

func salt(text string) ([]byte, error) {
	if text == "random" {
		salt := make([]byte, saltBytes)
		_, err := rand.Read(salt)
		return salt, err
	}
	salt, err := hex.DecodeString(text)
	if err != nil {
		return nil, usagef("--salt must be hex digits or 'random'")
	}
	return salt, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no, it was there"
}

// aliasFate tells what a call did to an alias.
func aliasFate(a *transcriptv1.AliasResult) string {
	switch {
	case !a.GetChanged() && a.GetRevised():
		return "(labels)"
	case !a.GetChanged():
		return "(pointed here before)"
	case a.GetPreviousId() == "":
		return "(new)"
	}
	return "(moved from " + short(a.GetPreviousId()) + ")"
}

// counterRows tell how long a chain is, and what the effective view has of it where that is something else.
func counterRows(c *transcriptv1.ChainCounters) [][2]string {
	rows := [][2]string{{"chain", counterText(c.GetFull())}}
	if !proto.Equal(c.GetFull(), c.GetEffective()) {
		rows = append(rows, [2]string{"effective", counterText(c.GetEffective())})
	}
	return rows
}

func counterText(c *transcriptv1.Counters) string {
	tokens := ""
	if c.GetTokensEstimated() {
		tokens = "about "
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s%s, depth %d", count(c.GetNodes(), "node"), count(c.GetMessages(), "message"),
		count(c.GetRunLoops(), "run loop"), size(c.GetBytes()), tokens, count(c.GetTokens(), "token"), c.GetDepth())
}
