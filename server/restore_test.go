package server_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
)

func wireTime(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }

// restored puts what an archive of one namespace has into another.
func (r *rig) restored(data []byte, namespace string) *transcriptv1.RestoreResponse {
	r.Helper()
	in, err := archive.NewReader(bytes.NewReader(data))
	if err != nil {
		r.Fatal(err)
	}
	nodes, req := &transcriptv1.PutArchivedNodesRequest{Namespace: namespace}, &transcriptv1.RestoreRequest{Namespace: namespace}
	for {
		record, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.Fatal(err)
		}
		switch {
		case record.GetNode() != nil:
			nodes.Nodes = append(nodes.Nodes, record.GetNode())
		case record.GetAlias() != nil:
			req.Aliases = append(req.Aliases, record.GetAlias())
		case record.GetNamespace() != nil:
			req.Archived = record.GetNamespace()
		}
	}
	must[*transcriptv1.PutArchivedNodesResponse](r)(r.PutArchivedNodes(r.ctx(), nodes))
	return must[*transcriptv1.RestoreResponse](r)(r.admin.Restore(r.ctx(), req))
}

// TestRestore: what a backup has of a namespace comes back in another one, and a backup of that has the same.
func TestRestore(t *testing.T) {
	bothEngines(t, func(r *rig) {
		path := r.chain("chat/b", user("one"), assistant("two"), user("three"), assistant("four"))
		r.point("chat/a", path[1], "k", "v")
		r.point("chat/a", path[3])
		r.point("chat/gone", path[0])
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "chat/gone"}))
		must[*transcriptv1.SetNamespaceResponse](r)(r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{Settings: &transcriptv1.NamespaceSettings{MaxNodes: 9}}))
		data, _, err := r.backedUp(&transcriptv1.BackupRequest{})
		if err != nil {
			r.Fatal(err)
		}
		equal(r, "the aliases set", r.restored(data, "copy").AliasesSet, 3)
		equal(r, "the aliases set again", r.restored(data, "copy").AliasesSet, 0)
		again, _, err := r.backedUp(&transcriptv1.BackupRequest{Namespace: "copy"})
		if err != nil {
			r.Fatal(err)
		}
		got, want := recordsOf(r, again), recordsOf(r, data)
		equal(r, "the number of records", len(got), len(want))
		for i := range got {
			for _, one := range []*transcriptv1.ArchiveRecord{got[i], want[i]} {
				if n := one.GetNamespace(); n != nil {
					n.Name, n.Number = "", 0 // of each store its own
				}
			}
			if !proto.Equal(got[i], want[i]) {
				r.Errorf("record %d is\n%v\nand was\n%v", i, got[i], want[i])
			}
		}
	})
}

func recordsOf(r *rig, data []byte) (all []*transcriptv1.ArchiveRecord) {
	r.Helper()
	in, err := archive.NewReader(bytes.NewReader(data))
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		if record, err = in.Next(); err == nil {
			all = append(all, record)
		}
	}
	if !errors.Is(err, io.EOF) {
		r.Fatal(err)
	}
	return all
}

