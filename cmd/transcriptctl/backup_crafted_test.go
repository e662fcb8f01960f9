package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
)

// TestCraftedBackups: what backup verify takes, a restore takes whole; what it does not, writes nothing.
func TestCraftedBackups(t *testing.T) {
	form := canonical.NewNode([]*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "one"}}}}}, nil, nil)
	root := form.Envelope(nil, nil)
	id := canonical.NodeID(root)
	node := func() *transcriptv1.ArchivedNode {
		return &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, root), Payload: form.Payload, FirstPutAt: timestamppb.Now()}
	}
	over := func(covers [32]byte, parent [32]byte) *transcriptv1.ArchivedNode {
		e := form.Envelope(&parent, nil)
		e.CoversThrough = &covers
		return &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, e), Payload: form.Payload, Copies: &transcriptv1.CompactionCopies{CopiedFrom: []*transcriptv1.CopiedFrom{{}}}}
	}
	ns := func(name string) *transcriptv1.ArchiveRecord {
		return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: &transcriptv1.ArchiveNamespace{Name: name}}}
	}
	n := func(n *transcriptv1.ArchivedNode) *transcriptv1.ArchiveRecord {
		return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Node{Node: n}}
	}
	st := func(node []byte, rev int64) *transcriptv1.ArchiveAliasState {
		return &transcriptv1.ArchiveAliasState{Node: node, Revision: rev, BeganAt: timestamppb.Now()}
	}
	al := func(name string, rev int64, states ...*transcriptv1.ArchiveAliasState) *transcriptv1.ArchiveRecord {
		return &transcriptv1.ArchiveRecord{Record: &transcriptv1.ArchiveRecord_Alias{Alias: &transcriptv1.ArchiveAlias{Name: name, Revision: rev, States: states}}}
	}
	labelled := al("x", 1, st(id[:], 1))
	labelled.GetAlias().Labels = map[string]string{"": "v"}
	timeless := al("x", 1, st(id[:], 1))
	timeless.GetAlias().States[0].BeganAt = nil
	var many []*transcriptv1.ArchiveAliasState
	for i := range 101 {
		many = append(many, st(id[:], int64(i+1)))
	}
	old := node()
	old.FirstPutAt = &timestamppb.Timestamp{Seconds: -5}
	note := node()
	note.Notes = []*transcriptv1.MessageNote{{Model: strings.Repeat("m", 1<<17)}}
	erased := func(spoil func(n *transcriptv1.ArchivedNode)) *transcriptv1.ArchivedNode {
		left, err := canonical.EraseArchived(node(), testreceipt.Of(t, id, ""))
		if err != nil {
			t.Fatal(err)
		}
		spoil(left)
		return left
	}
	child := form.Envelope(&id, nil)
	other := canonical.NodeID(child)
	good := []*transcriptv1.ArchiveRecord{ns("a"), n(node()), al("ok", 1, st(id[:], 1)), ns("b"), n(node())}
	bad := map[string][]*transcriptv1.ArchiveRecord{
		"control character in a name": {al("x\x01", 1, st(id[:], 1))},
		"empty label":                 {labelled},
		"no time":                     {timeless},
		"101 states":                  {al("x", 101, many...)},
		"deletion first":              {al("x", 2, st(nil, 1), st(id[:], 2))},
		"two deletions":               {al("x", 3, st(id[:], 1), st(nil, 2), st(nil, 3))},
		"alias twice, higher first":   {al("x", 5, st(id[:], 5)), ns("b"), al("x", 3, st(id[:], 3))},
		"namespace":                   {ns("Bad Name"), n(node())},
		"first put before 1970":       {n(old)},
		"note":                        {n(note)},
		"erased, with its content":    {n(erased(func(n *transcriptv1.ArchivedNode) { n.Payload = form.Payload }))},
		"erased, no receipt":          {n(erased(func(n *transcriptv1.ArchivedNode) { n.Erasure.Receipt = nil }))},
		"erased, no lengths":          {n(erased(func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes = nil }))},
		"erased, with metadata bytes": {n(erased(func(n *transcriptv1.ArchivedNode) { n.Erasure.MetadataBytes = 9 }))},
		"erased, with details":        {n(erased(func(n *transcriptv1.ArchivedNode) { n.Notes = []*transcriptv1.MessageNote{{Model: "m"}} }))},
		"covers a sibling":            {n(&transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, child), Payload: form.Payload}), n(over(other, id))},
		"settings":                    {{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: &transcriptv1.ArchiveNamespace{Name: "b", SettingsRevision: 1, Settings: &transcriptv1.NamespaceSettings{MaxNodes: -4}}}}},
		"floor":                       {{Record: &transcriptv1.ArchiveRecord_Namespace{Namespace: &transcriptv1.ArchiveNamespace{Name: "b", RevisionFloor: math.MinInt64}}}, al("x", 1, st(id[:], 1))},
	}
	for what, records := range bad {
		t.Run(what, func(t *testing.T) {
			var out bytes.Buffer
			w, err := archive.NewWriter(&out, &transcriptv1.ArchiveHeader{Kind: transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP, StoreId: "x", MadeAt: timestamppb.Now()})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range append(append([]*transcriptv1.ArchiveRecord{}, good...), records...) {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := w.End(nil); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "f")
			_ = os.WriteFile(file, out.Bytes(), 0o600)
			s := newStack(t)
			v := s.run("backup", "verify", file)
			r := s.run("restore", file)
			l := s.run("alias", "list", "--namespace", "a")
			half := r.code != 0 && strings.Contains(l.out, "ok")
			notes := strings.ReplaceAll(r.notes, "\n", " ")
			t.Logf("verify %d, restore %d, half taken: %v; %s", v.code, r.code, half, notes[:min(len(notes), 200)])
			if v.code == 0 && r.code != 0 || half {
				t.Error("verify says that it is good, and a half is taken")
			}
		})
	}
}
