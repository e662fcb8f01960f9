package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// TestNamespaceSet: what quotas may be, and how they are told; docs/transcriptctl.md has the rest.
func TestNamespaceSet(t *testing.T) {
	s := newStack(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--max-bytes 64KiB", exitOK, "bytes      at most 64.0 KiB"},
		{"--max-bytes 3TiB --max-aliases 7", exitOK, "aliases    at most 7"},
		{"--max-bytes 9223372036854775807", exitOK, "bytes      at most 8589934592.0 GiB"},
		{"--max-bytes 12 --revision 3", exitOK, "revision   4"},
		{"--max-bytes 12 --revision 3", exitOK, "revision   4"}, // a repeat
		{"--max-nodes 0 --revision 3", exitConflict, "repeat with that revision as --revision"},
		{"--max-nodes 0", exitOK, "bytes      no limit"},
		{"", exitUsage, "--max-nodes 0 takes all away"},
		{"--ttl tmp/=36h --ttl =90d --hold case/", exitOK, "retention  tmp/…: expire after 36h0m0s"},
		{"--max-nodes 9", exitOK, "retention  case/…: legal hold"},
		{"--ttl tmp/keep/=0", exitOK, "retention  tmp/keep/…: stay"},
		{"--hold tmp/", exitOK, "retention  tmp/…: legal hold, expire after 36h0m0s"},
		{"--release tmp/ --ttl tmp/=0 --ttl tmp/keep/=0", exitOK, "nodes      at most 9"},
		{"--hold tmp/9/", exitOK, "retention  tmp/9/…: legal hold"},
		{"--release tmp/8/", exitUsage, `no legal hold on the prefix "tmp/8/"; there are holds on: "case/", "tmp/9/"`},
		{"--release tmp/9/", exitOK, "retention  every alias: expire after 90d\nretention  case/…: legal hold\nretention  tmp/…: stay\nretention  tmp/keep/…: stay\nrevision"},
		{"--ttl tmp/", exitUsage, "--ttl must be PREFIX=DURATION"},
		{"--ttl tmp/=soon", exitUsage, "--ttl must be PREFIX=DURATION"},
		{"--ttl tmp/=5s", exitUsage, "ttl"},
		{"--release case/ --ttl =0 --ttl tmp/=0 --ttl tmp/keep/=0", exitOK, "revision"},
		{"--max-nodes=-1", exitUsage, "--max-nodes: must not be negative"},
		{"--max-bytes=-1", exitUsage, "--max-bytes"},
		{"--max-bytes 8388608TiB", exitUsage, "--max-bytes"},
		{"--max-bytes 1GB", exitUsage, "must be a number of bytes"},
		{"--max-nodes 1 --revision=-1", exitUsage, "revision: must not be negative"},
	} {
		r := s.run(append([]string{"namespace", "set", "acme"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.out+r.notes, c.want) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, r.code, r.out, r.notes)
		}
	}
	if out := s.must("namespace", "list", "--output", "json"); out != `{"name":"acme"}`+"\n" {
		t.Error(out)
	}
}

// TestHoldIsShown: what a hold keeps, and on which prefix it is, as far as the server tells.
func TestHoldIsShown(t *testing.T) {
	case4711, every := "case/\x1b[2J", ""
	const stats = "'transcriptctl stats' lists"
	for _, c := range []struct {
		alias  string
		prefix *string
		want   string
		lists  bool
	}{
		{"case/1", &case4711, `the alias "case/1" is held, by a legal hold on the prefix "case/\x1b[2J"`, false},
		{"case/1", &every, `the alias "case/1" is held, by a legal hold on every alias`, false},
		{"case/\x1b[2J", nil, `the alias "case/\x1b[2J" is held`, true},
		{"", &case4711, `there is a legal hold on the prefix "case/\x1b[2J"`, false},
		{"", &every, "there is a legal hold on every alias", false},
		{"", nil, "", true},
	} {
		e := &client.Error{Code: codes.FailedPrecondition, Reason: client.ErrLegalHold, Message: "a legal hold keeps it", HeldAlias: c.alias, HoldPrefix: c.prefix}
		want := "a legal hold keeps it"
		if c.want != "" {
			want += "\n  " + c.want
		}
		text, hint := explainRemote(e)
		if text != want || strings.HasPrefix(hint, stats) != c.lists || !strings.Contains(hint, "--release PREFIX") {
			t.Errorf("it says %q, want %q, and %q", text, want, hint)
		}
	}
}

// TestNamespaceDelete: with the name given twice, once, and not under a hold.
func TestNamespaceDelete(t *testing.T) {
	s := newStack(t)
	s.must("namespace", "set", "acme", "--hold", "")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"delete acme", exitUsage, "--confirm acme"},
		{"delete acme --confirm other", exitUsage, "--confirm acme"},
		{"delete acme --confirm acme", exitFailed, "there is a legal hold on every alias"},
		{"set acme --release=", exitOK, "revision   2"},
		{"delete acme --confirm acme", exitOK, "deleted  acme"},
		{"delete acme --confirm acme", exitOK, "no, it was not there"},
	} {
		r := s.run(append([]string{"namespace"}, strings.Fields(c.args)...)...)
		if r.code != c.code || !strings.Contains(r.out+r.notes, c.want) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, r.code, r.out, r.notes)
		}
	}
}