// TestRestoreRefused: what no archive has is refused by its field, and changes nothing.
func TestRestoreRefused(t *testing.T) {
	bothEngines(t, func(r *rig) {
		node := r.put("", user("one"))
		id := make([]byte, 32)
		for i := range id {
			id[i] = hexByte(node[2*i])<<4 | hexByte(node[2*i+1])
		}
		state := func(revision int64) *transcriptv1.ArchiveAliasState {
			return &transcriptv1.ArchiveAliasState{Node: id, Revision: revision, BeganAt: wireTime(1000)}
		}
		gone := func(revision int64) *transcriptv1.ArchiveAliasState {
			return &transcriptv1.ArchiveAliasState{Revision: revision, BeganAt: wireTime(1000)}
		}
		alias := func(states ...*transcriptv1.ArchiveAliasState) *transcriptv1.ArchiveAlias {
			return &transcriptv1.ArchiveAlias{Name: "x", Revision: 9, States: states}
		}
		of := func(all ...*transcriptv1.ArchiveAlias) *transcriptv1.RestoreRequest {
			return &transcriptv1.RestoreRequest{Aliases: all}
		}
		with := func(a *transcriptv1.ArchiveAlias, does func(*transcriptv1.ArchiveAlias)) *transcriptv1.RestoreRequest {
			does(a)
			return of(a)
		}
		short := state(1)
		short.Node = id[:31]
		timeless := state(1)
		timeless.BeganAt = nil
		many := make([]*transcriptv1.ArchiveAlias, 1001)
		for i := range many {
			many[i] = alias(state(1))
		}
		deep := make([]*transcriptv1.ArchiveAlias, 101)
		for i := range deep {
			deep[i] = alias()
			deep[i].Name, deep[i].Revision = strings.Repeat("y", i+1), 100
			for n := range 100 {
				deep[i].States = append(deep[i].States, state(int64(n+1)))
			}
		}
		for field, req := range map[string]*transcriptv1.RestoreRequest{
			"aliases[0].name":               of(&transcriptv1.ArchiveAlias{Revision: 1, States: []*transcriptv1.ArchiveAliasState{state(1)}}),
			"aliases[1].name":               of(alias(state(1)), alias(state(2))),
			"aliases[0].states":             of(alias()),
			"aliases[0].states[0].node":     of(alias(short)),
			"aliases[0].states[1].node":     of(alias(state(1), short)),
			"aliases[0].states[2].node":     of(alias(state(1), gone(2), gone(3))),
			"aliases[0].states[0].began_at": of(alias(timeless)),
			"aliases[0].states[0].revision": of(alias(state(0))),
			"aliases[0].states[1].revision": of(alias(state(3), state(3))),
			"aliases[0].revision":           with(alias(state(9)), func(a *transcriptv1.ArchiveAlias) { a.Revision = 8 }),
			"aliases[0].labels":             with(alias(state(1), gone(2)), func(a *transcriptv1.ArchiveAlias) { a.Labels = map[string]string{"k": "v"} }),
			"archived.settings_revision":    {Archived: &transcriptv1.ArchiveNamespace{SettingsRevision: 1}},
			"archived.revision_floor":       {Archived: &transcriptv1.ArchiveNamespace{RevisionFloor: -1}},
			"archived.number":               {Archived: &transcriptv1.ArchiveNamespace{Number: -1}},
			"archived.settings.max_nodes":   {Archived: &transcriptv1.ArchiveNamespace{SettingsRevision: 1, Settings: &transcriptv1.NamespaceSettings{MaxNodes: -1}}},
			"namespace":                     {Namespace: "No Name"},
		} {
			_, err := r.admin.Restore(r.ctx(), req)
			r.fails(err, codes.InvalidArgument, "INVALID_FIELD", field)
		}
		for _, req := range []*transcriptv1.RestoreRequest{of(many...), of(deep...)} {
			_, err := r.admin.Restore(r.ctx(), req)
			r.fails(err, codes.InvalidArgument, "LIMIT_EXCEEDED", "aliases")
		}
		_, err := r.admin.Restore(r.ctx(), of(alias(gone(1), state(2))))
		r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "aliases[0].states[0].node")
		unknown := state(2)
		unknown.Node = make([]byte, 32)
		_, err = r.admin.Restore(r.ctx(), of(alias(state(1), unknown)))
		r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "aliases[0].states")
		stats := must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
		equal(r, "the aliases", stats.Aliases, 0)
	})
}

// TestRestoreReceipts: receipts of nodes that are not there are kept, and such a node is refused from then on; other ones are refused by their field, and none of
// the call is kept.
func TestRestoreReceipts(t *testing.T) {
	bothEngines(t, func(r *rig) {
		there, gone := r.put("", user("there")), archived("", user("gone"))
		id := idOf(gone)
		kept := testreceipt.Of(r, id, "T-1")
		restores := func(receipts ...[]byte) error {
			_, err := r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{Receipts: receipts})
			return err
		}
		r.fails(restores(kept, []byte("receipt")), codes.InvalidArgument, "INVALID_FIELD", "receipts[1]")
		r.fails(restores(kept, nil), codes.InvalidArgument, "INVALID_FIELD", "receipts[1]")
		r.fails(restores(kept, testreceipt.Of(r, *hash(there), "")), codes.InvalidArgument, "INVALID_FIELD", "receipts[1]")
		r.fails(restores(kept, make([]byte, canonical.MaxReceiptBytes+1)), codes.InvalidArgument, "LIMIT_EXCEEDED", "receipts[1]")
		r.fails(restores(make([][]byte, 1001)...), codes.InvalidArgument, "LIMIT_EXCEEDED", "receipts")
		if err := r.putArchived("elsewhere", gone); err != nil {
			r.Fatal(err)
		}
		ask := &transcriptv1.GetReceiptsRequest{NodeIds: []string{chainstore.ID(id).String()}}
		_, err := r.admin.GetReceipts(r.ctx(), ask)
		r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "node_ids[0]")
		for range 2 {
			if err := restores(kept); err != nil {
				r.Fatal(err)
			}
		}
		got := must[*transcriptv1.GetReceiptsResponse](r)(r.admin.GetReceipts(r.ctx(), ask))
		equal(r, "the reference of the receipt", must[*transcriptv1.ErasureReceipt](r)(canonical.CheckReceipt(got.Receipts[0].Receipt)).Reference, "T-1")
		r.fails(r.putArchived("", gone), codes.FailedPrecondition, "PAYLOAD_ERASED", "nodes[0]")
	})
}

func hexByte(c byte) byte {
	return byte(strings.IndexByte("0123456789abcdef", c))
}
