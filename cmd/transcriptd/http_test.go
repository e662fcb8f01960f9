package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/overhttp"
)

// over are clients over HTTP in a form.
func over(url string, form overhttp.Form, by *http.Transport) transcriptv1.TranscriptServiceClient {
	return transcriptv1.NewTranscriptServiceClient(&overhttp.Conn{URL: url, Form: form, Client: &http.Client{Transport: by}})
}

// TestHTTPTellsCallersApart: over HTTP, by TLS, a certificate and a token say who calls, as over gRPC, by HTTP/1.1 and HTTP/2; nothing else does.
func TestHTTPTellsCallersApart(t *testing.T) {
	path, token := filepath.Join(t.TempDir(), "principals.json"), identity.NewToken()
	writePrincipals(t, path, principal{"agent", token, "read", "*"})
	s := startSecured(t, "--principals="+path, "--http-listen=127.0.0.1:0", "--log-level=debug")
	if !strings.HasPrefix(s.http, "https://") {
		t.Fatalf("HTTP is served at %q", s.http)
	}
	agent, stranger := s.ca.Issue(t, "agent", time.Hour), s.ca.Issue(t, "stranger", time.Hour)
	shows := func(config *tls.Config, two bool) *http.Transport {
		by := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: two}
		t.Cleanup(by.CloseIdleConnections)
		return by
	}
	with := s.config(t, agent)
	other := s.config(t, stranger)
	none := s.config(t, agent)
	none.Certificates = nil
	for _, form := range []overhttp.Form{overhttp.Curl, overhttp.ConnectProto, overhttp.Web} {
		for _, two := range []bool{false, true} {
			for what, c := range map[string]struct {
				config *tls.Config
				head   []string
				want   codes.Code
			}{
				"a certificate":                 {with, nil, codes.OK},
				"another certificate":           {other, nil, codes.Unauthenticated},
				"another, and a token":          {other, []string{"authorization", "Bearer " + token}, codes.OK},
				"a certificate and a bad token": {with, []string{"authorization", "Bearer x"}, codes.Unauthenticated},
				"a token":                       {none, []string{"authorization", "Bearer " + token}, codes.OK},
				"two tokens":                    {none, []string{"authorization", "Bearer " + token, "authorization", "Bearer " + token}, codes.Unauthenticated},
				"nothing":                       {none, nil, codes.Unauthenticated},
				"names in headers":              {none, []string{"x-forwarded-client-cert", "Subject=CN=agent", "x-ssl-client-s-dn", "CN=agent", "x-client-cert", "agent", "principal", "agent"}, codes.Unauthenticated},
			} {
				by := shows(c.config.Clone(), two)
				_, err := over(s.http, form, by).ServerInfo(metadata.AppendToOutgoingContext(callContext(t), c.head...), &transcriptv1.ServerInfoRequest{})
				if status.Code(err) != c.want {
					t.Errorf("%s, %s, HTTP/2 %v: %v; want %v", form, what, two, err, c.want)
				}
			}
		}
	}
	if log := s.log(); strings.Contains(log, token) || !strings.Contains(log, "principal=agent") {
		t.Errorf("the log has no caller, or a token:\n%.2000s", log)
	}
}

// TestHTTPNeedsWhatGRPCNeeds: other machines reach HTTP under the rule of --listen alone, and flags that cannot be are refused.
func TestHTTPNeedsWhatGRPCNeeds(t *testing.T) {
	for what, c := range map[string]struct {
		args []string
		want string
	}{
		"an address of others": {[]string{"--http-listen=0.0.0.0:0"}, "--http-listen 0.0.0.0:0 can be reached from other machines"},
		"no address":           {[]string{"--http-listen=here"}, "--http-listen must be HOST:PORT"},
		"a socket":             {[]string{"--http-listen=unix:///run/x"}, "--http-listen must be HOST:PORT"},
		"every origin":         {[]string{"--http-listen=127.0.0.1:0", "--http-origin=*"}, "--http-origin must be an origin"},
		"an origin with path":  {[]string{"--http-listen=127.0.0.1:0", "--http-origin=https://app.example/"}, "--http-origin must be an origin"},
	} {
		err := run(t.Context(), append([]string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=memory:"}, c.args...), io.Discard, os.Stderr)
		var usage *usageError
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &usage) {
			t.Errorf("%s: %v; want an error of %q", what, err, c.want)
		}
	}
	p := startProcess(t, nil, "--store=memory:", "--admin-listen=off", "--http-listen=0.0.0.0:0", "--insecure")
	if log := p.log(); !strings.Contains(log, "--insecure: other machines can reach this server") || !strings.Contains(log, "--http-listen 0.0.0.0:0") {
		t.Errorf("that it is open is not told:\n%s", log)
	}
}

// TestHTTPEndsCalls: SIGTERM lets a call over HTTP end, and the process ends then.
func TestHTTPEndsCalls(t *testing.T) {
	p := startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=off", "--http-listen=127.0.0.1:0")
	client := over(p.http, overhttp.Curl, &http.Transport{})
	var put atomic.Int64
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for {
				_, err := client.PutNode(t.Context(), &transcriptv1.PutNodeRequest{Messages: userSays(fmt.Sprint(put.Add(1)))})
				if code := status.Code(err); err != nil {
					if code != codes.Unavailable {
						t.Errorf("a call while the server drains: %v", err)
					}
					return
				}
			}
		})
	}
	until(t, "calls", func() bool { return put.Load() > 100 })
	p.terminate(t)
	running.Wait()
}

func userSays(text string) []*transcriptv1.Message {
	return []*transcriptv1.Message{{
		Role:  transcriptv1.Role_ROLE_USER,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
	}}
}
