package main

import (
	"bytes"
	"context"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// strategy is a way to choose what a model is sent.
type strategy struct {
	name  string
	query client.Query
}

// everything sends all that was said, in a form that a model can be sent.
func everything() strategy { return strategy{name: "everything"} }

// bounded is the conversation view under a policy; nil: no bounds.
func bounded(name string, policy *transcriptv1.Policy) strategy {
	return strategy{name, client.Query{View: transcriptv1.View_VIEW_CONVERSATION, Policy: policy}}
}

// cachedShare is what a byte costs that the provider has cached, as a share of one that it has not.
const cachedShare = 0.1

// spending adds up what the requests of one conversation after the other cost under a strategy.
type spending struct {
	strategy
	// input is the bytes sent, reused those of whole messages from the start that the request before had too.
	input, reused int64
	// hidden is the results that were not shown in the first request after they came.
	hidden int64
	last   [][]byte
}

// begin begins another conversation: nothing of it is cached.
func (p *spending) begin() { p.last = nil }

// cost is the bytes sent, a cached byte counting as a tenth.
func (p *spending) cost() float64 {
	return float64(p.input-p.reused) + cachedShare*float64(p.reused)
}

// request is one request to a model.
type request struct {
	messages [][]byte
	// sent is the bytes of the messages, reused those that the request before had too.
	sent, reused int64
	counters     *transcriptv1.ChainCounters
	report       *transcriptv1.Report
}

// ask asks for the messages of a head, and counts them.
func (p *spending) ask(ctx context.Context, c *client.Client, head string) (*request, error) {
	a, err := c.Assemble(ctx, client.ByID(head), p.query)
	if err != nil {
		return nil, err
	}
	r := &request{sent: a.Bytes(), counters: a.Counters, report: a.Report}
	if r.messages, err = a.Encoded(); err != nil {
		return nil, err
	}
	for i, m := range r.messages {
		if i >= len(p.last) || !bytes.Equal(m, p.last[i]) {
			break
		}
		r.reused += int64(len(m))
	}
	p.last = r.messages
	p.input += r.sent
	p.reused += r.reused
	return r, nil
}

// shows counts how many of the messages are in the request.
func (r *request) shows(messages [][]byte) (n int64) {
	have := map[string]int{}
	for _, m := range r.messages {
		have[string(m)]++
	}
	for _, m := range messages {
		if have[string(m)] > 0 {
			have[string(m)]--
			n++
		}
	}
	return n
}
