package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// What is generated stands in the tool's page between lines such as these.
const (
	toolPage        = "../../docs/transcriptctl.md"
	generatedBegins = "<!-- %s: UPDATE_GOLDEN=1 go test ./cmd/transcriptctl -run TestReference writes this -->\n"
	generatedEnds   = "<!-- end of %s -->\n"
)

// TestReference: the tables of commands and flags in docs/transcriptctl.md are what the tool itself says. UPDATE_GOLDEN=1 writes them.
func TestReference(t *testing.T) {
	page, err := os.ReadFile(toolPage)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(context.Background(), &commandLine{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for name, want := range map[string]string{"flags of all commands": globalTable(parser.Model.Node), "reference": reference(parser.Model.Node)} {
		before, rest, begins := strings.Cut(text, fmt.Sprintf(generatedBegins, name))
		_, after, ends := strings.Cut(rest, fmt.Sprintf(generatedEnds, name))
		if !begins || !ends {
			t.Fatalf("%s has no place for the %s", toolPage, name)
		}
		text = before + fmt.Sprintf(generatedBegins, name) + want + fmt.Sprintf(generatedEnds, name) + after
	}
	if text == string(page) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is not what the commands and flags say; UPDATE_GOLDEN=1 writes it", toolPage)
	}
	if err := os.WriteFile(toolPage, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// globalTable has the flags of all commands, with their variables.
func globalTable(root *kong.Node) string {
	var b strings.Builder
	b.WriteString("| flag | environment | default | |\n| --- | --- | --- | --- |\n")
	for _, f := range root.Flags {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", flagCell(f), code(strings.Join(f.Envs, ", ")), code(f.Default), cell(f.Help))
	}
	return b.String()
}

// reference has the arguments and flags of each command; those of a policy, which several have, once.
func reference(root *kong.Node) string {
	var b strings.Builder
	var policy []*kong.Flag
	for _, leaf := range root.Leaves(true) {
		usage := []string{leaf.FullPath()}
		var rows []string
		for _, arg := range leaf.Positional {
			shown := argumentName(arg)
			rows = append(rows, fmt.Sprintf("| %s | | %s |\n", code(shown), cell(arg.Help)))
			if arg.IsCumulative() {
				shown += "..."
			}
			if !arg.Required {
				shown = "[" + shown + "]"
			}
			usage = append(usage, shown)
		}
		of := flagsOf(leaf)
		var inPolicy []*kong.Flag
		for _, f := range of {
			if f.Group != nil && f.Group.Key == "policy" {
				inPolicy = append(inPolicy, f)
				continue
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", flagCell(f), code(f.Default), cell(withVariables(f))))
		}
		fmt.Fprintf(&b, "### %s\n\n    %s\n\n%s\n", leaf.FullPath(), strings.Join(usage, " "), cell(leaf.Help))
		if len(rows) > 0 {
			b.WriteString("\n| | default | |\n| --- | --- | --- |\n" + strings.Join(rows, ""))
		}
		if len(inPolicy) > 0 {
			policy = inPolicy
			b.WriteString("\nAnd the [flags of a policy](#flags-of-a-policy).\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("### Flags of a policy\n\n| | default | |\n| --- | --- | --- |\n")
	for _, f := range policy {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", flagCell(f), code(f.Default), cell(f.Help))
	}
	return b.String()
}

// flagsOf are the flags of a command and of those that it is below, without those of all.
func flagsOf(n *kong.Node) (flags []*kong.Flag) {
	for ; n.Type != kong.ApplicationNode; n = n.Parent {
		for _, f := range n.Flags {
			if !f.Hidden {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

func withVariables(f *kong.Flag) string {
	if len(f.Envs) == 0 {
		return f.Help
	}
	return f.Help + " In the environment: " + strings.Join(f.Envs, ", ") + "."
}

func argumentName(v *kong.Value) string { return strings.ToUpper(v.Name) }

// flagCell is a flag as it is written: its letter, its name, and what stands for its value.
func flagCell(f *kong.Flag) string {
	long := "--" + f.Name
	switch {
	case f.IsBool():
	case f.PlaceHolder != "":
		long += " " + f.PlaceHolder
	case f.Enum != "":
		long += " " + strings.Join(f.EnumSlice(), `\|`)
	default:
		long += " " + argumentName(f.Value)
	}
	if f.Short == 0 {
		return code(long)
	}
	return code("-"+string(f.Short)) + ", " + code(long)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// cell is a text as it stands in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "`", "\\`").Replace(text)
}
