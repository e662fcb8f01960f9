// Package raw reads chains as fast as a client can: it takes the bytes of replies and does not decode them.
package raw

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// maxReply is more than any reply has.
const maxReply = 8 << 20

// Dial makes a connection as the SDK's are. It is made when it is first used.
func Dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)))...)
}

// Reader reads the chains of a namespace.
type Reader struct {
	Conn      grpc.ClientConnInterface
	Namespace string
}

// received is a reply as it came.
type received struct{ bytes []byte }

// codec is protobuf's, but leaves a *received as it is.
type codec struct{ encoding.CodecV2 }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*received); ok {
		r.bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

func undecoded() grpc.CallOption { return grpc.ForceCodecV2(codec{encoding.GetCodecV2(proto.Name)}) }

// ByAlias and ByID name nodes.
func ByAlias(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}

// ByID names a node by its id.
func ByID(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

// Assemble reads a chain, or what comes behind the node after, in one reply.
func (r *Reader) Assemble(ctx context.Context, head *transcriptv1.NodeRef, after string) ([]byte, error) {
	return r.Call(ctx, transcriptv1.TranscriptService_Assemble_FullMethodName,
		&transcriptv1.AssembleRequest{Namespace: r.Namespace, Head: head, AfterId: after})
}

// Call calls a unary method.
func (r *Reader) Call(ctx context.Context, method string, req any) ([]byte, error) {
	var reply received
	err := r.Conn.Invoke(ctx, method, req, &reply, undecoded())
	return reply.bytes, err
}

// Stream reads a chain frame by frame; frame is given each, which is its own then.
func (r *Reader) Stream(ctx context.Context, head *transcriptv1.NodeRef, frame func([]byte)) error {
	stream, err := transcriptv1.NewTranscriptServiceClient(r.Conn).StreamAssemble(ctx,
		&transcriptv1.StreamAssembleRequest{Namespace: r.Namespace, Head: head}, undecoded())
	if err != nil {
		return err
	}
	for {
		var f received
		if err := stream.RecvMsg(&f); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		frame(f.bytes)
	}
}

// SameSize is an error where a reply is empty, or has another size than the first, which it notes.
func SameSize(first *int, now int) error {
	if *first == 0 {
		*first = now
	}
	if now == 0 || now != *first {
		return fmt.Errorf("a reply of %d bytes, where the first had %d", now, *first)
	}
	return nil
}
