package bench

import (
	"context"
	"encoding/hex"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// putLimit is PutNode without what makes it transcriptd's: the request is decoded as gRPC does, its payload encoded and
// made durable, and the reply has the usual size. Nothing is judged, hashed or looked up.
type putLimit struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	putter
}

// PutNode answers once the payload is durable. The node's id is made up.
func (l *putLimit) PutNode(_ context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	payload, err := proto.Marshal(&transcriptv1.Payload{Messages: req.Messages})
	if err != nil {
		return nil, err
	}
	n, err := l.put(payload)
	if err != nil {
		return nil, err
	}
	reply := echoedPut(req.Aliases)
	reply.NodeId = hex.EncodeToString(n.id[:])
	return reply, nil
}

// openCommitterLimit serves the bare committer: limit (g).
func openCommitterLimit(dir string, _ []string) (limit, error) {
	return openPutLimit(openCommitter(dir))
}

func openPutLimit(p putter, err error) (limit, error) {
	if err != nil {
		return nil, err
	}
	return &putLimit{putter: p}, nil
}
