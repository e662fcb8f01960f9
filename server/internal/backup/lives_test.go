package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server/internal/backup"
)

// oneNode reads one node at a time.
type oneNode struct{ chainstore.Store }

func (s oneNode) ExportNodes(
	ctx context.Context, namespace string, span chainstore.ExportSpan, cursor []byte, _ int,
) ([]chainstore.ExportedNode, []byte, error) {
	return s.Store.ExportNodes(ctx, namespace, span, cursor, 1)
}

// row is archives that go on from each other.
type row struct {
	files [][]byte
	// cut are the points of the last one, if it was cut.
	cut []cutPoint
}

// lives are namespaces that are deleted and begun anew, and rows of their archives, by scope.
type lives struct {
	*rapid.T
	ctx   context.Context
	store chainstore.Store
	rpc   transcriptv1.TranscriptServiceClient
	admin transcriptv1.AdminServiceClient
	rows  map[string]*row
}

// may refuses an error but that something is not there, or was erased.
func (l *lives) may(err error) {
	l.Helper()
	if code := status.Code(err); err != nil && code != codes.NotFound && code != codes.FailedPrecondition {
		l.Fatal(err)
	}
}

func (l *lives) namespace() string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(l.T, "namespace")
}

func (l *lives) alias() string { return rapid.SampledFrom([]string{"x", "y"}).Draw(l.T, "alias") }

func (l *lives) put(namespace string) {
	count := rapid.IntRange(1, 4).Draw(l.T, "nodes")
	var parent *transcriptv1.NodeRef
	if rapid.Bool().Draw(l.T, "goes on") {
		parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: l.alias()}}
	}
	for i := range count {
		reply, err := l.rpc.PutNode(l.ctx, &transcriptv1.PutNodeRequest{
			Namespace: namespace, Parent: parent, Aliases: []*transcriptv1.AliasUpdate{{Name: l.alias()}},
			Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint(i)}}}}},
		})
		if l.may(err); err != nil {
			return
		}
		parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: reply.NodeId}}
	}
}

func (l *lives) erase() {
	stream, err := l.admin.Erase(l.ctx, &transcriptv1.EraseRequest{
		Namespace: l.namespace(), Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: l.alias()}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE,
	})
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		l.may(err)
	}
}

func (l *lives) deleteAlias() {
	_, err := l.rpc.DeleteAlias(l.ctx, &transcriptv1.DeleteAliasRequest{Namespace: l.namespace(), Name: l.alias()})
	l.may(err)
}

func (l *lives) set() {
	_, err := l.admin.SetNamespace(l.ctx, &transcriptv1.SetNamespaceRequest{
		Namespace: l.namespace(), Settings: &transcriptv1.NamespaceSettings{MaxNodes: rapid.Int64Range(1000, 1003).Draw(l.T, "quota")},
	})
	l.may(err)
}

func (l *lives) delete(namespace string) {
	_, err := l.admin.DeleteNamespace(l.ctx, &transcriptv1.DeleteNamespaceRequest{Namespace: namespace, Confirm: namespace})
	l.may(err)
}

func (l *lives) write(b *backup.Backup) []byte {
	l.Helper()
	var out bytes.Buffer
	if _, _, err := b.Write(l.ctx, &out); err != nil {
		l.Fatal(err)
	}
	return out.Bytes()
}

// backUp makes an archive, which goes on from the last one if there is one, and compares what its row has with the store.
func (l *lives) backUp() {
	scope := rapid.SampledFrom([]string{"", "", "", "a"}).Draw(l.T, "scope")
	r := l.rows[scope]
	if r == nil || rapid.IntRange(0, 19).Draw(l.T, "begins") == 0 {
		r = &row{}
		l.rows[scope] = r
	}
	b := &backup.Backup{Store: oneNode{l.store}, Scope: scope, PointBytes: 1}
	switch n := len(r.files); {
	case n > 0 && len(r.cut) > 0:
		p := rapid.SampledFrom(r.cut).Draw(l.T, "point")
		b.Continue, b.ContinueDigest = p.cursor, p.digest
	case n > 0:
		last := l.read(r.files...)
		b.Since, b.SinceDigest = last.end.GetCursor(), last.digest
	}
	file := l.write(b)
	r.files, r.cut = append(r.files, file), nil
	if rapid.Bool().Draw(l.T, "cut") {
		if r.cut = l.points(file); len(r.cut) > 0 {
			return
		}
	}
	l.compare(l.read(r.files...), l.read(l.write(&backup.Backup{Store: l.store, Scope: scope})))
}

