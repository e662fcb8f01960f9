package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/transcriptd/transcriptd/internal/audit"
)

type auditCommand struct {
	Verify auditVerifyCommand `cmd:"" help:"Find what was changed in an audit, taken out of it, put in, moved or cut off."`
	Alias  auditAliasCommand  `cmd:"" help:"Print the lines of an audit that tell of an alias."`
}

// auditKeys are the keys that lines of an audit may be under.
type auditKeys struct {
	KeyFile []string `placeholder:"FILE" help:"A key that the lines are under, as transcriptd has it by --audit-key; may be repeated where there was another one before."`
}

func (k auditKeys) read() (keys []*audit.Key, err error) {
	for _, name := range k.KeyFile {
		key, err := audit.ReadKey(name)
		if err != nil {
			return nil, usagef("--key-file: %w", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// auditsOf are the files of audits among those given. The lock of an audit that is given too is none: a shell's audit.jsonl.* names it.
func auditsOf(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		of, isLock := strings.CutSuffix(name, ".lock")
		return isLock && slices.Contains(files, of)
	})
}

// auditError is an error of reading an audit, with what to do.
func auditError(err error) error {
	if errors.Is(err, audit.ErrOtherKey) {
		return usagef("%w: give --key-file", err)
	}
	return err
}

type auditAliasCommand struct {
	auditKeys
	Alias aliasName `arg:"" completes:"alias" help:"The alias, in the namespace of --namespace."`
	Files []string  `arg:"" name:"FILE" help:"The audit's files."`
	sinceFlag
}

func (c *auditAliasCommand) Help() string {
	return `Prints each line of the files that tells of a call with the alias, as it stands there: the names themselves are not in the files. Lines are not verified, and no server is asked. Of calls with many aliases a line has the first 16. Examples:

    transcriptctl audit alias chat/42 audit.jsonl.* audit.jsonl
    transcriptctl audit alias chat/42 --namespace team-a --key-file audit.key audit.jsonl | jq -r '[.time, .call.principal, .call.method] | @tsv'`
}

// Run prints lines.
func (c *auditAliasCommand) Run(s *session) error {
	keys, err := c.read()
	if err != nil {
		return err
	}
	return auditError(audit.About(auditsOf(c.Files), keys, s.namespace(), string(c.Alias), func(text []byte) error {
		if c.Since == nil || !auditTime(text).Before(*c.Since) {
			return s.printLine("%s", visible(string(text)))
		}
		return nil
	}))
}

// auditTime is when a line says that it was written; the beginning of all times where it does not.
func auditTime(line []byte) time.Time {
	var says struct{ Time time.Time }
	if json.Unmarshal(line, &says) != nil {
		return time.Time{}
	}
	return says.Time
}
