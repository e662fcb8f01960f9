package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testcerts"
)

// secured is a server that speaks TLS, and the folder of its certificates.
type secured struct {
	*process
	ca  *testcerts.CA
	dir string
}

// startSecured starts one whose certificate, issued to "server", and client CA are of one CA.
func startSecured(t *testing.T, args ...string) *secured {
	t.Helper()
	s := &secured{ca: testcerts.NewCA(t), dir: t.TempDir()}
	cert, key := s.ca.Issue(t, "server", time.Hour).Write(t, s.dir)
	clientCA := testcerts.Write(t, filepath.Join(s.dir, "ca.pem"), s.ca.PEM())
	s.process = startProcess(t, nil, append([]string{
		"--store=memory:", "--admin-listen=127.0.0.1:0", "--tls-cert=" + cert, "--tls-key=" + key, "--tls-client-ca=" + clientCA,
	}, args...)...)
	return s
}

// config is that of a client that shows a certificate, and trusts the server's CA.
func (s *secured) config(t *testing.T, shows testcerts.Pair) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: s.ca.Pool(), Certificates: []tls.Certificate{shows.TLS(t)}, MinVersion: tls.VersionTLS12}
}

func (s *secured) client(t *testing.T, shows testcerts.Pair, change ...func(*tls.Config)) transcriptv1.TranscriptServiceClient {
	t.Helper()
	config := s.config(t, shows)
	for _, c := range change {
		c(config)
	}
	conn, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return transcriptv1.NewTranscriptServiceClient(conn)
}

func ask(t *testing.T, client transcriptv1.TranscriptServiceClient) error {
	t.Helper()
	_, err := client.ServerInfo(callContext(t), &transcriptv1.ServerInfoRequest{})
	return err
}

func atMost12(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }

// TestWhoSpeaksTLS: who does not speak as the flags say is refused, and who does is served; HTTP has TLS as gRPC does, but asks for no
// certificate.
func TestWhoSpeaksTLS(t *testing.T) {
	s, older := startSecured(t), startSecured(t, "--tls-min-version=1.2")
	agent := s.ca.Issue(t, "agent", time.Hour)
	if err := ask(t, s.client(t, agent)); err != nil {
		t.Error(err)
	}
	if err := ask(t, older.client(t, older.ca.Issue(t, "agent", time.Hour), atMost12)); err != nil {
		t.Errorf("TLS 1.2 is refused though it may be: %v", err)
	}
	for name, client := range map[string]transcriptv1.TranscriptServiceClient{
		"TLS 1.2":                   s.client(t, agent, atMost12),
		"plain text":                transcriptv1.NewTranscriptServiceClient(s.dial(t)),
		"an expired certificate":    s.client(t, s.ca.Issue(t, "agent", -time.Minute)),
		"another CA's certificate":  s.client(t, older.ca.Issue(t, "agent", time.Hour)),
		"no certificate":            s.client(t, agent, func(c *tls.Config) { c.Certificates = nil }),
		"a client that knows no CA": s.client(t, agent, func(c *tls.Config) { c.RootCAs = nil }),
	} {
		if err := ask(t, client); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v; want UNAVAILABLE", name, err)
		}
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool(), MinVersion: tls.VersionTLS13}}}
	defer web.CloseIdleConnections()
	if body, err := fetch(t, web, s.admin+"/readyz"); err != nil || !strings.HasPrefix(s.admin, "https://") || !strings.Contains(body, "ready") {
		t.Errorf("%s: %q, %v", s.admin, body, err)
	}
	if body, err := fetch(t, web, strings.Replace(s.admin, "https", "http", 1)+"/metrics"); err != nil || strings.Contains(body, "grpc_server") {
		t.Errorf("plain text: %q, %v", body, err)
	}
	if _, err := fetch(t, http.DefaultClient, s.admin+"/readyz"); err == nil {
		t.Error("who does not know the CA is answered")
	}
	if body, err := fetch(t, web, s.admin+"/metrics"); err != nil || !strings.Contains(body, "\ntranscriptd_server_certificate_expires_timestamp_seconds 1") {
		t.Errorf("when the certificate expires is not told, %v", err)
	}
	s.terminate(t)
	if strings.Contains(s.log(), "handshake") {
		t.Errorf("handshakes that fail fill the log:\n%s", s.log())
	}
}

