package client

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

// WithCA makes Dial speak TLS, and trust servers whose certificates are signed by one in this file, in PEM, and no others. The file is read
// for each new connection; where it cannot be used then, what was read last is.
func WithCA(file string) Option { return func(o *options) { o.files.ca = file } }

// WithClientCertificate makes Dial speak TLS, and show the certificate of these files, in PEM. They are read for each new connection, as
// WithCA's is. Without WithCA servers are trusted whom the system trusts.
func WithClientCertificate(cert, key string) Option {
	return func(o *options) { o.files.cert, o.files.key = cert, key }
}

// tlsFiles are those that TLS goes by; the zero one: by none.
type tlsFiles struct{ ca, cert, key string }

// config reads them.
func (f tlsFiles) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		b, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("the CA cannot be read: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("the CA in %s is no certificate in PEM", f.ca)
		}
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("the client's certificate and key cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// credentials go by the files as they are when a connection is made.
func (f tlsFiles) credentials() (credentials.TransportCredentials, error) {
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
	files tlsFiles
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
