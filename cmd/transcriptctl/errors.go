package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
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
var errProblems = errors.New("problems were found in the stored transcripts; keep a copy of the store's folder as it is, run verify --all, which names damaged files, and go back to a backup")

// usageError is a mistake on the command line or in the environment.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// inputError is a file or message on the input that cannot be used.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

func inputf(format string, args ...any) error { return &inputError{fmt.Errorf(format, args...)} }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// report prints an error with what to do next, and returns the exit code. A reader of standard output that went away
// is no failure: it has read what it wanted.
func report(stderr io.Writer, err error) int {
	code := exitCode(err)
	if code == exitOK {
		return code
	}
	if code == exitInterrupted {
		fmt.Fprintln(stderr, "transcriptctl: interrupted")
		return code
	}
	text, hint := explain(err)
	fmt.Fprintln(stderr, "transcriptctl:", text)
	if hint != "" {
		fmt.Fprintln(stderr, hint)
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
	case errors.Is(err, errDiverged):
		return exitConflict
	case errors.As(err, &usage), errors.As(err, &input), errors.As(err, &bad):
		return exitUsage
	case errors.Is(err, errProblems), errors.Is(err, errAudit), errors.Is(err, errUnexplained):
		return exitDamaged
	}
	if code := tokenExitCode(err); code != exitOK {
		return code
	}
	return remoteExitCode(err)
}

// explain says what went wrong, and what to do next where that is known.
func explain(err error) (text, hint string) {
	var usage *usageError
	var bad *badLine
	switch {
	case errors.As(err, &usage):
		return err.Error(), "Run transcriptctl --help, or transcriptctl COMMAND --help, for flags and examples."
	case errors.Is(err, errDiverged):
		return err.Error(), "Compare with 'transcriptctl export --chat ID'. Give --move to point the alias to this one (its history " +
			"keeps the other), or --skip-bad to leave such lines out."
	case errors.As(err, &bad):
		text, _ = explainRemote(err)
		return text, "Mend the line, or give --skip-bad to leave such lines out. Run it again to go on: nothing is stored twice."
	}
	if text, hint = explainToken(err); text != "" {
		return text, hint
	}
	return explainRemote(err)
}
