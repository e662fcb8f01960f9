package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// BenchmarkAssemble is a whole view of n turns over the wire; the client does not decode.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkAssemble(b, n) })
	}
}

func benchmarkAssemble(b *testing.B, n int) {
	conn := testserver.StartMemory(b)
	client := transcriptv1.NewTranscriptServiceClient(conn)
	req := &transcriptv1.PutNodesRequest{}
	for i := range n {
		req.Nodes = append(req.Nodes, &transcriptv1.NewNode{
			Previous: i > 0, Messages: []*Message{user(fmt.Sprint(i) + strings.Repeat("x", 3500))},
		})
	}
	req.Nodes[n-1].Aliases = []*Update{{Name: "chat"}}
	if _, err := client.PutNodes(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(n * 3500))
	b.ReportAllocs()
	for b.Loop() {
		var reply []byte
		err := conn.Invoke(b.Context(), transcriptv1.TranscriptService_Assemble_FullMethodName,
			&Assemble{Head: byAlias("chat")}, &reply, grpc.ForceCodecV2(raw{}))
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutNode is one small node a call, one caller.
func BenchmarkPutNode(b *testing.B) {
	client := transcriptv1.NewTranscriptServiceClient(testserver.StartMemory(b))
	root, err := client.PutNode(b.Context(), &PutNode{Messages: []*Message{system("s")}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, err := client.PutNode(b.Context(), &PutNode{Parent: byID(root.NodeId), Messages: []*Message{user(fmt.Sprint(i))}})
		if err != nil {
			b.Fatal(err)
		}
	}
}
