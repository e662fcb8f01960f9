package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/transcriptd/transcriptd/client"
)

// completeWord has the tool complete a command line in place of running one. It is what the scripts of completions call.
const completeWord = "__complete"

const (
	// completionWait is how long a server has to answer: who presses a key waits for it.
	completionWait = time.Second
	// completionsMost is how many names of a server are offered.
	completionsMost = 200
)

// completion is a command line that is being typed.
type completion struct {
	// at is the command so far, args are its arguments; asked is the flag whose value comes next.
	at    *kong.Node
	args  []string
	asked *kong.Flag
	// reach are the flags of all commands that were given.
	reach []string
	// noFlags says that only arguments come.
	noFlags bool
	out     *bufio.Writer
}

// complete prints what the last of some words may be, a line each, with what it is behind a tab; ":files" stands for names of files. What
// cannot be told is left out: there is nobody to tell of an error.
func complete(ctx context.Context, words []string, stdout io.Writer) error {
	parser, err := newParser(ctx, &commandLine{}, stdout)
	if err != nil || len(words) == 0 {
		return err
	}
	c := &completion{at: parser.Model.Node, out: bufio.NewWriter(stdout)}
	before, word := words[:len(words)-1], words[len(words)-1]
	for _, w := range before {
		c.pass(w)
	}
	ctx, cancel := context.WithTimeout(ctx, completionWait)
	defer cancel()
	c.offer(ctx, word)
	return c.out.Flush()
}

// pass takes a word in that is whole.
func (c *completion) pass(word string) {
	flagged, value, given := strings.Cut(word, "=")
	switch {
	case c.asked != nil:
		c.give(c.asked, word)
		c.asked = nil
	case c.noFlags || word == "-" || !strings.HasPrefix(word, "-"):
		c.argument(word)
	case word == "--":
		c.noFlags = true
	case !strings.HasPrefix(word, "--"):
		c.shorts(word[1:])
	default:
		f := c.long(flagged)
		switch {
		case f == nil:
		case given || f.IsBool():
			c.give(f, cmp.Or(value, "true"))
		default:
			c.asked = f
		}
	}
}

// argument goes on to the command that a word names, or counts the word as an argument.
func (c *completion) argument(word string) {
	if below := commandOf(c.at, word); below != nil {
		c.at, c.args = below, nil
		return
	}
	c.args = append(c.args, word)
}

// shorts takes in flags of a letter: "-rn" and then a number, or "-rn5".
func (c *completion) shorts(letters string) {
	for i, letter := range letters {
		f := c.flag(func(f *kong.Flag) bool { return f.Short == letter })
		if f == nil || f.IsBool() {
			continue
		}
		if i == len(letters)-1 {
			c.asked = f
		}
		return
	}
}

// flag is the first flag of the command, or of those above it, of which something holds.
func (c *completion) flag(is func(*kong.Flag) bool) *kong.Flag {
	for _, group := range c.at.AllFlags(true) {
		if i := slices.IndexFunc(group, is); i >= 0 {
			return group[i]
		}
	}
	return nil
}

// long is the flag that a word such as --name names; nil: none.
func (c *completion) long(word string) *kong.Flag {
	return c.flag(func(f *kong.Flag) bool {
		return "--"+f.Name == word || strings.HasPrefix(word, "--") && slices.Contains(f.Aliases, word[2:])
	})
}

// give notes a flag that says which server is asked.
func (c *completion) give(f *kong.Flag, value string) {
	if f.Group != nil && f.Group.Key == everywhere && f.Name != "version" {
		c.reach = append(c.reach, "--"+f.Name+"="+value)
	}
}

// offer prints what the word may be that is being typed.
func (c *completion) offer(ctx context.Context, word string) {
	flagged, value, given := strings.Cut(word, "=")
	switch {
	case c.asked != nil:
		c.values(ctx, c.asked.Value, "", word)
	case !c.noFlags && given && strings.HasPrefix(word, "--"):
		if f := c.long(flagged); f != nil {
			c.values(ctx, f.Value, flagged+"=", value)
		}
	case !c.noFlags && strings.HasPrefix(word, "-"):
		for _, group := range c.at.AllFlags(true) {
			for _, f := range group {
				c.print(word, "", "--"+f.Name, f.Help)
			}
		}
	default:
		c.arguments(ctx, word)
	}
}

// arguments prints the commands below the one so far, or what its next argument may be.
func (c *completion) arguments(ctx context.Context, word string) {
	for _, below := range c.at.Children {
		if !below.Hidden {
			c.print(word, "", below.Name, below.Help)
		}
	}
	last := len(c.at.Positional) - 1
	if n := len(c.args); last >= 0 && (n <= last || c.at.Positional[last].IsCumulative()) {
		c.values(ctx, c.at.Positional[min(n, last)], "", word)
	}
}

