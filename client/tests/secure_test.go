package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// door is a server on loopback that remembers the header of credentials that the last call had. With a CA it speaks TLS, and takes
// clients with a certificate of it alone.
type door struct {
	addr  string
	calls atomic.Int64
	shown atomic.Pointer[string]
}

func openDoor(t *testing.T, ca *testcerts.CA) *door {
	t.Helper()
	d := &door{}
	cfg := server.Config{Version: "test"}
	if ca != nil {
		dir := t.TempDir()
		cert, key := ca.Issue(t, "server", time.Hour).Write(t, dir)
		served, err := certs.Open(certs.Options{
			Files:      certs.Files{Cert: cert, Key: key, ClientCA: testcerts.Write(t, filepath.Join(dir, "ca.pem"), ca.PEM())},
			MinVersion: tls.VersionTLS13, Required: true, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Credentials = served.Credentials()
	}
	d.addr = testserver.ServeTCP(t, testserver.GRPC(t, server.New(memstore.New(memstore.Options{}), cfg), grpc.ChainUnaryInterceptor(d.look)))
	return d
}

func (d *door) look(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	head, _ := metadata.FromIncomingContext(ctx)
	shown := strings.Join(head.Get("authorization"), ",")
	d.shown.Store(&shown)
	d.calls.Add(1)
	return next(ctx, req)
}

// callOnce makes a client and one call of it.
func callOnce(t *testing.T, target string, opts ...client.Option) error {
	t.Helper()
	c, err := client.Dial(target, append([]client.Option{client.WithRetry(client.Retry{Attempts: 1})}, opts...)...)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Stats(t.Context())
	return err
}

// to makes every connection one to an address, whatever the target.
func to(addr string) client.Option {
	return client.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}))
}

func token(text string) client.Option {
	return client.WithToken(func(context.Context) (string, error) { return text, nil })
}

const elsewhere = "passthrough:///elsewhere.example:7420"

// TestTokensAreShown: each call shows what the function or the file gives; where there is none nothing is sent, and nothing is told of
// what is none.
func TestTokensAreShown(t *testing.T) {
	d := openDoor(t, nil)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, opt := range map[string]client.Option{"Bearer of-a-function": token("of-a-function"), "Bearer of-a-file": client.WithTokenFile(file)} {
		if err := callOnce(t, d.addr, opt); err != nil || *d.shown.Load() != want {
			t.Errorf("%q is shown, %v; want %q", *d.shown.Load(), err, want)
		}
	}
	if err := callOnce(t, d.addr); err != nil || *d.shown.Load() != "" {
		t.Errorf("%q is shown, %v; want nothing", *d.shown.Load(), err)
	}
	if err := callOnce(t, d.addr, client.WithTokenFile(file+".no")); !errors.Is(err, client.ErrBadTarget) || !strings.Contains(err.Error(), file+".no") {
		t.Errorf("%v; want an error of the file", err)
	}

	before := d.calls.Load()
	fails := client.WithToken(func(context.Context) (string, error) { return "", errors.New("the vault is closed") })
	for what, opt := range map[string]client.Option{"the vault is closed": fails, "that is no token": token("no\ntoken")} {
		err := callOnce(t, d.addr, opt)
		if !errors.Is(err, client.ErrUnauthenticated) || client.MayHaveHappened(err) || !strings.Contains(err.Error(), what) ||
			strings.Contains(err.Error(), "no\ntoken") {
			t.Errorf("%v; want UNAUTHENTICATED and %q", err, what)
		}
	}
	if n := d.calls.Load() - before; n != 0 {
		t.Errorf("%d calls without a token were sent", n)
	}
}

// TestTokensDoNotGoInPlainText: to another machine a token goes by TLS, or where WithInsecure is given.
func TestTokensDoNotGoInPlainText(t *testing.T) {
	d := openDoor(t, nil)
	if err := callOnce(t, elsewhere, to(d.addr), token("a")); !errors.Is(err, client.ErrInsecure) {
		t.Errorf("%v; want ErrInsecure", err)
	}
	for name, opts := range map[string][]client.Option{
		"as TLS":     {client.WithTLS(insecure.NewCredentials()), to(d.addr)},
		"underneath": {client.WithTLS(credentials.NewTLS(nil)), to(d.addr), client.WithDialOptions(grpc.WithTransportCredentials(insecure.NewCredentials()))},
	} {
		if err := callOnce(t, elsewhere, append(opts, token("a"))...); err == nil || d.calls.Load() > 0 {
			t.Errorf("plain text %s: %v, and %d calls were sent", name, err, d.calls.Load())
		}
	}
	if err := callOnce(t, elsewhere, to(d.addr), client.WithInsecure(), token("a")); err != nil || *d.shown.Load() != "Bearer a" {
		t.Errorf("%v; want it to go where WithInsecure is given", err)
	}
}

// TestCertificatesOfFiles: TLS goes by files, as they are when a connection is made, and by what they had while they cannot be used.
func TestCertificatesOfFiles(t *testing.T) {
	first, second := testcerts.NewCA(t), testcerts.NewCA(t)
	before, after := openDoor(t, first), openDoor(t, second)
	dir := t.TempDir()
	ca := testcerts.Write(t, filepath.Join(dir, "ca.pem"), first.PEM())
	cert, key := first.Issue(t, "agent", time.Hour).Write(t, dir)
	if err := callOnce(t, before.addr, client.WithCA(ca), client.WithClientCertificate(cert, key), token("a")); err != nil || *before.shown.Load() != "Bearer a" {
		t.Errorf("%v; want a call with a token", err)
	}
	for name, opts := range map[string][]client.Option{
		"no certificate":       {client.WithCA(ca)},
		"a CA that is not its": {client.WithCA(testcerts.Write(t, filepath.Join(dir, "other.pem"), second.PEM())), client.WithClientCertificate(cert, key)},
		"those that all trust": {client.WithClientCertificate(cert, key)},
		"plain text":           nil,
	} {
		if err := callOnce(t, before.addr, opts...); status.Code(err) != codes.Unavailable {
			t.Errorf("with %s: %v; want UNAVAILABLE", name, err)
		}
	}
	for name, opts := range map[string][]client.Option{
		"no such file":     {client.WithCA(ca + ".no")},
		"a key for a CA":   {client.WithCA(key)},
		"half a pair":      {client.WithClientCertificate(cert, "")},
		"two ways at once": {client.WithCA(ca), client.WithInsecure()},
	} {
		if err := callOnce(t, before.addr, opts...); !errors.Is(err, client.ErrBadTarget) {
			t.Errorf("%s: %v; want ErrBadTarget", name, err)
		}
	}

	var addr atomic.Value
	addr.Store(before.addr)
	lost := make(chan net.Conn, 9)
	c, err := client.Dial("passthrough:///localhost", client.WithCA(ca), client.WithClientCertificate(cert, key),
		client.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr.Load().(string))
			if err == nil {
				lost <- conn
			}
			return conn, err
		})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, change := range []func(){
		func() {},
		func() { testcerts.Write(t, ca, nil); testcerts.Write(t, key, nil) },
		func() {
			testcerts.Write(t, ca, second.PEM())
			second.Issue(t, "agent", time.Hour).Write(t, dir)
			addr.Store(after.addr)
		},
	} {
		change()
		if _, err := c.Stats(t.Context()); err != nil {
			t.Error(err)
		}
		_ = (<-lost).Close() // the next call has a new connection
	}
	if n := after.calls.Load(); n != 1 {
		t.Errorf("%d calls came with new files", n)
	}
}
