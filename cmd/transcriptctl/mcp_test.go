package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testcerts"
	"github.com/transcriptd/transcriptd/server"
)

// TestMCPLines: standard output has the protocol alone, a message a line, and the end of standard input is the end.
func TestMCPLines(t *testing.T) {
	s := newStack(t)
	s.must("put", "--text", "hello there", "--alias", "chat/a")
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_conversation","arguments":{"conversation":"chat/a"}}}`,
	}, "\n") + "\n"
	reader, writer := io.Pipe()
	out, output := io.Pipe()
	var notes strings.Builder
	done := make(chan error, 1)
	go func() {
		done <- run(t.Context(), []string{"--addr", s.addr, "mcp", "--no-redact", "--verbose"}, reader, output, &notes)
	}()
	go func() { _, _ = io.WriteString(writer, in) }()
	lines := json.NewDecoder(out)
	seen := ""
	for range 2 {
		var message struct {
			JSONRPC string          `json:"jsonrpc"`
			Result  json.RawMessage `json:"result"`
		}
		if err := lines.Decode(&message); err != nil || message.JSONRPC != "2.0" {
			t.Fatalf("%+v, %v", message, err)
		}
		seen += string(message.Result)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(seen, "hello there") || !strings.Contains(notes.String(), "--no-redact: secrets") ||
		!strings.Contains(notes.String(), "tool=read_conversation error=false") || strings.Contains(notes.String(), "hello") {
		t.Errorf("%s\n%s", seen, notes.String())
	}
}

func TestMCPFlags(t *testing.T) {
	s := newStack(t)
	for _, c := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"--chain", "a", "--prefix", "b"}, "give either --chain or --prefix", exitUsage},
		{[]string{"--prefix", strings.Repeat("x", 600)}, "--prefix takes 600 bytes", exitUsage},
		{[]string{"--chain", "node:abcdef"}, "NODE_NOT_FOUND", exitNotFound},
	} {
		if r := s.run(append([]string{"mcp"}, c.args...)...); r.code != c.code || r.out != "" || (c.code == exitUsage && !strings.Contains(r.notes, c.says)) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	if r := s.run("mcp", "--prefix", "chat/"); r.code != exitOK || r.out != "" || r.notes != "" {
		t.Errorf("with an empty input: %+v", r)
	}
}

