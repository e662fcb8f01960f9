package main

import (
	"context"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

type aliasDeleteCommand struct {
	Name     aliasName `arg:"" optional:"" completes:"alias" help:"The alias."`
	IfExists bool      `xor:"condition" help:"Fail if there is no such alias."`
	IfHead   string    `xor:"condition" placeholder:"REF" help:"Only if the alias points to this node."`
	revisionFlag
	ForgetHistory bool        `help:"Delete the history, too, also of a NAME that is deleted already: then nothing of it keeps a node from 'collect'."`
	Prefix        aliasPrefix `xor:"many" completes:"alias" placeholder:"TEXT" help:"Every alias that begins so, instead of NAME; end the name of a folder with a slash."`
	All           bool        `xor:"many" help:"Every alias of the namespace, instead of NAME."`
	MovedBefore   *time.Time  `placeholder:"TIME" help:"With --prefix or --all: only those last moved before this time: 2h, 3d or 1w ago, 2026-11-23 (in UTC) or 2026-11-23T15:04:05Z. Default: those that are there now."`
	DryRun        bool        `xor:"sure" help:"With --prefix or --all: tell what would be deleted."`
	Yes           bool        `xor:"sure" help:"With --prefix or --all: delete."`
}

func (c *aliasDeleteCommand) Help() string {
	return `Deleting what is not there succeeds, unless --if-exists is given. Examples:

    transcriptctl alias delete branch/try
    transcriptctl alias delete branch/try --if-head 3f9a1c2b
    transcriptctl alias delete branch/try --if-revision 4
    transcriptctl alias delete --prefix tmp/ --dry-run
    transcriptctl alias delete --prefix tmp/ --forget-history --yes
    transcriptctl alias delete --prefix tmp/ --moved-before 2026-11-21T12:00:00Z --yes

Of many, what others move meanwhile stays. A deletion that was cut is given again.`
}

// Run deletes an alias, or many.
func (c *aliasDeleteCommand) Run(ctx context.Context, s *session) error {
	switch many := c.Prefix != "" || c.All; {
	case many && (c.Name != "" || c.IfExists || c.IfHead != "" || c.IfRevision != nil):
		return usagef("--prefix and --all go without NAME and its conditions")
	case many:
		return c.many(ctx, s)
	case c.Name == "":
		return usagef("give NAME, --prefix or --all")
	case c.MovedBefore != nil || c.DryRun || c.Yes:
		return usagef("--moved-before, --dry-run and --yes go with --prefix or --all")
	}
	flags := conditionFlags{IfExists: c.IfExists, IfHead: c.IfHead, revisionFlag: c.revisionFlag}
	condition, err := flags.condition(ctx, s)
	if err != nil {
		return err
	}
	does := s.DeleteAlias
	if c.ForgetHistory {
		does = s.ForgetAlias
	}
	previous, err := does(ctx, s.looked(string(c.Name)), condition)
	if err != nil {
		return err
	}
	if previous == "" {
		if line, _ := s.meant(ctx, string(c.Name)); line != "" {
			s.remark("%s", line)
		}
	}
	if s.json {
		return s.printJSON(struct {
			Name       string `json:"name"`
			Deleted    bool   `json:"deleted"`
			PreviousID string `json:"previousId,omitempty"`
		}{string(c.Name), previous != "", previous})
	}
	if previous == "" {
		return s.printRows([][2]string{{"deleted", "no, it was not there"}})
	}
	return s.printRows([][2]string{{"deleted", name(string(c.Name)) + " (pointed to " + short(previous) + ")"}})
}

// many deletes the aliases of a prefix, or all.
func (c *aliasDeleteCommand) many(ctx context.Context, s *session) error {
	if !c.DryRun && !c.Yes {
		return usagef("this deletes many aliases: see which with --dry-run, then give --yes")
	}
	d := client.AliasDeletion{Prefix: string(c.Prefix), All: c.All, DryRun: c.DryRun, Forget: c.ForgetHistory}
	if c.MovedBefore != nil {
		d.MovedBefore = *c.MovedBefore
	}
	n, err := printSome(s, s.DeleteAliases(ctx, d), 0, s.aliasTable())
	if c.DryRun {
		s.remark("a dry run: %d would be deleted", n)
	} else {
		s.remark("%d deleted", n)
	}
	return err
}
