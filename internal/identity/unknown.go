package identity

import "fmt"

// Why credentials name nobody. Callers are told none of it, lest a guess is told from another; the log is, at level debug.
var (
	errNoCredentials = unknown("it shows neither one header of authorization nor a certificate")
	errScheme        = unknown("the header of authorization is not of the form Bearer TOKEN, with a token or JWT that the file provides for")
	errMistyped      = unknown("the token is not whole, or mistyped")
	errNoSuchToken   = unknown("no principal has the token: it was revoked, or is of another file")
	errTokenExpired  = unknown("the token has expired")
	errCertTime      = unknown("the certificate is not good yet, or not any more")
	errCertOfTwo     = unknown("the certificate has names of two principals")
	errCertOfNobody  = unknown("no principal has a name of the certificate")
	errNoJWT         = unknown("it is no JWT that is signed by one of the algorithms of the file")
	errJWTTooLong    = unknown("the JWT is too long")
	errNoExpiry      = unknown("the JWT has no exp")
	errNoKey         = unknown("the kid of the JWT is that of no key")
	errSignature     = unknown("the signature of the JWT is of another key, or algorithm")
	errNoRule        = unknown("no rule fits the claims of the JWT, or its name_claim is none that may be a name")
)

func unknown(why string) error { return fmt.Errorf("%w: %s", ErrUnauthenticated, why) }
