package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/internal/testcerts"
)

// folder has the files of a server.
type folder struct {
	*testing.T
	Files
	ca *testcerts.CA
}

func newFolder(t *testing.T) *folder {
	f := &folder{T: t, ca: testcerts.NewCA(t)}
	dir := t.TempDir()
	f.Cert, f.Key = f.ca.Issue(t, "server", time.Hour).Write(t, dir)
	f.ClientCA = testcerts.Write(t, filepath.Join(dir, "ca.pem"), f.ca.PEM())
	return f
}

// TestOpenRefuses: what cannot be used is refused with the file and what to do, and nothing of what is in it.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*folder)
		want  []string
	}{
		"no such certificate": {func(f *folder) { f.Cert += ".no" }, []string{"the certificate cannot be read", ".no", "give a file"}},
		"no such key":         {func(f *folder) { f.Key += ".no" }, []string{"the private key cannot be read", ".no", "give a file"}},
		"no such CA":          {func(f *folder) { f.ClientCA += ".no" }, []string{"the clients' CA cannot be read", ".no", "give a file"}},
		"another's key": {func(f *folder) { testcerts.Write(f, f.Key, f.ca.Issue(f, "other", time.Hour).Key) },
			[]string{"cert.pem", "key.pem", "do not make a pair", "does not match", "the key the one that"}},
		"a key for a certificate": {func(f *folder) { f.Cert = f.Key }, []string{"do not make a pair", "in PEM"}},
		"no PEM":                  {func(f *folder) { testcerts.Write(f, f.Cert, []byte("content of a file")) }, []string{"do not make a pair", "in PEM"}},
		"an empty CA":             {func(f *folder) { testcerts.Write(f, f.ClientCA, nil) }, []string{"ca.pem", "no certificate", "in PEM"}},
		"a key for a CA":          {func(f *folder) { f.ClientCA = f.Key }, []string{"key.pem", "a block that is no certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			c.spoil(f)
			_, err := Open(Options{Files: f.Files, MinVersion: tls.VersionTLS13, Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				t.Fatal("taken")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "content of a file") || strings.Contains(err.Error(), "-----BEGIN PRIVATE") {
				t.Errorf("%q says what is in a file", err)
			}
		})
	}
}

