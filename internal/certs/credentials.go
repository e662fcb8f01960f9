package certs

import (
	"crypto/x509"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials are those of a gRPC server. What they tell of a caller has a method Certificate() *x509.Certificate: see Server.Certificate.
func (s *Server) Credentials() credentials.TransportCredentials {
	return serverCredentials{credentials.NewTLS(s.Config(false)), s}
}

type serverCredentials struct {
	credentials.TransportCredentials
	server *Server
}

// ServerHandshake logs at debug why one fails: else no caller could be told from the server's side.
func (c serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		c.server.options.Log.Debug("a TLS handshake failed", "peer.address", raw.RemoteAddr().String(), "error", err)
		return nil, nil, err
	}
	if known, ok := info.(credentials.TLSInfo); ok {
		info = caller{known, c.server}
	}
	return conn, info, nil
}

func (c serverCredentials) Clone() credentials.TransportCredentials {
	return serverCredentials{c.TransportCredentials.Clone(), c.server}
}

// caller is what is known of one by its handshake.
type caller struct {
	credentials.TLSInfo
	server *Server
}

func (c caller) Certificate() *x509.Certificate { return c.server.Certificate(&c.State) }
