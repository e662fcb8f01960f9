package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server"
)

type economyCommand struct {
	Files []string `arg:"" name:"file" help:"JSON lines as import reads them, gzipped or not; - is standard input."`
	JSON  bool     `name:"json" help:"Print a list of {strategy, input_bytes, reused, of_naive, hidden_unseen}."`
	policyFlags
}

func (c *economyCommand) Help() string {
	return `Stores each conversation, asks for the messages before each of its assistant messages under every strategy, and adds up what would be sent to a model:

    everything     all that was said
    conversation   run loops before the last condensed, no bounds
    keep5          the same, and about 5 results kept in each run loop shown whole
    default        the server's default policy
    given          the policy of the flags, where any is given

reused is the share of the bytes that the request before had too, in whole messages from the start: what a provider has cached. cost counts a cached byte as a tenth, and is told as a share of that of everything. hidden is the results that a model would not have seen in the first request after they came.

Without --addr, and without TRANSCRIPTCTL_ADDR, it starts a transcriptd of its own that keeps everything in memory. With it, the conversations stay in its namespace "economy", or in that of --namespace. Examples:

    transcriptctl economy conversations.jsonl.gz
    transcriptctl economy --keep-tool-results 2 --json conversations.jsonl.gz | jq .`
}

// Run prints what the strategies cost.
func (c *economyCommand) Run(ctx context.Context, s *session) (err error) {
	if s.addrGiven {
		s, err = s.within("economy")
	} else {
		s, err = s.temporary(ctx)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e := &economy{session: s, line: newProgress(s.notes)}
	for _, one := range c.strategies() {
		e.spendings = append(e.spendings, &spending{strategy: one})
	}
	defer e.line.clear()
	for _, file := range c.Files {
		if err := e.file(ctx, file); err != nil {
			return err
		}
	}
	e.line.clear()
	return e.print(c.JSON || s.json)
}

func (c *economyCommand) strategies() []strategy {
	keep5 := client.Unbounded()
	keep5.KeepToolResults = proto.Int32(5)
	all := []strategy{
		everything(), bounded("conversation", nil), bounded("keep5", keep5), bounded("default", &transcriptv1.Policy{}),
	}
	if c.given() {
		all = append(all, bounded("given", c.policy()))
	}
	return all
}

// economy adds up what strategies cost.
type economy struct {
	*session
	line      *progress
	spendings []*spending
	requests  int64
}

// file counts the conversations of a file.
func (e *economy) file(ctx context.Context, file string) (err error) {
	r, place, err := e.openInput(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	l, err := newLines(r, place)
	if err != nil {
		return err
	}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c := readConversation(l.at(), line)
		if c.bad != nil {
			return &badLine{c.place, c.bad}
		}
		if err := e.conversation(ctx, c); err != nil {
			return err
		}
		e.line.show(fmt.Sprintf("%s: %s", l.at(), count(e.requests, "request")))
	}
}

// conversation stores a conversation and asks for the messages before each of its assistant messages.
func (e *economy) conversation(ctx context.Context, c *conversation) error {
	messages, _, err := openai.Parse(c.messages)
	if err != nil {
		return &badLine{c.place, err}
	}
	if len(messages) == 0 {
		return &badLine{c.place, errNoMessages}
	}
	chain := newChain(messages)
	for from := 0; from < len(chain.nodes); {
		end := chain.batch(from)
		if _, err := e.PutAll(ctx, chain.request(from, end)...); err != nil {
			return refused(c.place, err)
		}
		from = end
	}
	for _, p := range e.spendings {
		p.begin()
	}
	for i := 1; i < len(chain.nodes); i++ {
		if chain.nodes[i][0].GetRole() != transcriptv1.Role_ROLE_ASSISTANT {
			continue
		}
		if err := e.request(ctx, chain.ids[i-1], chain.nodes[i-1]); err != nil {
			return err
		}
	}
	return nil
}

// request asks for the messages of a head under each strategy; last are those of the head itself.
func (e *economy) request(ctx context.Context, head string, last []*transcriptv1.Message) error {
	var results [][]byte
	for _, m := range last {
		if m.GetRole() == transcriptv1.Role_ROLE_TOOL {
			results = append(results, canonical.AppendMessage(nil, m))
		}
	}
	e.requests++
	var shown int64
	for i, p := range e.spendings {
		r, err := p.ask(ctx, e.Client, head)
		if err != nil {
			return err
		}
		if n := r.shows(results); i == 0 {
			shown = n
		} else {
			p.hidden += shown - n
		}
	}
	return nil
}

// economyRow is what economy prints of a strategy with --json.
type economyRow struct {
	Strategy     string  `json:"strategy"`
	InputBytes   int64   `json:"input_bytes"`
	Reused       float64 `json:"reused"`
	OfNaive      float64 `json:"of_naive"`
	HiddenUnseen int64   `json:"hidden_unseen"`
}

func (e *economy) print(asJSON bool) error {
	rows := make([]economyRow, len(e.spendings))
	naive := e.spendings[0].cost()
	for i, p := range e.spendings {
		rows[i] = economyRow{p.name, p.input, ratio(float64(p.reused), float64(p.input)), ratio(p.cost(), naive), p.hidden}
	}
	if asJSON {
		return e.printJSON(rows)
	}
	if err := e.printLine("%-12s  %14s  %7s  %7s  %6s", "strategy", "bytes sent", "reused", "cost", "hidden"); err != nil {
		return err
	}
	for _, r := range rows {
		err := e.printLine("%-12s  %14d  %6.1f%%  %6.1f%%  %6d", r.Strategy, r.InputBytes, 100*r.Reused, 100*r.OfNaive, r.HiddenUnseen)
		if err != nil {
			return err
		}
	}
	return e.printLine("%s", count(e.requests, "request"))
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// temporary is a session with a transcriptd of its own, which keeps everything in memory until the session is closed.
func (s *session) temporary(ctx context.Context) (*session, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	store := memstore.New(memstore.Options{})
	served := server.New(store, server.Config{Version: buildVersion()}).GRPC()
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	own := *s
	own.flags.Addr = listener.Addr().String()
	if own.Client, err = own.dial(); err != nil {
		return nil, err
	}
	own.stop = func() error {
		served.Stop()
		err := <-ended
		if errors.Is(err, grpc.ErrServerStopped) {
			err = nil
		}
		return errors.Join(err, store.Close())
	}
	return &own, nil
}

// within is the session in another namespace, unless one was given.
func (s *session) within(namespace string) (*session, error) {
	own := *s
	if own.flags.Namespace == "" {
		own.flags.Namespace = namespace
	}
	var err error
	own.Client, err = own.dial()
	return &own, err
}
