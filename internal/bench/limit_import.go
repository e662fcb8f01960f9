package bench

import (
	"context"
	"encoding/hex"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// importLimit is what an import needs of a server: no alias is there, and PutNodes makes payloads durable with the bare
// committer. Ids are those of transcriptd, since the import checks them; what has the id of something that is there is not
// written again, which costs a look into memory. Aliases are not kept, and nothing is judged.
type importLimit struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	*bareCommitter

	mu    sync.Mutex
	known map[importedID]bool
}

// importedID is a node of a namespace.
type importedID struct {
	namespace string
	id        [32]byte
}

// openImportLimit serves the bare committer to an import: limit (g).
func openImportLimit(dir string, _ []string) (limit, error) {
	p, err := openCommitter(dir)
	if err != nil {
		return nil, err
	}
	return &importLimit{bareCommitter: p.(*bareCommitter), known: map[importedID]bool{}}, nil
}

// ResolveAlias says as transcriptd does that the alias is not there.
func (l *importLimit) ResolveAlias(context.Context, *transcriptv1.ResolveAliasRequest) (*transcriptv1.ResolveAliasResponse, error) {
	refusal, err := status.New(codes.NotFound, "no such alias").
		WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: "ALIAS_NOT_FOUND"})
	if err != nil {
		return nil, err
	}
	return nil, refusal.Err()
}

// PutNodes answers once the payloads are durable.
func (l *importLimit) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	res := &transcriptv1.PutNodesResponse{Nodes: make([]*transcriptv1.PutNodeResponse, len(req.Nodes))}
	var fresh []*bareNode
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
			bare := l.node(n.Payload)
			bare.id = id
			fresh = append(fresh, bare)
		}
		res.Nodes[i] = echoedPut(in.Aliases)
		res.Nodes[i].NodeId, parent = hex.EncodeToString(id[:]), &id
	}
	if len(fresh) == 0 {
		return res, nil
	}
	return res, l.hand(fresh...)
}

// learn tells whether an id is new, and knows it from then on.
func (l *importLimit) learn(id importedID) bool {
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