func fetch(t *testing.T, web *http.Client, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(callContext(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := web.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// TestNewCertificates: new files are taken up, for the server's certificate and for the clients' CA, and no call ends, be it long or
// short; a pair that does not fit changes nothing.
func TestNewCertificates(t *testing.T) {
	s := startSecured(t)
	agent := s.ca.Issue(t, "agent", time.Hour)
	long := s.client(t, agent)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var calls atomic.Int64
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				client := long
				if calls.Add(1)%8 == 0 {
					client = s.client(t, agent) // a new connection
				}
				if _, err := client.ServerInfo(ctx, &transcriptv1.ServerInfoRequest{}); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				rest(ctx, time.Millisecond)
			}
		})
	}
	others := testcerts.NewCA(t)
	both := append(append([]byte{}, s.ca.PEM()...), others.PEM()...)
	testcerts.Write(t, filepath.Join(s.dir, "ca.pem"), both)
	testcerts.Write(t, filepath.Join(s.dir, "key.pem"), []byte("no key"))
	s.ca.Issue(t, "renewed", time.Hour).Write(t, s.dir)
	until(t, "the new certificate", func() bool { return s.shows(t, agent) == "renewed" })
	until(t, "the new CA", func() bool { return ask(t, s.client(t, others.Issue(t, "other", time.Hour))) == nil })
	cancel()
	running.Wait()
	if n := calls.Load(); n < 100 {
		t.Errorf("%d calls were made meanwhile", n)
	}
	testcerts.Write(t, filepath.Join(s.dir, "ca.pem"), others.PEM())
	until(t, "the old CA's end", func() bool { return ask(t, s.client(t, agent)) != nil })
	if log := s.log(); strings.Contains(log, "PRIVATE KEY") || strings.Contains(log, "no key") {
		t.Errorf("the log has what is in a file:\n%s", log)
	}
}

// TestCertificatesOfOpenConnections: a certificate counts no longer than its CA is in the file, over a connection that is open too.
func TestCertificatesOfOpenConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	writePrincipals(t, path, principal{"agent", identity.NewToken(), "read", "*"})
	s := startSecured(t, "--principals="+path)
	opened := s.client(t, s.ca.Issue(t, "agent", time.Hour))
	if err := ask(t, opened); err != nil {
		t.Fatal(err)
	}
	testcerts.Write(t, filepath.Join(s.dir, "ca.pem"), testcerts.NewCA(t).PEM())
	until(t, "the old CA's end", func() bool { return ask(t, opened) != nil })
	if err := ask(t, opened); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v; want UNAUTHENTICATED", err)
	}
}

// shows is who the server's certificate is issued to.
func (s *secured) shows(t *testing.T, agent testcerts.Pair) string {
	t.Helper()
	conn, err := tls.Dial("tcp", s.addr, s.config(t, agent))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); rest(t.Context(), 20*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is not there", what)
		}
	}
}

// TestBadCertificatesAreRefused: a server does not start with them.
func TestBadCertificatesAreRefused(t *testing.T) {
	ca, dir := testcerts.NewCA(t), t.TempDir()
	cert, key := ca.Issue(t, "server", time.Hour).Write(t, dir)
	other := testcerts.Write(t, filepath.Join(dir, "other.pem"), ca.Issue(t, "other", time.Hour).Key)
	for name, c := range map[string]struct {
		args  []string
		usage bool
		want  string
	}{
		"no key":            {[]string{"--tls-cert=" + cert}, true, "--tls-cert and --tls-key belong together"},
		"no certificate":    {[]string{"--tls-key=" + key}, true, "--tls-cert and --tls-key belong together"},
		"a client CA alone": {[]string{"--tls-client-ca=" + cert}, true, "--tls-client-ca needs TLS"},
		"TLS 1.1":           {[]string{"--tls-min-version=1.1"}, true, "--tls-min-version"},
		"another's key":     {[]string{"--tls-cert=" + cert, "--tls-key=" + other}, false, "do not make a pair"},
		"no such file":      {[]string{"--tls-cert=" + cert, "--tls-key=" + key + ".no"}, false, "the private key cannot be read"},
		"a path alone":      {[]string{"--listen=/run/x.sock"}, true, "unix:///run/transcriptd/grpc.sock"},
		"unix and a path":   {[]string{"--listen=unix:/run/x.sock"}, true, "unix:///run/transcriptd/grpc.sock"},
		"a relative socket": {[]string{"--listen=unix://here"}, true, "absolute path"},
		"too long a path":   {[]string{"--listen=unix:///" + strings.Repeat("x", 103)}, true, "at most 103 bytes, it has 104"},
		"HTTP on a socket":  {[]string{"--admin-listen=unix:///run/x"}, true, "HOST:PORT"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), append([]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=memory:"}, c.args...), io.Discard, os.Stderr)
			var usage *usageError
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &usage) != c.usage {
				t.Errorf("%v; want an error of %q", err, c.want)
			}
		})
	}
}
