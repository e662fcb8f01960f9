package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// faultyStore fails commits and finds problems.
type faultyStore struct {
	chainstore.Store
	commit   error
	problems int
}

func (s *faultyStore) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	if errors.Is(s.commit, context.DeadlineExceeded) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.commit != nil {
		return nil, s.commit
	}
	return s.Store.Commit(ctx, namespace, c)
}

func (s *faultyStore) Verify(_ context.Context, check chainstore.Check, _ chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	if check.WholeStore {
		return report(chainstore.VerifyReport{Files: 1, Namespaces: 2, Nodes: 7, Entries: 8, Problems: []chainstore.Problem{
			{Kind: chainstore.ProblemFile, What: "a file"}, {Namespace: "team-a", HasNode: true, Node: chainstore.ID{0xab}, What: "a node"},
		}})
	}
	found := make([]chainstore.Problem, s.problems)
	for i := range found {
		found[i] = chainstore.Problem{Kind: chainstore.ProblemIndex, What: fmt.Sprintf("problem %d", i)}
	}
	return report(chainstore.VerifyReport{Nodes: 7, Entries: 8, Problems: found})
}

// TestExitCodes: what the server cannot do has the exit code that the help tells, and a hint.
func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
		text string
	}{
		{chainstore.ErrOverloaded, exitUnavailable, "transcriptctl: "},
		{chainstore.ErrDiskFull, exitFailed, "Make the server's disk larger"},
		{chainstore.ErrTooManyFiles, exitFailed, "limit"},
		{chainstore.ErrFailed, exitUnavailable, "restart the server"},
		{context.DeadlineExceeded, exitUnavailable, "--timeout"},
		{errors.New("unknown"), exitFailed, "its log has the cause"},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			t.Parallel()
			s := serveStore(t, &faultyStore{Store: memstore.New(memstore.Options{}), commit: test.err})
			r := s.run("put", "--text", "canary", "--timeout", "1s", "--alias", "canary", "--metadata", "k=canary")
			if r.code != test.code || !strings.Contains(r.notes, test.text) || r.out != "" {
				t.Errorf("exit code %d, %q, %q", r.code, r.notes, r.out)
			}
			if strings.Contains(r.notes, "canary") || strings.Contains(r.notes, "unknown") {
				t.Errorf("the error tells content or a cause: %q", r.notes)
			}
		})
	}
}

// TestUnreachable: a server that is not there has an exit code of its own, and the error says what to do.
func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stack{tb: t, addr: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	r := s.run("stats", "--timeout", "1s")
	if r.code != exitUnavailable || !strings.Contains(r.notes, s.addr) || !strings.Contains(r.notes, "Start it with 'transcriptd'") {
		t.Errorf("exit code %d, %q", r.code, r.notes)
	}
	if r := s.run("version"); r.code != exitOK {
		t.Errorf("version needs no server: exit code %d, %q", r.code, r.notes)
	}
}

