package identity

import "crypto/x509"

// Credentials are what a caller shows.
type Credentials struct {
	// Authorization are the values of the header of that name, as they came.
	Authorization []string
	// Certificate is that of the client, which the handshake has verified; nil: none.
	Certificate *x509.Certificate
}

// Authenticator tells who calls. Its method may run at once with itself, and takes microseconds, but for a signature seen first.
type Authenticator interface {
	// Authenticate names who shows credentials. A header counts before a certificate. Errors are ErrUnauthenticated and ErrUnavailable, and
	// say nothing of the credentials.
	Authenticate(Credentials) (*Principal, error)
}
