package main

import (
	"errors"
	"io"
	"syscall"

	"github.com/alecthomas/kong"
)

// WritesArchive tells whether standard output gets the archive.
func (c *backupCreateCommand) WritesArchive() bool { return c.File == "-" }

// WritesArchive tells whether standard output gets the archive.
func (c *bundleCreateCommand) WritesArchive() bool { return c.File == "-" }

// standardOutput is where a command writes to. A reader of an archive that goes away before the end is an error, errReaderGone; of a listing it is none.
func standardOutput(command *kong.Context, stdout io.Writer) io.Writer {
	if c, is := command.Selected().Target.Addr().Interface().(interface{ WritesArchive() bool }); is && c.WritesArchive() {
		return wholeOutput{stdout}
	}
	return stdout
}

// wholeOutput is a writer whose reader must take everything.
type wholeOutput struct{ to io.Writer }

func (w wholeOutput) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		err = errReaderGone
	}
	return n, err
}
