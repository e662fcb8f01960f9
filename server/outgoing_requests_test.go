package server

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Calls with large requests that wait for room for their replies leave others room for theirs.
func TestLargeRequestsThatWait(t *testing.T) {
	large := string(make([]byte, 3_900_000))
	for name, call := range map[string]func(context.Context, transcriptv1.TranscriptServiceClient) error{
		"reads": func(ctx context.Context, client transcriptv1.TranscriptServiceClient) error {
			_, err := client.Search(ctx, &transcriptv1.SearchRequest{Pattern: &transcriptv1.SearchRequest_Text{Text: large}})
			return err
		},
		"writes": func(ctx context.Context, client transcriptv1.TranscriptServiceClient) error {
			_, err := client.Alias(ctx, &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: large}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			replying(t, func(c *crowd) {
				head := c.chainOf(100, 10_000)
				ctx, cancel := context.WithCancel(c.Context())
				for range 4 {
					client, leave := c.overLine(func(raw net.Conn) net.Conn { return raw }, // windows that do not grow
						grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
					defer leave()
					for range 220 {
						if _, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: idRef(head)}); err != nil {
							t.Fatal(err)
						}
					}
					synctest.Wait()
					for range 20 {
						c.running.Go(func() { _ = call(ctx, client) })
					}
					synctest.Wait()
				}
				if n := c.metric("transcriptd_server_replies_waiting"); n == 0 {
					t.Error("no call waits")
				}
				began := time.Now()
				if _, err := c.GetNode(c.Context(), &transcriptv1.GetNodeRequest{Node: idRef(head)}); err != nil {
					t.Error(err)
				}
				if err := c.put(c.Context(), 1); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited > 0 {
					t.Errorf("others waited %s", waited)
				}
				cancel()
			})
		})
	}
}
