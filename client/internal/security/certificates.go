package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// Files are those that TLS goes by, in PEM; the zero Files: by none.
type Files struct {
	// CA has whom to trust; "": whom the system trusts. Cert and Key are of the client; both "": it shows none.
	CA, Cert, Key string
}

// config reads them.
func (f Files) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		b, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the CA cannot be read: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("the CA in %s is no certificate in PEM", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate and key cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Credentials go by the files as they are when a connection is made, and by what they had last while they cannot be used. Error: they cannot be
// used now.
func (f Files) Credentials() (credentials.TransportCredentials, error) {
	first, err := f.config()
	if err != nil {
		return nil, err
	}
	r := &reread{TransportCredentials: credentials.NewTLS(first), files: f}
	r.last.Store(first)
	return r, nil
}

// reread are the credentials of files.
type reread struct {
	credentials.TransportCredentials
	files Files
	last  atomic.Pointer[tls.Config]
}

func (r *reread) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if now, err := r.files.config(); err == nil { // else they are just being written, or are not there any more
		r.last.Store(now)
	}
	return credentials.NewTLS(r.last.Load()).ClientHandshake(ctx, authority, raw)
}

// Clone is itself: it has no name of a server that could change.
func (r *reread) Clone() credentials.TransportCredentials { return r }
