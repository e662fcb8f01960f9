package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/bytecount"
	"github.com/transcriptd/transcriptd/internal/syncdir"
)

type backupCreateCommand struct {
	archiveKeys
	All       bool            `help:"Write the whole store: every namespace."`
	Since     string          `xor:"from" type:"path" placeholder:"FILE" help:"Write what was put, set or deleted since this backup of the same namespaces; - for standard input."`
	Continue  string          `xor:"from" type:"path" placeholder:"FILE" help:"Write the rest of this backup, which was cut: FILE.part; - for standard input."`
	Recipient []string        `xor:"plain" placeholder:"RECIPIENT" help:"Encrypt the backup to this recipient of age, as age1…; may be repeated."`
	Plain     bool            `xor:"plain" help:"Write plain text, although the store is encrypted, or the backup of --since or --continue."`
	Rate      bytecount.Count `placeholder:"N" help:"Have the server read at most N bytes of nodes a second, so that others are not held up: in bytes or as 64KiB, 20MiB; 0: no bound."`
	File      string          `arg:"" name:"FILE" help:"The file to write, or - for standard output. It is FILE.part until it is complete."`
	// names are the namespaces that the backup of --since or --continue has.
	names namesInOrder
}

func (c *backupCreateCommand) Help() string {
	return `Writes what the namespace, or with --all the store, has at one moment while the command runs: nodes, aliases with their histories, deleted ones too, and settings. Writers do not wait. What restore needs is in docs/operations.md, the format in docs/archive.md.

A backup that was cut stays as FILE.part, and another file has the rest: see --continue. Keep both, restore takes both. --since and --continue read the earlier file, and of an encrypted one they need the --identity that opens it. Examples:

    transcriptctl backup create sunday.backup --all
    transcriptctl backup create monday.backup --all --since sunday.backup
    transcriptctl backup create tuesday.backup --all --since monday.backup --rate 20000000
    transcriptctl backup create rest.backup --all --continue tuesday.backup.part
    transcriptctl backup create - --all --recipient age1… | ssh host 'cat > sunday.backup'
    ssh host 'cat sunday.backup' | transcriptctl backup create monday.backup --all --since -`
}

// Run writes a backup.
func (c *backupCreateCommand) Run(ctx context.Context, s *session) (err error) {
	if c.All && s.namespaceGiven {
		return usagef("--all writes every namespace: leave out --namespace, and TRANSCRIPTCTL_NAMESPACE in the environment")
	}
	recipients, err := sealTo(c.Recipient)
	if err != nil {
		return err
	}
	ask := client.Backup{WholeStore: c.All, MaxBytesPerSecond: int64(c.Rate), Plain: c.Plain || len(recipients) > 0}
	if err := c.from(ctx, s, &ask); err != nil {
		return err
	}
	if c.File == "-" {
		_, err := s.backUp(ctx, ask, s.out, recipients)
		return c.inFlags(s, err)
	}
	part, err := newPartFile(c.File, "backup", "a backup that was cut: go on from it with another FILE and --continue, or remove it")
	if err != nil {
		return err
	}
	told, err := s.backUp(ctx, ask, part, recipients)
	if err != nil {
		return errors.Join(c.inFlags(s, err), part.leave(), c.explain(told.points))
	}
	if err := part.complete(); err != nil {
		return err
	}
	return told.print(s)
}

