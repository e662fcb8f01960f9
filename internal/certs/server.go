package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"sync/atomic"
	"time"
)

// Options say how a Server speaks TLS.
type Options struct {
	Files
	// MinVersion is the least version of TLS that is spoken, such as tls.VersionTLS13.
	MinVersion uint16
	// Required refuses clients of gRPC that show no certificate, where there is a ClientCA; else one that they show is verified.
	Required bool
	Log      *slog.Logger
}

// Server is what a server shows and trusts. Its methods may run at once, but for Watch.
type Server struct {
	options Options
	now     atomic.Pointer[material]
	// seen is what the files had when they were taken up, fault what was wrong with them when they were looked at last, and told what the
	// log was told of that. They are Watch's.
	seen        contents
	fault, told string
}

// lookEvery is how often files are looked at.
const lookEvery = time.Second

// Open reads the files. Error: they cannot be read, or do not fit; it says what to do.
func Open(o Options) (*Server, error) {
	s := &Server{options: o}
	c, err := o.read()
	if err != nil {
		return nil, err
	}
	return s, s.take(c)
}

// take takes up what the files have, or changes nothing.
func (s *Server) take(c contents) error {
	m, err := s.options.parse(c)
	if err != nil {
		return err
	}
	s.now.Store(m)
	s.seen = c
	if leaf := m.pair.Leaf; time.Now().After(leaf.NotAfter) {
		s.options.Log.Warn("the server's certificate has expired: clients refuse it until its file has another", "file", s.options.Cert, "expired", leaf.NotAfter)
	}
	return nil
}

// Watch takes up what the files have whenever it changes, until ctx ends. What cannot be read or does not fit is told to the log, and what
// was taken up before stays.
func (s *Server) Watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.look()
		}
	}
}

func (s *Server) look() {
	c, err := s.options.read()
	if err == nil && c == s.seen {
		s.fault, s.told = "", ""
		return
	}
	if err == nil {
		err = s.take(c)
	}
	if err != nil {
		s.tell(err.Error())
		return
	}
	s.fault, s.told = "", ""
	s.options.Log.Info("new certificates are taken up", "file", s.options.Cert, "expires", s.Expires())
}

// tell tells the log of what is wrong twice in a row, once: files that are written one after the other do not fit for a moment.
func (s *Server) tell(fault string) {
	if fault == s.fault && fault != s.told {
		s.options.Log.Error("new certificates are not taken up, those before stay", "error", fault)
		s.told = fault
	}
	s.fault = fault
}

// Expires is when the certificate that is shown now expires.
func (s *Server) Expires() time.Time { return s.now.Load().pair.Leaf.NotAfter }

// Config is for a listener: handshakes go by what is taken up when they begin. Sessions are never resumed, since a resumed one would not
// verify the client anew. optional takes clients that show no certificate even where those of gRPC have to.
func (s *Server) Config(optional bool, protocols ...string) *tls.Config {
	config := func() *tls.Config {
		m := s.now.Load()
		c := &tls.Config{
			MinVersion: s.options.MinVersion, NextProtos: protocols, SessionTicketsDisabled: true,
			Certificates: []tls.Certificate{m.pair}, ClientCAs: m.clientCAs,
		}
		switch {
		case m.clientCAs == nil:
		case s.options.Required && !optional:
			c.ClientAuth = tls.RequireAndVerifyClientCert
		default:
			c.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return c
	}
	c := config()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return config(), nil }
	return c
}

// Certificate is that of a client whose handshake was by Config, as long as it has not expired and its CA is trusted still; nil: none.
func (s *Server) Certificate(state *tls.ConnectionState) *x509.Certificate {
	m, now := s.now.Load(), time.Now()
	for _, chain := range state.VerifiedChains {
		if m.good(chain, now) {
			return chain[0]
		}
	}
	return nil
}
