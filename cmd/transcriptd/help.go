package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// commandOf is the command that a command line names, in words, such as "key create", or "key" alone; empty for that which serves.
func commandOf(ctx *kong.Context) string {
	var names []string
	for _, step := range ctx.Path {
		if step.Command != nil && step.Command.Name != commandServe {
			names = append(names, step.Command.Name)
		}
	}
	return strings.Join(names, " ")
}

// misread is an error of the command line.
func misread(err error) error {
	usage := &usageError{err: err}
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		usage.command = commandOf(parse.Context)
	}
	return usage
}

// of is an error of a command: one about its flags names it in what to do next.
func of(command string, err error) error {
	var usage *usageError
	if errors.As(err, &usage) && usage.command == "" {
		usage.command = command
	}
	return err
}

// printHelp prints the flags of a server where nothing else is asked about, and of a command its own and those of the server's that it reads.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	command := commandOf(ctx)
	if command == "" {
		return kong.DefaultHelpPrinter(options, ctx)
	}
	read := readFlags(command)
	for _, f := range ctx.Model.Flags {
		f.Hidden = !slices.Contains(read, f.Name)
	}
	err := kong.DefaultHelpPrinter(options, ctx)
	if err == nil {
		_, err = fmt.Fprintln(ctx.Stdout, "\nRun \"transcriptd --help\" for the flags of a server.")
	}
	return err
}

// readFlags are the flags of the server's that a command reads.
func readFlags(command string) []string {
	switch command {
	case "key", "key create":
		return []string{"help"}
	case commandVerify:
		return []string{"help", "store", "encryption-key-file", "log-level", "log-format"}
	default:
		return []string{"help", "store", "encryption-key-file"}
	}
}
