package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type economyCommand struct {
	Files []string `arg:"" name:"file" help:"JSON lines as import reads them, gzipped or not; - is standard input."`
	Form  string   `default:"openai" enum:"openai,anthropic,responses" placeholder:"FORM" help:"The form of a line, as import has it: openai, anthropic or responses. Default: ${default}."`
	Keep  bool     `help:"Store the conversations in the transcriptd of --addr, in the namespace \"economy\" or that of --namespace, where they stay. Default: a transcriptd of its own, which is gone when it ends."`
	policyFlags
}

func (c *economyCommand) Help() string {
	return `Stores each conversation, asks for the messages before each of its assistant messages under every strategy, and adds up what would be sent to a model:

    everything     all that was said
    conversation   run loops before the last condensed, no bounds
    default        the server's default policy
    coding         the policy of --preset coding; long and frugal likewise
    given          the policy of the flags, where any is given

saved is the share of the bytes of everything that is not sent. reused is the share of the bytes sent that the request before had too, in whole messages from the start: what a provider has cached. cost (ofNaive with json) counts a cached byte as a tenth, and is told as a share of that of everything. forgotten is the share of the results quoted by a later assistant message that its request did not show whole: a quote is 24 or more characters in a row that stood in results alone before. hidden is how many results were not shown in the request that ended with them, so that no model could have seen them. interrupted is how many more no model saw because the user wrote before one was asked about them: they are condensed with their run loop, and recall finds them.

Below stand the tokens that the messages say they took, by model: the sums of what import reads from their members model and usage. There is no such table where none say so.

Bytes are those of messages as transcriptd encodes them. A conversation is put at once, so that --max-age finds nothing old in it.

It starts a transcriptd of its own that keeps everything in memory, whatever --addr says. Only with --keep are the conversations stored in the transcriptd of --addr. Examples:

    transcriptctl economy conversations.jsonl.gz
    transcriptctl economy --keep-tool-results 2 -o json conversations.jsonl.gz | jq .`
}

