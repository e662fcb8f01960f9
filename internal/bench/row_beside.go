package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// busyPutters put while others read.
	busyPutters = 64
	// besideReaders read: few, so that what they wait for is the putters' work and not each other's.
	besideReaders = 2
)

// What the figures of this row are of.
var (
	besideP50 = claim{"p50 of Assemble of 10 turns beside 64 putting callers, of an echo's", atMost(2).onDisk(syncsAtAll)}
	besideP99 = claim{"p99 of the same", atMost(4).onDisk(syncsAtAll)}
)

// readsBesidePuts holds the time of Assemble of 10 turns by their alias, as agents ask for them, while 64 callers put turns
// without pause, against that of an echo that takes the same request and answers the same bytes. Both are answered by one
// process (limit_beside.go): transcriptd's server and store with the echo registered beside its services, so that
// interceptors, collector and everything that the puts keep busy are the same for both. The client looks at neither reply's
// messages. Readers and putters have connections of their own, and the puts go on through all rounds.
func readsBesidePuts(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids("the echo has to be in the same process", besideP50, besideP99), nil
	}
	s, err := e.limit("beside")
	if err != nil {
		return nil, err
	}
	r, err := s.assembleReaders(ctx)
	if err != nil {
		return nil, err
	}
	busy, err := s.keepBusy(ctx)
	if err != nil {
		return nil, err
	}
	outcomes, err := e.contest(ctx, e.shorter(2*time.Second, 1500*time.Millisecond),
		&side{name: "Assemble of 10 turns", callers: besideReaders, call: r.read(transcriptv1.TranscriptService_Assemble_FullMethodName)},
		&side{name: "an echo of its size", callers: besideReaders, limit: true, call: r.read(besideEcho)})
	puts, fault := busy.stop()
	if err = errors.Join(err, fault); err != nil {
		return nil, err
	}
	assemble, echo := outcomes[0], outcomes[1]
	figures := []Figure{
		e.versus(besideP50, assemble, echo, (*sample).p50), e.versus(besideP99, assemble, echo, (*sample).p99),
	}
	figures[0].Measured = append(figures[0].Measured, puts)
	return figures, nil
}

// assembleReaders ask for the same chain, or for what the echo makes of it.
type assembleReaders struct {
	conn  *grpc.ClientConn
	req   *transcriptv1.AssembleRequest
	bytes int
}

// assembleReaders puts a chain of 10 turns and lets the echo answer what Assemble answers of it.
func (s *server) assembleReaders(ctx context.Context) (*assembleReaders, error) {
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	const alias = "short"
	if _, err := s.fill(ctx, alias, s.e.seeds(fewTurns), fewTurns); err != nil {
		return nil, err
	}
	r := &assembleReaders{conn: conn, req: &transcriptv1.AssembleRequest{Namespace: s.namespace, Head: byAlias(alias)}}
	reply := new(emptypb.Empty)
	if err := conn.Invoke(ctx, transcriptv1.TranscriptService_Assemble_FullMethodName, r.req, reply); err != nil {
		return nil, err
	}
	raw := reply.ProtoReflect().GetUnknown()
	r.bytes = len(raw)
	return r, conn.Invoke(ctx, besideRecord, wrapperspb.Bytes(raw), new(emptypb.Empty))
}

// read is a call of a method that answers the chain. Its fields stay bytes.
func (r *assembleReaders) read(method string) func(context.Context, int, int) error {
	return func(ctx context.Context, _, _ int) error {
		reply := new(emptypb.Empty)
		if err := r.conn.Invoke(ctx, method, r.req, reply); err != nil {
			return err
		}
		if n := len(reply.ProtoReflect().GetUnknown()); n != r.bytes {
			return fmt.Errorf("a reply of %d bytes, not %d", n, r.bytes)
		}
		return nil
	}
}

// putting are callers that put without pause.
type putting struct {
	group *errgroup.Group
	end   context.CancelFunc
	all   *conversations
	began time.Time
}

// keepBusy begins to put turns, from 64 callers on a connection.
func (s *server) keepBusy(ctx context.Context) (*putting, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	p := &putting{
		group: new(errgroup.Group), end: end, began: time.Now(),
		all: newConversations(s.namespace, s.e.seeds(differentTurns), busyPutters),
	}
	for i := range busyPutters {
		p.group.Go(func() error {
			for {
				if err := p.all.put(ctx, rpc, i); err != nil {
					return unlessEnded(ctx, err)
				}
			}
		})
	}
	return p, nil
}

// unlessEnded is nil for a call that was ended by its caller.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && status.Code(err) == codes.Canceled {
		return nil
	}
	return err
}

// stop ends the puts and tells how many there were.
func (p *putting) stop() (Measured, error) {
	p.end()
	err := p.group.Wait()
	n := 0
	for i := range p.all.all {
		n += p.all.all[i].puts
	}
	return Measured{
		Name: "puts beside", Value: float64(n) / time.Since(p.began).Seconds(), Unit: "a second",
	}, err
}
