package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestNamespaceStats(t *testing.T) {
	r := newRig(t)
	nodes, _, _ := r.broken()
	r.put(nodes[0], user("fork"))
	s := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
	equal(r, "the nodes", s.Nodes, 12)
	equal(r, "the forks", s.Forks, 1)
	equal(r, "the aliases", s.Aliases, 1)
	other := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{Namespace: "other"}))
	equal(r, "the nodes of another namespace", other.Nodes, 0)
}

// reports runs a Verify of the default namespace to its end.
func (r *rig) reports() []*transcriptv1.VerifyResponse {
	r.Helper()
	return r.reportsOf(&transcriptv1.VerifyRequest{})
}

func (r *rig) reportsOf(req *transcriptv1.VerifyRequest) []*transcriptv1.VerifyResponse {
	r.Helper()
	stream, err := r.admin.Verify(r.ctx(), req)
	var all []*transcriptv1.VerifyResponse
	for err == nil {
		var m *transcriptv1.VerifyResponse
		if m, err = stream.Recv(); err == nil {
			all = append(all, m)
		}
	}
	if !errors.Is(err, io.EOF) || len(all) == 0 {
		r.Fatalf("%d reports, %v", len(all), err)
	}
	return all
}

func TestVerify(t *testing.T) {
	r := newRig(t)
	r.broken()
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages: []*Message{user("x")}, Salt: []byte("0123456789abcdef"), SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: absent},
		Metadata: []*transcriptv1.MetadataEntry{{Key: "var/b", Value: "1"}, {Key: "a", Value: "2"}},
	}))
	all := r.reports()
	last := all[len(all)-1]
	equal(r, "done", last.Done, true)
	equal(r, "the nodes checked", last.NodesChecked, 12)
	equal(r, "the problems", last.ProblemsFound, 0)
	for _, m := range all[:len(all)-1] {
		equal(r, "done before the end", m.Done, false)
	}
}

// lying is a store that hands the judge other bytes than were put, and has many problems of its own.
type lying struct {
	chainstore.Store
	problems int
	payload  func([]byte) []byte
}

func (l *lying) Verify(ctx context.Context, check chainstore.Check, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	if l.problems > 0 {
		if err := report(chainstore.VerifyReport{Nodes: 1, Problems: make([]chainstore.Problem, l.problems)}); err != nil {
			return err
		}
	}
	return l.Store.Verify(ctx, check, l.judge(judge), report)
}

func (l *lying) judge(judge chainstore.Judge) chainstore.Judge {
	return func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
		return judge(h, l.payload(payload), metadata, parent, covers)
	}
}

func TestVerifyFindsOtherBytes(t *testing.T) {
	for name, payload := range map[string]func([]byte) []byte{
		"garbage":       func(b []byte) []byte { return garble(b) },
		"cut short":     func(b []byte) []byte { return b[:len(b)-1] },
		"one bit":       func(b []byte) []byte { c := append([]byte{}, b...); c[len(c)-1] ^= 1; return c },
		"not canonical": func(b []byte) []byte { return append(append([]byte{}, b...), 0x0a, 0x04, 0x08, 0x83, 0x80, 0x00) },
		"no message":    func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &lying{Store: memstore.New(memstore.Options{}), payload: payload})
			id := r.put("", user("x"))
			found := 0
			for _, m := range r.reports() {
				for _, p := range m.Problems {
					if found++; p.NodeId != id || p.Problem == "" {
						t.Errorf("problem %v", p)
					}
				}
			}
			if found == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// TestVerifyWholeStore: every namespace is checked, and problems name theirs.
func TestVerifyWholeStore(t *testing.T) {
	r := newRig(t, &lying{Store: memstore.New(memstore.Options{}), payload: func(b []byte) []byte {
		if bytes.Contains(b, []byte("broken")) {
			return garble(b)
		}
		return b
	}})
	bad := map[string]string{}
	for namespace, text := range map[string]string{"team-a": "broken", "team-b": "whole", "team-c": "broken"} {
		put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: namespace, Messages: []*Message{user(text)}}))
		if text == "broken" {
			bad[namespace] = put.NodeId
		}
	}
	all := r.reportsOf(&transcriptv1.VerifyRequest{Scope: transcriptv1.Scope_SCOPE_STORE})
	for _, m := range all {
		for _, p := range m.Problems {
			if p.NodeId != bad[p.Namespace] {
				t.Errorf("problem %v", p)
			}
			delete(bad, p.Namespace)
		}
	}
	last := all[len(all)-1]
	equal(r, "the namespaces without their problem", len(bad), 0)
	equal(r, "done", last.Done, true)
	equal(r, "the namespaces checked", last.NamespacesChecked, 3)
	equal(r, "the nodes checked", last.NodesChecked, 3)
	equal(r, "the namespace in the end", last.Namespace, "")
}