// TestWatch: new files count within two looks; what does not fit is told once and changes nothing, be it for a moment or for long.
func TestWatch(t *testing.T) {
	f := newFolder(t)
	synctest.Test(t, func(t *testing.T) {
		var log lines
		s, err := Open(Options{Files: f.Files, MinVersion: tls.VersionTLS13, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Watch(ctx)
		shown := func() string { return s.now.Load().pair.Leaf.Subject.CommonName }
		next := f.ca.Issue(t, "next", time.Hour)

		testcerts.Write(t, f.Cert, next.Cert) // its key is yet to come
		<-time.After(lookEvery + lookEvery/2)
		if shown() != "server" || log.String() != "" {
			t.Errorf("half a pair: %q is shown, the log says %q", shown(), log.String())
		}
		testcerts.Write(t, f.Key, next.Key)
		<-time.After(lookEvery)
		if shown() != "next" || !strings.Contains(log.String(), "taken up") {
			t.Errorf("a pair: %q is shown, the log says %q", shown(), log.String())
		}
		for _, spoil := range []func(){
			func() { testcerts.Write(t, f.Key, []byte("nothing")) },
			func() { _ = os.Remove(f.Key) },
		} {
			log.reset()
			spoil()
			<-time.After(10 * lookEvery)
			if shown() != "next" || strings.Count(log.String(), "level=ERROR") != 1 {
				t.Errorf("no pair: %q is shown, the log says %q", shown(), log.String())
			}
		}
		testcerts.Write(t, f.Key, next.Key)
		<-time.After(lookEvery)
		log.reset()
		_ = os.Remove(f.Key)
		<-time.After(3 * lookEvery)
		if strings.Count(log.String(), "level=ERROR") != 1 {
			t.Errorf("the same again: the log says %q", log.String())
		}
	})
}

// TestHandshakes: who is taken, at which version, and whose certificate counts then.
func TestHandshakes(t *testing.T) {
	strangers := testcerts.NewCA(t)
	for name, c := range map[string]struct {
		least, most uint16
		required    bool
		shows       func(*testcerts.CA) testcerts.Pair
		want, fails string
	}{
		"TLS 1.3":             {least: tls.VersionTLS13},
		"TLS 1.2":             {least: tls.VersionTLS13, most: tls.VersionTLS12, fails: "protocol version"},
		"TLS 1.2, as told":    {least: tls.VersionTLS12, most: tls.VersionTLS12},
		"TLS 1.1":             {least: tls.VersionTLS12, most: tls.VersionTLS11, fails: "protocol version"},
		"none, though needed": {least: tls.VersionTLS13, required: true, fails: "certificate required"},
		"a certificate": {least: tls.VersionTLS13, required: true, want: "agent",
			shows: func(ca *testcerts.CA) testcerts.Pair { return ca.Issue(t, "agent", time.Hour) }},
		"one that need not be": {least: tls.VersionTLS13, want: "agent",
			shows: func(ca *testcerts.CA) testcerts.Pair { return ca.Issue(t, "agent", time.Hour) }},
		"an expired one": {least: tls.VersionTLS13, fails: "expired certificate",
			shows: func(ca *testcerts.CA) testcerts.Pair { return ca.Issue(t, "agent", -time.Minute) }},
		"an unknown one": {least: tls.VersionTLS13, fails: "certificate",
			shows: func(*testcerts.CA) testcerts.Pair { return strangers.Issue(t, "agent", time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			s, err := Open(Options{Files: f.Files, MinVersion: c.least, Required: c.required, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			client := &tls.Config{RootCAs: f.ca.Pool(), ServerName: "localhost", MaxVersion: c.most, MinVersion: tls.VersionTLS10}
			if c.shows != nil {
				pair := c.shows(f.ca).TLS(t)
				client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			}
			state, err := shake(t, s.Config(false), client)
			switch {
			case c.fails != "":
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v; want an error of %q", err, c.fails)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := s.Certificate(state); (got == nil) != (c.want == "") || got != nil && got.Subject.CommonName != c.want {
					t.Errorf("the certificate is %v, want %q", got, c.want)
				}
			}
			if c.required { // other listeners ask for none
				if _, err := shake(t, s.Config(true), &tls.Config{RootCAs: f.ca.Pool(), ServerName: "localhost"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestCertificatesEnd: a certificate counts no longer than its CA is trusted and than it is good, though the connection goes on; and no
// session is resumed.
func TestCertificatesEnd(t *testing.T) {
	f := newFolder(t)
	s, err := Open(Options{Files: f.Files, MinVersion: tls.VersionTLS12, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client := &tls.Config{
			RootCAs: f.ca.Pool(), ServerName: "localhost", MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(9),
			Certificates: []tls.Certificate{f.ca.Issue(t, "agent", time.Hour).TLS(t)},
		}
		var state *tls.ConnectionState
		for range 2 {
			if state, err = shake(t, s.Config(false), client); err != nil {
				t.Fatal(err)
			}
			if state.DidResume {
				t.Error("a session was resumed")
			}
		}
		good := s.now.Load()
		if s.Certificate(state) == nil {
			t.Error("a good certificate does not count")
		}
		if chain := state.VerifiedChains[0]; good.good(chain, chain[0].NotAfter.Add(time.Second)) {
			t.Error("an expired certificate counts")
		}
		testcerts.Write(t, f.ClientCA, testcerts.NewCA(t).PEM())
		s.look()
		if s.Certificate(state) != nil {
			t.Error("a certificate counts though its CA is gone")
		}
		testcerts.Write(t, f.ClientCA, f.ca.PEM())
		s.look()
	}
}

// shake makes a handshake, and one byte follow it: a server tells only after it what it thinks of a client's certificate in TLS 1.3.
func shake(t *testing.T, server, client *tls.Config) (*tls.ConnectionState, error) {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	shaken := make(chan tls.ConnectionState, 1)
	go func() {
		defer func() { _ = far.Close() }()
		conn := tls.Server(far, server)
		if conn.Handshake() != nil {
			return
		}
		shaken <- conn.ConnectionState()
		_, _ = conn.Write([]byte{1})
	}()
	conn := tls.Client(near, client)
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return nil, err
	}
	select {
	case state := <-shaken:
		return &state, nil
	case <-time.After(10 * time.Second):
		return nil, errors.New("no handshake")
	}
}

// lines is a log that may be read meanwhile.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
