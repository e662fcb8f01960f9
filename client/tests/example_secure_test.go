package client_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// guarded serves with TLS and one principal, acme, who may read and append to the namespace acme; ca.pem and acme.token lie in the working
// directory of the test.
func guarded(t *testing.T) (address string) {
	t.Helper()
	t.Chdir(t.TempDir())
	ca := testcerts.NewCA(t)
	cert, key := ca.Issue(t, "server", time.Hour).Write(t, ".")
	served, err := certs.Open(certs.Options{Files: certs.Files{Cert: cert, Key: key}, MinVersion: tls.VersionTLS13, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	token := identity.NewToken()
	testcerts.Write(t, "ca.pem", ca.PEM())
	testcerts.Write(t, "acme.token", []byte(token+"\n"))
	testcerts.Write(t, "principals.json", fmt.Appendf(nil, `{"principals": [{"name": "acme", "grants": [{"roles": ["read", "append"], "namespaces": "acme"}],
		"tokens": [{"id": "a", "sha256": "%x"}]}]}`, identity.HashToken(token)))
	callers, err := identity.Open("principals.json", identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = callers.Close() })
	cfg := server.Config{Version: "test", Credentials: served.Credentials(), Authenticator: callers}
	return testserver.ServeTCP(t, testserver.GRPC(t, server.New(memstore.New(memstore.Options{}), cfg)))
}

// TestTheGuideToOtherMachines runs what docs/sdk.md says of them.
func TestTheGuideToOtherMachines(t *testing.T) {
	address, ctx := guarded(t), t.Context()
	c, err := client.Dial(address, client.WithCA("ca.pem"), client.WithTokenFile("acme.token"), client.WithNamespace("acme"))
	check(err)
	defer c.Close()
	_, err = c.Chat(ctx, "42", client.System("You are helpful."))
	switch {
	case errors.Is(err, client.ErrUnauthenticated): // no token, or one that is not known, has expired or was revoked
		fmt.Fprintln(os.Stderr, "another token is needed:", err)
	case errors.Is(err, client.ErrPermissionDenied): // no grant of the token's principal covers the call
		fmt.Fprintln(os.Stderr, "another grant is needed:", err)
	}
	check(err)

	for want, opts := range map[error][]client.Option{
		client.ErrUnauthenticated:  {client.WithCA("ca.pem"), client.WithNamespace("acme")},
		client.ErrPermissionDenied: {client.WithCA("ca.pem"), client.WithTokenFile("acme.token")},
	} {
		other, err := client.Dial(address, opts...)
		check(err)
		if _, err = other.Chat(ctx, "42"); !errors.Is(err, want) {
			t.Errorf("%v; want %v", err, want)
		}
		check(other.Close())
	}
}
