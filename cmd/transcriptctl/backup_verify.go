package main

import (
	"context"
	"fmt"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type backupVerifyCommand struct {
	archiveKeys
	Files []string `arg:"" name:"FILE" type:"path" help:"The backups in their order: a full one, the rest of one that was cut, what changed since."`
}

func (c *backupVerifyCommand) Help() string {
	return `Reads backups and recomputes the id of each node. Of several it checks that each goes on from the one before. What it finds to be whole, restore takes. It tells the digest of the last one: who keeps that elsewhere knows that nobody changed the files. Exit code 6 where a file is cut or changed. Examples:

    transcriptctl backup verify sunday.backup
    transcriptctl backup verify sunday.backup monday.backup tuesday.backup
    transcriptctl backup verify sunday.backup.part sunday-rest.backup`
}

// AsksNoServer says that the command works on files.
func (*backupVerifyCommand) AsksNoServer() {}

// Run verifies files.
func (c *backupVerifyCommand) Run(ctx context.Context, s *session) error {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	told := toldBackup{}
	chain, err := s.readBackups(ctx, c.Files, identities, "checked", 0, func(r *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		told.add(r, n)
		return nil
	})
	if err != nil {
		return err
	}
	last := chain.Last()
	told.Digest = last.Digest().String()
	if chain.Partial() {
		s.remark("%s has what changed since another backup, which is not here: what it goes on from was not checked", c.Files[0])
	}
	return told.print(s)
}

// toldBackup is what is told of backups.
type toldBackup struct {
	Digest string `json:"digest"`
	Nodes  int64  `json:"nodes,string"`
	// Changes counts aliases as often as they are in an archive: set, moved or deleted.
	Changes int64 `json:"aliasChanges,string"`
}

func (b *toldBackup) add(r *transcriptv1.ArchiveRecord, n *canonical.Stored) {
	switch {
	case n != nil:
		b.Nodes++
	case r.GetAlias() != nil:
		b.Changes++
	}
}

func (b *toldBackup) print(s *session) error {
	if s.json {
		return s.printJSON(b)
	}
	return s.printRows([][2]string{{"nodes", fmt.Sprint(b.Nodes)}, {"aliases", fmt.Sprint(b.Changes)}, {"digest", b.Digest}})
}
