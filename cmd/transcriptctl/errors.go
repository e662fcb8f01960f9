package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/transcriptd/transcriptd/canonical"
)

// Exit codes. Part of the tool's promise to scripts: they never change their meaning.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitUnavailable = 5
	exitDamaged     = 6
	exitDenied      = 7
	exitInterrupted = 130
)

// errInterrupted says that a signal ended the command.
var errInterrupted = errors.New("interrupted")

// errProblems says that verify found problems; they are printed already.
var errProblems = errors.New("problems were found in the stored transcripts; keep a copy of the store's folder as it is, run verify --all, which names damaged files, and see docs/operations.md for what to do about each kind")

// usageError is a mistake on the command line or in the environment.
type usageError struct {
	err error
	// command is the one that was called, in words; empty where none is known.
	command string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// inputError is a file or message on the input that cannot be used.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

func inputf(format string, args ...any) error { return &inputError{fmt.Errorf(format, args...)} }

func usagef(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// goOn tells how a command that did not finish goes on. It is joined with, or wrapped beside, the error that ended the command, and is printed behind what
// is said of that one.
type goOn struct{ how string }

func (e *goOn) Error() string { return e.how }

// errReaderGone: the archive that a command writes to standard output has nobody who reads it to its end. It is not EPIPE.
var errReaderGone = errors.New("the program that reads standard output ended: the archive was not written whole")

// of is an error of a command: one about its flags or arguments names it in what to do next.
func of(command *kong.Context, err error) error {
	var usage *usageError
	if called := words(command); called != "help" && errors.As(err, &usage) && usage.command == "" {
		usage.command = called
	}
	return err
}

// words are those of a command, such as "alias set".
func words(command *kong.Context) string {
	var names []string
	for _, step := range command.Path {
		if step.Command != nil {
			names = append(names, step.Command.Name)
		}
	}
	return strings.Join(names, " ")
}

// report prints an error with what to do next, and returns the exit code. A reader of standard output that went away
// is no failure: it has read what it wanted. Of an archive it has not, see errReaderGone.
func report(stderr io.Writer, err error) int {
	code := exitCode(err)
	if code == exitOK {
		return code
	}
	if code == exitInterrupted {
		fmt.Fprintln(stderr, "transcriptctl: interrupted")
		if next := (*goOn)(nil); errors.As(err, &next) {
			fmt.Fprintln(stderr, visible(next.how))
		}
		return code
	}
	text, hint := explain(err)
	fmt.Fprintln(stderr, "transcriptctl:", visible(text))
	if hint != "" {
		fmt.Fprintln(stderr, visible(hint))
	}
	return code
}

func exitCode(err error) int {
	var usage *usageError
	var input *inputError
	var bad *badLine
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitOK
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errDiverged), errors.Is(err, errAliasesElsewhere):
		return exitConflict
	case errors.Is(err, errNotServing):
		return exitUnavailable
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &bad):
		return exitUsage
	case errors.Is(err, errProblems), errors.Is(err, errAudit), errors.Is(err, errUnexplained), errors.Is(err, errReceipt), errors.Is(err, canonical.ErrReceipt):
		return exitDamaged
	}
	if code := archiveExitCode(err); code != exitOK {
		return code
	}
	if code := tokenExitCode(err); code != exitOK {
		return code
	}
	return remoteExitCode(err)
}

// explain says what went wrong, and what to do next where that is known.
func explain(err error) (text, hint string) {
	text, hint = explainFailure(err)
	var next *goOn
	var suggested *suggestion
	if !errors.As(err, &next) {
		return text, hint
	}
	text = strings.TrimSuffix(text, "\n"+next.how)
	if errors.As(err, &suggested) && suggested.sure {
		return text, hint // it says what to do instead
	}
	return text, strings.TrimPrefix(hint+"\n"+next.how, "\n")
}

// explainFailure is explain without how to go on.
func explainFailure(err error) (text, hint string) {
	var usage *usageError
	var bad *badLine
	var suggested *suggestion
	switch {
	case errors.As(err, &suggested):
		text, hint = explainFailure(suggested.err)
		return text, suggested.hint(hint)
	case errors.As(err, &usage):
		if usage.command == "" {
			return err.Error(), "Run transcriptctl --help for commands and flags."
		}
		return err.Error(), "Run transcriptctl " + usage.command + " --help for flags and examples."
	case errors.Is(err, errReaderGone):
		return errReaderGone.Error(), "What it has is no archive. See why it ended, and repeat."
	case errors.Is(err, errDiverged):
		return err.Error(), "Compare with 'transcriptctl export --chat ID'. Give --move to point the alias to this one (its history " +
			"keeps the other), or --skip-bad to leave such lines out."
	case errors.As(err, &bad):
		text, _ = explainRemote(err)
		if errors.Is(err, errNotJSON) {
			hint = `A line is {"id": ..., "messages": [...]}, or as --form says. `
		}
		return text, hint + "Mend the line, or give --skip-bad to leave such lines out. Run it again to go on: nothing is stored twice."
	}
	if text, hint = explainToken(err); text != "" {
		return text, hint
	}
	if hint = archiveHint(err); hint != "" {
		return err.Error(), hint
	}
	return explainRemote(err)
}
