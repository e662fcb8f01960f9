package server

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

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
