package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// callers knows tokens by what stands in the header; open lets in everybody else as well.
type callers struct {
	by   map[string]*identity.Principal
	open atomic.Bool
}

func (c *callers) Authenticate(shown identity.Credentials) (*identity.Principal, error) {
	if len(shown.Authorization) == 1 && c.by[shown.Authorization[0]] != nil {
		return c.by[shown.Authorization[0]], nil
	}
	if c.open.Load() {
		return c.by["Bearer all"], nil
	}
	return nil, identity.ErrUnauthenticated
}

// httpBench is a transcriptd that tells tenants apart, behind HTTP.
type httpBench struct {
	t       *testing.T
	callers *callers
	url     string
}

func newHTTPBench(t *testing.T, cfg Config, h HTTPConfig) *httpBench {
	t.Helper()
	grant := func(name string, roles identity.Role, namespace identity.Pattern) *identity.Principal {
		return &identity.Principal{Name: name, Grants: []identity.Grant{{Roles: roles, Namespaces: namespace}}}
	}
	b := &httpBench{t: t, callers: &callers{by: map[string]*identity.Principal{
		"Bearer a": grant("a", identity.Read, "tenant-a"), "Bearer b": grant("b", identity.Read, "tenant-b"),
		"Bearer all": grant("all", identity.Read|identity.Append, identity.Everything),
	}}}
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = store.Close() })
	conn := testserver.StartWith(t, store, server.Config{Version: "test", Authenticator: b.callers}).Conn
	cfg.Client = transcriptv1.NewTranscriptServiceClient(conn)
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		_, err := cfg.Client.PutNode(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer all"), &transcriptv1.PutNodeRequest{
			Namespace: tenant, Messages: []*transcriptv1.Message{client.User("words of " + tenant)}, Aliases: []*transcriptv1.AliasUpdate{{Name: "chat/1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s := httptest.NewServer(New(cfg).Handler(h))
	t.Cleanup(s.Close)
	b.url = s.URL + Path
	return b
}

const callRead = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_conversation","arguments":{"conversation":"chat/1"}}}`

// post sends a body with headers, in pairs.
func (b *httpBench) post(body string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	return b.do(http.MethodPost, body, headers...)
}

func (b *httpBench) do(method, body string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Content-Type" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := io.ReadAll(got.Body)
	if err = firstError(err, got.Body.Close()); err != nil {
		b.t.Fatal(err)
	}
	return got, string(text)
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// withHeader shows a token.
type withHeader string

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(h))
	return http.DefaultTransport.RoundTrip(r)
}

// TestHTTPTokens: each request is done with its own token, and nobody's else; what transcriptd refuses is 401.
func TestHTTPTokens(t *testing.T) {
	var log bytes.Buffer
	b := newHTTPBench(t, Config{Namespace: "tenant-a", Log: slog.New(slog.NewTextHandler(&log, nil))}, HTTPConfig{})
	for _, c := range []struct {
		headers []string
		status  int
		auth    string
		says    string
	}{
		{[]string{"Authorization", "Bearer a"}, 200, "", "words of tenant-a"},
		{nil, 401, `Bearer realm="transcriptd"`, "a token is needed"},
		{[]string{"Authorization", "Bearer wrong"}, 401, `Bearer realm="transcriptd", error="invalid_token"`, "not known"},
		{[]string{"Authorization", "Basic a"}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "must be Bearer"},
		{[]string{"Authorization", "Bearer"}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "must be Bearer"},
		{[]string{"Authorization", "Bearer a b"}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "must be Bearer"},
		{[]string{"Authorization", "Bearer a", "Authorization", "Bearer all"}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "once"},
		{[]string{"Authorization", "Bearer b"}, 200, "", "may not do that in namespace tenant-a"},
		{[]string{"Authorization", "Bearer é"}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "must be Bearer"},
		{[]string{"Authorization", "Bearer " + strings.Repeat("a", 20_000)}, 401, `Bearer realm="transcriptd", error="invalid_request"`, "must be Bearer"},
	} {
		got, text := b.post(callRead, c.headers...)
		if got.StatusCode != c.status || got.Header.Get("WWW-Authenticate") != c.auth || !strings.Contains(text, c.says) || strings.Contains(text, "tenant-b") {
			t.Errorf("%.60q: %d, %q, %s", c.headers, got.StatusCode, got.Header.Get("WWW-Authenticate"), text)
		}
		if kept := got.Header.Get("Cache-Control"); !strings.HasPrefix(kept, "no-store") && !strings.HasPrefix(kept, "no-cache") {
			t.Errorf("%.60q: may be cached", c.headers)
		}
	}
	hasNot(t, log.String(), "Bearer", "words", "chat/1")
}

// TestHTTPClient: the SDK's client, new and old, gets the same as over standard input, with private caches.
func TestHTTPClient(t *testing.T) {
	b := newHTTPBench(t, Config{Namespace: "tenant-a"}, HTTPConfig{RequireTokens: true})
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.url, HTTPClient: &http.Client{Transport: withHeader("Bearer a")}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t, c}
	has(t, s.must("read_conversation", map[string]any{"conversation": "chat/1"}), "words of tenant-a")
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil || listed.CacheScope != "private" {
		t.Errorf("%+v, %v", listed, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		got, text := b.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version),
			"Authorization", "Bearer a")
		if got.StatusCode != 200 || !strings.Contains(text, version) {
			t.Errorf("%s: %d %s", version, got.StatusCode, text)
		}
	}
}

