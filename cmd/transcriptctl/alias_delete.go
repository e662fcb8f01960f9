package main

import (
	"context"
)

type aliasDeleteCommand struct {
	Name     string `arg:"" help:"The alias."`
	IfExists bool   `xor:"condition" help:"Fail if there is no such alias."`
	IfHead   string `xor:"condition" placeholder:"REF" help:"Only if the alias points to this node."`
	revisionFlag
}

func (c *aliasDeleteCommand) Help() string {
	return `Deleting what is not there succeeds, unless --if-exists is given. Examples:

    transcriptctl alias delete branch/try
    transcriptctl alias delete branch/try --if-head 3f9a1c2b
    transcriptctl alias delete branch/try --if-revision 4`
}

// Run deletes an alias.
func (c *aliasDeleteCommand) Run(ctx context.Context, s *session) error {
	flags := conditionFlags{IfExists: c.IfExists, IfHead: c.IfHead, revisionFlag: c.revisionFlag}
	condition, err := flags.condition(ctx, s)
	if err != nil {
		return err
	}
	previous, err := s.DeleteAlias(ctx, c.Name, condition)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(struct {
			Deleted    bool   `json:"deleted"`
			PreviousID string `json:"previousId,omitempty"`
		}{previous != "", previous})
	}
	if previous == "" {
		return s.printRows([][2]string{{"deleted", "no, it was not there"}})
	}
	return s.printRows([][2]string{{"deleted", name(c.Name) + " (pointed to " + short(previous) + ")"}})
}
