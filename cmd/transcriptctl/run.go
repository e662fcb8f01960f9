package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// everywhere is the group of the flags of all commands.
const everywhere = "Flags of all commands:"

// commandLine is all of the tool's commands and flags.
type commandLine struct {
	reachFlags `embed:"" group:"Flags of all commands:"`
	Output     string        `short:"o" group:"Flags of all commands:" default:"table" enum:"table,json" env:"TRANSCRIPTCTL_OUTPUT" help:"How to print results: table or json, which is one object a line."`
	Timeout    time.Duration `group:"Flags of all commands:" default:"30s" placeholder:"DURATION" env:"TRANSCRIPTCTL_TIMEOUT" help:"Give up on a call that takes longer, and on a stream that is silent for longer. Default: ${default}."`

	ShowVersion kong.VersionFlag `group:"Flags of all commands:" name:"version" help:"Print the version and exit."`

	Put      putCommand      `cmd:"" help:"Append messages as one node."`
	Show     showCommand     `cmd:"" help:"Show one node."`
	Alias    aliasCommand    `cmd:"" help:"Set, delete, list and resolve aliases, and show where they pointed."`
	Log      logCommand      `cmd:"" help:"List the nodes of a chain, newest first."`
	Diff     diffCommand     `cmd:"" help:"Tell what each of two chains has since their common ancestor."`
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
	Bundle   bundleCommand   `cmd:"" help:"Hand over chains in a file, and check one."`
	Backup   backupCommand   `cmd:"" help:"Keep what a server has in files, and check them."`
	Restore  restoreCommand  `cmd:"" help:"Put what backups have into a store that has nothing."`
	Verify   verifyCommand   `cmd:"" help:"Recompute every id of the namespace, or of the whole store, and check links and indexes."`
	Collect  collectCommand  `cmd:"" help:"Delete the nodes that no alias, no history and no grace keeps."`
	Erase    eraseCommand    `cmd:"" help:"Erase the content of nodes, for good."`
	Receipt  receiptCommand  `cmd:"" help:"Show and check receipts of nodes that were erased."`
	Audit    auditCommand    `cmd:"" help:"Verify a server's audit."`
	Stats    statsCommand    `cmd:"" help:"Tell the size of the namespace."`
	Health   healthCommand   `cmd:"" help:"Tell whether the server takes calls."`
	Bench    benchCommand    `cmd:"" help:"Put a transcriptd under load and tell what it serves."`

	MCP mcpCommand `cmd:"" name:"mcp" help:"Serve conversations to a model by the Model Context Protocol."`

	Namespaces  namespaceCommand   `cmd:"" name:"namespace" help:"List namespaces, set quotas, retention and legal holds of one, or delete it."`
	Context     contextCommand     `cmd:"" help:"Keep, use, list and remove ways to reach servers, by name."`
	Token       tokenCommand       `cmd:"" help:"Make, list and revoke tokens, in a file of principals. No server is asked."`
	Conformance conformanceCommand `cmd:"" help:"Hold a server to the promises of the contract."`
	Version     versionCommand     `cmd:"" help:"Tell the version of transcriptctl and of the server."`
	Help        helpCommand        `cmd:"" help:"Tell about a command."`
	Completions completionsCommand `cmd:"" help:"Print what has a shell complete the command line."`
}

const description = `transcriptctl writes and reads the transcripts that a transcriptd keeps.

A REF names a node: its id, 6 or more of the id's first digits, or an alias. Write alias:NAME or node:ID where a name could be taken for the other. NAME and PREFIX of aliases may be written alias:NAME, too. A TIME is 2h, 3d or 1w ago, 2026-11-23 (in UTC) or 2026-11-23T15:04:05Z. -5 is short for -n 5.

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
	if len(args) > 0 && args[0] == completeWord {
		return complete(ctx, args[1:], stdout)
	}
	flags := &commandLine{}
	command, err := parse(ctx, flags, args, stdout)
	if err != nil || command == nil {
		return err
	}
	out := bufio.NewWriterSize(standardOutput(command, stdout), 64<<10)
	s, err := openFor(command, flags, stdin, out, stderr)
	if err != nil {
		return of(command, err)
	}
	err = of(command, command.Run(s))
	if flushed := out.Flush(); !errors.Is(err, flushed) { // a command that could not write says so itself
		err = errors.Join(err, flushed)
	}
	err = errors.Join(s.suggest(ctx, err), s.Close())
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
	parser, err := newParser(ctx, flags, stdout, kong.Exit(func(int) { helped = true }))
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(withLimits(parser, args))
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, misread(err)
	}
	return command, nil
}

// misread is an error of the command line, with the names of arguments as the reference has them.
func misread(err error) error {
	usage := &usageError{err: err}
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		usage.command = words(parse.Context)
	}
	text := err.Error()
	missing, is := strings.CutPrefix(text, `expected "<`)
	if !is && !strings.HasPrefix(text, "<") {
		return usage
	}
	if is {
		text = usage.command + " needs <" + strings.TrimSuffix(missing, `"`)
	}
	usage.err = errors.New(regexp.MustCompile(`<[a-z-]+>`).ReplaceAllStringFunc(text, func(name string) string {
		return strings.ToUpper(strings.Trim(name, "<>"))
	}))
	return usage
}

// newParser makes what reads a command line into flags.
func newParser(ctx context.Context, flags *commandLine, stdout io.Writer, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(flags, append(options, kong.Name("transcriptctl"), kong.Description(description),
		kong.Vars{"version": "transcriptctl " + buildVersion()}, kong.BindTo(ctx, (*context.Context)(nil)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}),
		kong.TypeMapper(reflect.TypeFor[*time.Time](), kong.MapperFunc(decodeWhen)), kong.Writers(stdout, stdout))...)
}