// TestHTTPRefusals: what a browser of another site, or a client that is wrong, is told.
func TestHTTPRefusals(t *testing.T) {
	b := newHTTPBench(t, Config{Namespace: "tenant-a"}, HTTPConfig{Hosts: []string{"mcp.example"}})
	own := strings.TrimSuffix(b.url, Path)
	for _, c := range []struct {
		method, body string
		headers      []string
		status       int
	}{
		{"POST", callRead, []string{"Host", "mcp.example"}, 200},
		{"POST", callRead, []string{"Host", "MCP.example:443"}, 200},
		{"POST", callRead, []string{"Host", "localhost:1"}, 200},
		{"POST", callRead, []string{"Host", "[::1]:1"}, 200},
		{"POST", callRead, []string{"Host", "evil.example"}, 403},
		{"POST", callRead, []string{"Host", "localhost.evil.example"}, 403},
		{"POST", callRead, []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"POST", callRead, []string{"Origin", own}, 200},
		{"POST", callRead, []string{"Origin", "https://evil.example"}, 403},
		{"POST", callRead, []string{"Origin", "null"}, 403},
		{"POST", callRead, []string{"Origin", own, "Origin", "https://evil.example"}, 403},
		{"POST", callRead, []string{"Origin", ""}, 403},
		{"POST", callRead, []string{"Origin", "ws" + strings.TrimPrefix(own, "http")}, 403},
		{"POST", callRead, []string{"Origin", own + ".evil.example"}, 403},
		{"POST", callRead, []string{"Origin", own + "0"}, 403},
		{"POST", callRead, []string{"Origin", "http://localhost"}, 403},
		{"GET", "", []string{"Origin", "https://evil.example"}, 403},
		{"OPTIONS", "", []string{"Origin", "https://evil.example"}, 403},
		{"GET", "", nil, 405},
		{"DELETE", "", nil, 405},
		{"PUT", callRead, nil, 405},
		{"POST", callRead, []string{"Content-Type", "text/plain"}, 415},
		{"POST", "{", nil, 400},
		{"POST", "", nil, 400},
		{"POST", "[" + callRead + "," + callRead + "]", nil, 400},
		{"POST", strings.Repeat(" ", maxBody+1), nil, 413},
	} {
		got, text := b.do(c.method, c.body, append(c.headers, "Authorization", "Bearer a")...)
		if got.StatusCode != c.status || got.Header.Get("Access-Control-Allow-Origin") != "" || c.status != 200 && strings.Contains(text, "words") {
			t.Errorf("%s %.80q %v: %d %s", c.method, c.body, c.headers, got.StatusCode, text)
		}
	}
	b.url = own + "/other"
	if got, text := b.post(callRead, "Authorization", "Bearer a"); got.StatusCode != 404 || !strings.Contains(text, "under /mcp") {
		t.Errorf("another path: %d %s", got.StatusCode, text)
	}
}

