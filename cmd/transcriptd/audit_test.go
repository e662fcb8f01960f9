package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// auditIn names the files of an audit in a folder, and flags for it.
func auditIn(t *testing.T, dir string) (path string, check audit.Check, flags []string) {
	t.Helper()
	path, keyFile := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := audit.ReadKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	check = audit.Check{Keys: []*audit.Key{key}, Found: func(p audit.Problem) error {
		t.Errorf("%s:%d: %d: %s", p.File, p.Line, p.Number, p.What)
		return nil
	}}
	return path, check, []string{"--admin-listen=off", "--audit=" + path, "--audit-key=" + keyFile, "--audit-max-mib=1"}
}

func auditFiles(t *testing.T, path string) []string {
	t.Helper()
	full, err := filepath.Glob(path + ".[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(full)
	return append(full, path)
}

var anchorLine = regexp.MustCompile(`"?audit anchor"?.* hash=([0-9a-f]{64})`)

// TestAuditOfAKilledProcess kills a daemon under 16 writing clients, again and again: each acknowledged node has its line, and the audit is whole once
// the next daemon has gone on with it, with each line that an anchor of the log names.
func TestAuditOfAKilledProcess(t *testing.T) {
	path, check, flags := auditIn(t, t.TempDir())
	var all []*writer
	for cycle := range *killCycles {
		p := startProcess(t, nil, append(flags, "--store=memory:")...)
		all = append(all, writeUntil(t, p, "cycle", 200*time.Millisecond, p.kill)...)
		for _, found := range anchorLine.FindAllStringSubmatch(p.log(), -1) {
			check.Anchors = append(check.Anchors, found[1])
		}
		if len(check.Anchors) <= cycle {
			t.Fatalf("the log has no anchor:\n%s", p.log())
		}
	}
	p := startProcess(t, nil, append(flags, "--store=memory:", "--audit-required")...)
	again := launchProcess(t, nil, append(flags, "--store=memory:")...)
	if again.serves(t) || !strings.Contains(again.log(), "another process writes this audit") {
		t.Errorf("two daemons write one audit:\n%s", again.log())
	}
	p.terminate(t)
	files := auditFiles(t, path)
	verdict, err := check.Verify(files)
	if err != nil || !verdict.Stopped {
		t.Errorf("%+v, %v", verdict, err)
	}
	text, told := "", map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	for _, found := range regexp.MustCompile(`"nodes":\["([0-9a-f]{64})"`).FindAllStringSubmatch(text, -1) {
		told[found[1]] = true
	}
	acknowledged := 0
	for _, w := range all {
		for _, id := range w.acked {
			acknowledged++
			if !told[id] {
				t.Fatalf("node %s was acknowledged, and has no line", id)
			}
		}
	}
	if acknowledged < killWriters || strings.Contains(text, "writer/") {
		t.Errorf("%d nodes were acknowledged; names of aliases may be in the audit", acknowledged)
	}
	t.Logf("%d acknowledged nodes; %+v", acknowledged, verdict)
}

// A daemon does not start with an audit, or a key, that it cannot use, and says which flag it is.
func TestAnAuditThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "key")
	if err := os.WriteFile(open, []byte(strings.Repeat("k", 32)), 0o644); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "notes")
	if err := os.WriteFile(notes, []byte("notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, want string }{
		{"--audit=" + filepath.Join(dir, "nowhere", "audit"), "--audit "}, {"--audit=" + notes, "no line of an audit"}, {"--audit-key=" + open, "chmod 600"},
	} {
		err := run(t.Context(), []string{"--listen=127.0.0.1:0", "--admin-listen=off", "--store=memory:", "--audit=" + filepath.Join(dir, "audit"), c.flag}, nil, os.Stderr)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.flag, err)
		}
	}
	if content, err := os.ReadFile(notes); err != nil || string(content) != "notes\n" {
		t.Errorf("%q, %v", content, err)
	}
}

// The audit is told who was refused on the HTTP side, and nothing of what they asked for or showed; its own numbers are among the metrics.
func TestAuditOfTheHTTPSide(t *testing.T) {
	dir := t.TempDir()
	principals := filepath.Join(dir, "principals.json")
	agent, operator := principal{"agent", identity.NewToken(), "read", "default"}, principal{"operator", identity.NewToken(), "operate", "*"}
	writePrincipals(t, principals, agent, operator)
	path, check, flags := auditIn(t, dir)
	p := startProcess(t, nil, append(flags, "--store=memory:", "--admin-listen=127.0.0.1:0", "--principals="+principals)...)
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "", http.StatusUnauthorized}, {"/debug/pprof/planted", agent.token, http.StatusForbidden}, {"/planted", identity.NewToken(), http.StatusUnauthorized},
		{"/healthz", "", http.StatusOK}, {"/metrics", operator.token, http.StatusOK},
	} {
		code, body := asks(t, http.DefaultClient, p.admin+c.path, c.token)
		if code != c.want || c.path == "/metrics" && code == http.StatusOK && !strings.Contains(body, "transcriptd_audit_last_line 5\n") {
			t.Errorf("%s: %d\n%s", c.path, code, body)
		}
	}
	p.terminate(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := check.Verify([]string{path}); err != nil || verdict.Lines != 6 {
		t.Errorf("%+v, %v", verdict, err)
	}
	for _, want := range []string{
		`"principal":"","method":"http/metrics","scope":"store","code":"UNAUTHENTICATED"`,
		`"principal":"agent","method":"http/debug/pprof","scope":"store","code":"PERMISSION_DENIED"`, `"principal":"","method":"http","scope":"store"`,
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("nothing tells of %s", want)
		}
	}
	if strings.Contains(string(content), "planted") || strings.Contains(string(content), "trd_") {
		t.Errorf("the audit is\n%s", content)
	}
}
