package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/conformance"
)

type conformanceCommand struct {
	RunPattern   string `name:"run" placeholder:"REGEXP" help:"Only checks whose ids match."`
	List         bool   `help:"List the checks, and ask no server."`
	WithoutLarge bool   `help:"Leave out checks that move several MiB."`
	Parallel     int    `default:"8" placeholder:"N" help:"How many checks run at once, 1 to 64. Default: ${default}."`
}

func (c *conformanceCommand) Help() string {
	return `Holds a server, this one or another maker's, to what docs/api.md and the contract promise, as far as it can be seen from outside. A line tells of each check: pass; FAIL, with the promise, what was expected and what came; or skip, with the reason: the server does not have the rpc. Exit code 1 where a check fails. --timeout is that of each check.

It makes two namespaces with random names, named conformance-… , and touches no other. At the end it deletes its aliases; its nodes stay until 'transcriptctl namespace delete', 37 MiB of messages, or 1 with --without-large. Examples:

    transcriptctl conformance
    transcriptctl conformance --addr other.example:7420 --insecure -o json | jq -r 'select(.status == "FAIL") | .id'
    transcriptctl conformance --run '^(put-node|alias)/'
    transcriptctl conformance --list`
}

// maxParallel is how many checks run at once at most: a server has a hundred callers, not a thousand.
const maxParallel = 64

func (c *conformanceCommand) options(s *session) (o conformance.Options, err error) {
	if s.namespaceGiven {
		return o, usagef("the kit makes namespaces of its own: leave out --namespace, and TRANSCRIPTCTL_NAMESPACE in the environment")
	}
	if c.Parallel < 1 || c.Parallel > maxParallel {
		return o, usagef("--parallel must be from 1 to %d, is %d", maxParallel, c.Parallel)
	}
	o = conformance.Options{WithoutLarge: c.WithoutLarge, Parallel: c.Parallel, Deadline: s.flags.Timeout}
	if o.Select, err = regexp.Compile(c.RunPattern); err != nil {
		return o, usagef("--run %s: %w", c.RunPattern, err)
	}
	for _, check := range conformance.Checks() {
		if o.Select.MatchString(check.ID) {
			return o, nil
		}
	}
	return o, usagef("--run %s: no check has such an id; see --list", c.RunPattern)
}

// Run holds the server to the checks, or lists them.
func (c *conformanceCommand) Run(ctx context.Context, s *session) (err error) {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if c.List {
		return c.list(s, o.Select)
	}
	conn, err := s.connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var unprinted error
	o.Report = func(r conformance.Result) { unprinted = errors.Join(unprinted, c.print(s, r), s.out.Flush()) }
	sum, err := conformance.Run(ctx, conn, o)
	if len(sum.Namespaces) > 0 {
		defer s.remark("the nodes of the checks stay in the namespaces %s and %s: 'transcriptctl namespace delete NAME --confirm NAME' deletes one", sum.Namespaces[0], sum.Namespaces[1])
	}
	if err != nil {
		return remoteError(err)
	}
	return errors.Join(unprinted, c.printSummary(s, sum), broken(sum))
}

// remoteError is an error of gRPC as the SDK tells it.
func remoteError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var remote interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &remote) {
		return err
	}
	return &client.Error{Code: remote.GRPCStatus().Code(), Message: remote.GRPCStatus().Message()}
}

// broken says that a server keeps not all promises.
func broken(sum conformance.Summary) error {
	if sum.Failed == 0 {
		return nil
	}
	return fmt.Errorf("the server does not keep %s", count(int64(sum.Failed), "promise"))
}

// widestCheck is how long the longest id of a check is.
func widestCheck() (most int) {
	for _, check := range conformance.Checks() {
		most = max(most, len(check.ID))
	}
	return most
}

func (c *conformanceCommand) list(s *session, chosen *regexp.Regexp) error {
	t := s.table(left("CHECK").wide(widestCheck()), left("PROMISE"))
	for _, check := range conformance.Checks() {
		if !chosen.MatchString(check.ID) || c.WithoutLarge && check.Large {
			continue
		}
		row := struct {
			ID      string `json:"id"`
			Promise string `json:"promise"`
			Large   bool   `json:"large,omitempty"`
		}{check.ID, check.Promise, check.Large}
		if err := t.print(row, row.ID, row.Promise); err != nil {
			return err
		}
	}
	return nil
}

func (c *conformanceCommand) print(s *session, r conformance.Result) error {
	if s.json {
		return s.printJSON(r)
	}
	return s.printLine("%s", r)
}

func (c *conformanceCommand) printSummary(s *session, sum conformance.Summary) error {
	if s.json {
		return s.printJSON(struct {
			Passed     int64    `json:"passed,string"`
			Failed     int64    `json:"failed,string"`
			Skipped    int64    `json:"skipped,string"`
			Namespaces []string `json:"namespaces"`
		}{int64(sum.Passed), int64(sum.Failed), int64(sum.Skipped), sum.Namespaces})
	}
	return s.printLine("%s: %d passed, %d failed, %d skipped", count(int64(sum.Passed+sum.Failed+sum.Skipped), "check"), sum.Passed, sum.Failed, sum.Skipped)
}
