package main

import (
	"bytes"
	"context"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
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

// bounded is the conversation view under a policy.
func bounded(name string, policy *transcriptv1.Policy) strategy {
	return strategy{name, client.Query{View: transcriptv1.View_VIEW_CONVERSATION, Policy: policy}}
}

// cachedShare is what a byte costs that the provider has cached, as a share of one that it has not.
const cachedShare = 0.1

// spending adds up what requests cost under a strategy.
type spending struct {
	strategy
	// input is the bytes sent, reused those of whole messages from the start that the request before had too.
	input, reused int64
	// hidden is the results that were not shown in the request that ended with them, interrupted those that were not shown
	// in the first request after they came, because a user's message followed them.
	hidden, interrupted int64
	// quoted is the results that an assistant message quotes, forgotten those of them that the request before it did not show whole.
	quoted, forgotten int64
	// last is the request before, of the same conversation.
	last [][]byte
}

// cost is the bytes sent, a cached byte counting as a tenth.
func (p *spending) cost() float64 {
	return float64(p.input-p.reused) + cachedShare*float64(p.reused)
}

// add adds what another conversation costs under the same strategy.
func (p *spending) add(other *spending) {
	p.input += other.input
	p.reused += other.reused
	p.hidden += other.hidden
	p.interrupted += other.interrupted
	p.quoted += other.quoted
	p.forgotten += other.forgotten
}

// request is one request to a model.
type request struct {
	messages [][]byte
	// sent is the bytes of the messages, reused those that the request before had too.
	sent, reused int64
}

// ask asks for the messages of a head, and counts them.
func (p *spending) ask(ctx context.Context, c *client.Client, head string) (*request, error) {
	a, err := c.Assemble(ctx, client.ByID(head), p.query)
	if err != nil {
		return nil, err
	}
	r := &request{sent: a.Bytes()}
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

// quote counts the results that the answer to a request quotes, encoded.
func (p *spending) quote(r *request, results [][]byte) (forgotten int64) {
	for _, result := range results {
		if !slices.ContainsFunc(r.messages, func(m []byte) bool { return bytes.Equal(m, result) }) {
			forgotten++
		}
	}
	p.quoted += int64(len(results))
	p.forgotten += forgotten
	return forgotten
}

// news is the results that no model has seen, as they were put.
type news struct {
	// open are those that the request ends with: the model is asked what to make of them. interrupted are those that came
	// since the assistant spoke last and that a user's message followed: their run loop was interrupted.
	open, interrupted [][]byte
}

func (r *request) news() (n news, err error) {
	into := &n.open
	for i := len(r.messages) - 1; i >= 0; i-- {
		m, err := canonical.DecodePayload(r.messages[i])
		if err != nil {
			return n, err
		}
		switch role := m[0].GetRole(); {
		case role == transcriptv1.Role_ROLE_ASSISTANT:
			return n, nil
		case role == transcriptv1.Role_ROLE_USER:
			into = &n.interrupted
		case role == transcriptv1.Role_ROLE_TOOL && m[0].GetOrigin() == transcriptv1.Origin_ORIGIN_UNSPECIFIED:
			*into = append(*into, r.messages[i])
		}
	}
	return n, nil
}

// without counts how many of the messages are not among the others, each of which stands for one.
func without(messages, others [][]byte) (n int64) {
	for _, m := range messages {
		at := 0
		for at < len(others) && !bytes.Equal(m, others[at]) {
			at++
		}
		if at == len(others) {
			n++
			continue
		}
		others = append(others[:at:at], others[at+1:]...)
	}
	return n
}
