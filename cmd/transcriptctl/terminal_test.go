package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// evil is a text that would clear a terminal, set its title, write from right to left, and, to xterm, begin a control sequence in one
// character.
const evil = "a\x1b[2J\x1b]0;title\x07b\rc\u009b31md\u202ee\u2066f\x7f\x00g"

// safe fails where something would reach a terminal that is no text.
func safe(t *testing.T, what string, r result) {
	t.Helper()
	for _, text := range []string{r.out, r.notes} {
		if i := strings.IndexFunc(text, hidden); i >= 0 {
			t.Errorf("%s: %q", what, text[max(0, i-40):min(len(text), i+40)])
		}
	}
}

// TestTerminal: whatever is stored, or named on the command line, what is printed has no control characters, as a table and as JSON.
func TestTerminal(t *testing.T) {
	s := newStack(t)
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(evil, "\x00", "")
	text := string(quoted)
	conversation := `{"messages": [{"role": "user", "text": ` + text + `, "name": ` + text + `}, {"role": "assistant", "text": ` + text + `, "calls": [{"id": ` + text + `, "name": ` + text +
		`, "arguments": {` + text + `: ` + text + `}}]}, {"role": "tool", "call_id": ` + text + `, "text": ` + text + `}, {"role": "user", "text": "and"}, {"role": "assistant", "calls": [{"id": "c2", "name": "x", "arguments": ` + text + `}]}]}`
	put := s.runWith(t.Context(), conversation, "put", "--alias", "chat/e\u202evil", "--metadata", "key\u202e="+plain, "--metadata", "run/end="+plain)
	if put.code != exitOK {
		put = s.runWith(t.Context(), conversation, "put", "--alias", "chat/e\u202evil", "--metadata", "key="+plain)
	}
	if put.code != exitOK {
		t.Fatal(put.notes)
	}
	safe(t, "put", put)
	for _, command := range [][]string{
		{"log", "chat/e\u202evil"}, {"show", "chat/e\u202evil"}, {"tree"}, {"tree", "chat/e\u202evil"}, {"assemble", "chat/e\u202evil"}, {"assemble", "chat/e\u202evil", "--form", "openai"},
		{"assemble", "chat/e\u202evil", "--form", "json"}, {"assemble", "chat/e\u202evil", "--form", "anthropic"}, {"loops", "chat/e\u202evil"}, {"loops", "--stale", "0s"}, {"search", "title"}, {"search", "title", "chat/e\u202evil"},
		{"replay", "chat/e\u202evil"}, {"describe", "chat/e\u202evil"}, {"window", "chat/e\u202evil"}, {"alias", "list"}, {"alias", "history", "chat/e\u202evil"}, {"alias", "resolve", "chat/e\u202evil"},
		{"verify"}, {"stats"}, {"diff", "chat/e\u202evil", "chat/e\u202evil"}, {"namespace", "list"}, {"recall", "chat/e\u202evil", "c2"},
		{"log", plain}, {"show", "node:" + plain}, {"diff", plain, "none"}, {plain}, {"log", "--" + plain}, {"log", "x", "--since", plain}, {"context", "use", plain}, {"--context", plain, "log", "x"},
		{"alias", "set", plain, "chat/e\u202evil"}, {"put", plain}, {"import", plain}, {"export", "--chat", plain}, {"help", plain}, {"--addr", plain, "stats"}, {"--namespace", plain, "stats"}, {"completions", plain},
	} {
		for _, form := range []string{"table", "json"} {
			safe(t, strings.Join(command, " ")+" as "+form, s.run(append([]string{"--output", form}, command...)...))
		}
	}
	var out strings.Builder
	if err := complete(t.Context(), []string{"--addr", s.addr, "log", "chat/"}, &out); err != nil {
		t.Fatal(err)
	}
	safe(t, "completion", result{out: out.String()})
}

// TestTerminalJSON: JSON that has no control characters says the same.
func TestTerminalJSON(t *testing.T) {
	quoted, err := json.Marshal(map[string]string{evil: evil + "\n\t \\\"\u061c日本"})
	if err != nil {
		t.Fatal(err)
	}
	shown := visibleJSON(quoted)
	if strings.IndexFunc(string(shown), hidden) >= 0 {
		t.Errorf("%q", shown)
	}
	var got map[string]string
	if err := json.Unmarshal(shown, &got); err != nil || got[evil] != evil+"\n\t \\\"\u061c日本" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTerminalErrors: neither has what a server says of an error.
func TestTerminalErrors(t *testing.T) {
	for code, reason := range map[codes.Code]string{
		codes.InvalidArgument: "INVALID_FIELD", codes.NotFound: "ALIAS_NOT_FOUND", codes.Aborted: "ALIAS_MOVED", codes.Internal: evil, codes.FailedPrecondition: "AMBIGUOUS_PREFIX", codes.ResourceExhausted: "QUOTA_EXCEEDED",
	} {
		text := strings.ToValidUTF8(evil, "")
		with, err := status.New(code, "no "+text).WithDetails(
			&errdetails.ErrorInfo{Reason: reason, Domain: "transcript.v1", Metadata: map[string]string{text: text}},
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: text, Description: "is " + text}}},
			&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{Type: text, Subject: text, Description: text}}},
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: text, Description: text}}},
			&errdetails.RequestInfo{RequestId: text},
		)
		if err != nil {
			t.Fatal(err)
		}
		fail := with.Err()
		s := serveStore(t, memstore.New(memstore.Options{}),
			grpc.ChainUnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { return nil, fail }),
			grpc.ChainStreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error { return fail }))
		for _, command := range []string{"log x", "show x", "assemble x", "put --text a --alias b", "stats", "verify", "search x", "alias list", "alias delete b", "recall x y", "version", "bench --seconds 1", "export"} {
			r := s.run(strings.Fields(command)...)
			safe(t, command, r)
			if r.code == exitOK && command != "version" {
				t.Errorf("%s: no error", command)
			}
		}
		dir := t.TempDir()
		safe(t, "import", s.run("import", filepath.Join(dir, evil[:3])))
		s.stop()
	}
}

// TestTerminalProgress: nor has a line of progress, which names files.
func TestTerminalProgress(t *testing.T) {
	var out strings.Builder
	p := &progress{w: &out}
	p.show(evil)
	if shown, found := strings.CutPrefix(out.String(), "\r\x1b[K"); !found || strings.IndexFunc(shown, hidden) >= 0 || !strings.Contains(shown, `\x1b]0;title`) {
		t.Errorf("%q", out.String())
	}
}

// TestOwnMessages: no count of a server leads out of what it sent.
func TestOwnMessages(t *testing.T) {
	for count, want := range map[int32]int{0: 0, 2: 2, 3: 3, 4: 3, 1<<31 - 1: 3, -1: 0, -1 << 31: 0} {
		if got := ownMessages(&transcriptv1.NodeInfo{MessageCount: count}, 3); got != want {
			t.Errorf("%d of 3: %d", count, got)
		}
	}
}

// TestUnreadable: what cannot be read is a mistake in the input, whatever keeps it from being read.
func TestUnreadable(t *testing.T) {
	s := newStack(t)
	dir := t.TempDir()
	for _, file := range []string{dir, filepath.Join(dir, "none")} {
		if r := s.run("put", file); r.code != exitUsage || !strings.Contains(r.notes, file) {
			t.Errorf("put %s: exit code %d, %q", file, r.code, r.notes)
		}
	}
}
