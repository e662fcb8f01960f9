package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"reflect"
	"time"

	"github.com/alecthomas/kong"
)

// commandLine is all of the tool's commands and flags.
type commandLine struct {
	reachFlags `embed:"" group:"Flags of all commands:"`
	Output     string        `group:"Flags of all commands:" default:"table" enum:"table,json" env:"TRANSCRIPTCTL_OUTPUT" help:"How to print results: table or json, which is one object a line."`
	Timeout    time.Duration `group:"Flags of all commands:" default:"30s" placeholder:"DURATION" env:"TRANSCRIPTCTL_TIMEOUT" help:"Give up on a call that takes longer, and on a stream that is silent for longer. Default: ${default}."`

	ShowVersion kong.VersionFlag `group:"Flags of all commands:" name:"version" help:"Print the version and exit."`

	Put      putCommand      `cmd:"" help:"Append messages as one node."`
	Show     showCommand     `cmd:"" help:"Show one node."`
	Alias    aliasCommand    `cmd:"" help:"Set, delete, list and resolve aliases, and show where they pointed."`
	Log      logCommand      `cmd:"" help:"List the nodes of a chain, newest first."`
	Tree     treeCommand     `cmd:"" help:"Draw branches."`
	Assemble assembleCommand `cmd:"" help:"Print the messages of a chain."`
	Loops    loopsCommand    `cmd:"" help:"List the run loops of a chain, newest first, or stale runs of many chains, and end these."`
	Compact  compactCommand  `cmd:"" help:"Condense a chain's closed run loops. Nothing is lost."`
	Recall   recallCommand   `cmd:"" help:"Print the result of a past tool call, also of one that was compacted."`
	Search   searchCommand   `cmd:"" help:"Find messages in one chain or many."`
	Replay   replayCommand   `cmd:"" help:"Print the latest tool calls and results, bounded and redacted."`
	Describe describeCommand `cmd:"" help:"Tell the state of a chain."`
	Window   windowCommand   `cmd:"" help:"Tell what a policy saves on a chain, request by request."`
	Economy  economyCommand  `cmd:"" help:"Tell what strategies cost on the conversations of files."`
	Import   importCommand   `cmd:"" help:"Store conversations from JSON lines."`
	Export   exportCommand   `cmd:"" help:"Write stored conversations as JSON lines."`
	Verify   verifyCommand   `cmd:"" help:"Recompute every id of the namespace, or of the whole store, and check links and indexes."`
	Audit    auditCommand    `cmd:"" help:"Verify a server's audit."`
	Stats    statsCommand    `cmd:"" help:"Tell the size of the namespace."`
	Bench    benchCommand    `cmd:"" help:"Put a transcriptd under load and tell what it serves."`

	Namespaces  namespaceCommand   `cmd:"" name:"namespace" help:"List namespaces, and set the quotas of one."`
	Context     contextCommand     `cmd:"" help:"Keep, use, list and remove ways to reach servers, by name."`
	Token       tokenCommand       `cmd:"" help:"Make, list and revoke tokens, in a file of principals. No server is asked."`
	Conformance conformanceCommand `cmd:"" help:"Hold a server to the promises of the contract."`
	Version     versionCommand     `cmd:"" help:"Tell the version of transcriptctl and of the server."`
}

const description = `transcriptctl writes and reads the transcripts that a transcriptd keeps.

A REF names a node: its id, 6 or more of the id's first digits, or an alias. Write alias:NAME or node:ID where a name could be taken for the other.

Exit codes:

    0    done
    1    failed
    2    wrong flags or arguments, malformed input, or refused as wrong
    3    node, alias, tool call, token or principal not found
    4    conflict: an alias exists, or points elsewhere; settings have another revision; tool calls await their results; it is the last admin's token
    5    server not reachable, shutting down, overloaded or too slow; try again
    6    what is stored is damaged, verify or audit verify found problems, or import --check a difference that nothing explains
    7    who calls is not known there, or may not do this: another token or certificate is needed
    130  interrupted

Results go to standard output, progress and remarks to standard error.`

// run does what the arguments say. Results go to stdout, progress and remarks to stderr; see exitCode for the error.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := &commandLine{}
	command, err := parse(ctx, flags, args, stdout)
	if err != nil || command == nil {
		return err
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	s, err := openFor(command, flags, stdin, out, stderr)
	if err != nil {
		return err
	}
	err = command.Run(s)
	if flushed := out.Flush(); !errors.Is(err, flushed) { // a command that could not write says so itself
		err = errors.Join(err, flushed)
	}
	err = errors.Join(err, s.Close())
	if ctx.Err() != nil && err != nil {
		return errors.Join(errInterrupted, err)
	}
	return err
}

// openFor makes the session of a command: one without a client, and with the flags as they are, where the command asks no server.
func openFor(command *kong.Context, flags *commandLine, in io.Reader, out *bufio.Writer, notes io.Writer) (*session, error) {
	if _, alone := command.Selected().Target.Addr().Interface().(interface{ AsksNoServer() }); alone {
		return newSession(flags, in, out, notes), nil
	}
	return open(flags, in, out, notes)
}

// parse reads the command line. The command is nil where it asked for help and got it.
func parse(ctx context.Context, flags *commandLine, args []string, stdout io.Writer) (*kong.Context, error) {
	helped := false
	parser, err := kong.New(flags, kong.Name("transcriptctl"), kong.Description(description),
		kong.Vars{"version": "transcriptctl " + buildVersion()}, kong.BindTo(ctx, (*context.Context)(nil)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}),
		kong.TypeMapper(reflect.TypeFor[*time.Time](), kong.MapperFunc(decodeTime)), kong.Writers(stdout, stdout), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return command, nil
}

// decodeTime reads the time of a flag.
func decodeTime(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New("must be a time such as 2026-11-21T12:00:00Z")
	}
	target.Set(reflect.ValueOf(&t))
	return nil
}
