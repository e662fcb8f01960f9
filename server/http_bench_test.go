package server_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/overhttp"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// BenchmarkHTTP makes the same calls over gRPC and over HTTP, one at a time, over a port of loopback: a put of a short message, a view of 36 KB, a
// stream of 3.6 MB. Clients decode what they get.
func BenchmarkHTTP(b *testing.B) {
	s := testserver.StartWith(b, memstore.New(memstore.Options{}), server.Config{})
	conn, err := grpc.NewClient(testserver.ServeTCP(b, s.GRPC), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	url, ways := s.HTTP(b, server.HTTPConfig{}), map[string]grpc.ClientConnInterface{"gRPC": conn}
	for _, form := range []overhttp.Form{overhttp.Curl, overhttp.ConnectProto, overhttp.Web} {
		ways[string(form)] = &overhttp.Conn{URL: url, Form: form, Client: &http.Client{Transport: &http.Transport{}}}
	}
	fill := transcriptv1.NewTranscriptServiceClient(conn)
	chain := func(alias string, nodes int) {
		for range nodes {
			req := &PutNode{Messages: []*Message{user(strings.Repeat("0123456789abcde ", 225))}, Aliases: []*Update{{Name: alias}}}
			if _, err := fill.ResolveAlias(b.Context(), &transcriptv1.ResolveAliasRequest{Name: alias}); err == nil {
				req.Parent = byAlias(alias)
			}
			req.Salt = []byte(strconv.FormatInt(time.Now().UnixNano(), 10))
			if _, err := fill.PutNode(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	}
	chain("short", 10)
	chain("long", 1000)
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		client := transcriptv1.NewTranscriptServiceClient(ways[way])
		for _, c := range []struct {
			name string
			call func(context.Context) error
		}{
			{"put", func(ctx context.Context) error {
				_, err := client.PutNode(ctx, &PutNode{Messages: []*Message{user(strconv.FormatInt(time.Now().UnixNano(), 10))}})
				return err
			}},
			{"view", func(ctx context.Context) error {
				_, err := client.Assemble(ctx, &Assemble{Head: byAlias("short")})
				return err
			}},
			{"stream", func(ctx context.Context) error {
				stream, err := client.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: byAlias("long")})
				for err == nil {
					_, err = stream.Recv()
				}
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}},
		} {
			b.Run(c.name+"/"+way, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					if err := c.call(b.Context()); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			})
		}
	}
}