func (l *lives) points(file []byte) (all []cutPoint) {
	r, err := archive.NewReader(bytes.NewReader(file))
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		if record, err = r.Next(); err == nil && record.GetPoint() != nil {
			all = append(all, cutPoint{record.GetPoint().GetCursor(), r.Digest()})
		}
	}
	return all
}

// told is what archives have of namespaces that are there: the last record of each thing, by what it is called.
type told struct {
	records map[string]*transcriptv1.ArchiveRecord
	end     *transcriptv1.ArchiveEnd
	digest  archive.Digest
}

// read reads archives twice, as a restore does.
func (l *lives) read(files ...[]byte) *told {
	l.Helper()
	first := l.chain(files, func(*archive.Chain, string, *transcriptv1.ArchiveRecord) {})
	last := first.Files()[len(files)-1]
	there, out := first.Namespaces(), &told{records: map[string]*transcriptv1.ArchiveRecord{}, end: last.Ended(), digest: last.Digest()}
	namespace, passes := "", false
	l.chain(files, func(c *archive.Chain, what string, record *transcriptv1.ArchiveRecord) {
		if n := record.GetNamespace(); n != nil {
			namespace, passes = n.GetName(), there[n.GetName()].Which != c.Within().Which
		}
		if !passes {
			out.records[namespace+" "+what] = record
		}
	})
	return out
}

func (l *lives) chain(files [][]byte, yield func(c *archive.Chain, what string, record *transcriptv1.ArchiveRecord)) *archive.Chain {
	l.Helper()
	var all []archive.File
	for i, f := range files {
		r, err := archive.NewReader(bytes.NewReader(f))
		if err != nil {
			l.Fatal(err)
		}
		all = append(all, archive.File{Name: fmt.Sprint("file ", i), Reader: r})
	}
	c, err := archive.NewChain(all...)
	for err == nil {
		record, n, nextErr := c.Next()
		switch err = nextErr; {
		case err != nil:
		case n != nil:
			yield(c, fmt.Sprintf("node %x", n.ID), record)
		case record.GetAlias() != nil:
			yield(c, "alias "+record.GetAlias().GetName(), record)
		case record.GetNamespace() != nil:
			yield(c, "itself", record)
		default:
			yield(c, fmt.Sprintf("receipt %x", record.GetReceipt()), record)
		}
	}
	if !errors.Is(err, io.EOF) {
		l.Fatal(err)
	}
	return c
}

func (l *lives) compare(got, want *told) {
	l.Helper()
	for what, record := range want.records {
		if !proto.Equal(record, got.records[what]) {
			l.Errorf("%s is\n%v\nand in a full backup\n%v", what, got.records[what], record)
		}
	}
	for what, record := range got.records {
		if want.records[what] == nil {
			l.Errorf("%s is back: %v", what, record)
		}
	}
}

// TestLives: archives that go on from each other have, but for namespaces that were deleted by the time of the last one, what a full backup has that is
// made then: nothing of those that were deleted, and everything of those that are there.
func TestLives(t *testing.T) {
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			conn := testserver.Start(t, store)
			rapid.Check(t, func(rt *rapid.T) {
				l := &lives{
					T: rt, ctx: t.Context(), store: store, rpc: transcriptv1.NewTranscriptServiceClient(conn), admin: transcriptv1.NewAdminServiceClient(conn),
					rows: map[string]*row{},
				}
				for _, namespace := range []string{"a", "b", "c"} {
					l.delete(namespace)
				}
				put, anew := func() { l.put(l.namespace()) }, func() { namespace := l.namespace(); l.delete(namespace); l.put(namespace) }
				does := []func(){put, put, put, anew, func() { l.delete(l.namespace()) }, l.erase, l.deleteAlias, l.set, l.backUp, l.backUp, l.backUp, l.backUp}
				for range rapid.IntRange(1, 25).Draw(rt, "steps") {
					does[rapid.IntRange(0, len(does)-1).Draw(rt, "does")]()
				}
			})
		})
	}
}
