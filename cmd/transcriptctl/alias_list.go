package main

import (
	"context"
	"sort"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type aliasListCommand struct {
	Prefix  aliasPrefix  `arg:"" optional:"" completes:"alias" help:"Only aliases that begin with this."`
	Folder  *aliasPrefix `completes:"alias" placeholder:"PATH" help:"Only aliases under this folder, directly or deeper, last moved first; an empty one is above all. No slash at the end. Not with PREFIX."`
	Reverse bool         `short:"r" help:"The other way round: the last name first, or, with --folder, what was moved first."`
	Limit   uint         `short:"n" placeholder:"N" help:"At most this many. Default: all."`
	sinceFlag
}

func (c *aliasListCommand) Help() string {
	return `Aliases are paths: chat/42 and chat/42/x lie under folder chat. Listed by name, or, with --folder, last moved first. Examples:

    transcriptctl alias list
    transcriptctl alias list chat/
    transcriptctl alias list --folder chat -10
    transcriptctl alias list --folder chat --since 1h
    transcriptctl alias list --folder '' --reverse -n 10
    transcriptctl alias list chat/ --output json | jq -r .name`
}

// Run lists aliases.
func (c *aliasListCommand) Run(ctx context.Context, s *session) error {
	if c.Folder != nil && c.Prefix != "" {
		return usagef("give either PREFIX or --folder")
	}
	scope := client.AliasesWithPrefix(string(c.Prefix))
	if c.Folder != nil {
		scope = client.AliasesUnder(string(*c.Folder))
	}
	if c.Reverse {
		scope = scope.Reversed()
	}
	aliases := since(c.sinceFlag, s.Aliases(ctx, scope), c.Folder != nil && !c.Reverse, (*transcriptv1.AliasInfo).GetMovedAt)
	n, err := printSome(s, aliases, c.Limit, s.aliasTable())
	if err != nil || n > 0 {
		return err
	}
	if c.Folder != nil && strings.HasSuffix(string(*c.Folder), "/") {
		s.remark("a folder is written without a slash at the end: --folder %s", name(strings.TrimRight(string(*c.Folder), "/")))
	}
	return s.remarkNone(ctx, c.Prefix)
}

// aliasTable prints aliases, a line each.
func (s *session) aliasTable() func(*transcriptv1.AliasInfo) error {
	t := s.table(nodeColumn(), timeColumn("MOVED"), right("REVISION"), left("ALIAS").wide(usualName), left("LABELS"))
	return func(a *transcriptv1.AliasInfo) error {
		return t.print(a, short(a.GetNodeId()), clock(a.GetMovedAt()), decimal(a.GetRevision()), name(a.GetName()), strings.TrimSpace(labelText(a.GetLabels())))
	}
}

// usualName is how wide a column of names is that are not known beforehand.
const usualName = 24

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
