package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// memoryCallers stream, and as many put.
	memoryCallers = 64
	// memoryChain is how many turns a chain has, memoryBatch how many one request puts while the store is filled by
	// memoryFillers at once.
	memoryChain   = 1000
	memoryBatch   = 200
	memoryFillers = 8
	// blockSeconds is how long memory is taken to depend on what it was. Where it depends on it for longer, a merge of many
	// tables say, the standard error of the slope is more than is told.
	blockSeconds = 30
)

// What the figures of this row are of.
var (
	memoryMost   = claim{"anonymous memory under load: the most", atMost(512).in("MiB")}
	memoryGrowth = claim{"anonymous memory under load: growth in the second half", under(1).in("MiB/min")}
)

// memoryUnderLoad is row 20: a store of 2 GB, as the disk counts it, in chains of 1,000 turns; transcriptd, started again
// on it with default flags; then 64 callers that stream chains chosen over the whole store, one after the other, and 64 that
// each put turns onto a chain of their own, a new one each 1,000. Each caller has a connection of its own, and what is
// streamed is not decoded, so that the server gets as much of the machine as there is. RssAnon is read each second.
//
// The maximum is over all of it, the start included; the slope is that of the line of least squares through the second half.
// Memory goes up and down by more than the slope's target in a minute, so beside it stand its standard error and the most in
// either half: a heap that grows grows in those too.
//
// What callers wait for is told beside it: for a put, a stream and its first frame under load, and for the puts of 200 turns
// with which eight callers fill the store as fast as it takes them. A writer waits longest where a merge holds it up.
func memoryUnderLoad(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids("the process runs elsewhere", memoryMost, memoryGrowth), nil
	}
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	if _, err := s.memory(); errors.Is(err, errNoProc) {
		return voids(err.Error(), memoryMost, memoryGrowth), nil
	}
	f, err := fillToDisk(ctx, s, e.memoryStore())
	if err != nil {
		return nil, fmt.Errorf("fill the store: %w", err)
	}
	u, err := underLoad(ctx, s, f.heads, e.shorter(10*time.Minute, time.Minute))
	if err != nil {
		return nil, err
	}
	u.sides = append(append(u.sides, f.measured()...), mebibytes("store on disk at the start", float64(f.disk)))
	figures := []Figure{
		figure(memoryMost, mostOf(u.memory)/(1<<20), u.measured()...),
		figure(memoryGrowth, u.growth()/(1<<20), u.worth()...),
	}
	if e.Quick {
		figures[0] = figures[0].voided("a minute on a small store does not tell the most of ten on a large one")
		figures[1] = figures[1].voided("a minute is too short to tell growth from a heap that fills for the first time")
	}
	return figures, nil
}

// memoryStore is how many bytes of the disk the store is to take.
func (e *env) memoryStore() int64 {
	if e.Quick {
		return 200e6
	}
	return 2e9
}

// memory is what the server's process takes.
func (s *server) memory() (residence, error) { return memoryOf(s.process.cmd.Process.Pid) }

// load is what was measured while a server was under load.
type load struct {
	// memory has a value a second.
	memory []residence
	sides  []Measured
}

