package main

import (
	"context"

	"github.com/transcriptd/transcriptd/client"
)

type aliasSetCommand struct {
	Name aliasName `arg:"" completes:"alias" help:"The alias."`
	Ref  string    `arg:"" help:"The node."`
	conditionFlags
	Label       []string `short:"l" sep:"none" xor:"labels" placeholder:"KEY=VALUE" help:"Replace the alias's labels; may be repeated. Default: labels stay."`
	ClearLabels bool     `xor:"labels" help:"Take all labels off."`
}

func (c *aliasSetCommand) Help() string {
	return `Examples:

    transcriptctl alias set chat/42 3f9a1c2b --if-new
    transcriptctl alias set branch/try chat/42
    transcriptctl alias set chat/42 77ab01 --if-head 3f9a1c2b
    transcriptctl alias set chat/42 chat/42 --label seen=8 --if-revision 31`
}

// Run sets an alias.
func (c *aliasSetCommand) Run(ctx context.Context, s *session) error {
	target, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	condition, err := c.condition(ctx, s)
	if err != nil {
		return err
	}
	labels, err := c.labels()
	if err != nil {
		return err
	}
	results, err := s.SetAliases(ctx, client.AliasMove{Name: string(c.Name), Target: target, If: condition, Labels: labels})
	if err != nil {
		return err
	}
	for _, a := range results {
		if s.json {
			err = s.printReply(a)
		} else {
			err = s.printRows([][2]string{{"alias", name(a.GetName()) + " " + aliasFate(a)}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// labels are the labels to set; nil leaves them as they are.
func (c *aliasSetCommand) labels() (map[string]string, error) {
	if c.ClearLabels {
		return map[string]string{}, nil
	}
	return pairs("--label", c.Label)
}
