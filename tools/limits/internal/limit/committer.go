package limit

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// puts is PutNode without what makes it transcriptd's: the request is decoded as gRPC does, its payload encoded and made durable,
// and the reply has the usual size. Nothing is judged, hashed, indexed or looked up.
type puts struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	*BareCommitter
}

func openPuts(dir string) (service, error) {
	c, err := OpenCommitter(dir)
	return &puts{BareCommitter: c}, err
}

// PutNode answers once the payload is durable. The node's id is made up.
func (p *puts) PutNode(_ context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	payload, err := proto.Marshal(&transcriptv1.Payload{Messages: req.Messages})
	if err != nil {
		return nil, err
	}
	return echoed(req.Aliases), p.Put(payload)
}

// Import is what an import needs of a server: no alias is there, and PutNodes makes payloads durable with the bare committer. Ids
// are transcriptd's, since the import checks them; what has the id of something that is there is not written again, which costs a
// look into memory. Aliases are not kept, and nothing is judged.
type Import struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	*BareCommitter
	// Batches takes the payloads of each request, where it is not nil.
	Batches *[][][]byte

	mu    sync.Mutex
	known map[importedID]bool
}

// importedID is a node of a namespace.
type importedID struct {
	namespace string
	id        [32]byte
}

// OpenImport opens it in an empty folder.
func OpenImport(dir string) (*Import, error) {
	c, err := OpenCommitter(dir)
	return &Import{BareCommitter: c, known: map[importedID]bool{}}, err
}

// Listen serves it in this process until stop, which closes it.
func (l *Import) Listen(ctx context.Context) (addr string, stop func() error, err error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", nil, err
	}
	g := grpcServer(l)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	return listener.Addr().String(), func() error {
		g.Stop()
		return errors.Join(<-served, l.Close())
	}, nil
}

// ResolveAlias says as transcriptd does that the alias is not there.
func (l *Import) ResolveAlias(context.Context, *transcriptv1.ResolveAliasRequest) (*transcriptv1.ResolveAliasResponse, error) {
	refusal, err := status.New(codes.NotFound, "no such alias").
		WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: "ALIAS_NOT_FOUND"})
	if err != nil {
		return nil, err
	}
	return nil, refusal.Err()
}

// PutNodes answers once the payloads are durable.
func (l *Import) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	res := &transcriptv1.PutNodesResponse{Nodes: make([]*transcriptv1.PutNodeResponse, len(req.Nodes))}
	var fresh []node
	var parent *[32]byte
	for i, in := range req.Nodes {
		if !in.Previous {
			var err error
			if parent, err = parentOf(in); err != nil {
				return nil, err
			}
		}
		n := canonical.NewNode(in.Messages, in.Metadata, in.Salt)
		id := canonical.NodeID(n.Envelope(parent, nil))
		if l.learn(importedID{req.Namespace, id}) {
			fresh = append(fresh, node{id, n.Payload})
		}
		res.Nodes[i], parent = echoed(in.Aliases), &id
		res.Nodes[i].NodeId = hex.EncodeToString(id[:])
	}
	if len(fresh) == 0 {
		return res, nil
	}
	l.record(fresh)
	return res, l.hand(fresh)
}

func (l *Import) record(nodes []node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Batches == nil {
		return
	}
	batch := make([][]byte, len(nodes))
	for i := range nodes {
		batch[i] = nodes[i].payload
	}
	*l.Batches = append(*l.Batches, batch)
}

// learn tells whether an id is new, and knows it from then on.
func (l *Import) learn(id importedID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[id] {
		return false
	}
	l.known[id] = true
	return true
}

// parentOf is the id of the parent that a node names by its id; nil for a root.
func parentOf(in *transcriptv1.NewNode) (*[32]byte, error) {
	if in.Parent == nil {
		return nil, nil
	}
	b, err := hex.DecodeString(in.Parent.GetNodeId())
	if err != nil || len(b) != 32 {
		return nil, status.Error(codes.InvalidArgument, "the parent is not named by its id")
	}
	id := [32]byte(b)
	return &id, nil
}