// Run prints what the strategies cost.
func (c *economyCommand) Run(ctx context.Context, s *session) (err error) {
	strategies, err := c.strategies()
	if err != nil {
		return err
	}
	if c.Keep {
		s, err = s.within("economy")
	} else {
		s, err = s.temporary(ctx)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e := &economy{session: s, form: formNamed(c.Form), line: newProgress(s.notes), strategies: strategies, models: modelSums{}}
	e.spendings = e.begin()
	defer e.line.clear()
	if err := e.files(ctx, c.Files); err != nil {
		return err
	}
	e.line.clear()
	return e.print()
}

func (c *economyCommand) strategies() ([]strategy, error) {
	all := []strategy{
		everything(), bounded("conversation", client.Unbounded()), bounded("default", &transcriptv1.Policy{}),
		bounded("coding", client.Coding()), bounded("long", client.Long()), bounded("frugal", client.Frugal()),
	}
	if !c.given() {
		return all, nil
	}
	policy, err := c.policy()
	return append(all, bounded("given", policy)), err
}

// economy adds up what strategies cost, of several conversations at once.
type economy struct {
	*session
	form       *form
	line       *progress
	strategies []strategy

	mu        sync.Mutex
	spendings []*spending // one for each strategy, the first being everything
	requests  int64
	models    modelSums
}

// begin is a conversation of which nothing was sent yet.
func (e *economy) begin() []*spending {
	fresh := make([]*spending, len(e.strategies))
	for i, one := range e.strategies {
		fresh[i] = &spending{strategy: one}
	}
	return fresh
}

// files counts the conversations of files, as many at once as there are processors.
func (e *economy) files(ctx context.Context, files []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1 + runtime.GOMAXPROCS(0)) // one reads
	group.Go(func() error {
		for _, file := range files {
			err := e.file(ctx, file, func(c *conversation) {
				group.Go(func() error { return e.conversation(ctx, c) })
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// file yields the conversations of a file.
func (e *economy) file(ctx context.Context, file string, yield func(*conversation)) error {
	return e.conversations(ctx, file, e.form, func(c *conversation) error {
		if c.bad != nil {
			return inputf("%s: %w", c.place, c.bad)
		}
		yield(c)
		return ctx.Err()
	})
}

// conversation stores a conversation and asks for the messages before each of its assistant messages.
func (e *economy) conversation(ctx context.Context, c *conversation) error {
	messages, _, err := c.parse()
	if err != nil {
		return inputf("%s: %w", c.place, err)
	}
	chain := newChain(messages, nil)
	chain.notes = withUsage(nil, messages)
	for from := 0; from < len(chain.nodes); {
		end := chain.batch(from)
		if _, err := e.PutAll(ctx, chain.request(from, end)...); err != nil {
			return fmt.Errorf("%s: %w", c.place, err)
		}
		from = end
	}
	own, said := e.begin(), newQuotes()
	for i, node := range chain.nodes {
		quoted := said.addNode(node)
		if i == 0 || !isAnswer(node[0]) {
			continue
		}
		if err := e.request(ctx, own, chain.ids[i-1], quoted); err != nil {
			return err
		}
		e.line.show(c.place + ": " + e.count())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, p := range own {
		e.spendings[i].add(p)
	}
	e.models.add(chain.notes)
	return nil
}

// count counts a request that was made, and says how many there are.
func (e *economy) count() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	return count(e.requests, "request")
}

// request asks for the messages of a head under each strategy. Results that no model has seen are hidden where the first
// strategy shows them and another does not. quoted are the results that the answer quotes.
func (e *economy) request(ctx context.Context, spendings []*spending, head string, quoted [][]byte) error {
	var all news
	for i, p := range spendings {
		r, err := p.ask(ctx, e.Client, head)
		if err != nil {
			return err
		}
		news, err := r.news()
		if err != nil {
			return err
		}
		if i == 0 {
			all = news
		}
		p.quote(r, quoted)
		p.hidden += without(all.open, news.open)
		p.interrupted += without(all.interrupted, news.interrupted)
	}
	return nil
}

// economyRow is what economy prints of a strategy with json.
type economyRow struct {
	Strategy   string `json:"strategy"`
	InputBytes int64  `json:"inputBytes,string"`
	// Saved is the share of the bytes of everything that is not sent.
	Saved   float64 `json:"saved"`
	Reused  float64 `json:"reused"`
	OfNaive float64 `json:"ofNaive"`
	// Quoted counts the results that assistant messages quote, Forgotten is the share of them that was not shown whole then.
	Quoted       int64   `json:"quoted,string"`
	Forgotten    float64 `json:"forgotten"`
	HiddenUnseen int64   `json:"hiddenUnseen,string"`
	// InterruptedUnseen are the results that were condensed with an interrupted run loop before a model was asked about them.
	InterruptedUnseen int64 `json:"interruptedUnseen,string"`
}

// economyReply is what economy prints with json.
type economyReply struct {
	Strategies []economyRow `json:"strategies"`
	Models     []modelCost  `json:"models"`
}

// row is what is printed of a spending, beside that of everything.
func (p *spending) row(naive *spending) economyRow {
	return economyRow{
		Strategy: p.name, InputBytes: p.input, Saved: ratio(float64(naive.input-p.input), float64(naive.input)),
		Reused: ratio(float64(p.reused), float64(p.input)), OfNaive: ratio(p.cost(), naive.cost()),
		Quoted: p.quoted, Forgotten: ratio(float64(p.forgotten), float64(p.quoted)),
		HiddenUnseen: p.hidden, InterruptedUnseen: p.interrupted,
	}
}

func (e *economy) print() error {
	rows := make([]economyRow, len(e.spendings))
	for i, p := range e.spendings {
		rows[i] = p.row(e.spendings[0])
	}
	if e.json {
		return e.printJSON(economyReply{rows, e.models.rows()})
	}
	t := e.table(left("STRATEGY"), right("BYTES SENT"), right("SAVED"), right("REUSED"), right("COST"), right("FORGOTTEN"), right("HIDDEN"), right("INTERRUPTED"))
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.Strategy, decimal(r.InputBytes), share(r.Saved), share(r.Reused), share(r.OfNaive), share(r.Forgotten), decimal(r.HiddenUnseen), decimal(r.InterruptedUnseen)}
	}
	if err := t.printAll(lines); err != nil {
		return err
	}
	err := e.printLine("%s, %s", count(e.requests, "request"), count(rows[0].Quoted, "quote"))
	if err != nil {
		return err
	}
	return e.printModels(e.models.rows())
}

// share is a share of one for people.
func share(of float64) string { return fmt.Sprintf("%.1f %%", 100*of) }

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}
