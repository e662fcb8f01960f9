package bench

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// recording is what transcriptd answered, byte for byte, by the rpc's name and the head's alias: see recordingKey. A unary
// reply is one message, a stream one for each frame.
type recording map[string][][]byte

func recordingKey(method, alias string) string { return method + " " + alias }

// write puts the recording into a new file.
func (r recording) write(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return gob.NewEncoder(f).Encode(r)
}

func readRecording(path string) (r recording, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := gob.NewDecoder(f).Decode(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// memoryLimit is what ready bytes cost behind gRPC. It answers reads with a recording of transcriptd: the same bytes in the
// same frames, through the same codec. It is an echo of puts: it receives them as gRPC does, decoded, and answers what has
// the size of transcriptd's answer.
type memoryLimit struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	replies recording
}

// openMemory needs no folder. args[0], if it is there and not empty, is the file of a recording.
func openMemory(_ string, args []string) (limit, error) {
	if len(args) == 0 || args[0] == "" {
		return &memoryLimit{}, nil
	}
	replies, err := readRecording(args[0])
	return &memoryLimit{replies: replies}, err
}

func (l *memoryLimit) Close() error { return nil }

// recorded are the messages that transcriptd answered, at least one.
func (l *memoryLimit) recorded(method string, head *transcriptv1.NodeRef) ([][]byte, error) {
	if messages := l.replies[recordingKey(method, head.GetAlias())]; len(messages) > 0 {
		return messages, nil
	}
	return nil, status.Error(codes.NotFound, "nothing is recorded for this head")
}

// Assemble answers what was recorded for the head's alias, whatever else is asked for.
func (l *memoryLimit) Assemble(_ context.Context, req *transcriptv1.AssembleRequest) (*transcriptv1.AssembleResponse, error) {
	messages, err := l.recorded(transcriptv1.TranscriptService_Assemble_FullMethodName, req.GetHead())
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.AssembleResponse{}
	reply.ProtoReflect().SetUnknown(messages[0])
	return reply, nil
}

// StreamAssemble sends the frames that were recorded for the head's alias, whatever else is asked for.
func (l *memoryLimit) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	messages, err := l.recorded(transcriptv1.TranscriptService_StreamAssemble_FullMethodName, req.GetHead())
	if err != nil {
		return err
	}
	for _, bytes := range messages {
		frame := &transcriptv1.StreamAssembleResponse{}
		frame.ProtoReflect().SetUnknown(bytes)
		if err := out.Send(frame); err != nil {
			return err
		}
	}
	return nil
}

// PutNode does nothing.
func (l *memoryLimit) PutNode(_ context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	return echoedPut(req.Aliases), nil
}

// PutNodes does nothing.
func (l *memoryLimit) PutNodes(_ context.Context, req *transcriptv1.PutNodesRequest) (*transcriptv1.PutNodesResponse, error) {
	reply := &transcriptv1.PutNodesResponse{}
	for _, node := range req.Nodes {
		reply.Nodes = append(reply.Nodes, echoedPut(node.Aliases))
	}
	return reply, nil
}

// echoedID has the length of a node's id.
var echoedID = strings.Repeat("5a", 32)

// echoedPut is of the size of the answer to a put in the middle of a chain.
func echoedPut(aliases []*transcriptv1.AliasUpdate) *transcriptv1.PutNodeResponse {
	reply := &transcriptv1.PutNodeResponse{
		NodeId: echoedID, Created: true, Counters: &transcriptv1.ChainCounters{
			Full: echoedTotals(), Effective: echoedTotals(),
		},
	}
	for _, a := range aliases {
		reply.Aliases = append(reply.Aliases, &transcriptv1.AliasResult{Name: a.Name, Changed: true, PreviousId: echoedID})
	}
	return reply
}

func echoedTotals() *transcriptv1.Counters {
	return &transcriptv1.Counters{
		Nodes: 1_000, Messages: 4_000, Depth: 3_000, RunLoops: 1_000, Bytes: 3_500_000, Tokens: 900_000, TokensEstimated: true,
	}
}