func TestVerifyCapsProblems(t *testing.T) {
	r := newRig(t, &lying{Store: memstore.New(memstore.Options{}), problems: 10_050, payload: func(b []byte) []byte { return b }})
	listed := 0
	all := r.reports()
	for _, m := range all {
		if len(m.Problems) > 100 {
			t.Errorf("a report of %d problems", len(m.Problems))
		}
		listed += len(m.Problems)
	}
	equal(r, "the problems listed", listed, 10_000)
	equal(r, "the problems found", all[len(all)-1].ProblemsFound, 10_050)
}

// badMessages spoils what says that it is bad.
func badMessages(b []byte) []byte {
	if bytes.Contains(b, []byte("bad")) {
		return garble(b)
	}
	return b
}

// TestVerifyGoesOn: a call with a report's cursor finds what that report, and those before it, did not list, and counts on; a cursor is
// good for its scope alone.
func TestVerifyGoesOn(t *testing.T) {
	r := newRig(t, &lying{Store: memstore.New(memstore.Options{}), payload: badMessages})
	for i := range 3 {
		put := &transcriptv1.PutNodesRequest{Namespace: "team-a"}
		for k := range 1000 {
			text := fmt.Sprint("whole ", i, " ", k)
			if k%10 == 0 {
				text = fmt.Sprint("bad ", i, " ", k)
			}
			put.Nodes = append(put.Nodes, &transcriptv1.NewNode{Messages: []*Message{user(text)}})
		}
		must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), put))
	}
	list := func(reports []*transcriptv1.VerifyResponse) (ids []string) {
		for _, m := range reports {
			for _, p := range m.Problems {
				ids = append(ids, p.NodeId)
			}
		}
		return ids
	}
	for _, req := range []*transcriptv1.VerifyRequest{{Namespace: "team-a"}, {Scope: transcriptv1.Scope_SCOPE_STORE}} {
		// Reports that nobody has taken become one, so a check that is faster than who receives has no cursor.
		all, until := r.reportsOf(req), time.Now().Add(10*time.Second)
		for !slices.ContainsFunc(all, func(m *transcriptv1.VerifyResponse) bool { return m.Cursor != "" }) && time.Now().Before(until) {
			all = r.reportsOf(req)
		}
		end, wentOn := all[len(all)-1], 0
		equal(r, "the problems", len(list(all)), 300)
		equal(r, "the cursor of the last report", end.Cursor, "")
		for i, m := range all {
			if m.Cursor == "" {
				continue
			}
			wentOn++
			req.Cursor = m.Cursor
			rest := r.reportsOf(req)
			last := rest[len(rest)-1]
			equal(r, "the nodes checked", last.NodesChecked, 3000)
			equal(r, "the problems found", last.ProblemsFound, 300)
			if found := append(list(all[:i+1]), list(rest)...); len(uniq(found)) != 300 {
				t.Errorf("from report %d on, %d problems were listed, %d different ones", i, len(found), len(uniq(found)))
			}
			for _, other := range []*transcriptv1.VerifyRequest{
				{Namespace: "team-b", Cursor: m.Cursor}, {Cursor: m.Cursor}, {Namespace: "team-a", Cursor: m.Cursor + "A"},
				{Namespace: "team-a", Cursor: m.Cursor[:len(m.Cursor)-2]},
			} {
				err := send(r.Conn, t, transcriptv1.AdminService_Verify_FullMethodName, must[[]byte](r)(proto.Marshal(other)))
				r.fails(err, codes.InvalidArgument, "INVALID_PAGE_TOKEN", "cursor")
			}
		}
		if wentOn == 0 {
			t.Error("no report had a cursor")
		}
	}
}

// uniq are the different ones.
func uniq(all []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range all {
		out[s] = true
	}
	return out
}

// TestVerifyRefuses what is not to be checked.
func TestVerifyRefuses(t *testing.T) {
	r := newRig(t)
	for field, req := range map[string]*transcriptv1.VerifyRequest{
		"namespace":            {Scope: transcriptv1.Scope_SCOPE_STORE, Namespace: "team-a"},
		"scope":                {Scope: 7},
		"max_bytes_per_second": {MaxBytesPerSecond: -1},
	} {
		err := send(r.Conn, t, transcriptv1.AdminService_Verify_FullMethodName, must[[]byte](r)(proto.Marshal(req)))
		r.fails(err, codes.InvalidArgument, "INVALID_FIELD", field)
	}
}
