package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// aliasWriters is how many writers move one alias.
const aliasWriters = 20

// What the figures of this row are of.
var (
	movesPerSecond = claim{"moves a second of an alias by 20 writers, of a lone writer's", atLeast(0.5).onDisk(syncsAtAll)}
	movesOfFastest = claim{"moves of the fastest of 20 writers, of the slowest's", atMost(3)}
	updatesLost    = claim{"updates lost", atMost(0)}
)

// contendedAlias holds the moves a second of 20 writers of one alias against those of one writer that has an alias to
// itself. A move is what an agent does: a node with a short message put on the head that the writer has seen, and the alias
// moved to it if it is there still. A writer that loses is told the head that won and tries again on that at once, without
// reading and without waiting; its calls that lose do not count, and the time they take counts against the move they end
// in. That no move is lost is read off the chain in the end: a node for each move that succeeded, warming up included, and
// the root.
func contendedAlias(ctx context.Context, e *env) ([]Figure, error) {
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	many, err := s.movers(ctx, "contended", aliasWriters)
	if err != nil {
		return nil, err
	}
	one, err := s.movers(ctx, "alone", 1)
	if err != nil {
		return nil, err
	}
	outcomes, err := e.contest(ctx, e.shorter(1500*time.Millisecond, time.Second),
		&side{name: "20 writers of one alias", callers: aliasWriters, call: many.move},
		&side{name: "a lone writer", callers: 1, call: one.move})
	if err != nil {
		return nil, err
	}
	contended, lone := outcomes[0], outcomes[1]
	lost, err := many.lost(ctx, contended.calls)
	if err != nil {
		return nil, err
	}
	return []Figure{e.versus(movesPerSecond, contended, lone, (*sample).perSecond), fairness(contended), lost}, nil
}

// fairness holds the moves of the writer with the most against those of the one with the fewest, round by round: over all of
// them a writer that starves in one would not be seen.
func fairness(o *outcome) Figure {
	var times, most, fewest []float64
	for _, r := range o.rounds {
		most, fewest = append(most, float64(slices.Max(r.calls))), append(fewest, float64(slices.Min(r.calls)))
		times = append(times, most[len(most)-1]/fewest[len(fewest)-1])
	}
	return ratios(movesOfFastest, times,
		Measured{Name: "the fastest of a round", Value: median(most), Unit: "moves"},
		Measured{Name: "the slowest of a round", Value: median(fewest), Unit: "moves"},
		Measured{Name: "the fastest, of the slowest's, in the worst round", Value: slices.Max(times), Unit: "times"})
}

// movers are writers of one alias.
type movers struct {
	rpc       transcriptv1.TranscriptServiceClient
	namespace string
	alias     string
	// seen is the head that each writer saw last; only that writer touches its own.
	seen []string
}

// movers begins a chain with an alias to its root, which n writers have seen.
func (s *server) movers(ctx context.Context, alias string, n int) (*movers, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	root, err := s.fill(ctx, alias, s.e.seeds(1), 1)
	if err != nil {
		return nil, err
	}
	return &movers{rpc: rpc, namespace: s.namespace, alias: alias, seen: slices.Repeat([]string{root}, n)}, nil
}

// move puts a node on the alias's head and moves the alias to it, however often that takes.
func (m *movers) move(ctx context.Context, writer, i int) error {
	req := &transcriptv1.PutNodeRequest{
		Namespace: m.namespace,
		Messages: []*transcriptv1.Message{{
			Role: transcriptv1.Role_ROLE_USER, Parts: text(fmt.Sprintf("move %d of writer %d", i, writer)),
		}},
		Aliases: []*transcriptv1.AliasUpdate{{Name: m.alias, Precondition: &transcriptv1.AliasPrecondition{}}},
	}
	for {
		head := m.seen[writer]
		req.Parent = byID(head)
		req.Aliases[0].Precondition.Condition = &transcriptv1.AliasPrecondition_HeadId{HeadId: head}
		res, err := m.rpc.PutNode(ctx, req)
		if err == nil {
			m.seen[writer] = res.NodeId
			if !res.Created || !res.Aliases[0].Changed {
				return errors.New("a move that succeeded changed nothing")
			}
			return nil
		}
		lost, ok := errors.AsType[*client.Error](err)
		if !ok || lost.Head() == "" {
			return err
		}
		m.seen[writer] = lost.Head() // which won
	}
}

// lost holds the nodes of the chain, less its root, against the moves that each writer was told had succeeded.
func (m *movers) lost(ctx context.Context, moves []int) (Figure, error) {
	res, err := m.rpc.GetNode(ctx, &transcriptv1.GetNodeRequest{Namespace: m.namespace, Node: byAlias(m.alias), OmitMessages: true})
	if err != nil {
		return Figure{}, err
	}
	succeeded := int64(0)
	for _, n := range moves {
		succeeded += int64(n)
	}
	nodes := res.Ancestors
	return figure(updatesLost, float64(max(nodes-succeeded, succeeded-nodes)),
		Measured{Name: "moves that succeeded", Value: float64(succeeded), Unit: "moves"},
		Measured{Name: "nodes of the chain behind its root", Value: float64(nodes), Unit: "nodes"}), nil
}
