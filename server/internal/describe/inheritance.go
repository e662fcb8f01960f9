package describe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// inheritedNodes is how many nodes, the spawned one first, are searched for the first user message.
	inheritedNodes = 8
	// minInherited is the fewest bytes that tell of inheritance: shorter texts are found in anything.
	minInherited = 8
	// maxInherited is how many texts of a call are looked for, the longest.
	maxInherited = 64
)

// spawn is a node of the chain that another node spawned.
type spawn struct {
	// header is its own; parent that of the node before it, nil for a root.
	header, parent *chainstore.Header
	// asked is the text of its first user message, if it has one.
	asked string
	found bool
}

// inheritance tells what a spawned node has of the chain that spawned it.
func (s *spawn) inheritance(ctx context.Context, d *description) (transcriptv1.Inheritance, error) {
	const (
		failed    = transcriptv1.Inheritance_INHERITANCE_UNSPECIFIED
		none      = transcriptv1.Inheritance_INHERITANCE_NONE
		arguments = transcriptv1.Inheritance_INHERITANCE_ARGUMENTS
		prefix    = transcriptv1.Inheritance_INHERITANCE_PREFIX
	)
	spawner, err := d.store.Chain(ctx, d.namespace, chainstore.Ref{ID: s.header.SpawnedFrom.Node}, nil)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return none, nil
	}
	if err != nil {
		return failed, err
	}
	if s.sharesPrefix(d.chain, spawner) {
		return prefix, nil
	}
	asked, err := s.firstAsked(ctx, d)
	if err != nil || asked == "" {
		return none, err
	}
	given, err := callArguments(ctx, spawner, s.header.SpawnedFrom.CallID)
	if err != nil {
		return failed, err
	}
	if holdsOne(asked, given) {
		return arguments, nil
	}
	return none, nil
}

// sharesPrefix tells whether what comes before a spawned node is its spawner's past too, at least in part: the node was put
// behind its spawner, or behind an ancestor of it, and that behind the preamble, for equal preambles are shared by
// all who have them.
func (s *spawn) sharesPrefix(chain, spawner chainstore.Chain) bool {
	if s.parent == nil || !s.parent.State.PreambleClosed {
		return false
	}
	last := min(s.parent.Seq, spawner.Head().Seq)
	return chain.RunOf(last) == spawner.RunOf(last)
}

// firstAsked is the text of the first user message from the spawned node on; empty where the next few nodes have none.
func (s *spawn) firstAsked(ctx context.Context, d *description) (text string, err error) {
	if s.found {
		return s.asked, nil
	}
	seq := s.header.Seq
	span := chainstore.Span{From: seq + 1, Through: min(seq+inheritedNodes-1, d.head().Seq)}
	if span.From > span.Through {
		return "", nil
	}
	err = chainview.RowsWhile(ctx, d.chain, span, func(r *chainstore.Row) (more bool, err error) {
		h, err := r.Header()
		if err != nil {
			return false, err
		}
		text, s.found, err = userText(r, h)
		return !s.found, err
	})
	return text, err
}

// userText is the text of the first user message of a row, which was put there.
func userText(row *chainstore.Row, h *chainstore.Header) (text string, found bool, err error) {
	if h.Covers.Present {
		return "", false, nil
	}
	i := slices.IndexFunc(h.Messages, func(m runloop.Brief) bool { return m.Role == runloop.User })
	if i < 0 {
		return "", false, nil
	}
	m, err := chainview.DecodeMessage(h, i, row.Payload)
	if err != nil {
		return "", false, err
	}
	return wire.MessageText(m), true, nil
}

// callArguments are the arguments of the head's calls with an id; with an absent id, those of all its calls.
func callArguments(ctx context.Context, spawner chainstore.Chain, id runloop.Optional) (given []string, err error) {
	err = chainview.ReadRow(ctx, spawner, spawner.Head().Seq, func(r *chainstore.Row, h *chainstore.Header) error {
		for i := range h.Messages {
			if h.Messages[i].Calls == 0 {
				continue
			}
			m, err := chainview.DecodeMessage(h, i, r.Payload)
			if err != nil {
				return err
			}
			for _, p := range m.Parts {
				k, ok := p.Kind.(*transcriptv1.Part_ToolCall)
				if ok && (!id.Present || k.ToolCall.Id != nil && *k.ToolCall.Id == id.Value) {
					given = append(given, k.ToolCall.Arguments)
				}
			}
		}
		return nil
	})
	return given, err
}

// holdsOne tells whether a text holds one of several calls' arguments as they were written, or one of the string values in
// them, white space around them aside. It looks for the longest.
func holdsOne(text string, arguments []string) bool {
	candidates := slices.Clone(arguments)
	for _, a := range arguments {
		var parsed any
		if json.Unmarshal([]byte(a), &parsed) == nil {
			candidates = stringsIn(candidates, parsed)
		}
	}
	for i := range candidates {
		candidates[i] = strings.TrimSpace(candidates[i])
	}
	candidates = slices.DeleteFunc(candidates, func(c string) bool { return len(c) < minInherited })
	slices.SortFunc(candidates, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	candidates, _ = firstOf(slices.Compact(candidates), maxInherited)
	return slices.ContainsFunc(candidates, func(c string) bool { return strings.Contains(text, c) })
}

// stringsIn appends the strings within a parsed JSON value, names of members aside.
func stringsIn(values []string, v any) []string {
	switch v := v.(type) {
	case string:
		values = append(values, v)
	case []any:
		for _, item := range v {
			values = stringsIn(values, item)
		}
	case map[string]any:
		for _, item := range v {
			values = stringsIn(values, item)
		}
	}
	return values
}
