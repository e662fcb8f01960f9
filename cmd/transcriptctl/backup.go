package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

type backupCommand struct {
	Create backupCreateCommand `cmd:"" help:"Write what a server has to a file, or what changed since another backup."`
	Verify backupVerifyCommand `cmd:"" help:"Check backups. No server is asked."`
}

// openArchive opens a file and reads the header of the archive in it.
func openArchive(file string, identities []age.Identity) (*os.File, *archive.Reader, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, &inputError{err}
	}
	r, err := archive.Open(f, identities...)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", file, err), f.Close())
	}
	return f, r, nil
}

// readBackups hands every record of backups that go on from each other to each, judged, and returns the readers at their ends. all is a count of
// nodes that was made before, 0 for none.
func (s *session) readBackups(
	ctx context.Context, files []string, identities []age.Identity, doing string, all int64, each func(*transcriptv1.ArchiveRecord, *canonical.Stored) error,
) (c *archive.Chain, err error) {
	line := newProgress(s.notes)
	defer line.clear()
	var opened []archive.File
	for _, file := range files {
		f, r, err := openArchive(file, identities)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		opened = append(opened, archive.File{Name: file, Reader: r})
	}
	if c, err = archive.NewChain(opened...); err != nil {
		return nil, err
	}
	nodes := int64(0)
	for {
		record, node, err := c.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil && c.At() > 0 && !errors.Is(err, archive.ErrOrder) {
			return nil, fmt.Errorf("%w\nWhat stands before %s is whole", err, files[c.At()])
		}
		if err == nil {
			err = each(record, node)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if node == nil {
			continue
		}
		nodes++
		text := doing + " " + count(nodes, "node")
		if all > 0 {
			text += fmt.Sprintf(" of %d", all)
		}
		line.show(text)
	}
}
