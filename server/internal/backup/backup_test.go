package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server/internal/backup"
)

// engines are stores of each kind.
func engines(t *testing.T) map[string]chainstore.Store {
	t.Helper()
	disk, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	return map[string]chainstore.Store{"memory": memstore.New(memstore.Options{}), "badger": disk}
}

// saved is what archives have: records of nodes by namespace and id, and of aliases by namespace and name.
type saved struct {
	nodes, aliases map[string]*transcriptv1.ArchiveRecord
	end            *transcriptv1.ArchiveEnd
	digest         archive.Digest
}

// take makes a backup, checks it, and reads it.
func take(t *testing.T, b *backup.Backup) *saved {
	t.Helper()
	var out bytes.Buffer
	digest, counts, err := b.Write(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	r, err := archive.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	c, err := archive.NewChecker(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	s := &saved{nodes: map[string]*transcriptv1.ArchiveRecord{}, aliases: map[string]*transcriptv1.ArchiveRecord{}, digest: digest}
	namespace := ""
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := c.Check(record)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case n != nil:
			s.nodes[fmt.Sprintf("%s %x", namespace, n.ID)] = record
		case record.GetAlias() != nil:
			s.aliases[namespace+" "+record.GetAlias().GetName()] = record
		case record.GetNamespace() != nil:
			namespace = record.GetNamespace().GetName()
		}
	}
	if r.Digest() != digest || r.Counts() != counts || counts.Nodes != int64(len(s.nodes)) || counts.Aliases != int64(len(s.aliases)) {
		t.Errorf("%v, %+v, want %v, %+v", r.Digest(), r.Counts(), digest, counts)
	}
	s.end = r.Ended()
	return s
}

// write puts chains with aliases, in two namespaces.
func write(t *testing.T, rpc transcriptv1.TranscriptServiceClient, round int) {
	t.Helper()
	for _, namespace := range []string{"default", "other"} {
		var parent *transcriptv1.NodeRef
		for i := range 30 {
			name := fmt.Sprintf("chat/%d", i%7)
			reply, err := rpc.PutNode(t.Context(), &transcriptv1.PutNodeRequest{
				Namespace: namespace, Parent: parent, Aliases: []*transcriptv1.AliasUpdate{{Name: name, Labels: &transcriptv1.Labels{Entries: map[string]string{"round": fmt.Sprint(round)}}}},
				Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint(round, i)}}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if parent = (&transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: reply.NodeId}}); i%11 == 10 {
				parent = nil
			}
		}
	}
	if _, err := rpc.DeleteAlias(t.Context(), &transcriptv1.DeleteAliasRequest{Name: fmt.Sprintf("chat/%d", round)}); err != nil {
		t.Fatal(err)
	}
}

// TestIncrements: a full backup and what changed since, and again, are together what a full one has.
func TestIncrements(t *testing.T) {
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			rpc := transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store))
			write(t, rpc, 0)
			all := take(t, &backup.Backup{Store: store})
			last := all
			for round := 1; round < 4; round++ {
				write(t, rpc, round)
				some := take(t, &backup.Backup{Store: store, Since: last.end.GetCursor(), SinceDigest: last.digest})
				if len(some.nodes) != 60 {
					t.Errorf("%d nodes were put, not 60", len(some.nodes))
				}
				maps.Copy(all.nodes, some.nodes)
				maps.Copy(all.aliases, some.aliases)
				last = some
			}
			whole := take(t, &backup.Backup{Store: store})
			for what, pair := range map[string][2]map[string]*transcriptv1.ArchiveRecord{"nodes": {whole.nodes, all.nodes}, "aliases": {whole.aliases, all.aliases}} {
				if a, b := slices.Sorted(maps.Keys(pair[0])), slices.Sorted(maps.Keys(pair[1])); !slices.Equal(a, b) {
					t.Fatalf("%s: %d in a full one, %d in parts", what, len(a), len(b))
				}
				for key, record := range pair[0] {
					if !proto.Equal(record, pair[1][key]) {
						t.Errorf("%s differs", key)
					}
				}
			}
			none := take(t, &backup.Backup{Store: store, Since: last.end.GetCursor(), SinceDigest: last.digest})
			if len(none.nodes)+len(none.aliases) > 0 {
				t.Errorf("%d nodes and %d aliases of nothing", len(none.nodes), len(none.aliases))
			}
			if _, _, err := (&backup.Backup{Store: memstore.New(memstore.Options{}), Since: last.end.GetCursor()}).Write(t.Context(), io.Discard); !errors.Is(err, canonical.ErrInvalid) {
				t.Errorf("of another store: %v", err)
			}
		})
	}
}

// TestUnderLoad: a backup that is taken while others write has every node that an alias of it points to, and everything that was acknowledged before it began.
func TestUnderLoad(t *testing.T) {
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			rpc := transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store))
			write(t, rpc, 0)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := 0; ctx.Err() == nil; i++ {
					_, _ = rpc.PutNode(ctx, &transcriptv1.PutNodeRequest{
						Parent: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "chat/1"}}, Aliases: []*transcriptv1.AliasUpdate{{Name: "chat/1"}, {Name: fmt.Sprint("new/", i)}},
						Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: fmt.Sprint("load ", i)}}}}},
					})
				}
			}()
			defer func() { stop(); <-done }()
			last := take(t, &backup.Backup{Store: store})
			for range 5 {
				time.Sleep(20 * time.Millisecond) //nolint:forbidigo // others write meanwhile
				some := take(t, &backup.Backup{Store: store, Since: last.end.GetCursor(), SinceDigest: last.digest})
				maps.Copy(last.nodes, some.nodes)
				maps.Copy(last.aliases, some.aliases)
				last.end, last.digest = some.end, some.digest
			}
			for key, record := range last.aliases {
				for _, s := range record.GetAlias().GetStates() {
					if namespace, _, _ := bytes.Cut([]byte(key), []byte(" ")); len(s.Node) > 0 && last.nodes[fmt.Sprintf("%s %x", namespace, s.Node)] == nil {
						t.Errorf("%s points to a node that is in no archive", key)
					}
				}
			}
		})
	}
}
