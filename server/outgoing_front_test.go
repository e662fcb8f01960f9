package server

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// slowConn is a connection of its own, on which at most 64 KiB come of a reply that is not read.
func (c *crowd) slowConn() (conn *grpc.ClientConn, leave func()) {
	c.Helper()
	conn, err := grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<20),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx) }))
	if err != nil {
		c.Fatal(err)
	}
	return conn, func() { _ = conn.Close() }
}

// unread begins a call of Assemble and does not read the reply.
func (c *crowd) unread(conn *grpc.ClientConn, head string) {
	c.Helper()
	stream, err := conn.NewStream(c.Context(), &grpc.StreamDesc{}, transcriptv1.TranscriptService_Assemble_FullMethodName)
	if err == nil {
		err = stream.SendMsg(assembleOf(head))
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		c.Fatal(err)
	}
	synctest.Wait()
}

// findings puts so many results without a call below a node.
func (c *crowd) findings(head string, n int) string {
	c.Helper()
	for i := range n {
		reply, err := c.PutNode(c.Context(), &transcriptv1.PutNodeRequest{
			Parent: idRef(head),
			Messages: []*transcriptv1.Message{{
				Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: proto.String(fmt.Sprint(i)),
				Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "r"}}},
			}},
		})
		if err != nil {
			c.Fatal(err)
		}
		head = reply.NodeId
	}
	return head
}

// A reply keeps its room until its messages are sent, however much there is in front of them.
func TestRoomOfWhatIsBehindALongReport(t *testing.T) {
	replying(t, func(c *crowd) {
		const bytes, calls = 2900 << 10, 8
		head := c.findings(c.chainOf(1, bytes), 110)
		conn, leave := c.slowConn()
		defer leave()
		for range calls { // one after the other: each finds what room the others leave
			c.unread(conn, head)
		}
		made := calls - c.metric("transcriptd_server_replies_waiting")
		if held := c.metric("transcriptd_server_replies_bytes"); made == 0 || held < made*bytes {
			t.Errorf("%g replies are made and not taken, and %g bytes held", made, held)
		}
	})
}

// leaveNoRoom has all room for small replies taken by so many connections that read nothing, and returns clients on them.
func (c *crowd) leaveNoRoom(head string, conns int) (clients []transcriptv1.TranscriptServiceClient, leave func()) {
	c.Helper()
	var leaves []func()
	for range conns {
		conn, leave := c.slowConn()
		leaves = append(leaves, leave)
		client := transcriptv1.NewTranscriptServiceClient(conn)
		clients = append(clients, client)
		for range 200 {
			if _, err := client.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)}); err != nil {
				c.Fatal(err)
			}
		}
		synctest.Wait()
	}
	return clients, func() {
		for _, leave := range leaves {
			leave()
		}
	}
}

// A write does not wait for the room of its reply: it would have a place among the writes under way.
func TestWritesDoNotWaitForRoomToReply(t *testing.T) {
	replying(t, func(c *crowd) {
		clients, leave := c.leaveNoRoom(c.chainOf(30, 32<<10), 4)
		defer leave()
		put := func(ctx context.Context, client transcriptv1.TranscriptServiceClient, i int) error {
			req := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
				Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint(i)}}},
			}}}
			for n := range 8 {
				req.Aliases = append(req.Aliases, &transcriptv1.AliasUpdate{Name: fmt.Sprintf("%d/%d", i, n)})
			}
			_, err := client.PutNode(ctx, req)
			return err
		}
		for i := range 120 {
			c.running.Go(func() { _ = put(c.Context(), clients[i%4], i) })
		}
		synctest.Wait()
		began := time.Now()
		if err := put(c.Context(), c.TranscriptServiceClient, 1000); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a write of another waited %s", waited)
		}
	})
}

// Who waits for the room that only its connection has is answered as well when there is room of all.
func TestSmallRepliesTakeWhatRoomThereIs(t *testing.T) {
	replying(t, func(c *crowd) {
		head := c.chainOf(30, 32<<10)
		o := c.server.transport.Replies
		if !o.Small.TryAcquire(reply.SmallBytes) || !o.Batches.TryAcquire(reply.RepliesBytes/2) {
			t.Fatal("there is no room")
		}
		conn, leave := c.slowConn()
		defer leave()
		client := transcriptv1.NewTranscriptServiceClient(conn)
		for range reply.OwnBytes / reply.SmallReply {
			if _, err := client.StreamAssemble(c.Context(), &transcriptv1.StreamAssembleRequest{Head: idRef(head)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		ended := make(chan error, 1)
		c.running.Go(func() {
			_, err := client.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"})
			ended <- err
		})
		synctest.Wait()
		began := time.Now()
		o.Small.Release(reply.SmallBytes)
		o.Batches.Release(reply.RepliesBytes / 2)
		if err := <-ended; status.Code(err) != codes.NotFound {
			t.Error(err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waited %s although there was room", waited)
		}
	})
}

// What reflection replies is counted, too.
func TestRepliesOfReflectionNobodyTakes(t *testing.T) {
	replying(t, func(c *crowd) {
		conn, leave := c.slowConn()
		defer leave()
		const streams = 200
		for range streams {
			stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(c.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
					FileContainingSymbol: transcriptv1.TranscriptService_ServiceDesc.ServiceName,
				}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		if held := c.metric("transcriptd_server_replies_bytes"); held < streams*reply.SmallReply/4 || held > reply.SmallBytes+reply.OwnBytes {
			t.Errorf("%g bytes are held", held)
		}
	})
}
