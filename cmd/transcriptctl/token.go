package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
)

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Make a token, print it this once, and keep its hash in a file of principals."`
	List   tokenListCommand   `cmd:"" help:"List the principals of a file and their tokens, without what is secret."`
	Revoke tokenRevokeCommand `cmd:"" help:"Take a token away, or all of a principal."`
}

// principalsFlag is the file that the commands work on. They ask no server.
type principalsFlag struct {
	Principals string `required:"" placeholder:"FILE" env:"TRANSCRIPTCTL_PRINCIPALS" help:"The file of principals, which transcriptd has as --principals."`
}

// AsksNoServer says that the command works on a file.
func (principalsFlag) AsksNoServer() {}

// read reads the file.
func (f *principalsFlag) read() (*identity.File, error) {
	file, err := identity.ReadFile(f.Principals)
	return file, f.explain(err)
}

// edit changes the file, and makes it where it is not there yet.
func (f *principalsFlag) edit(change func(*identity.File) error) error {
	return f.explain(identity.Edit(f.Principals, change))
}

// explain makes errors of the file what exit codes tell apart.
func (f *principalsFlag) explain(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return inputf("--principals: there is no file %s; 'transcriptctl token create' makes it", f.Principals)
	case errors.Is(err, identity.ErrFile):
		return inputf("--principals: %w", err)
	default:
		return err
	}
}

// grantText is what grants give, on one line.
func grantText(grants []identity.FileGrant) string { return heldText(heldGrants(grants)) }

// dateOr is a time for people, or another text where there is none.
func dateOr(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

// explainToken says what of a token or principal was refused, and what to do next; empty: the error is of something else.
func explainToken(err error) (text, hint string) {
	switch {
	case errors.Is(err, identity.ErrLastAdmin):
		return err.Error(), "Make another admin first ('transcriptctl token create NAME --role admin --namespaces \"*\"'), or give --force: who edits the file can " +
			"make an admin at any time."
	case errors.Is(err, identity.ErrNoToken), errors.Is(err, identity.ErrNoPrincipal):
		return err.Error(), "See which there are with 'transcriptctl token list'."
	default:
		return "", ""
	}
}

// tokenExitCode is the exit code for an error of a token or principal; exitOK: it is none.
func tokenExitCode(err error) int {
	switch {
	case errors.Is(err, identity.ErrLastAdmin):
		return exitConflict
	case errors.Is(err, identity.ErrNoToken), errors.Is(err, identity.ErrNoPrincipal):
		return exitNotFound
	default:
		return exitOK
	}
}

// expiry is when what --expires says is over: "90d", "12h30m", a time, or "never".
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		lasts, err := lifetime(text)
		if err != nil {
			return end, usagef("--expires must be a duration such as 90d or 12h, a time such as 2027-11-21T12:00:00Z, or never")
		}
		end = now.Add(lasts).Truncate(time.Second)
	}
	if !end.After(now) {
		return end, usagef("--expires must be in the future; %s is not", dateOr(end, "-"))
	}
	return end, nil
}

// lifetime reads a duration, in which d is a day of 24 hours.
func lifetime(text string) (time.Duration, error) {
	days, found := strings.CutSuffix(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	hours, err := time.ParseDuration(days + "h")
	const most = 100 * 365 * 24 * time.Hour
	if err != nil || hours > most/24 {
		return 0, fmt.Errorf("no days")
	}
	return 24 * hours, nil
}
