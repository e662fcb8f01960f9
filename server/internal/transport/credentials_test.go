package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// TestCredentialsOf: a call shows its headers as they came, and a certificate that the handshake has verified, until it expires.
func TestCredentialsOf(t *testing.T) {
	for name, c := range map[string]struct {
		// plain: no TLS is spoken; asks: certificates are asked for, and not verified; tells: the server's credentials tell by themselves.
		plain, asks, tells bool
		shows              string
		want               string
	}{
		"plain text":               {plain: true},
		"no certificate":           {},
		"a certificate":            {shows: "agent", want: "agent"},
		"one that nobody verified": {asks: true, shows: "agent"},
		"one that is told of":      {tells: true, shows: "agent", want: "told"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ca := testcerts.NewCA(t)
				server := &tls.Config{
					Certificates: []tls.Certificate{ca.Issue(t, "server", 50*time.Minute).TLS(t)}, ClientCAs: ca.Pool(),
					ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS13,
				}
				client := &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS13}
				if c.asks {
					server.ClientAuth = tls.RequestClientCert
				}
				if c.shows != "" {
					client.Certificates = []tls.Certificate{ca.Issue(t, c.shows, 10*time.Minute).TLS(t)}
				}
				of, with := credentials.NewTLS(server), credentials.NewTLS(client)
				switch {
				case c.plain:
					of, with = insecure.NewCredentials(), insecure.NewCredentials()
				case c.tells:
					of = telling{of}
				}
				call := tapped(t, of, with)
				shown := call("Bearer a", "Bearer b")
				if got := shown.Authorization; len(got) != 2 || got[0] != "Bearer a" || got[1] != "Bearer b" {
					t.Errorf("the headers are %q", got)
				}
				if got := nameOf(shown); got != c.want {
					t.Errorf("the certificate is %q, want %q", got, c.want)
				}
				<-time.After(11 * time.Minute)
				if got := nameOf(call()); !c.tells && got != "" {
					t.Errorf("the certificate is %q though it has expired", got)
				}
			})
		})
	}
}

// tapped makes a server that serves nothing, and calls it: call gives what it was shown.
func tapped(t *testing.T, of, with credentials.TransportCredentials) (call func(authorization ...string) identity.Credentials) {
	t.Helper()
	shown := make(chan identity.Credentials, 1)
	server := grpc.NewServer(grpc.Creds(reply.Connections{TransportCredentials: of}),
		grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			shown <- credentialsOf(ctx, info.Header)
			return ctx, nil
		}))
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	conn, err := grpc.NewClient("passthrough:///localhost", grpc.WithTransportCredentials(with),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
	})
	return func(authorization ...string) identity.Credentials {
		ctx := t.Context()
		for _, a := range authorization {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", a)
		}
		if err := conn.Invoke(ctx, "/a/b", &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
			t.Fatal(err)
		}
		return <-shown
	}
}

// telling are credentials that tell of a certificate by themselves.
type telling struct {
	credentials.TransportCredentials
}

func (c telling) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	return conn, told{info}, err
}

type told struct{ credentials.AuthInfo }

func (told) Certificate() *x509.Certificate {
	c := &x509.Certificate{}
	c.Subject.CommonName = "told"
	return c
}

func nameOf(c identity.Credentials) string {
	if c.Certificate == nil {
		return ""
	}
	return c.Certificate.Subject.CommonName
}