// TestHTTPGuard: where tokens are required, a transcriptd that looks at none is not shown.
func TestHTTPGuard(t *testing.T) {
	b := newHTTPBench(t, Config{Namespace: "tenant-a"}, HTTPConfig{RequireTokens: true})
	b.callers.open.Store(true)
	if got, text := b.post(callRead, "Authorization", "Bearer whatever"); got.StatusCode != 503 || strings.Contains(text, "words") {
		t.Errorf("%d %s", got.StatusCode, text)
	}
	if got, _ := b.post(callRead); got.StatusCode != 401 {
		t.Errorf("without a token: %d", got.StatusCode)
	}
	b.callers.open.Store(false)
	if got, text := b.post(callRead, "Authorization", "Bearer a"); got.StatusCode != 200 {
		t.Errorf("%d %s", got.StatusCode, text)
	}
}

// held is a client whose reads wait.
type held struct {
	transcriptv1.TranscriptServiceClient
	waiting chan struct{}
	release chan struct{}
}

func (h *held) Describe(ctx context.Context, _ *transcriptv1.DescribeRequest, _ ...grpc.CallOption) (*transcriptv1.DescribeResponse, error) {
	h.waiting <- struct{}{}
	select {
	case <-h.release:
		return &transcriptv1.DescribeResponse{Text: "done"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *held) ServerInfo(context.Context, *transcriptv1.ServerInfoRequest, ...grpc.CallOption) (*transcriptv1.ServerInfoResponse, error) {
	return &transcriptv1.ServerInfoResponse{}, nil
}

// TestHTTPFlood: more requests than there are places are told to come again, and the others end.
func TestHTTPFlood(t *testing.T) {
	h := &held{waiting: make(chan struct{}, maxRequests), release: make(chan struct{})}
	s := httptest.NewServer(New(Config{Client: h, Binding: Binding{Chain: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "a"}}}}).Handler(HTTPConfig{}))
	defer s.Close()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe_chain"}}`
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", Path, len(call), call)
	open := func() net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		return c
	}
	status := func(c net.Conn) int {
		got, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		_ = c.Close()
		return got.StatusCode
	}
	var running []net.Conn
	for range maxRequests {
		running = append(running, open())
		<-h.waiting
	}
	if code := status(open()); code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	close(h.release)
	for _, c := range running {
		if code := status(c); code != http.StatusOK {
			t.Errorf("one that ran: %d", code)
		}
	}
}

// unread is a caller who sends a request and does not read the reply.
type unread struct {
	*httptest.ResponseRecorder
	writes chan struct{}
}

func (u *unread) Write(b []byte) (int, error) {
	u.writes <- struct{}{}
	<-u.writes
	return u.ResponseRecorder.Write(b)
}

// TestHTTPUnread: replies that nobody reads take no places from others.
func TestHTTPUnread(t *testing.T) {
	h := New(Config{Client: &held{}}).Handler(HTTPConfig{})
	ask := func(w http.ResponseWriter) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		h.ServeHTTP(w, r)
	}
	var callers sync.WaitGroup
	waiting := make([]*unread, maxRequests)
	for i := range waiting {
		waiting[i] = &unread{httptest.NewRecorder(), make(chan struct{})}
		callers.Go(func() { ask(waiting[i]) })
		<-waiting[i].writes
	}
	one := httptest.NewRecorder()
	ask(one)
	if one.Code != http.StatusOK || !strings.Contains(one.Body.String(), "read_conversation") {
		t.Errorf("beside replies that are not read: %d %s", one.Code, one.Body)
	}
	for _, w := range waiting {
		w.writes <- struct{}{}
	}
	callers.Wait()
	if got := waiting[0]; got.Code != http.StatusOK || got.Body.String() != one.Body.String() {
		t.Errorf("one that read late: %d %s", got.Code, got.Body)
	}
}
