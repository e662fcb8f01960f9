package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// principal is one of a file of principals, with a token and a grant of roles on namespaces.
type principal struct{ name, token, roles, namespaces string }

// writePrincipals writes a file of principals at once, as an editor of it does.
func writePrincipals(t *testing.T, path string, all ...principal) {
	t.Helper()
	var entries []string
	for _, p := range all {
		hash := identity.HashToken(p.token)
		entries = append(entries, fmt.Sprintf(`{"name":%q,"grants":[{"roles":["%s"],"namespaces":%q}],"tokens":[{"id":%q,"sha256":%q}],"certificates":["CN=%s"]}`,
			p.name, strings.ReplaceAll(p.roles, " ", `","`), p.namespaces, p.name, hex.EncodeToString(hash[:]), p.name))
	}
	text := `{"principals":[` + strings.Join(entries, ",") + `]}`
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func shows(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// TestPrincipals: who is named in the file is served as the grants say, nobody else is, and a token that is taken out of it is refused within
// seconds. The HTTP side goes by the same file, but for probes. No token comes into the log.
func TestPrincipals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	agent := principal{"agent", identity.NewToken(), "read append", "default"}
	operator := principal{"operator", identity.NewToken(), "operate", "*"}
	writePrincipals(t, path, agent, operator)
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=127.0.0.1:0", "--log-level=debug", "--principals="+path)
	client := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	put := func(ctx context.Context) codes.Code {
		_, err := putText(ctx, client, "hello")
		return status.Code(err)
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		want codes.Code
	}{
		"no token": {callContext(t), codes.Unauthenticated}, "the agent's": {shows(callContext(t), agent.token), codes.OK},
		"the operator's": {shows(callContext(t), operator.token), codes.PermissionDenied}, "nobody's": {shows(callContext(t), identity.NewToken()), codes.Unauthenticated},
	} {
		if got := put(c.ctx); got != c.want {
			t.Errorf("with %s token: %v, want %v", name, got, c.want)
		}
	}
	for of, want := range map[string][3]int{ // without a token, with the agent's, with the operator's
		"/healthz": {200, 200, 200}, "/readyz": {200, 200, 200}, "/metrics": {401, 403, 200}, "/debug/pprof/": {401, 403, 200},
		"/debug/pprof/cmdline": {401, 403, 200}, "/nothing": {401, 403, 404},
	} {
		for i, token := range []string{"", agent.token, operator.token} {
			code, body := asks(t, http.DefaultClient, p.admin+of, token)
			if code != want[i] {
				t.Errorf("%s, token %d: %d", of, i, code)
			}
			if of == "/metrics" && code == 200 && !strings.Contains(body, `transcriptd_server_calls_by_principal_total{code="OK",principal="agent"} 1`) {
				t.Errorf("calls are not counted by principal:\n%s", body)
			}
		}
	}
	writePrincipals(t, path, operator)
	until(t, "the end of the agent's token", func() bool { return put(shows(callContext(t), agent.token)) == codes.Unauthenticated })
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the file", func() bool { return put(shows(callContext(t), operator.token)) == codes.Unavailable })
	if code, _ := asks(t, http.DefaultClient, p.admin+"/metrics", operator.token); code != http.StatusServiceUnavailable {
		t.Errorf("without a file that can be used metrics are told: %d", code)
	}
	p.terminate(t)
	if log := p.log(); strings.Contains(log, "trd_") || !strings.Contains(log, "principal=agent") {
		t.Errorf("the log:\n%s", log)
	}
}

// asks makes a request of HTTP with a token, and holds that a refusal says which scheme is expected.
func asks(t *testing.T, web *http.Client, url, token string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(callContext(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := web.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if expects := response.Header.Get("WWW-Authenticate"); (response.StatusCode == http.StatusUnauthorized) != (expects == "Bearer") {
		t.Errorf("%s: %d expects %q", url, response.StatusCode, expects)
	}
	return response.StatusCode, string(all)
}

// TestPrincipalsByCertificate: a client certificate says who calls, with gRPC and with HTTP, where no token does; and where principals are
// configured, a client without one may show a token.
func TestPrincipalsByCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	agent := principal{"agent", identity.NewToken(), "read append operate", "*"}
	writePrincipals(t, path, agent)
	s := startSecured(t, "--principals="+path)
	certified, other := s.ca.Issue(t, "agent", time.Hour), s.ca.Issue(t, "other", time.Hour)
	bare := func(c *tls.Config) { c.Certificates = nil }
	for name, c := range map[string]struct {
		client transcriptv1.TranscriptServiceClient
		token  string
		want   codes.Code
	}{
		"the agent's certificate":         {s.client(t, certified), "", codes.OK},
		"another's certificate":           {s.client(t, other), "", codes.Unauthenticated},
		"neither":                         {s.client(t, certified, bare), "", codes.Unauthenticated},
		"a token alone":                   {s.client(t, certified, bare), agent.token, codes.OK},
		"a wrong token and a certificate": {s.client(t, certified), identity.NewToken(), codes.Unauthenticated},
	} {
		ctx := callContext(t)
		if c.token != "" {
			ctx = shows(ctx, c.token)
		}
		_, err := c.client.ServerInfo(ctx, &transcriptv1.ServerInfoRequest{})
		if status.Code(err) != c.want || c.want != codes.OK && !strings.Contains(err.Error(), "or a client certificate") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	web := func(change ...func(*tls.Config)) *http.Client {
		config := s.config(t, certified)
		for _, c := range change {
			c(config)
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	}
	if code, _ := asks(t, web(), s.admin+"/metrics", ""); code != http.StatusOK {
		t.Errorf("with a certificate metrics are refused: %d", code)
	}
	if code, _ := asks(t, web(bare), s.admin+"/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("without a certificate metrics are told: %d", code)
	}
	s.terminate(t)
}

// TestExposure: an address that other machines reach is refused while something is open there, and with --insecure a line says at every start
// what is.
func TestExposure(t *testing.T) {
	principals, secured := "--principals=p.json", []string{"--tls-cert=c", "--tls-key=k"}
	public, publicAdmin := "--listen=0.0.0.0:7420", "--admin-listen=192.0.2.1:80"
	for name, c := range map[string]struct {
		args []string
		open string
	}{
		"loopback":                    {nil, ""},
		"loopback with principals":    {[]string{principals}, ""},
		"a socket":                    {[]string{"--listen=unix:///run/x.sock"}, ""},
		"public":                      {[]string{public}, everybody},
		"public admin":                {[]string{publicAdmin}, everybody},
		"public, TLS":                 {append(secured, public), everybody},
		"public, principals":          {[]string{public, principals}, plainText},
		"public admin, principals":    {[]string{publicAdmin, principals}, plainText},
		"public, TLS and principals":  {append(secured, public, publicAdmin, principals), ""},
		"a socket and a public admin": {[]string{"--listen=unix:///run/x.sock", publicAdmin}, everybody},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseConfig(c.args, io.Discard)
			if (c.open == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.open) || !strings.Contains(err.Error(), "--insecure")) {
				t.Errorf("%v", err)
			}
			cfg, err := parseConfig(append(c.args, "--insecure"), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			cfg.warn(slog.New(slog.NewTextHandler(&log, nil)))
			lines := strings.Count(log.String(), "\n")
			if c.open == "" && lines != 0 || c.open != "" && (lines != 1 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), c.open)) {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

// TestBadPrincipals: a server does not start with a file that it cannot use, and says what to do.
func TestBadPrincipals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "principals.json")
	if err := os.WriteFile(path, []byte(`{"principals":[]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=memory:", "--principals=" + path}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--principals") || !strings.Contains(err.Error(), "chmod 0600") {
		t.Errorf("%v", err)
	}
}
