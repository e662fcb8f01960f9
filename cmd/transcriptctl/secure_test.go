package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/server"
)

// guarded is a stack that takes clients with a certificate of its CA alone, by TLS, and one token.
type guarded struct {
	*stack
	// dir has ca.pem, cert.pem, key.pem of a client, and token.
	dir string
}

const goodToken = "trd_of_a_test"

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	ca, of := testcerts.NewCA(t), t.TempDir()
	cert, key := ca.Issue(t, "server", time.Hour).Write(t, of)
	g := &guarded{dir: t.TempDir()}
	ca.Issue(t, "client", time.Hour).Write(t, g.dir)
	testcerts.Write(t, filepath.Join(g.dir, "token"), []byte(goodToken+"\n"))
	served, err := certs.Open(certs.Options{
		Files:      certs.Files{Cert: cert, Key: key, ClientCA: testcerts.Write(t, filepath.Join(g.dir, "ca.pem"), ca.PEM())},
		MinVersion: tls.VersionTLS13, Required: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	g.stack = serveAs(t, memstore.New(memstore.Options{}), server.Config{Version: "test", Credentials: served.Credentials()},
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			switch head, _ := metadata.FromIncomingContext(ctx); strings.Join(head.Get("authorization"), ",") {
			case "Bearer " + goodToken:
				return next(ctx, req)
			case "Bearer of-less":
				return nil, status.Error(codes.PermissionDenied, "not granted")
			default:
				return nil, status.Error(codes.Unauthenticated, "show credentials: authorization: Bearer TOKEN")
			}
		}))
	return g
}

// flags say how it is reached.
func (g *guarded) flags(more ...string) []string {
	in := func(name string) string { return filepath.Join(g.dir, name) }
	return append([]string{"--ca", in("ca.pem"), "--cert", in("cert.pem"), "--key", in("key.pem")}, more...)
}

// TestGuardedServer: commands of every kind reach a server by TLS with a client certificate and a token, by flags, the environment or a
// context; without they are told what to give.
func TestGuardedServer(t *testing.T) {
	contextsAt(t)
	g := newGuarded(t)
	file := "--token-file=" + filepath.Join(g.dir, "token")
	for _, args := range [][]string{
		{"stats"}, {"put", "--text", "hello", "--alias", "a"}, {"log", "a"}, {"assemble", "a"},
		{"conformance", "--run", "^server-info/"}, {"bench", "--duration", "10ms", "--turns", "1", "--callers", "1"},
	} {
		if r := g.run(g.flags(append(args, file)...)...); r.code != exitOK {
			t.Errorf("%v: exit code %d, %q, %q", args, r.code, r.out, r.notes)
		}
	}
	mustCtl(t, g.flags("context", "add", "guarded", "--addr", g.addr, file, "--use")...)
	mustCtl(t, "stats")

	t.Setenv("TRANSCRIPTCTL_TOKEN", goodToken)
	if r := g.run(g.flags("stats")...); r.code != exitOK {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
	t.Setenv("TRANSCRIPTCTL_TOKEN", "of-less")
	if r := g.run(g.flags("stats")...); r.code != exitDenied || !strings.Contains(r.notes, "--namespace, --token-file or --context") {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
	t.Setenv("TRANSCRIPTCTL_TOKEN", "secret of nobody")
	for range 2 { // what is no token, and none
		if r := g.run(g.flags("stats")...); r.code != exitDenied || !strings.Contains(r.notes, "--token-file or TRANSCRIPTCTL_TOKEN") ||
			strings.Contains(r.notes, "secret") {
			t.Errorf("exit code %d, %q", r.code, r.notes)
		}
		_ = os.Unsetenv("TRANSCRIPTCTL_TOKEN") // Setenv's cleanup stays
	}
	if r := g.run("stats", "--timeout=1s"); r.code != exitUnavailable || !strings.Contains(r.notes, "give --tls, or --ca") {
		t.Errorf("plain text: exit code %d, %q", r.code, r.notes)
	}
}
