package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type helpCommand struct {
	Command []string `arg:"" optional:"" completes:"command" help:"The command; nothing for all of them."`
}

func (c *helpCommand) Help() string {
	return `What --help of the command tells. Examples:

    transcriptctl help
    transcriptctl help alias set`
}

// AsksNoServer has it run without one.
func (*helpCommand) AsksNoServer() {}

// Run tells about a command.
func (c *helpCommand) Run(k *kong.Context) error {
	about, err := kong.Trace(k.Kong, c.Command)
	if err != nil {
		return err
	}
	node := k.Model.Node
	for _, word := range c.Command {
		if node = commandOf(node, word); node == nil {
			return usagef("there is no command %q%s", name(word), meantCommand(about.Error))
		}
	}
	return about.PrintUsage(false)
}

// commandOf is the command of a name that stands below another; nil for none.
func commandOf(n *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(n.Children, func(below *kong.Node) bool { return below.Name == name })
	if i < 0 {
		return nil
	}
	return n.Children[i]
}

// meantCommand is what kong's error about a command that is not there says was meant; empty where it knows none.
func meantCommand(err error) string {
	if err == nil {
		return ""
	}
	_, meant, _ := strings.Cut(err.Error(), ", did you mean")
	if meant == "" {
		return ""
	}
	return ", did you mean" + meant
}
