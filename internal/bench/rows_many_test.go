package bench

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	transcriptd "github.com/transcriptd/transcriptd/server"
)

// inMemory is transcriptd's server over a store in memory, for a row.
func inMemory(t *testing.T) *server {
	t.Helper()
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return listening(t, transcriptd.New(store, transcriptd.Config{}).GRPC())
}

// listening serves over TCP, for a row.
func listening(t *testing.T, s *grpc.Server) *server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return &server{e: rowEnv(t), addr: listener.Addr().String(), namespace: "test"}
}

// Writers that go on at once with the head that won all succeed, and the chain has a node for each success.
func TestMoversLoseNothing(t *testing.T) {
	m, err := inMemory(t).movers(t.Context(), "one", 8)
	if err != nil {
		t.Fatal(err)
	}
	const moves = 25
	group := new(errgroup.Group)
	for writer := range m.seen {
		group.Go(func() error {
			for i := range moves {
				if err := m.move(t.Context(), writer, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, len(m.seen))
	for i := range counts {
		counts[i] = moves
	}
	if f, err := m.lost(t.Context(), counts); err != nil || !f.Met || f.Figure != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	counts[3]++ // as if a writer had been told of a success that is not there
	if f, err := m.lost(t.Context(), counts); err != nil || f.Met || f.Figure != 1 {
		t.Errorf("one lost: %+v, %v", f, err)
	}
}

// A move that loses for another reason than its alias having moved ends.
func TestMoverGivesUp(t *testing.T) {
	m, err := inMemory(t).movers(t.Context(), "one", 1)
	if err != nil {
		t.Fatal(err)
	}
	m.seen[0] = strings.Repeat("0", 64)
	if err := m.move(t.Context(), 0, 0); err == nil {
		t.Error("a move from a node that is not there succeeded")
	}
}

func TestFairness(t *testing.T) {
	for most, met := range map[int]bool{30: true, 31: false} {
		f := fairness(&outcome{rounds: []*sample{{calls: []int{50, 1}}, {calls: []int{12, 10, most}}, {calls: []int{10, 10}}}})
		if worst := f.Measured[2].Value; worst != 50 || f.Met != met || f.Figure != float64(most)/10 {
			t.Errorf("%+v", f)
		}
	}
}

// The echo beside transcriptd answers the bytes that Assemble does, of the same request.
func TestBesideEchoesAssemble(t *testing.T) {
	conn := served(t, "beside")
	rpc := transcriptv1.NewTranscriptServiceClient(conn)
	put := &transcriptv1.PutNodeRequest{Messages: turn(1), Aliases: []*transcriptv1.AliasUpdate{{Name: "some"}}}
	if _, err := rpc.PutNode(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	req := &transcriptv1.AssembleRequest{Head: byAlias("some")}
	if err := conn.Invoke(t.Context(), besideEcho, req, new(emptypb.Empty)); err == nil {
		t.Error("it answers before there is something to answer")
	}
	assembled := raw(t, conn, transcriptv1.TranscriptService_Assemble_FullMethodName, req)
	if err := conn.Invoke(t.Context(), besideRecord, wrapperspb.Bytes(assembled), new(emptypb.Empty)); err != nil {
		t.Fatal(err)
	}
	if echo := raw(t, conn, besideEcho, req); string(echo) != string(assembled) || len(echo) == 0 {
		t.Errorf("%d bytes assembled, %d echoed", len(assembled), len(echo))
	}
}

// Readers ask for ten turns by their alias, whichever of the two answers.
func TestReadersBesidePutsAskByAlias(t *testing.T) {
	l, err := openBeside(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := listening(t, limitServer(l))
	r, err := s.assembleReaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.req.Head.GetAlias() == "" || r.bytes < 10*3500 {
		t.Errorf("they ask for %v, of %d bytes", r.req.Head, r.bytes)
	}
	for _, method := range []string{transcriptv1.TranscriptService_Assemble_FullMethodName, besideEcho} {
		if err := r.read(method)(t.Context(), 0, 0); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// raw is a reply as it came.
func raw(t *testing.T, conn *grpc.ClientConn, method string, req *transcriptv1.AssembleRequest) []byte {
	t.Helper()
	reply := new(emptypb.Empty)
	if err := conn.Invoke(t.Context(), method, req, reply); err != nil {
		t.Fatal(err)
	}
	return reply.ProtoReflect().GetUnknown()
}

// Putters put until they are stopped, each on a chain of its own.
func TestKeepBusy(t *testing.T) {
	s := inMemory(t)
	busy, err := s.keepBusy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	puts, err := busy.stop()
	if err != nil || puts.Value <= 0 {
		t.Errorf("%+v, %v", puts, err)
	}
}

// A server that takes no more connections is not waited for by one connection after the other.
func TestConnectionsThatAreNotTaken(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // where the kernel answers, and nobody else
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	s := &server{e: rowEnv(t), addr: listener.Addr().String(), namespace: "test"}
	lean, err := s.connectLean(100 * dialers)
	if err != nil {
		t.Fatal(err)
	}
	all := callEach(t.Context(), lean.conns, &transcriptv1.GetNodeRequest{}, 10*time.Millisecond)
	if all.calls != 100*dialers || all.served != 0 || all.fault == nil {
		t.Errorf("%+v", all)
	}
	if made := lean.made.Load(); made > 2*dialers {
		t.Errorf("%d connections were tried", made)
	}
	if f := all.figures(s.e)[0]; f.Met || f.Figure != 0 {
		t.Errorf("%+v", f)
	}
}

func TestConnectionsAreServed(t *testing.T) {
	s := inMemory(t)
	head, err := s.fill(t.Context(), "one", 1, 30)
	if err != nil {
		t.Fatal(err)
	}
	lean, err := s.connectLean(3)
	if err != nil {
		t.Fatal(err)
	}
	conns := lean.conns
	all := callEach(t.Context(), conns, &transcriptv1.GetNodeRequest{Namespace: s.namespace, Node: byID(head)}, patience)
	if all.calls != 3 || all.served != 3 || all.fault != nil {
		t.Errorf("%+v", all)
	}
	all.add(callEach(t.Context(), conns[:1], &transcriptv1.GetNodeRequest{Namespace: s.namespace, Node: byAlias("none")}, patience))
	if all.calls != 4 || all.served != 3 || all.fault == nil {
		t.Errorf("with one that fails: %+v", all)
	}
	if d := lean.dropped(); lean.made.Load() != 3 || d.served != 0 || d.fault != nil {
		t.Errorf("%d connections made, %+v", lean.made.Load(), d)
	}
	lean.made.Add(2)
	if all.add(lean.dropped()); all.calls != 4 || all.served != 1 {
		t.Errorf("with two that did not last: %+v", all)
	}
	n, err := readStream(t.Context(), conns[0], &transcriptv1.StreamAssembleRequest{Namespace: s.namespace, Head: byID(head)})
	if err != nil || n < 30*3500 {
		t.Errorf("a stream of %d bytes, %v", n, err)
	}
}

// brief answers puts, and streams of one frame.
type brief struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	puts, streams atomic.Int64
}

func (b *brief) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	b.puts.Add(1)
	reply := &transcriptv1.PutNodesResponse{}
	for range req.Nodes {
		reply.Nodes = append(reply.Nodes, &transcriptv1.PutNodeResponse{NodeId: "id"})
	}
	return reply, nil
}

func (b *brief) StreamAssemble(_ *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	b.streams.Add(1)
	return out.Send(&transcriptv1.StreamAssembleResponse{HeadId: "id"})
}

// Active streams have a minute each: the watchdog, which would end the row sooner, hears of no other call than puts.
func TestActiveStreamsAreNotWatched(t *testing.T) {
	service := new(brief)
	s := serve(t, rowEnv(t), service)
	all, err := s.active(t.Context(), 0)
	if err != nil || all.calls != activeStreams || all.served != activeStreams {
		t.Fatalf("%+v, %v", all, err)
	}
	if n := service.streams.Load(); n != activeStreams+1 {
		t.Errorf("%d streams", n)
	}
	if begun := s.e.dog.begun.Load(); begun != service.puts.Load() || begun == 0 {
		t.Errorf("the watchdog knows of %d calls, of which %d are puts", begun, service.puts.Load())
	}
}