// TestMCPRealData: on real conversations each reply is bounded, and pages come to an end.
func TestMCPRealData(t *testing.T) {
	dir := realDir(t)
	s := newStack(t)
	for _, file := range slices.Sorted(maps.Keys(realFiles())) {
		if testing.Short() && file != "swe-agent.jsonl.gz" {
			continue
		}
		s.must("import", filepath.Join(dir, file))
	}
	reader, writer := io.Pipe()
	out, output := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"--addr", s.addr, "mcp"}, reader, output, io.Discard) }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, &mcp.IOTransport{Reader: out, Writer: writer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	began, pages := time.Now(), 0
	walk := func(tool string, args map[string]any, most int) (all string) {
		t.Helper()
		cursor := regexp.MustCompile(`(?m)^next: call \S+ with the same arguments and cursor="([^"]+)"`)
		for range most {
			got, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatal(err)
			}
			text := got.Content[0].(*mcp.TextContent).Text
			if n := utf8.RuneCountInString(text); got.IsError || n > 20_000 {
				t.Fatalf("%s %v: %d characters, %.200s", tool, args, n, text)
			}
			pages++
			all += text + "\n"
			next := cursor.FindStringSubmatch(text)
			if next == nil {
				return all
			}
			args["cursor"] = next[1]
		}
		return all
	}
	names := regexp.MustCompile(`(?m)^(chat/.*?)  moved `).FindAllStringSubmatch(walk("list_conversations", map[string]any{}, 1000), -1)
	calls := regexp.MustCompile(`(?m)^ call "[^"]*", id ("(?:[^"\\]|\\.)*"), at ([0-9a-f]+\.\d+)`)
	for i, name := range names {
		if i%10 > 0 && len(names) > 100 { // every tenth
			continue
		}
		walk("read_conversation", map[string]any{"conversation": name[1]}, 1000)
		walk("describe_chain", map[string]any{"conversation": name[1]}, 1)
		loops := walk("list_run_loops", map[string]any{"conversation": name[1]}, 1000)
		for _, call := range calls.FindAllStringSubmatch(loops, 5) {
			var id string
			if err := json.Unmarshal([]byte(call[1]), &id); err != nil || strings.Contains(id, "[redacted]") {
				continue
			}
			walk("recall_tool_call", map[string]any{"conversation": name[1], "call_id": id, "place": call[2]}, 1000)
		}
	}
	walk("search_history", map[string]any{"query": "error"}, 20)
	t.Logf("%d conversations, %d replies in %v", len(names), pages, time.Since(began).Round(time.Millisecond))
	if len(names) == 0 {
		t.Error("no conversations")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMCPHTTPFlags: what would show transcripts to others is refused at the start.
func TestMCPHTTPFlags(t *testing.T) {
	s := newStack(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--http-host", "a"}, "need --http"},
		{[]string{"--http", "7423"}, "is no HOST:PORT"},
		{[]string{"--http", "127.0.0.1:0", "--http-cert", "x"}, "belong together"},
		{[]string{"--http", "0.0.0.0:0"}, "give --http-cert and --http-key"},
		{[]string{"--http", ":0"}, "give --http-cert and --http-key"},
		{[]string{"--http", "mcp.example:0", "--http-cert", "x", "--http-key", "y", "--http-insecure"}, "--http-insecure is plain text"},
		{[]string{"--http", "0.0.0.0:0", "--http-insecure"}, "start it with --principals"},
		{[]string{"--http", "127.0.0.1:0", "--chain", "abcdef"}, "--chain needs the whole id"},
		{[]string{"--http", "127.0.0.1:0", "--http-cert", "none", "--http-key", "none"}, "--http-cert, --http-key"},
	} {
		if r := s.run(append([]string{"mcp"}, c.args...)...); r.code != exitUsage || r.out != "" || !strings.Contains(r.notes, c.says) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

// TestMCPHTTP: the tool's own token is not used, over HTTPS neither, and a signal ends it well.
func TestMCPHTTP(t *testing.T) {
	token := identity.NewToken()
	s := serveAs(t, memstore.New(memstore.Options{}), server.Config{Version: "test", Authenticator: oneToken(token)})
	t.Setenv("TRANSCRIPTCTL_TOKEN", token)
	s.must("put", "--text", "hello there", "--alias", "chat/a")
	ca, dir := testcerts.NewCA(t), t.TempDir()
	pair := ca.Issue(t, "localhost", time.Hour)
	cert, key := testcerts.Write(t, filepath.Join(dir, "cert.pem"), pair.Cert), testcerts.Write(t, filepath.Join(dir, "key.pem"), pair.Key)
	for _, args := range [][]string{{"--http", "127.0.0.1:0"}, {"--http", "0.0.0.0:0", "--http-insecure"}, {"--http", "0.0.0.0:0", "--http-cert", cert, "--http-key", key}} {
		ctx, cancel := context.WithCancel(t.Context())
		notes, told := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- run(ctx, append([]string{"--addr", s.addr, "mcp"}, args...), strings.NewReader(""), io.Discard, told)
			_ = told.Close()
		}()
		var url string
		for lines := bufio.NewScanner(notes); url == "" && lines.Scan(); {
			_, url, _ = strings.Cut(lines.Text(), "serving at ")
		}
		go func() { _, _ = io.Copy(io.Discard, notes) }()
		url = strings.Replace(strings.Replace(url, "[::]", "127.0.0.1", 1), "0.0.0.0", "127.0.0.1", 1)
		for shown, want := range map[string]int{"": 401, "Bearer " + identity.NewToken(): 401, "Bearer " + token: 200} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_conversation","arguments":{"conversation":"chat/a"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if shown != "" {
				req.Header.Set("Authorization", shown)
			}
			c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
			got, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(got.Body)
			if err != nil || got.Body.Close() != nil || got.StatusCode != want || (want == 200) != strings.Contains(string(text), "hello there") {
				t.Errorf("%v, %q: %d %s, %v", args, shown, got.StatusCode, text, err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// oneToken knows one token.
type oneToken string

func (o oneToken) Authenticate(c identity.Credentials) (*identity.Principal, error) {
	if len(c.Authorization) == 1 && c.Authorization[0] == "Bearer "+string(o) {
		return &identity.Principal{Name: "one", Grants: []identity.Grant{{Roles: identity.Read | identity.Append, Namespaces: identity.Everything}}}, nil
	}
	return nil, identity.ErrUnauthenticated
}
