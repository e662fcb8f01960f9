package testserver_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/server"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// BenchmarkSecurity is what TLS and a token cost one caller of a store on disk, over TCP on this machine: Assemble of 10 turns, and PutNode of
// a turn. The lines are called in turn, so that what else the machine does slows all of them; it reports medians, and their ratios to plain
// text.
func BenchmarkSecurity(b *testing.B) {
	ca := testcerts.NewCA(b)
	files := certs.Files{}
	files.Cert, files.Key = ca.Issue(b, "server", 24*time.Hour).Write(b, b.TempDir())
	served, err := certs.Open(certs.Options{Files: files, MinVersion: tls.VersionTLS13, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	byTLS := client.WithCA(testcerts.Write(b, filepath.Join(b.TempDir(), "ca.pem"), ca.PEM()))
	callers, tokenFile := principal(b)
	byToken := client.WithTokenFile(tokenFile)
	lines := []*securedLine{
		{name: "plain"},
		{name: "token", cfg: server.Config{Authenticator: callers}, options: []client.Option{byToken}},
		{name: "TLS", cfg: server.Config{Credentials: served.Credentials()}, options: []client.Option{byTLS}},
		{name: "TLS+token", cfg: server.Config{Credentials: served.Credentials(), Authenticator: callers}, options: []client.Option{byTLS, byToken}},
	}
	for _, l := range lines {
		l.serve(b)
	}
	for name, call := range map[string]func(*securedLine, context.Context) error{"Assemble": (*securedLine).assembles, "PutNode": (*securedLine).puts} {
		b.Run(name, func(b *testing.B) {
			took := make([][]time.Duration, len(lines))
			for b.Loop() {
				for i, l := range lines {
					began := time.Now()
					if err := call(l, b.Context()); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(began))
				}
			}
			plain := median(took[0])
			for i, l := range lines {
				b.ReportMetric(float64(median(took[i]).Nanoseconds())/1000, l.name+"-µs")
				b.ReportMetric(float64(median(took[i]))/float64(plain), l.name+"/plain")
			}
		})
	}
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}

// securedLine is a server, and one caller of it.
type securedLine struct {
	name    string
	cfg     server.Config
	options []client.Option

	rpc   transcriptv1.TranscriptServiceClient
	chain *turns.Chain
}

func (l *securedLine) serve(b *testing.B) {
	b.Helper()
	store, err := badgerstore.Open(b.TempDir(), badgerstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	conn, err := client.Connect(testserver.ServeTCP(b, testserver.GRPC(b, server.New(store, l.cfg))), l.options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	if _, err := turns.Fill(b.Context(), client.New(conn), "ten", 0, 10, func(int) {}); err != nil {
		b.Fatal(err)
	}
	l.rpc, l.chain = transcriptv1.NewTranscriptServiceClient(conn), turns.NewSource("").Chain()
}

func (l *securedLine) assembles(ctx context.Context) error {
	_, err := l.rpc.Assemble(ctx, &transcriptv1.AssembleRequest{
		Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "ten"}},
	})
	return err
}

func (l *securedLine) puts(ctx context.Context) error {
	_, err := l.chain.Put(ctx, l.rpc)
	return err
}

// principal is one caller with a token, in a file, who may read and append everywhere.
func principal(b *testing.B) (callers *identity.Directory, tokenFile string) {
	b.Helper()
	var token string
	file := filepath.Join(b.TempDir(), "principals.json")
	err := identity.Edit(file, func(f *identity.File) (err error) {
		f.Principals = append(f.Principals, identity.FilePrincipal{
			Name: "agent", Grants: []identity.FileGrant{{Roles: []string{"read", "append"}, Namespaces: "*"}},
		})
		token, _, err = f.AddToken("agent", time.Now(), time.Time{})
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	if callers, err = identity.Open(file, identity.Options{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = callers.Close() })
	return callers, testcerts.Write(b, filepath.Join(b.TempDir(), "token"), []byte(token))
}
