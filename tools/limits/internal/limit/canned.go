package limit

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

// canned answers reads with what transcriptd answered, the same bytes in the same frames, from memory. It is an echo of puts: they
// are received and decoded, and answered with as many bytes as transcriptd's answer has.
type canned struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	reply  []byte
	frames [][]byte
}

// openCanned reads the chain of an alias from a transcriptd, whose address, namespace and alias are the arguments. Without it
// answers puts alone.
func openCanned(ctx context.Context, args []string) (_ service, err error) {
	c := new(canned)
	if len(args) != 3 {
		return c, nil
	}
	conn, err := raw.Dial(args[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	r := &raw.Reader{Conn: conn, Namespace: args[1]}
	if c.reply, err = r.Assemble(ctx, raw.ByAlias(args[2]), ""); err != nil {
		return nil, err
	}
	return c, r.Stream(ctx, raw.ByAlias(args[2]), func(frame []byte) { c.frames = append(c.frames, frame) })
}

func (c *canned) Close() error { return nil }

// Assemble answers the chain, whatever is asked for.
func (c *canned) Assemble(context.Context, *transcriptv1.AssembleRequest) (*transcriptv1.AssembleResponse, error) {
	reply := &transcriptv1.AssembleResponse{}
	reply.ProtoReflect().SetUnknown(c.reply)
	return reply, nil
}

// StreamAssemble sends the chain's frames, whatever is asked for.
func (c *canned) StreamAssemble(_ *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	for _, bytes := range c.frames {
		frame := &transcriptv1.StreamAssembleResponse{}
		frame.ProtoReflect().SetUnknown(bytes)
		if err := out.Send(frame); err != nil {
			return err
		}
	}
	return nil
}

// PutNode does nothing.
func (c *canned) PutNode(_ context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	return echoed(req.Aliases), nil
}

// echoedID has the length of a node's id.
var echoedID = strings.Repeat("5a", 32)

// echoed is of the size of the answer to a put in the middle of a chain.
func echoed(aliases []*transcriptv1.AliasUpdate) *transcriptv1.PutNodeResponse {
	totals := func() *transcriptv1.Counters {
		return &transcriptv1.Counters{
			Nodes: 1_000, Messages: 4_000, Depth: 3_000, RunLoops: 1_000, Bytes: 3_500_000, Tokens: 900_000, TokensEstimated: true,
		}
	}
	reply := &transcriptv1.PutNodeResponse{
		NodeId: echoedID, Created: true, Counters: &transcriptv1.ChainCounters{Full: totals(), Effective: totals()},
	}
	for _, a := range aliases {
		reply.Aliases = append(reply.Aliases, &transcriptv1.AliasResult{Name: a.Name, Changed: true, PreviousId: echoedID})
	}
	return reply
}
