package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server/internal/backup"
)

// restoreInto puts what an archive has into a server.
func restoreInto(t *testing.T, conn grpc.ClientConnInterface, file []byte) {
	t.Helper()
	rpc, admin := transcriptv1.NewTranscriptServiceClient(conn), transcriptv1.NewAdminServiceClient(conn)
	namespace := ""
	for _, r := range records(t, file) {
		var err error
		switch {
		case r.GetNamespace() != nil:
			namespace = r.GetNamespace().GetName()
			_, err = admin.Restore(t.Context(), &transcriptv1.RestoreRequest{Namespace: namespace, Archived: r.GetNamespace()})
		case r.GetNode() != nil:
			_, err = rpc.PutArchivedNodes(t.Context(), &transcriptv1.PutArchivedNodesRequest{Namespace: namespace, Nodes: []*transcriptv1.ArchivedNode{r.GetNode()}})
		case r.GetAlias() != nil:
			_, err = admin.Restore(t.Context(), &transcriptv1.RestoreRequest{Namespace: namespace, Aliases: []*transcriptv1.ArchiveAlias{r.GetAlias()}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// records are those of an archive between its header and its end.
func records(t *testing.T, file []byte) (all []*transcriptv1.ArchiveRecord) {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(file))
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		if record, err = r.Next(); err == nil {
			all = append(all, record)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all
}

// TestOverEngines: what a store on disk has goes through an archive into one in memory, whose archive has the same bytes; only the header and the end
// tell another store.
func TestOverEngines(t *testing.T) {
	disk, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	conn := testserver.Start(t, disk)
	rpc := transcriptv1.NewTranscriptServiceClient(conn)
	for round := range 3 {
		write(t, rpc, round)
	}
	compacted(t, rpc)
	if _, err := transcriptv1.NewAdminServiceClient(conn).SetNamespace(t.Context(), &transcriptv1.SetNamespaceRequest{Settings: &transcriptv1.NamespaceSettings{
		MaxNodes: 1000, Retention: []*transcriptv1.RetentionRule{{AliasPrefix: "case/", LegalHold: true}},
	}}); err != nil {
		t.Fatal(err)
	}
	first := writeTo(t, &backup.Backup{Store: disk})
	memory := memstore.New(memstore.Options{})
	restoreInto(t, testserver.Start(t, memory), first)
	second := writeTo(t, &backup.Backup{Store: memory})
	got, want := records(t, second), records(t, first)
	if len(got) != len(want) {
		t.Fatalf("%d records, and there were %d", len(got), len(want))
	}
	deterministic := proto.MarshalOptions{Deterministic: true}
	for i := range got {
		a, errA := deterministic.Marshal(got[i])
		b, errB := deterministic.Marshal(want[i])
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("record %d is\n%v\nand was\n%v", i, got[i], want[i])
		}
	}
}

// compacted is a chain with a compaction, and what comes behind it.
func compacted(t *testing.T, rpc transcriptv1.TranscriptServiceClient) {
	t.Helper()
	put := func(i int, parent *transcriptv1.NodeRef) *transcriptv1.NodeRef {
		role := transcriptv1.Role_ROLE_USER
		if i%2 == 1 {
			role = transcriptv1.Role_ROLE_ASSISTANT
		}
		reply, err := rpc.PutNode(t.Context(), &transcriptv1.PutNodeRequest{Parent: parent, Aliases: []*transcriptv1.AliasUpdate{{Name: "compacted"}}, Messages: []*transcriptv1.Message{
			{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint(i, strings.Repeat(" to be compacted", 50))}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: reply.NodeId}}
	}
	var head *transcriptv1.NodeRef
	for i := range 20 {
		head = put(i, head)
	}
	reply, err := rpc.Compact(t.Context(), &transcriptv1.CompactRequest{Head: head, Policy: &transcriptv1.Policy{KeepWholeRunLoops: proto.Int32(1), MaxUserChars: proto.Int32(8)}})
	if err != nil {
		t.Fatal(err)
	}
	put(20, &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: reply.NodeId}})
}
