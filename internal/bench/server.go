package bench

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// server is one of the servers that a row talks to: transcriptd, or a limit.
type server struct {
	e    *env
	addr string
	// process is nil where the server runs elsewhere.
	process *process
	// dir is where its data lies.
	dir string
	// namespace is the row's own.
	namespace string
}

// transcriptd starts a transcriptd on a fresh store with default flags and these; against a remote address it is the server
// there. It ends with the row.
func (e *env) transcriptd(flags ...string) (*server, error) {
	s := &server{e: e, addr: e.Remote, namespace: fmt.Sprintf("bench-%d-%x", e.row.number, e.machine.Run)}
	if e.Remote != "" {
		return s, nil
	}
	dir, err := e.folder("store")
	if err != nil {
		return nil, err
	}
	s.dir = dir
	return s, s.start(flags...)
}

// start runs transcriptd on the server's store.
func (s *server) start(flags ...string) (err error) {
	args := append([]string{
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--store=badger://" + s.dir, "--log-level=error",
	}, flags...)
	if s.process, err = startProcess(s.e.program, args...); err != nil {
		return err
	}
	s.addr = s.process.addr
	running := s.process
	s.e.serves = running
	s.e.ends(func() error {
		if s.process != running { // stopped, and perhaps started again
			return nil
		}
		return running.stop()
	})
	return nil
}

// stop drains and closes transcriptd; start opens the store again.
func (s *server) stop() error {
	if s.process == nil {
		return errNotOurs
	}
	running := s.process
	s.process = nil
	return running.stop()
}

// errNotOurs: a server elsewhere cannot be stopped.
var errNotOurs = errors.New("the server runs elsewhere")

// limit starts a limit: see ServeLimit.
func (e *env) limit(kind string, args ...string) (*server, error) {
	dir, err := e.folder(kind)
	if err != nil {
		return nil, err
	}
	words := append(append([]string(nil), e.Limit...), append([]string{kind, dir}, args...)...)
	p, err := startProcess(words[0], words[1:]...)
	if err != nil {
		return nil, err
	}
	e.ends(p.stop)
	return &server{e: e, addr: p.addr, process: p, dir: dir, namespace: "default"}, nil
}

// connect makes a connection as the SDK's is, which ends with the row, and waits for nothing. Every side has one of its own.
// Its calls have no deadline; the row's watchdog counts them.
func (s *server) connect() (*grpc.ClientConn, error) { return s.dial(s.e.dog.options()...) }

// connectUnwatched is connect for calls that have a deadline of their own: the watchdog knows nothing of them.
func (s *server) connectUnwatched() (*grpc.ClientConn, error) { return s.dial() }

func (s *server) dial(more ...grpc.DialOption) (*grpc.ClientConn, error) {
	options := append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(8<<20)))
	conn, err := grpc.NewClient(s.addr, append(options, more...)...)
	if err != nil {
		return nil, err
	}
	s.e.ends(conn.Close)
	return conn, nil
}

// rpc is the generated client on a connection of its own.
func (s *server) rpc() (transcriptv1.TranscriptServiceClient, error) {
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	return transcriptv1.NewTranscriptServiceClient(conn), nil
}

// client is the SDK's on a connection of its own.
func (s *server) client(options ...client.Option) (*client.Client, error) {
	own := []client.Option{client.WithNamespace(s.namespace), client.WithInsecure()}
	if s.e.Timeout > 0 {
		own = append(own, client.WithDeadline(s.e.Timeout), client.WithIdle(s.e.Timeout))
	}
	c, err := client.Dial(s.addr, append(own, options...)...)
	if err != nil {
		return nil, err
	}
	s.e.ends(c.Close)
	return c, nil
}

// fill puts a chain of turns, seeds first and up, and points an alias to its head, which it returns.
func (s *server) fill(ctx context.Context, alias string, first uint64, turns int) (head string, err error) {
	rpc, err := s.rpc()
	if err != nil {
		return "", err
	}
	for done := 0; done < turns; {
		req := &transcriptv1.PutNodesRequest{Namespace: s.namespace}
		for ; done < turns && len(req.Nodes) < 200; done++ {
			node := &transcriptv1.NewNode{Messages: turn(first + uint64(done)), Previous: len(req.Nodes) > 0}
			if len(req.Nodes) == 0 && head != "" {
				node.Parent = byID(head)
			}
			req.Nodes = append(req.Nodes, node)
		}
		last := req.Nodes[len(req.Nodes)-1]
		last.Aliases = []*transcriptv1.AliasUpdate{{Name: alias}}
		res, err := rpc.PutNodes(ctx, req)
		if err != nil {
			return "", err
		}
		head = res.Nodes[len(res.Nodes)-1].NodeId
	}
	return head, nil
}

func byID(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

func byAlias(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}
