package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/transcriptd/transcriptd/internal/certs"
)

// tlsFlags say how TLS is spoken: with gRPC and with HTTP alike.
type tlsFlags struct {
	Cert       string `placeholder:"FILE" env:"TRANSCRIPTD_TLS_CERT" help:"Speak TLS, gRPC and HTTP, with this certificate, in PEM; the intermediate certificates that lead to its root come after it in the file. A new file is taken up within seconds, and no call ends."`
	Key        string `placeholder:"FILE" env:"TRANSCRIPTD_TLS_KEY" help:"The private key of --tls-cert, in PEM."`
	ClientCA   string `placeholder:"FILE" name:"client-ca" env:"TRANSCRIPTD_TLS_CLIENT_CA" help:"Accept client certificates that a certificate in this file, in PEM, has signed, and no others. With --principals they are an alternative to tokens; without, every client needs one."`
	MinVersion string `default:"1.3" enum:"1.2,1.3" env:"TRANSCRIPTD_TLS_MIN_VERSION" help:"The least version of TLS that is spoken: 1.2 or 1.3."`
}

func (f *tlsFlags) check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return usagef("--tls-cert and --tls-key belong together: give both, or neither")
	case f.ClientCA != "" && f.Cert == "":
		return usagef("--tls-client-ca needs TLS: give --tls-cert and --tls-key too")
	}
	return nil
}

// openCerts reads the files of certificates, and takes up what they have until stop; nil: TLS is not spoken.
func openCerts(ctx context.Context, cfg *config, log *slog.Logger) (served *certs.Server, stop func(), err error) {
	if cfg.TLS.Cert == "" {
		return nil, func() {}, nil
	}
	least := uint16(tls.VersionTLS13)
	if cfg.TLS.MinVersion == "1.2" {
		least = tls.VersionTLS12
	}
	served, err = certs.Open(certs.Options{
		Files:      certs.Files{Cert: cfg.TLS.Cert, Key: cfg.TLS.Key, ClientCA: cfg.TLS.ClientCA},
		MinVersion: least, Required: cfg.Principals == "", Log: log, // else a token may say who calls
	})
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-cert, --tls-key, --tls-client-ca: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // while the server drains, too
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		served.Watch(ctx)
	}()
	return served, func() { cancel(); <-ended }, nil
}

// grpcCredentials are nil where TLS is not spoken.
func grpcCredentials(served *certs.Server) credentials.TransportCredentials {
	if served == nil {
		return nil
	}
	return served.Credentials()
}

// overTLS makes a listener of HTTP speak TLS where it is spoken. Clients need no certificate for it: probes show none.
func overTLS(l net.Listener, served *certs.Server) net.Listener {
	if served == nil {
		return l
	}
	return tls.NewListener(l, served.Config(true, "http/1.1"))
}
