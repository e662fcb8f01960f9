package main

import (
	"context"
	"sort"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type aliasListCommand struct {
	Prefix  string  `arg:"" optional:"" help:"Only aliases that begin with this."`
	Folder  *string `placeholder:"PATH" help:"Only aliases under this folder, directly or deeper, last moved first; an empty one is above all. No slash at the end. Not with PREFIX."`
	Reverse bool    `short:"r" help:"The other way round: the last name first, or, with --folder, what was moved first."`
	Limit   uint    `short:"n" placeholder:"N" help:"At most this many. Default: all."`
}

func (c *aliasListCommand) Help() string {
	return `Aliases are paths: chat/42 and chat/42/x lie under folder chat. Listed by name, or, with --folder, last moved first. Examples:

    transcriptctl alias list
    transcriptctl alias list chat/
    transcriptctl alias list --folder chat -n 10
    transcriptctl alias list --folder '' --reverse -n 10
    transcriptctl alias list chat/ --output json | jq -r .name`
}

// Run lists aliases.
func (c *aliasListCommand) Run(ctx context.Context, s *session) error {
	if c.Folder != nil && c.Prefix != "" {
		return usagef("give either PREFIX or --folder")
	}
	scope := client.AliasesWithPrefix(c.Prefix)
	if c.Folder != nil {
		scope = client.AliasesUnder(*c.Folder)
	}
	if c.Reverse {
		scope = scope.Reversed()
	}
	n, err := printSome(s, s.Aliases(ctx, scope), c.Limit, s.printAlias)
	if err != nil || n > 0 {
		return err
	}
	if c.Folder != nil && strings.HasSuffix(*c.Folder, "/") {
		s.remark("a folder is written without a slash at the end: --folder %s", name(strings.TrimRight(*c.Folder, "/")))
	}
	return s.remarkEmpty(ctx)
}

func (s *session) printAlias(a *transcriptv1.AliasInfo) error {
	if s.json {
		return s.printReply(a)
	}
	return s.printLine("%s  %s  rev %d  %s%s", short(a.GetNodeId()), clock(a.GetMovedAt()), a.GetRevision(), name(a.GetName()), labelText(a.GetLabels()))
}

func labelText(labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	text := ""
	for _, key := range keys {
		text += "  " + name(key+"="+labels[key])
	}
	return text
}
