package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/tools/limits/internal/limit"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

var (
	besideP50 = measure.AtMost(2, "Assemble of 10 turns beside 64 putting callers: p50 relative to an echo").OnDisk().
			Meaning("Readers, who ask by alias, do not wait for writers.")
	besideP99 = measure.AtMost(4, "the same: p99").OnDisk().Meaning("Nor do those that wait longest.")
)

// besideReaders read: few, so that what they wait for is the putters' work and not each other's.
const besideReaders = 2

// readsBesidePuts holds the time of Assemble of 10 turns by their alias, as agents ask for them, while many callers put turns without
// pause, against that of an echo that takes the same request and answers the same bytes. Both are answered by one process, so that
// interceptors, collector and everything that the puts keep busy are the same for both. The puts go on through all rounds.
func readsBesidePuts(ctx context.Context, e *env) ([]measure.Figure, error) {
	s, err := e.limit(limit.Beside)
	if err != nil {
		return nil, err
	}
	sides, err := s.besideSides(ctx)
	if err != nil {
		return nil, err
	}
	puts, err := s.puts("puts beside", e.busy)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	group := new(errgroup.Group)
	for i := range e.busy {
		group.Go(func() (err error) {
			for err == nil {
				err = puts.Call(ctx, i, 0)
			}
			if ctx.Err() != nil && status.Code(err) == codes.Canceled {
				return nil
			}
			return err
		})
	}
	o, err := measure.Contest(ctx, e.rounds, 2*e.round, sides...)
	end()
	if ended := group.Wait(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, err
	}
	return []measure.Figure{
		measure.Versus(besideP50, o[0], o[1], (*measure.Sample).P50), measure.Versus(besideP99, o[0], o[1], (*measure.Sample).P99),
	}, nil
}

// besideSides ask for a chain of 10 turns, and for what the echo makes of it.
func (s *server) besideSides(ctx context.Context) ([]*measure.Side, error) {
	conn, err := s.conn()
	if err != nil {
		return nil, err
	}
	if _, err := s.fill(ctx, alias, s.e.seeds(few), few); err != nil {
		return nil, err
	}
	r := &raw.Reader{Conn: conn, Namespace: s.namespace}
	reply, err := r.Assemble(ctx, raw.ByAlias(alias), "")
	if err != nil {
		return nil, err
	}
	if err := conn.Invoke(ctx, limit.Record, wrapperspb.Bytes(reply), new(emptypb.Empty)); err != nil {
		return nil, err
	}
	size := len(reply)
	req := &transcriptv1.AssembleRequest{Namespace: s.namespace, Head: raw.ByAlias(alias)}
	side := func(name, method string) *measure.Side {
		return &measure.Side{Name: name, Callers: besideReaders, Call: func(ctx context.Context, _, _ int) error {
			again, err := r.Call(ctx, method, req)
			if err != nil {
				return err
			}
			return raw.SameSize(&size, len(again))
		}}
	}
	return []*measure.Side{
		side("Assemble of 10 turns", transcriptv1.TranscriptService_Assemble_FullMethodName), side("an echo", limit.Echo),
	}, nil
}
