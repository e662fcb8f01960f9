package server

import (
	"context"
	"errors"
	"io"
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