// from reads where the archive is to begin.
func (c *backupCreateCommand) from(ctx context.Context, s *session, ask *client.Backup) error {
	file := c.Since + c.Continue // one of them, or none
	if file == "" {
		return nil
	}
	identities, err := c.identities()
	if err != nil {
		return err
	}
	f, r, err := s.openArchive(ctx, file, identities)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if r.Encrypted() && !ask.Plain {
		return usagef("%s is encrypted, and this backup would not be: encrypt it with --recipient age1…, or give --plain where it is protected otherwise", r.Name)
	}
	file = r.Name
	for {
		var record *transcriptv1.ArchiveRecord
		if record, err = r.Next(); err != nil {
			break
		}
		if n := record.GetNamespace(); n != nil {
			c.names.add(n.GetName())
		}
		if p := record.GetPoint(); p != nil && c.Continue != "" {
			digest := r.Digest()
			ask.ContinueCursor, ask.ContinueDigest = p.GetCursor(), digest[:]
		}
	}
	switch whole := errors.Is(err, io.EOF); {
	case r.Header().GetKind() != transcriptv1.ArchiveKind_ARCHIVE_KIND_BACKUP:
		return inputf("%s: a bundle, and no backup", file)
	case c.Continue != "" && whole:
		return inputf("%s is whole: --since %s writes what changed since", file, file)
	case c.Continue != "" && len(ask.ContinueCursor) == 0:
		return inputf("%s was cut before its first point: remove it, and begin anew", file)
	case c.Continue != "":
		return nil
	case !whole:
		return fmt.Errorf("%s: %w", file, err)
	}
	digest := r.Digest()
	ask.SinceCursor, ask.SinceDigest = r.Ended().GetCursor(), digest[:]
	return nil
}

// inFlags is an error with flags in the place of fields of the request, and what to do; any other error as it is.
func (c *backupCreateCommand) inFlags(s *session, err error) error {
	var remote *client.Error
	if !errors.As(err, &remote) {
		return err
	}
	for _, v := range remote.Violations {
		switch v.Field {
		case "plain":
			return usagef("the store is encrypted, and this backup would not be: encrypt it with --recipient age1…, or give --plain where it is protected otherwise")
		case "since_cursor", "since_digest":
			return usagef("--since %s: %s%s", c.Since, v.Rule, c.scope(s, v.Rule))
		case "continue_cursor", "continue_digest":
			return usagef("--continue %s: %s%s", c.Continue, v.Rule, c.scope(s, v.Rule))
		case "max_bytes_per_second":
			return usagef("--rate %s", v.Rule)
		}
	}
	return err
}

// scope is what to do where an earlier backup is of other namespaces; empty for another rule.
func (c *backupCreateCommand) scope(s *session, rule string) string {
	if !strings.Contains(rule, "the same namespaces") {
		return ""
	}
	has := nameLine(c.names.all)
	if c.All {
		return fmt.Sprintf(". It has namespace %s alone, and --all is the whole store: leave out --all, and give that --namespace", has)
	}
	return fmt.Sprintf(". It has %s, and this backup would be of namespace %s alone: give --all if that is a backup of the whole store, or its --namespace", has, s.namespace())
}

// explain tells how a backup that was cut goes on. One that cannot is removed.
func (c *backupCreateCommand) explain(points int) error {
	part := c.File + partEnding
	if points == 0 {
		return errors.Join(os.Remove(part), &goOn{part + " was removed, since nothing came that could be gone on from: begin anew"})
	}
	all := ""
	if c.All {
		all = " --all"
	}
	for _, r := range c.Recipient {
		all += " --recipient " + r
	}
	if len(c.Recipient) > 0 {
		all += " --identity IDENTITY"
	}
	return &goOn{fmt.Sprintf("%s has what came; to go on: transcriptctl backup create FILE%s --continue %s", part, all, part)}
}

// madeBackup is what is told of a backup that was made.
type madeBackup struct {
	toldBackup
	Bytes  int64 `json:"archiveBytes,string"`
	points int
}

func (b *madeBackup) print(s *session) error {
	if s.json {
		return s.printJSON(b)
	}
	return s.printRows([][2]string{{"nodes", fmt.Sprint(b.Nodes)}, {"aliases", fmt.Sprint(b.Changes)}, {"bytes", size(b.Bytes)}, {"digest", b.Digest}})
}

