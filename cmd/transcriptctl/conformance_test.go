package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestConformance(t *testing.T) {
	s := newStack(t)
	r := s.run("conformance", "--run", "^put-nodes/")
	if r.code != exitOK || strings.Count(r.out, "pass  put-nodes/") != 4 || !strings.HasSuffix(r.out, "\n4 checks: 4 passed, 0 failed, 0 skipped\n") ||
		!strings.Contains(r.notes, "stay in the namespaces conformance-") {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.notes)
	}
	lines := strings.Split(strings.TrimSpace(s.must("conformance", "--run", "^put-nodes/previous$", "-o", "json")), "\n")
	var check struct{ ID, Status string }
	var sum struct {
		Passed     int `json:",string"`
		Namespaces []string
	}
	if json.Unmarshal([]byte(lines[0]), &check) != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &sum) != nil ||
		check.ID != "put-nodes/previous" || check.Status != "pass" || sum.Passed != 1 || len(sum.Namespaces) != 2 {
		t.Errorf("printed %q", lines)
	}
}

// TestConformanceFails: a server that breaks a promise fails the check, and the command.
func TestConformanceFails(t *testing.T) {
	forgetful := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if r, ok := request.(*transcriptv1.PutNodeRequest); ok {
			r.Notes = nil
		}
		return next(ctx, request)
	}
	s := serveStore(t, memstore.New(memstore.Options{}), grpc.ChainUnaryInterceptor(forgetful))
	r := s.run("conformance", "--run", "^identity/notes")
	if r.code != exitFailed || !strings.HasPrefix(r.out, "FAIL  identity/notes-are-not-hashed: ") || !strings.Contains(r.out, "\n      notes of the node: expected 1, got 0\n") ||
		!strings.Contains(r.notes, "the server does not keep 1 promise\n") {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.notes)
	}
}

func TestConformanceMistakes(t *testing.T) {
	s := newStack(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--namespace", "mine"}, exitUsage, "namespaces of its own"},
		{[]string{"--parallel", "0"}, exitUsage, "--parallel must be from 1 to 64, is 0"},
		{[]string{"--run", "("}, exitUsage, "--run (: "},
		{[]string{"--run", "^nothing$"}, exitUsage, "no check has such an id"},
	} {
		if r := s.run(append([]string{"conformance"}, c.args...)...); r.code != c.code || !strings.Contains(r.notes, c.want) || r.out != "" {
			t.Errorf("%v: exit code %d, %s%s", c.args, r.code, r.out, r.notes)
		}
	}
	s.stop()
	if r := s.run("conformance", "--timeout", "2s"); r.code != exitUnavailable || strings.Contains(r.out, "FAIL") {
		t.Errorf("without a server: exit code %d, %s%s", r.code, r.out, r.notes)
	}
}
