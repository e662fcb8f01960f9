package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/certs"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// openAccess opens what says how callers are spoken with, and who they are, until stop.
func openAccess(ctx context.Context, cfg *config, log *slog.Logger) (served *certs.Server, callers identity.Authenticator, stop func(), err error) {
	callers, stopCallers, err := openPrincipals(cfg, log)
	if err != nil {
		return nil, nil, nil, err
	}
	served, stopCerts, err := openCerts(ctx, cfg, log)
	if err != nil {
		stopCallers()
		return nil, nil, nil, err
	}
	return served, callers, func() { stopCerts(); stopCallers() }, nil
}

// openPrincipals reads the file of principals, and looks at it until stop; nil: everybody may everything.
func openPrincipals(cfg *config, log *slog.Logger) (callers identity.Authenticator, stop func(), err error) {
	if cfg.Principals == "" {
		return nil, func() {}, nil
	}
	file, err := identity.Open(cfg.Principals, identity.Options{Log: log})
	if err != nil {
		return nil, nil, fmt.Errorf("--principals: %w%s", err, toMake(cfg.Principals))
	}
	return file, func() { _ = file.Close() }, nil // it was only read
}

// toMake says how a file of principals is made, where there is none.
func toMake(path string) string {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return " (make it with 'transcriptctl token create')"
}

// door lets those through on the HTTP side who may look after the whole store; all, where nobody is told apart.
type door struct {
	callers identity.Authenticator
	// certificate is that of a client that speaks TLS so; nil: none.
	certificate func(*tls.ConnectionState) *x509.Certificate
	// audit is told of who is not let through; nil: none is.
	audit *audit.Log
}

func newDoor(callers identity.Authenticator, served *certs.Server, kept *audit.Log) door {
	d := door{callers: callers, audit: kept}
	if served != nil {
		d.certificate = served.Certificate
	}
	return d
}

// only hands on requests of those who may. What it tells others says nothing of what they showed.
func (d door) only(next http.Handler) http.Handler {
	if d.callers == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := identity.Credentials{Authorization: r.Header.Values("Authorization")}
		if r.TLS != nil && d.certificate != nil {
			shown.Certificate = d.certificate(r.TLS)
		}
		who, err := d.callers.Authenticate(shown)
		switch {
		case errors.Is(err, identity.ErrUnavailable):
			d.tell(r, nil, "UNAVAILABLE", "IDENTITY_UNAVAILABLE")
			http.Error(w, "callers cannot be told apart now, the log says why", http.StatusServiceUnavailable)
		case err != nil || who == nil:
			d.tell(r, nil, "UNAUTHENTICATED", "UNAUTHENTICATED")
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "show credentials: Authorization: Bearer TOKEN", http.StatusUnauthorized)
		case !who.MayEverywhere(identity.Operate):
			d.tell(r, who, "PERMISSION_DENIED", "PERMISSION_DENIED")
			http.Error(w, "the role operate on the namespaces * is needed here", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// tell tells the audit of a request that was refused.
func (d door) tell(r *http.Request, who *identity.Principal, code, reason string) {
	if d.audit == nil {
		return
	}
	record := audit.Record{Method: "http", Everything: true, Code: code, Reason: reason, Peer: r.RemoteAddr, Unchanged: true}
	for _, path := range []string{"/metrics", "/debug/pprof"} {
		if strings.HasPrefix(r.URL.Path, path) {
			record.Method += path
		}
	}
	if who != nil {
		record.Principal = who.Name
	}
	_ = d.audit.Add(&record) // nothing was done; the log of the audit tells
}