// backUp writes an archive, encrypted where there are recipients.
func (s *session) backUp(ctx context.Context, ask client.Backup, out io.Writer, recipients []age.Recipient) (madeBackup, error) {
	if len(recipients) == 0 {
		return s.receive(ctx, ask, out)
	}
	sealed, err := archive.Seal(out, recipients...)
	if err != nil {
		return madeBackup{}, err
	}
	told, err := s.receive(ctx, ask, sealed)
	return told, errors.Join(err, sealed.Close())
}

// receive writes the archive that the server sends. It is read as it comes, so that one that is not as the server says is told of.
func (s *session) receive(ctx context.Context, ask client.Backup, out io.Writer) (told madeBackup, err error) {
	read, fed := io.Pipe()
	check := newBackupCheck(read)
	line := newProgress(s.notes)
	defer line.clear()
	var last *transcriptv1.BackupResponse
	for piece, err := range s.Backup(ctx, ask) {
		if err == nil {
			_, err = out.Write(piece.GetData())
		}
		if err == nil && len(piece.GetData()) > 0 {
			_, err = fed.Write(piece.GetData())
		}
		if err != nil {
			_ = fed.CloseWithError(io.ErrUnexpectedEOF)
			told.points, _ = check.wait()
			return told, err
		}
		last = piece
		told.Bytes += int64(len(piece.GetData()))
		line.show(fmt.Sprintf("%s, %s of archive", count(piece.GetNodes(), "node"), size(told.Bytes)))
	}
	_ = fed.Close()
	if told.points, err = check.wait(); err != nil {
		return told, fmt.Errorf("what the server sent: %w", err)
	}
	if string(last.GetDigest()) != string(check.digest[:]) {
		return told, errBadReply
	}
	told.Digest, told.Nodes, told.Changes = check.digest.String(), last.GetNodes(), last.GetAliases()
	return told, nil
}

// backupCheck reads an archive beside its writer.
type backupCheck struct {
	digest archive.Digest
	points int
	err    error
	done   chan struct{}
}

func newBackupCheck(from *io.PipeReader) *backupCheck {
	c := &backupCheck{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		r, err := archive.NewReader(from)
		for err == nil {
			var record *transcriptv1.ArchiveRecord
			if record, err = r.Next(); err == nil && record.GetPoint() != nil {
				c.points++
			}
		}
		if errors.Is(err, io.EOF) {
			err, c.digest = nil, r.Digest()
		}
		c.err = err
		_ = from.CloseWithError(err) // who writes hears of it; of nil, that there is nobody
	}()
	return c
}

// wait is how many points there were, once all is read.
func (c *backupCheck) wait() (points int, err error) {
	<-c.done
	return c.points, c.err
}

// partEnding is what the name of a file ends with until it is complete.
const partEnding = ".part"

// partFile is a file that gets its name when it is complete, and stays where it does not.
type partFile struct {
	*os.File
	name string
}

// newPartFile makes one for a kind of archive that nobody else may read. What is there already is not written over; left says what to do with what an
// earlier command left of the name.
func newPartFile(name, kind, left string) (*partFile, error) {
	if name == "" {
		return nil, usagef("FILE must not be empty: name the file to write, or - for standard output")
	}
	if _, err := os.Lstat(name); err == nil {
		return nil, usagef("%s is there already: a %s is not written over", name, kind)
	}
	f, err := os.OpenFile(name+partEnding, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, usagef("%s is there already, of %s", name+partEnding, left)
	}
	if err != nil {
		return nil, &inputError{err}
	}
	return &partFile{f, name}, nil
}

// complete gives it its name, durably.
func (f *partFile) complete() error {
	if err := f.leave(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.name); err != nil {
		return err
	}
	return syncdir.Sync(filepath.Dir(f.name))
}

// end completes it, or takes it away.
func (f *partFile) end(complete bool) error {
	if complete {
		return f.complete()
	}
	return errors.Join(f.leave(), os.Remove(f.Name()))
}

// leave keeps what was written under its name for the time being.
func (f *partFile) leave() error { return errors.Join(f.Sync(), f.Close()) }
