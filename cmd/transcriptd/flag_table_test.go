package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The table of flags stands in this page between these lines.
const (
	operationsPage = "../../docs/operations.md"
	tableBegins    = "<!-- flags: UPDATE_GOLDEN=1 go test ./cmd/transcriptd -run TestFlagTable writes this table -->\n"
	tableEnds      = "<!-- end of flags -->\n"
)

// TestFlagTable: the table of flags in docs/operations.md is what the flags say. UPDATE_GOLDEN=1 writes it.
func TestFlagTable(t *testing.T) {
	page, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegins)
	table, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no table of flags", operationsPage)
	}
	want := flagTable(t)
	if table == want {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("the table of flags in %s is not that of the flags; UPDATE_GOLDEN=1 writes it:\n%s", operationsPage, want)
	}
	page = []byte(before + tableBegins + want + tableEnds + after)
	if err := os.WriteFile(operationsPage, page, 0o644); err != nil {
		t.Fatal(err)
	}
}

func flagTable(t *testing.T) string {
	t.Helper()
	parser, err := kong.New(&config{}, kong.Name("transcriptd"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| flag | environment | default | |\n| --- | --- | --- | --- |\n")
	writeFlags(&b, "", parser.Model.Node)
	return b.String()
}

// writeFlags writes the flags of a command and of those below it, each with the command that it is of.
func writeFlags(b *strings.Builder, command string, n *kong.Node) {
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	for _, f := range n.Flags {
		if f.Name != "help" {
			help := strings.ReplaceAll(f.Help, "|", `\|`)
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(command+"--"+f.Name), code(strings.Join(f.Envs, ", ")), code(f.Default), help)
		}
	}
	for _, below := range n.Children {
		writeFlags(b, command+below.Name+" ", below)
	}
}