// underLoad lets callers stream and others put for a while, and looks at the server's memory meanwhile.
func underLoad(ctx context.Context, s *server, chains []string, while time.Duration) (*load, error) {
	first := new(waits)
	streams, err := streamingSide(s, chains, first.add)
	if err != nil {
		return nil, err
	}
	puts, err := puttingSide(s)
	if err != nil {
		return nil, err
	}
	l := &load{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	samples := make([]*sample, 2)
	group, working := errgroup.WithContext(ctx)
	for i, side := range []*side{streams, puts} {
		side.calls = make([]int, side.callers)
		group.Go(func() (err error) {
			if samples[i], err = side.work(working, while); err != nil {
				err = fmt.Errorf("%s: %w", side.name, err)
			}
			return err
		})
	}
	group.Go(func() error { return s.e.profileLoad(working, while) })
	watched := make(chan error, 1)
	go func() { watched <- l.watch(ctx, s) }()
	err = group.Wait()
	cancel()
	if err := errors.Join(err, <-watched); err != nil {
		return nil, err
	}
	for i, side := range []*side{streams, puts} {
		l.sides = append(l.sides, samples[i].waited(side.name, side.callers)...)
	}
	l.sides = append(l.sides, first.sample(samples[0].while).waited("first frame of those streams", memoryCallers)...)
	return l, nil
}

// watch reads the server's memory each second until ctx ends, and tells of it each minute.
func (l *load) watch(ctx context.Context, s *server) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		now, err := s.memory()
		if err != nil {
			return err
		}
		l.memory = append(l.memory, now)
		if n := len(l.memory); n%60 == 0 {
			s.e.note("after %d s: %d MiB anonymous, %.0f at most", n, now.anonymous>>20, mostOf(l.memory)/(1<<20))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-second.C:
		}
	}
}

// streamingSide streams one of the chains after the other, each caller in an order of its own. How long each first frame took
// is told to first, by several callers at once.
func streamingSide(s *server, chains []string, first func(time.Duration)) (*side, error) {
	connections, err := s.connections(memoryCallers)
	if err != nil {
		return nil, err
	}
	return &side{name: "StreamAssemble of 1,000 turns", callers: memoryCallers, call: func(ctx context.Context, caller, i int) error {
		random := rand.New(rand.NewPCG(uint64(caller), uint64(i)))
		n, err := streamedBytes(ctx, connections[caller], &transcriptv1.StreamAssembleRequest{
			Namespace: s.namespace, Head: byID(chains[random.IntN(len(chains))]),
		}, first)
		if err == nil && n < 3000*memoryChain {
			err = fmt.Errorf("a chain of %d turns came as %d bytes", memoryChain, n)
		}
		return err
	}}, nil
}

// puttingSide puts turn after turn, each caller onto a chain of its own.
func puttingSide(s *server) (*side, error) {
	clients, err := s.clients(memoryCallers)
	if err != nil {
		return nil, err
	}
	heads := make([]string, memoryCallers)
	return &side{name: "PutNode of a turn", callers: memoryCallers, call: func(ctx context.Context, caller, i int) error {
		req := &transcriptv1.PutNodeRequest{Namespace: s.namespace, Messages: turn(s.e.seeds(1))}
		if i%memoryChain > 0 {
			req.Parent = byID(heads[caller])
		}
		res, err := clients[caller].PutNode(ctx, req)
		if err == nil {
			heads[caller] = res.GetNodeId()
		}
		return err
	}}, nil
}

// connections are as many as n.
func (s *server) connections(n int) (all []*grpc.ClientConn, err error) {
	for range n {
		conn, err := s.connect()
		if err != nil {
			return nil, err
		}
		all = append(all, conn)
	}
	return all, nil
}

// clients are the generated client on n connections of their own.
func (s *server) clients(n int) (all []transcriptv1.TranscriptServiceClient, err error) {
	connections, err := s.connections(n)
	for _, conn := range connections {
		all = append(all, transcriptv1.NewTranscriptServiceClient(conn))
	}
	return all, err
}

// streamedBytes is the length of all frames of a stream, which are not decoded. How long the first took is told to first.
func streamedBytes(
	ctx context.Context, conn *grpc.ClientConn, req *transcriptv1.StreamAssembleRequest, first func(time.Duration),
) (n int, err error) {
	begin := time.Now()
	stream, err := transcriptv1.NewTranscriptServiceClient(conn).StreamAssemble(ctx, req,
		grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2(grpcproto.Name)}))
	if err != nil {
		return 0, err
	}
	for frames := 0; ; frames++ {
		var frame received
		switch err := stream.RecvMsg(&frame); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
		if frames == 0 {
			first(time.Since(begin))
		}
		n += len(frame.bytes)
	}
}
