package client

import (
	"net"
	"testing"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A reply that comes twice, say by a broken proxy, is that of a call which took place.
func TestReplyTwice(t *testing.T) {
	t.Parallel()
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(&transcriptv1.PutNodeRequest{}); err != nil {
			return err
		}
		if err := s.SendMsg(&transcriptv1.PutNodeResponse{}); err != nil {
			return err
		}
		return s.SendMsg(&transcriptv1.PutNodeResponse{})
	}))
	defer server.Stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	c, err := Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(t.Context(), Node{Messages: []*transcriptv1.Message{User("Hello?")}}); !MayHaveHappened(err) {
		t.Errorf("it is said that nothing was done: %v", err)
	}
}