// values prints what a flag or an argument may be, each with what stands before it in its word.
func (c *completion) values(ctx context.Context, v *kong.Value, before, word string) {
	if v.IsSlice() && v.Tag.Sep == ',' {
		begun := strings.LastIndexByte(word, ',') + 1
		before, word = before+word[:begun], word[begun:]
	}
	if v.Enum != "" {
		for _, value := range v.EnumSlice() {
			c.print(word, before, value, "")
		}
		return
	}
	kind := v.Tag.Get("completes")
	switch what := strings.ToUpper(cmp.Or(v.Tag.PlaceHolder, v.Name)); {
	case kind == "" && what == "FILE":
		_, _ = c.out.WriteString(":files\n") // Flush has the error
	case kind == "" && what == "REF":
		kind = "alias"
	}
	names := map[string]func(context.Context, string) iter.Seq[string]{
		"context": c.contexts, "command": c.commands, "alias": c.aliases, "namespace": c.namespaces, "chat": c.chats,
	}[kind]
	if names == nil {
		return
	}
	for name := range names(ctx, word) {
		c.print(word, before, name, "")
	}
}

// print prints a value where it begins as the word does. A name that does not fit on a line cannot be completed.
func (c *completion) print(word, before, value, help string) {
	if !strings.HasPrefix(value, word) || value == "" || strings.ContainsFunc(before+value, hidden) || strings.ContainsAny(before+value, "\n\t") {
		return
	}
	if help != "" {
		help = "\t" + firstSentence(help)
	}
	_, _ = fmt.Fprintf(c.out, "%s%s%s\n", before, value, help) // Flush has the error
}

// firstSentence is a text up to a full stop behind which a capital follows.
func firstSentence(text string) string {
	for at, r := range text {
		if before, ok := strings.CutSuffix(text[:at], ". "); ok && unicode.IsUpper(r) {
			return before
		}
	}
	return strings.TrimSuffix(text, ".")
}

// contexts are the names of contexts.
func (c *completion) contexts(context.Context, string) iter.Seq[string] {
	return func(yield func(string) bool) {
		all, err := readContexts()
		if err != nil {
			return
		}
		for i := range all.Contexts {
			if !yield(all.Contexts[i].Name) {
				return
			}
		}
	}
}

// commands are those below the one that arguments name, which are help's.
func (c *completion) commands(context.Context, string) iter.Seq[string] {
	return func(yield func(string) bool) {
		of := c.at.Parent
		for _, word := range c.args {
			if of = commandOf(of, word); of == nil {
				return
			}
		}
		for _, below := range of.Children {
			if !yield(below.Name) {
				return
			}
		}
	}
}

// aliases are those of the server that begin with a word, which may say that it is one.
func (c *completion) aliases(ctx context.Context, word string) iter.Seq[string] {
	if plain, found := strings.CutPrefix(word, aliasMark); found {
		return c.named(ctx, plain, func(alias string) string { return aliasMark + alias })
	}
	return c.named(ctx, word, func(alias string) string { return alias })
}

// chats are the ids of the conversations whose ids begin with a word.
func (c *completion) chats(ctx context.Context, word string) iter.Seq[string] {
	return c.named(ctx, client.ChatAlias(word), chatID)
}

// named are aliases with a prefix, as they are to be shown. Where there are more than can be offered, the last is the last of all: so
// what they have in common is what all have.
func (c *completion) named(ctx context.Context, prefix string, as func(string) string) iter.Seq[string] {
	return c.served(ctx, func(s *session, yield func(string) bool) {
		scope, more := client.AliasesWithPrefix(prefix), false
		for a, err := range first(s.Aliases(ctx, scope), completionsMost, &more) {
			if err != nil || !yield(as(a.GetName())) {
				return
			}
		}
		if !more {
			return
		}
		for a, err := range first(s.Aliases(ctx, scope.Reversed()), 1, &more) {
			if err == nil {
				yield(as(a.GetName()))
			}
		}
	})
}

// namespaces are those that the caller may read.
func (c *completion) namespaces(ctx context.Context, _ string) iter.Seq[string] {
	return c.served(ctx, func(s *session, yield func(string) bool) {
		more := false
		for name, err := range first(s.Namespaces(ctx), completionsMost, &more) {
			if err != nil || !yield(name) {
				return
			}
		}
	})
}

// served are names that a server tells, the one that the flags so far, the environment and contexts say.
func (c *completion) served(ctx context.Context, ask func(*session, func(string) bool)) iter.Seq[string] {
	return func(yield func(string) bool) {
		flags := &commandLine{}
		if command, err := parse(ctx, flags, append(c.reach, "stats"), io.Discard); err != nil || command == nil {
			return
		}
		s := newSession(flags, strings.NewReader(""), bufio.NewWriter(io.Discard), io.Discard)
		s.hasty = true // who presses a key does not wait for a server that is not there
		if s.flags.settle() != nil {
			return
		}
		var err error
		if s.Client, err = s.dial(); err != nil {
			return
		}
		ask(s, yield)
		_ = s.Close() // nobody can be told
	}
}
