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

type bundleCommand struct {
	Create   bundleCreateCommand   `cmd:"" help:"Write chains to a file that anybody can check."`
	Verify   bundleVerifyCommand   `cmd:"" help:"Check a bundle. No server is asked, and whoever made it is not trusted."`
	Unbundle bundleUnbundleCommand `cmd:"" help:"Put the chains of a bundle."`
}

// archiveKeys are the keys of encrypted archives.
type archiveKeys struct {
	Identity []string `placeholder:"FILE" type:"path" help:"A file of age identities, one of which opens an encrypted archive; may be repeated."`
}

// identities reads the files.
func (k *archiveKeys) identities() (all []age.Identity, err error) {
	for _, file := range k.Identity {
		f, err := os.Open(file)
		if err != nil {
			return nil, &inputError{err}
		}
		some, err := age.ParseIdentities(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, inputf("%s: not a file of age identities, as age-keygen writes it", file) // the error could tell what is in it
		}
		all = append(all, some...)
	}
	return all, nil
}

// sealTo gives what archives are encrypted to.
func sealTo(texts []string) (all []age.Recipient, err error) {
	for _, text := range texts {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, usagef("--recipient %s: not a recipient of age, as age1…", text)
		}
		all = append(all, r)
	}
	return all, nil
}

// readArchive hands every record of an archive to each, judged, and returns the reader at its end. place is the archive's name in errors.
func (s *session) readArchive(
	ctx context.Context, in io.Reader, place string, identities []age.Identity, each func(*transcriptv1.ArchiveRecord, *canonical.Stored) error,
) (r *archive.Reader, err error) {
	line := newProgress(s.notes)
	defer line.clear()
	if r, err = archive.Open(in, identities...); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	checker, err := archive.NewChecker(r.Header())
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		var node *canonical.Stored
		if record, err = r.Next(); err != nil {
			break
		}
		if node, err = checker.Check(record); err == nil {
			err = judged(record, node)
		}
		if err == nil {
			err = each(record, node)
		}
		line.show(count(r.Counts().Nodes, "node"))
		if err == nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = checker.Finish()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return r, nil
}

// archiveExitCode is that of an error about an archive; exitOK: it is about something else.
func archiveExitCode(err error) int {
	for _, one := range []error{archive.ErrNotAnArchive, archive.ErrVersion, archive.ErrEncrypted, archive.ErrOrder, archive.ErrBundle} {
		if errors.Is(err, one) {
			return exitUsage
		}
	}
	for _, one := range []error{archive.ErrCut, archive.ErrDamaged, archive.ErrBroken} {
		if errors.Is(err, one) {
			return exitDamaged
		}
	}
	return exitOK
}

// archiveHint says what to do about an error of an archive; "": it is about something else.
func archiveHint(err error) string {
	switch {
	case errors.Is(err, archive.ErrEncrypted):
		return "Give the file of the key with --identity, as age-keygen wrote it."
	case errors.Is(err, archive.ErrVersion):
		return "Read it with a transcriptctl of that version."
	case errors.Is(err, archive.ErrCut):
		return "Copy or make the file again. The rest of a backup that was cut while it was made is written by 'transcriptctl backup create OTHER --continue FILE'."
	case errors.Is(err, archive.ErrDamaged):
		return "Copy or make the file again."
	}
	return ""
}
