package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func atRevision(n int64) *transcriptv1.AliasPrecondition {
	return &transcriptv1.AliasPrecondition{Revision: proto.Int64(n)}
}

// TestRevisionsAreTold: every reply and error that tells of an alias tells its revision.
func TestRevisionsAreTold(t *testing.T) {
	r := newRig(t)
	a, b := r.put("", user("a")), r.put("", user("b"))
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byID(a), Messages: []*Message{assistant("c")}, Aliases: []*Update{{Name: "x"}},
	}))
	equal(r, "the revision of a new alias", put.Aliases[0].Revision, 1)
	equal(r, "that it was revised", put.Aliases[0].Revised, true)
	moved := must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{
		Name: "x", Target: byAlias("x"), Precondition: atRevision(1), Labels: &transcriptv1.Labels{Entries: map[string]string{"n": "1"}},
	}}}))
	equal(r, "the revision of a label", moved.Aliases[0].Revision, 2)
	equal(r, "that the head changed", moved.Aliases[0].Changed, false)
	equal(r, "that it was revised", moved.Aliases[0].Revised, true)
	resolved := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "x"}))
	equal(r, "the revision resolved", resolved.Alias.Revision, 2)
	listed := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{}))
	equal(r, "the revision listed", listed.Aliases[0].Revision, 2)
	_, err := r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "x", Target: byID(b), Precondition: atRevision(1)}}})
	f := r.fails(err, codes.Aborted, "ALIAS_MOVED", "")
	equal(r, "the revision of the conflict", f.conflicts[0].Revision, 2)
	equal(r, "its head", f.conflicts[0].NodeId, put.NodeId)
	_, err = r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "x", Target: byID(b), Precondition: &transcriptv1.AliasPrecondition{
		Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}}}})
	equal(r, "the revision of what exists", r.fails(err, codes.AlreadyExists, "ALIAS_EXISTS", "").conflicts[0].Revision, 2)
	gone := must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "x", Precondition: atRevision(2)}))
	equal(r, "deleted", gone.Deleted, true)
	equal(r, "the revision of the deletion", gone.Revision, 3)
	gone = must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "x", Precondition: atRevision(2)}))
	equal(r, "deleted by a repeat", gone.Deleted, false)
	equal(r, "the revision after a repeat", gone.Revision, 3)
	var revisions []int64
	history := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "x"}))
	for _, e := range history.Entries {
		revisions = append(revisions, e.Revision)
	}
	if len(revisions) != 2 || revisions[0] != 3 || revisions[1] != 1 {
		t.Errorf("the history has the revisions %v", revisions)
	}
}

// TestADeletedAliasIsToldFromOneNeverSet: by a detail of the error, of ResolveAlias alone.
func TestADeletedAliasIsToldFromOneNeverSet(t *testing.T) {
	r := newRig(t)
	id := r.put("", user("a"))
	must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "x", Target: byID(id)}}}))
	must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "x"}))
	told := func(name string) *transcriptv1.DeletedAlias {
		_, err := r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: name})
		r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
		for _, d := range status.Convert(err).Details() {
			if deleted, ok := d.(*transcriptv1.DeletedAlias); ok {
				return deleted
			}
		}
		return nil
	}
	history := must[*transcriptv1.ListAliasHistoryResponse](r)(r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "x"}))
	want := &transcriptv1.DeletedAlias{Revision: 2, DeletedAt: history.Entries[0].BeganAt, PreviousId: id}
	if got := told("x"); !proto.Equal(got, want) {
		t.Errorf("of a deleted alias %v is told, want %v", got, want)
	}
	if got := told("never"); got != nil {
		t.Errorf("of an alias that never was set %v is told", got)
	}
}

// TestAliasesAreDeletedInTheCommit of PutNode, PutNodes, Alias and Compact, and of none that fails.
func TestAliasesAreDeletedInTheCommit(t *testing.T) {
	r := newRig(t)
	id := r.put("", system("s"), user("a"))
	var moves []*transcriptv1.AliasMove
	for _, name := range []string{"one", "two", "three", "four", "kept"} {
		moves = append(moves, &transcriptv1.AliasMove{Name: name, Target: byID(id)})
	}
	must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: moves}))
	gone := func(name string) {
		t.Helper()
		_, err := r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: name})
		r.fails(err, codes.NotFound, "ALIAS_NOT_FOUND", "name")
	}
	told := func(a *transcriptv1.AliasResult, name string) {
		t.Helper()
		equal(r, "the name", a.Name, name)
		equal(r, "changed and revised", a.Changed && a.Revised, true)
		equal(r, "where it pointed", a.PreviousId, id)
		equal(r, "the revision", a.Revision, 2)
		gone(name)
	}
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byAlias("one"), Messages: []*Message{assistant("b")},
		Aliases: []*Update{{Name: "one", Delete: true, Precondition: headIs(id)}, {Name: "chat"}},
	}))
	told(put.Aliases[0], "one")
	puts := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
		{Parent: byID(put.NodeId), Messages: []*Message{user("c")}},
		{Previous: true, Messages: []*Message{assistant("d")}, Aliases: []*Update{{Name: "chat"}, {Name: "two", Delete: true, Precondition: atRevision(1)}}},
	}}))
	told(puts.Nodes[1].Aliases[1], "two")
	moved := must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{
		{Name: "other", Target: byAlias("three")}, {Name: "three", Delete: true},
	}}))
	told(moved.Aliases[1], "three")
	compacted := must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), &transcriptv1.CompactRequest{
		Head: byAlias("chat"), ThroughId: puts.Nodes[1].NodeId, Summary: "s", SummaryOnly: true, Aliases: []*Update{{Name: "four", Delete: true}},
	}))
	told(compacted.Aliases[1], "four")
	_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("e")}, Aliases: []*Update{
		{Name: "kept", Delete: true}, {Name: "new", Precondition: atRevision(1)},
	}})
	equal(r, "the conflict", r.fails(err, codes.Aborted, "ALIAS_MOVED", "").conflicts[0].Field, "aliases[1]")
	must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "kept"}))
}
