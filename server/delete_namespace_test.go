package server_test

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// deletesWhole deletes a namespace, and asserts whether there was one.
func (r *rig) deletesWhole(namespace, confirm string, want bool) {
	r.Helper()
	reply := must[*transcriptv1.DeleteNamespaceResponse](r)(r.admin.DeleteNamespace(r.ctx(), &transcriptv1.DeleteNamespaceRequest{Namespace: namespace, Confirm: confirm}))
	equal(r, "that there was a namespace", reply.Deleted, want)
}

// TestDeleteNamespace: nothing of it is shown, also by tokens of before; its name begins anew, and others have what they had.
func TestDeleteNamespace(t *testing.T) {
	bothEngines(t, func(r *rig) {
		path := r.chain("chat", user("one"), assistant("two"), user("three"))
		r.point("b", path[0])
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: "other", Messages: []*Message{user("theirs")}}))
		r.retain(expires("", 1e12))
		page := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 1}))
		r.deletesWhole("", "default", true)
		r.deletesWhole("default", "default", false)
		r.deletesWhole("never", "never", false)
		for _, id := range path {
			_, err := r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)})
			r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "node")
		}
		stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
		if stats.Nodes+stats.Aliases+stats.SettingsRevision != 0 || stats.Settings != nil {
			r.Errorf("what is left counts %v", stats)
		}
		names := must[*transcriptv1.ListNamespacesResponse](r)(r.ListNamespaces(r.ctx(), &transcriptv1.ListNamespacesRequest{})).Namespaces
		if len(names) != 1 || names[0].Name != "other" {
			r.Errorf("the namespaces are %v", names)
		}
		rest := must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 1, PageToken: page.NextPageToken}))
		equal(r, "the aliases behind a token of before", len(rest.Aliases), 0)

		again := r.chain("z", user("anew"))
		rest = must[*transcriptv1.ListAliasesResponse](r)(r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageToken: page.NextPageToken}))
		if len(rest.Aliases) != 1 || rest.Aliases[0].NodeId != again[0] || rest.Aliases[0].Revision != 1 {
			r.Errorf("the aliases behind a token of before are %v", rest.Aliases)
		}
		r.clean("")
		r.clean("other")
	})
}

// TestDeleteNamespaceRefused: a name that is not confirmed, or is held, keeps all that it has.
func TestDeleteNamespaceRefused(t *testing.T) {
	bothEngines(t, func(r *rig) {
		id := r.put("", user("one"))
		for _, req := range []*transcriptv1.DeleteNamespaceRequest{{}, {Confirm: "other"}, {Confirm: "Default"}, {Namespace: "default"}, {Namespace: "other", Confirm: "default"}} {
			_, err := r.admin.DeleteNamespace(r.ctx(), req)
			r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "confirm")
		}
		_, err := r.admin.DeleteNamespace(r.ctx(), &transcriptv1.DeleteNamespaceRequest{Namespace: "No Name", Confirm: "No Name"})
		r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "namespace")
		r.retain(held("case/"))
		_, err = r.admin.DeleteNamespace(r.ctx(), &transcriptv1.DeleteNamespaceRequest{Confirm: "default"})
		r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", "namespace")
		must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)}))
		r.retain()
		r.deletesWhole("", "default", true)
	})
}

// TestDeletedNamespaceIsNotBackedUp: an archive that is made later has nothing of it.
func TestDeletedNamespaceIsNotBackedUp(t *testing.T) {
	bothEngines(t, func(r *rig) {
		r.chain("chat", user("one"), assistant("two"))
		r.deletesWhole("", "default", true)
		stream, err := r.admin.Backup(r.ctx(), &transcriptv1.BackupRequest{Scope: transcriptv1.Scope_SCOPE_STORE})
		nodes, aliases := int64(0), int64(0)
		for err == nil {
			var m *transcriptv1.BackupResponse
			if m, err = stream.Recv(); err == nil {
				nodes, aliases = m.Nodes, m.Aliases
			}
		}
		if !errors.Is(err, io.EOF) || nodes+aliases > 0 {
			r.Errorf("an archive has %d nodes and %d aliases: %v", nodes, aliases, err)
		}
		told := must[*transcriptv1.CollectGarbageResponse](r)(r.collected(&transcriptv1.CollectGarbageRequest{Scope: transcriptv1.Scope_SCOPE_STORE, Grace: durationpb.New(0)}))
		equal(r, "the namespaces collected", told.NamespacesCollected, 0)
		last := r.reportsOf(&transcriptv1.VerifyRequest{Scope: transcriptv1.Scope_SCOPE_STORE})
		equal(r, "the problems of the store", last[len(last)-1].ProblemsFound, 0)
	})
}
