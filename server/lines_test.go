package server

import (
	"crypto/tls"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/transcriptd/transcriptd/internal/testcerts"
)

// line is what calls go over.
type line string

const (
	linePlain line = "plain text"
	lineTLS   line = "TLS"
)

// eachLine runs a test over each.
func eachLine(t *testing.T, name string, test func(*testing.T, line)) {
	for _, over := range []line{linePlain, lineTLS} {
		t.Run(strings.TrimSpace(name+" over "+string(over)), func(t *testing.T) { test(t, over) })
	}
}

// credentials are those of a server and of its clients.
func (l line) credentials(t *testing.T) (ofServer, ofClients credentials.TransportCredentials) {
	t.Helper()
	if l == linePlain {
		return nil, insecure.NewCredentials()
	}
	ca := testcerts.NewCA(t)
	return credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{ca.Issue(t, "server", time.Hour).TLS(t)}, MinVersion: tls.VersionTLS13,
		}),
		credentials.NewTLS(&tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS13})
}

// A connection of TLS is made anew after a while, so that both sides show the certificates that they have by then; its calls go on.
func TestConnectionsOfTLSAreMadeAnew(t *testing.T) {
	eachLine(t, "", func(t *testing.T, over line) {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowdOver(t, 100, over)
			close(c.store.gate)
			var made atomic.Int64
			conn, leave := c.connect(func(raw net.Conn) net.Conn {
				made.Add(1)
				return raw
			})
			watch, err := healthv1.NewHealthClient(conn).Watch(c.Context(), &healthv1.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := watch.Recv(); err != nil {
				t.Fatal(err)
			}
			for range 30 { // half an hour, with calls
				<-time.After(time.Minute)
				if _, err := healthv1.NewHealthClient(conn).Check(c.Context(), &healthv1.HealthCheckRequest{}); err != nil {
					t.Error(err)
				}
			}
			want := map[line][2]int64{linePlain: {1, 1}, lineTLS: {3, 5}}[over]
			if n := made.Load(); n < want[0] || n > want[1] {
				t.Errorf("%d connections were made, want %v", n, want)
			}
			c.server.Drain()
			if update, err := watch.Recv(); err != nil || update.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
				t.Errorf("the call of the first connection has %v, %v", update, err)
			}
			leave()
		})
	})
}
