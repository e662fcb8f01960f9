package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// So many calls verify at once; another waits, until shortly before its deadline, or until one has ended.
func TestVerifiesTakeTurns(t *testing.T) {
	replying(t, func(c *crowd) {
		admin := transcriptv1.NewAdminServiceClient(c.conn)
		verify := func(ctx context.Context) error {
			stream, err := admin.Verify(ctx, &transcriptv1.VerifyRequest{})
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if !c.server.verifies.TryAcquire(maxVerifies) {
			t.Fatal("somebody verifies")
		}
		ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
		defer cancel()
		if err := verify(ctx); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more: %v", err)
		}
		ended := make(chan error, 1)
		c.running.Go(func() { ended <- verify(c.Context()) })
		<-time.After(time.Second)
		c.server.verifies.Release(maxVerifies)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A call that takes nothing of a backup loses its place to one that waits, and hears why; while nobody waits it keeps it.
func TestUnreadBackupsGiveWay(t *testing.T) {
	replying(t, func(c *crowd) {
		rpc, admin := transcriptv1.NewTranscriptServiceClient(c.conn), transcriptv1.NewAdminServiceClient(c.conn)
		random := rand.New(rand.NewPCG(1, 1))
		for range 8 { // more than gRPC takes for a client that does not read
			text := make([]byte, 128<<10)
			for i := range text {
				text[i] = byte('0' + random.IntN(70))
			}
			node := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{
				Kind: &transcriptv1.Part_Text{Text: string(text)},
			}}}}}
			if _, err := rpc.PutNode(c.Context(), node); err != nil {
				t.Fatal(err)
			}
		}
		if !c.server.verifies.TryAcquire(maxVerifies - 1) {
			t.Fatal("somebody verifies")
		}
		unread, err := admin.Backup(c.Context(), &transcriptv1.BackupRequest{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		began := time.Now()
		other, err := admin.Verify(c.Context(), &transcriptv1.VerifyRequest{})
		for err == nil {
			_, err = other.Recv()
		}
		if !errors.Is(err, io.EOF) || time.Since(began) > unreadAfter {
			t.Errorf("who waits ends after %s with %v", time.Since(began), err)
		}
		for err = nil; err == nil; {
			_, err = unread.Recv()
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("who reads nothing ends with %v", err)
		}
		c.server.verifies.Release(maxVerifies - 1)
	})
}

// An erasure whose client takes nothing ends, so that who waits until nothing is erased does not wait for it.
func TestUnreadErasuresEnd(t *testing.T) {
	replying(t, func(c *crowd) {
		rpc, admin := transcriptv1.NewTranscriptServiceClient(c.conn), transcriptv1.NewAdminServiceClient(c.conn)
		for i := range 8 { // whose reports are more than gRPC takes for a client that does not read
			req := &transcriptv1.PutNodesRequest{}
			for n := range 1000 {
				node := &transcriptv1.NewNode{Previous: n > 0, Salt: fmt.Appendf(nil, "salt %4d and %4d", i, n), Messages: []*transcriptv1.Message{{
					Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "a secret"}}},
				}}}
				if n == 999 {
					node.Aliases = []*transcriptv1.AliasUpdate{{Name: fmt.Sprintf("chat/%d", i)}}
				}
				req.Nodes = append(req.Nodes, node)
			}
			if _, err := rpc.PutNodes(c.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		unread, err := admin.Erase(c.Context(), &transcriptv1.EraseRequest{DryRun: true, Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "chat/"}})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if err := c.server.keeper.Change(c.Context(), func() error { return nil }); err != nil { // it takes what an erasure holds
			t.Errorf("who waits: %v", err)
		}
		for err = nil; err == nil; {
			_, err = unread.Recv()
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("who reads nothing ends with %v", err)
		}
	})
}
