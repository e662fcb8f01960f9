package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

type backupVerifyCommand struct {
	archiveKeys
	Files []string `arg:"" name:"FILE" type:"path" help:"The backups in their order: a full one, the rest of one that was cut, what changed since. Or - alone, for standard input."`
}

func (c *backupVerifyCommand) Help() string {
	return `Reads backups and recomputes the id of each node. Of several it checks that each goes on from the one before. What it finds to be whole, restore takes. It tells when each was made, of which store and namespaces, and whether it has everything or what changed since another one. The digest is that of the last one: who keeps it elsewhere knows that nobody changed the files. Exit code 6 where a file is cut or changed, 2 where it does not begin as an archive. Examples:

    transcriptctl backup verify sunday.backup
    transcriptctl backup verify sunday.backup monday.backup tuesday.backup
    transcriptctl backup verify sunday.backup.part sunday-rest.backup
    ssh host 'cat sunday.backup' | transcriptctl backup verify -`
}

// AsksNoServer says that the command works on files.
func (*backupVerifyCommand) AsksNoServer() {}

// Run verifies files.
func (c *backupVerifyCommand) Run(ctx context.Context, s *session) error {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	if len(c.Files) > 1 && slices.Contains(c.Files, "-") {
		return usagef("- is standard input, which is one backup: of several, give the files")
	}
	told, names := verifiedBackup{}, namesInOrder{all: []string{}}
	chain, err := s.readBackups(ctx, c.Files, identities, "checked", 0, func(_ *archive.Chain, r *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		told.add(r, n)
		if n := r.GetNamespace(); n != nil {
			names.add(n.GetName())
		}
		return nil
	})
	if err != nil {
		return err
	}
	told.Digest = chain.Last().Digest().String()
	told.of(chain)
	told.Namespaces, told.Deleted = deletedOf(names.all, chain.Namespaces())
	if chain.Partial() {
		s.remark("%s has what changed since another backup, which is not here: what it goes on from was not checked", chain.Files()[0].Name)
	}
	return told.print(s)
}

// deletedOf parts names into those of namespaces that are there, and others.
func deletedOf(names []string, are map[string]archive.Namespace) (there, deleted []string) {
	there = []string{}
	for _, name := range names {
		if _, is := are[name]; is {
			there = append(there, name)
		} else {
			deleted = append(deleted, name)
		}
	}
	return there, deleted
}

// toldBackup is what is told of backups.
type toldBackup struct {
	Digest string `json:"digest"`
	Nodes  int64  `json:"nodes,string"`
	// Erased counts the nodes that are there as erased.
	Erased int64 `json:"nodesErased,string,omitempty"`
	// Receipts counts those of erased nodes that are not there.
	Receipts int64 `json:"receiptsAlone,string,omitempty"`
	// Changes counts aliases as often as they are in an archive: set, moved or deleted.
	Changes int64 `json:"aliasChanges,string"`
}

func (b *toldBackup) add(r *transcriptv1.ArchiveRecord, n *canonical.Stored) {
	switch {
	case n != nil:
		b.Nodes++
		if n.Erased != nil {
			b.Erased++
		}
	case r.GetReceipt() != nil:
		b.Receipts++
	case r.GetAlias() != nil:
		b.Changes++
	}
}

// verifiedBackup is what is told of backups that were verified.
type verifiedBackup struct {
	toldBackup
	toldFiles
}

func (b *verifiedBackup) print(s *session) error {
	if s.json {
		return s.printJSON(b)
	}
	rows := [][2]string{{"nodes", fmt.Sprint(b.Nodes)}, {"aliases", fmt.Sprint(b.Changes)}}
	if b.Erased > 0 {
		rows = append(rows, [2]string{"erased", fmt.Sprintf("%d of the nodes", b.Erased)})
	}
	if b.Receipts > 0 {
		rows = append(rows, [2]string{"receipts", fmt.Sprintf("%d of nodes that are not there", b.Receipts)})
	}
	rows = append(rows, b.rows(nameLine(b.Namespaces))...)
	return s.printRows(append(rows, [2]string{"digest", b.Digest}))
}

// toldFiles is what is told of the files of a row of backups. Times are RFC 3339 in UTC, MadeAt that of the last file; empty where a file has none.
type toldFiles struct {
	MadeAt     string   `json:"madeAt"`
	StoreID    string   `json:"storeId"`
	Namespaces []string `json:"namespaces"`
	// Deleted are the names of those that earlier files have, and that were deleted by the time of the last one.
	Deleted []string   `json:"namespacesDeleted,omitempty"`
	Files   []toldFile `json:"archives"`
}

// toldFile is what is told of one of them. Since is the digest of the backup from which it goes on, Continues that of the cut one whose rest it is,
// up to the point; a file without either has everything. Digest is its own, of a cut one up to the point from which the next file goes on.
type toldFile struct {
	File      string `json:"file"`
	MadeAt    string `json:"madeAt"`
	Since     string `json:"since,omitempty"`
	Continues string `json:"continues,omitempty"`
	Digest    string `json:"digest"`
}

// of takes what a chain that was read tells of its files.
func (t *toldFiles) of(c *archive.Chain) {
	for _, f := range c.Files() {
		h := f.Header()
		one := toldFile{File: f.Name, Since: hex.EncodeToString(h.GetSince()), Continues: hex.EncodeToString(h.GetContinues()), Digest: f.Digest().String()}
		if h.GetMadeAt() != nil {
			one.MadeAt = clock(h.GetMadeAt())
		}
		t.MadeAt, t.StoreID, t.Files = one.MadeAt, h.GetStoreId(), append(t.Files, one)
	}
}

// rows tell it, with a text for the namespaces.
func (t *toldFiles) rows(namespaces string) [][2]string {
	rows := [][2]string{{"made", t.MadeAt}, {"store", name(t.StoreID)}, {"namespaces", namespaces}}
	if len(t.Deleted) > 0 {
		rows = append(rows, [2]string{"deleted", "namespaces that earlier files have: " + nameLine(t.Deleted)})
	}
	for _, f := range t.Files {
		has := "everything"
		switch {
		case f.Continues != "":
			has = "the rest of the one before it"
		case f.Since != "":
			has = "what changed since " + f.Since
		}
		rows = append(rows, [2]string{"file", fmt.Sprintf("%s, made %s: %s", name(f.File), f.MadeAt, has)})
	}
	return rows
}
