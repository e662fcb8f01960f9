package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// served serves a limit within this process, with the gRPC server that it has in its own.
func served(t *testing.T, kind string, args ...string) *grpc.ClientConn {
	t.Helper()
	l, err := limits()[kind](t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	listener := bufconn.Listen(1 << 20)
	grpcServer := limitServer(l)
	go func() {
		if err := grpcServer.Serve(listener); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(grpcServer.Stop)
	conn, err := grpc.NewClient("passthrough:///limit", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func rawReader(conn *grpc.ClientConn) *reader {
	return newReader(&server{namespace: "default"}, conn)
}

func streamed(t *testing.T, r *reader, alias string) (frames [][]byte) {
	t.Helper()
	if err := r.frames(t.Context(), alias, func(frame []byte) { frames = append(frames, frame) }); err != nil {
		t.Fatal(err)
	}
	return frames
}

// TestMemoryAnswersWhatWasRecorded: byte for byte and frame by frame, also large replies and those that parse as nothing.
func TestMemoryAnswersWhatWasRecorded(t *testing.T) {
	frames := [][]byte{spliced(t, 1), spliced(t, 40), spliced(t, 3)}
	reply := spliced(t, 1_000)
	path := filepath.Join(t.TempDir(), "replies")
	err := recording{
		recordingKey(transcriptv1.TranscriptService_StreamAssemble_FullMethodName, "a"): frames,
		recordingKey(transcriptv1.TranscriptService_Assemble_FullMethodName, "b"):       {reply},
	}.write(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rawReader(served(t, "memory", path))
	for range 2 {
		if got := streamed(t, r, "a"); !slices.EqualFunc(got, frames, slices.Equal) {
			t.Errorf("a stream of %d frames came back otherwise, in %d", len(frames), len(got))
		}
		if got, err := r.whole(t.Context(), "b", ""); err != nil || !slices.Equal(got, reply) {
			t.Errorf("a reply of %d bytes came back otherwise, in %d: %v", len(reply), len(got), err)
		}
	}
	if _, err := r.whole(t.Context(), "a", ""); status.Code(err) != codes.NotFound {
		t.Errorf("what was recorded of another method: %v", err)
	}
	if err := r.stream(t.Context(), "b"); status.Code(err) != codes.NotFound {
		t.Errorf("what was recorded of another method: %v", err)
	}
}

// spliced is an encoded reply of so many turns.
func spliced(t *testing.T, turns int) []byte {
	t.Helper()
	reply := &transcriptv1.AssembleResponse{HeadId: echoedID}
	for i := range turns {
		reply.Messages = append(reply.Messages, turn(uint64(i))...)
	}
	b, err := proto.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEchoOfPuts: without a recording puts are answered all the same, in the size of transcriptd's answers.
func TestEchoOfPuts(t *testing.T) {
	rpc := transcriptv1.NewTranscriptServiceClient(served(t, "memory", ""))
	aliases := []*transcriptv1.AliasUpdate{{Name: "x"}, {Name: "y"}}
	one, err := rpc.PutNode(t.Context(), &transcriptv1.PutNodeRequest{Messages: turn(1), Aliases: aliases})
	if err != nil {
		t.Fatal(err)
	}
	if len(one.NodeId) != 64 || !one.Created || len(one.Aliases) != 2 || one.Aliases[1].Name != "y" || one.Counters.GetEffective() == nil {
		t.Errorf("a put is answered with %v", one)
	}
	many, err := rpc.PutNodes(t.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{{}, {Aliases: aliases}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(many.Nodes) != 2 || !proto.Equal(many.Nodes[1], one) {
		t.Errorf("puts are answered with %v", many)
	}
}

// TestWalkGivesWhatWasPut: a chain put in several calls comes back whole and in order, in frames of about 64 KiB, also
// when more was put since; and its head is a node's id.
func TestWalkGivesWhatWasPut(t *testing.T) {
	conn := served(t, "walk")
	rpc := transcriptv1.NewTranscriptServiceClient(conn)
	var want []*transcriptv1.Message
	head := ""
	for call := range 3 {
		req := &transcriptv1.PutNodesRequest{}
		for i := range 25 {
			messages := turn(uint64(25*call + i))
			want = append(want, messages...)
			node := &transcriptv1.NewNode{Messages: messages, Previous: i > 0}
			if i == 0 && head != "" {
				node.Parent = byID(head)
			}
			req.Nodes = append(req.Nodes, node)
		}
		req.Nodes[24].Aliases = []*transcriptv1.AliasUpdate{{Name: "a"}}
		res, err := rpc.PutNodes(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		head = res.Nodes[24].NodeId
		if got := walked(t, conn, head); !slices.EqualFunc(got, want, func(a, b *transcriptv1.Message) bool { return proto.Equal(a, b) }) {
			t.Fatalf("of %d messages came %d, or others", len(want), len(got))
		}
	}
}

// walked is the chain of alias a, which must end in head, as a walk sends it.
func walked(t *testing.T, conn *grpc.ClientConn, head string) (messages []*transcriptv1.Message) {
	t.Helper()
	for i, frame := range streamed(t, rawReader(conn), "a") {
		var m transcriptv1.StreamAssembleResponse
		if err := proto.Unmarshal(frame, &m); err != nil {
			t.Fatal(err)
		}
		if len(frame) > walkFrameBytes+200 {
			t.Errorf("a frame has %d bytes", len(frame))
		}
		if (m.HeadId == head) != (i == 0) {
			t.Errorf("frame %d is of head %q", i, m.HeadId)
		}
		messages = append(messages, m.Messages...)
	}
	return messages
}

// TestWalkRefusesWhatIsNotThere: an alias never set, a parent's id that is none, and one that no node has.
func TestWalkRefusesWhatIsNotThere(t *testing.T) {
	conn := served(t, "walk")
	rpc := transcriptv1.NewTranscriptServiceClient(conn)
	if err := rawReader(conn).stream(t.Context(), "a"); err == nil {
		t.Error("an alias that was never set has a chain")
	}
	for _, parent := range []string{"12", echoedID[1:] + "x", echoedID + "00"} {
		req := &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{{Parent: byID(parent)}}}
		if _, err := rpc.PutNodes(t.Context(), req); err == nil {
			t.Errorf("%q is the id of a parent", parent)
		}
	}
	_, err := rpc.PutNodes(t.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
		{Parent: byID(echoedID), Aliases: []*transcriptv1.AliasUpdate{{Name: "a"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := rawReader(conn).stream(t.Context(), "a"); err == nil {
		t.Error("a chain without a root came whole")
	}
}

// TestReadersNoticeOtherSizes: two sides that do not answer the same are not held against each other.
func TestReadersNoticeOtherSizes(t *testing.T) {
	r := rawReader(nil)
	if err := errors.Join(r.same("a", 5), r.same("b", 6), r.same("a", 5)); err != nil {
		t.Error(err)
	}
	if r.same("a", 6) == nil {
		t.Error("6 bytes are taken for 5")
	}
}

// TestReadRecordingNamesItsFile: a file that is no recording is refused.
func TestReadRecordingNamesItsFile(t *testing.T) {
	if _, err := openMemory("", []string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a file that is not there has a recording")
	}
	if _, err := readRecording("limit_read_test.go"); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("this file is a recording: %v", err)
	}
}

// A walk whose database cannot be opened again tells every call why, and can be closed.
func TestWalkThatCannotBeOpenedAgain(t *testing.T) {
	opened, err := openWalk(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := opened.(*walkLimit)
	if _, err := l.PutNodes(t.Context(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{{Messages: turn(1)}}}); err != nil {
		t.Fatal(err)
	}
	l.dir = filepath.Join(t.TempDir(), "file", "beneath")
	if err := os.WriteFile(filepath.Dir(l.dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := l.walk("any"); err == nil || !strings.Contains(err.Error(), l.dir) {
			t.Errorf("a walk: %v", err)
		}
		if _, err := l.PutNodes(t.Context(), &transcriptv1.PutNodesRequest{}); err == nil || !strings.Contains(err.Error(), l.dir) {
			t.Errorf("a put: %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
