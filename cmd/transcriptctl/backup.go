package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/server"
)

type backupCommand struct {
	Create backupCreateCommand `cmd:"" help:"Write what a server has to a file, or what changed since another backup."`
	Verify backupVerifyCommand `cmd:"" help:"Check backups. No server is asked."`
}

// openArchive opens a file, or standard input for -, and reads the header of the archive in it.
func (s *session) openArchive(ctx context.Context, file string, identities []age.Identity) (io.Closer, archive.File, error) {
	f, place, err := s.openInput(ctx, file)
	if err != nil {
		return nil, archive.File{}, err
	}
	r, err := archive.Open(f, identities...)
	if err != nil {
		return nil, archive.File{}, errors.Join(fmt.Errorf("%s: %w", place, err), f.Close())
	}
	return f, archive.File{Name: place, Reader: r}, nil
}

// namesInOrder are names as they came first, each once.
type namesInOrder struct {
	all  []string
	seen map[string]bool
}

// add adds a name, and tells whether it is new.
func (n *namesInOrder) add(name string) bool {
	if n.seen[name] {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	n.all = append(n.all, name)
	return true
}

// listedNames is how many names a line has at most.
const listedNames = 20

// nameLine is a line of names, as they are printed.
func nameLine(names []string) string {
	some := make([]string, 0, listedNames)
	for _, n := range names[:min(len(names), listedNames)] {
		some = append(some, name(n))
	}
	line := strings.Join(some, ", ")
	if more := len(names) - len(some); more > 0 {
		line += fmt.Sprintf(" and %d more", more)
	}
	return line
}

// judged is the error of a record that a server would refuse.
func judged(record *transcriptv1.ArchiveRecord, node *canonical.Stored) error {
	err := server.JudgeArchived(record, node)
	switch {
	case err == nil:
		return nil
	case node != nil:
		return fmt.Errorf("%w: node %x: %w", archive.ErrBroken, node.ID, err)
	case record.GetAlias() != nil:
		return fmt.Errorf("%w: alias %s: %w", archive.ErrBroken, name(record.GetAlias().GetName()), err)
	default:
		return fmt.Errorf("%w: %w", archive.ErrBroken, err)
	}
}

// readBackups hands every record of backups that go on from each other to each, judged, and returns the readers at their ends. all is a count of
// nodes that was made before, 0 for none.
func (s *session) readBackups(
	ctx context.Context, files []string, identities []age.Identity, doing string, all int64, each func(*archive.Chain, *transcriptv1.ArchiveRecord, *canonical.Stored) error,
) (c *archive.Chain, err error) {
	line := newProgress(s.notes)
	defer line.clear()
	var opened []archive.File
	for _, file := range files {
		f, one, err := s.openArchive(ctx, file, identities)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		opened = append(opened, one)
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
		if begun := c.Begun(); err != nil && begun > 0 && !errors.Is(err, archive.ErrOrder) {
			return nil, fmt.Errorf("%w\nWhat stands before %s is whole", err, files[begun])
		}
		if err == nil {
			if err = judged(record, node); err != nil {
				err = fmt.Errorf("%s: %w", files[c.At()], err)
			}
		}
		if err == nil {
			err = each(c, record, node)
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