// TestVerifyProblems: problems are lines on standard output, and the exit code tells of them.
func TestVerifyProblems(t *testing.T) {
	s := serveStore(t, &faultyStore{Store: memstore.New(memstore.Options{}), problems: 2})
	r := s.run("verify")
	want := "NODE          KIND      PROBLEM\n-             index     problem 0\n-             index     problem 1\n7 nodes and 8 index entries checked, 2 problems\n"
	if r.code != exitDamaged || r.out != want {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
	r = s.run("verify", "--output", "json")
	if r.code != exitDamaged || !strings.Contains(r.out, `"problemsFound":"2"`) {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// TestVerifyAll: the same of the whole store, with the namespace; one that is named beside is refused.
func TestVerifyAll(t *testing.T) {
	s := serveStore(t, &faultyStore{Store: memstore.New(memstore.Options{})})
	r := s.run("verify", "--all")
	want := "NAMESPACE  NODE          KIND      PROBLEM\n-          -             file      a file\nteam-a     ab0000000000  -         a node\n1 file, 2 namespaces, 7 nodes and 8 index entries checked, 2 problems\n"
	if r.code != exitDamaged || r.out != want {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
	r = s.run("verify", "--all", "--output", "json")
	if r.code != exitDamaged || !strings.Contains(r.out, `"namespace":"team-a"`) || !strings.Contains(r.out, `"filesChecked":"1"`) {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
	r = s.run("verify", "--all", "--namespace", "team-a")
	if r.code != exitUsage || r.out != "" || !strings.Contains(r.notes, "leave out --namespace") {
		t.Errorf("exit code %d, %q, %q", r.code, r.out, r.notes)
	}
}

// TestVerifyGoesOn: a check that ends early tells how to go on; one with that cursor does, and what a cursor cannot be is refused.
func TestVerifyGoesOn(t *testing.T) {
	store := &endingStore{Store: memstore.New(memstore.Options{})}
	s := serveStore(t, store)
	r := s.run("verify", "--all", "--rate", "5KiB")
	_, cursor, found := strings.Cut(strings.TrimSpace(r.notes), "--cursor ")
	cursor, _, _ = strings.Cut(cursor, "\n")
	if r.code == exitOK || !found || store.check.BytesPerSecond != 5<<10 {
		t.Fatalf("exit code %d, %q, %q, %+v", r.code, r.out, r.notes, store.check)
	}
	if r = s.run("verify", "--all", "--cursor", cursor); string(store.check.Cursor) != "half of it" {
		t.Errorf("%q, %+v", r.notes, store.check)
	}
	if strings.Contains(r.notes, "--cursor "+cursor) {
		t.Errorf("it got nowhere, and says %q", r.notes)
	}
	for _, args := range [][]string{{"--cursor", cursor}, {"--all", "--cursor", "AAAA"}, {"--rate", "-1"}} {
		if r = s.run(append([]string{"verify"}, args...)...); r.code != exitUsage {
			t.Errorf("%q: exit code %d, %q", args, r.code, r.notes)
		}
	}
}

// endingStore is a store whose checks fail behind their first report.
type endingStore struct {
	chainstore.Store
	check chainstore.Check
}

func (s *endingStore) Verify(_ context.Context, check chainstore.Check, _ chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	s.check = check
	return errors.Join(report(chainstore.VerifyReport{Nodes: 1, Cursor: []byte("half of it")}), chainstore.ErrClosed)
}

// TestPutWaits: a put that waits for its input ends with its context.
func TestPutWaits(t *testing.T) {
	s := newStack(t)
	in, feed := io.Pipe()
	defer feed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--addr", s.addr, "put"}, in, io.Discard, io.Discard) }()
	if _, err := feed.Write([]byte(`{"role":`)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if code := exitCode(<-ended); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// TestHelp: every command has help with an example, and the exit codes are told.
func TestHelp(t *testing.T) {
	help := func(args ...string) string {
		var out bytes.Buffer
		if err := run(t.Context(), append(args, "--help"), strings.NewReader(""), &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	top := help()
	for _, code := range []int{exitOK, exitFailed, exitUsage, exitNotFound, exitConflict, exitUnavailable, exitDamaged, exitInterrupted} {
		if !strings.Contains(top, fmt.Sprintf("\n    %d ", code)) {
			t.Errorf("the help does not tell exit code %d", code)
		}
	}
	for _, command := range []string{
		"put", "show", "alias set", "alias delete", "alias list", "alias resolve", "alias history", "log", "tree", "assemble",
		"loops", "compact", "recall", "search", "replay", "describe", "window", "economy", "import", "export", "verify", "collect", "erase", "receipt show", "receipt verify", "stats", "audit verify", "audit alias",
		"namespace list", "namespace set", "namespace delete", "version",
	} {
		if !strings.Contains(help(strings.Fields(command)...), "\n    transcriptctl "+command) {
			t.Errorf("the help of %s has no example", command)
		}
	}
}

// TestProgress: the line is written over, and taken off before anything else is written.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b}
	p.show("one")
	p.show("too soon")
	p.clear()
	p.clear()
	if b.String() != "\r\x1b[Kone\r\x1b[K" {
		t.Errorf("%q", b.String())
	}
	if newProgress(&b).w != nil {
		t.Error("progress is shown where there is no terminal")
	}
}
