package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/transcriptd/transcriptd/internal/audit"
)

type auditVerifyCommand struct {
	auditKeys
	Anchor []string `placeholder:"HASH" help:"The hash of a line that must be there, as an anchor in transcriptd's log has it; may be repeated."`
	Last   uint64   `placeholder:"N" help:"The number of a line that must be there, as an anchor has it."`
	Files  []string `arg:"" name:"FILE" help:"The audit's files, in the order in which they were written."`
}

func (c *auditVerifyCommand) Help() string {
	return `Reads an audit of a transcriptd, and asks no server. Problems go to standard output, a line each: the file and the line in it, the line's own number, and what is wrong. Exit code 6 where there are problems. Lines that are gone from the end are found by what an anchor in the server's log tells of them. Examples:

    transcriptctl audit verify audit.jsonl.* audit.jsonl
    transcriptctl audit verify --key-file audit.key --last 5231 audit.jsonl
    transcriptctl audit verify --anchor 9f2c… audit.jsonl.* audit.jsonl --output json`
}

// AsksNoServer says that the command works on files.
func (*auditVerifyCommand) AsksNoServer() {}

// errAudit says that problems were found in an audit; they are printed already.
var errAudit = errors.New("the audit is not as it was written; keep a copy of the files as they are")

var hashForm = regexp.MustCompile("^[0-9a-f]{64}$")

// Run verifies files.
func (c *auditVerifyCommand) Run(s *session) error {
	check := audit.Check{Anchors: c.Anchor, Last: c.Last, Found: func(p audit.Problem) error { return c.print(s, p) }}
	for _, hash := range c.Anchor {
		if !hashForm.MatchString(hash) {
			return usagef("--anchor must be a hash of 64 digits, is %q", hash)
		}
	}
	var err error
	if check.Keys, err = c.read(); err != nil {
		return err
	}
	verdict, err := check.Verify(auditsOf(c.Files))
	if err == nil {
		err = c.printVerdict(s, &verdict)
	}
	if err == nil && verdict.Problems > 0 {
		err = errAudit
		if verdict.Lines == 0 && len(check.Keys) > 0 {
			s.remark("no line is under the key of --key-file: is it the one that transcriptd has as --audit-key?")
		}
	}
	return auditError(err)
}

func (c *auditVerifyCommand) print(s *session, p audit.Problem) error {
	if s.json {
		return s.printJSON(struct {
			File    string `json:"file,omitempty"`
			Line    int    `json:"line,omitempty"`
			Number  uint64 `json:"number,string,omitempty"`
			Problem string `json:"problem"`
		}{p.File, p.Line, p.Number, p.What})
	}
	where := ""
	if p.File != "" {
		where = visible(p.File) + ": "
	}
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d: ", visible(p.File), p.Line)
	}
	if p.Number > 0 {
		where += fmt.Sprintf("line %d: ", p.Number)
	}
	return s.printLine("%s%s", where, visible(p.What))
}

func (c *auditVerifyCommand) printVerdict(s *session, v *audit.Verdict) error {
	if s.json {
		return s.printJSON(struct {
			Files    int64  `json:"files,string"`
			Lines    int64  `json:"lines,string"`
			First    uint64 `json:"firstNumber,string"`
			Last     uint64 `json:"lastNumber,string"`
			Hash     string `json:"hash"`
			Torn     int64  `json:"torn,string"`
			Lost     uint64 `json:"lost,string"`
			Stopped  bool   `json:"stopped"`
			Problems int64  `json:"problemsFound,string"`
		}{int64(v.Files), int64(v.Lines), v.First, v.Last, v.Hash, int64(v.Torn), v.Lost, v.Stopped, int64(v.Problems)})
	}
	text := fmt.Sprintf("%s in %s, number %d to %d, %s", count(int64(v.Lines), "line"), count(int64(v.Files), "file"), v.First, v.Last,
		count(int64(v.Problems), "problem"))
	if v.Torn > 0 {
		text += fmt.Sprintf(", %s of which a later one tells", count(int64(v.Torn), "torn end"))
	}
	if v.Lost > 0 {
		text += fmt.Sprintf(", %s never written", count(int64(v.Lost), "line"))
	}
	if !v.Stopped {
		text += "; it does not end with a stop: the server runs or was killed, or lines are cut off"
	}
	return s.printLine("%s", text)
}
