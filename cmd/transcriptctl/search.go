package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type searchCommand struct {
	Pattern string       `arg:"" help:"The text to find, in any case of its letters."`
	Ref     string       `arg:"" optional:"" help:"The node that the chain to search ends in. Without it: --prefix."`
	Prefix  *aliasPrefix `completes:"alias" placeholder:"TEXT" help:"Search all chains whose aliases begin so; empty: every alias."`
	Regexp  bool         `short:"e" help:"PATTERN is an RE2 pattern."`
	Role    []string     `enum:"system,developer,user,assistant,tool" placeholder:"ROLE" help:"Only messages of these roles."`
	Tool    []string     `sep:"none" placeholder:"NAME" help:"Only calls of this tool, and their results; may be repeated."`
	sinceFlag
	Until  *time.Time `placeholder:"TIME" help:"Only messages before this time."`
	Errors bool       `help:"Only results that are errors."`
	Limit  *uint      `short:"n" placeholder:"N" help:"Print at most this many hits; 0: all. Default: 20, and a remark where there is more."`
	Redact bool       `help:"Replace secrets in what is shown."`
}

func (c *searchCommand) Help() string {
	return `Finds messages, newest first, also those that were compacted. Examples:

    transcriptctl search "connection refused" chat/42
    transcriptctl search -e 'panic: .*nil' --prefix chat/ --role tool
    transcriptctl search invoice --prefix '' --since 1w --output json`
}

// Run prints what matches.
func (c *searchCommand) Run(ctx context.Context, s *session) error {
	req, err := c.request(ctx, s)
	if err != nil {
		return err
	}
	columns := []column{left("MESSAGE").wide(shortDigits + len(".0")), timeColumn("SENT"), left("ROLE").wide(len("assistant")), left("ALIAS").wide(usualName), left("TEXT")}
	if c.Prefix == nil {
		columns = slices.Delete(columns, 3, 4)
	}
	t := s.table(columns...)
	n, err := printListed(s, s.Search(ctx, req), c.Limit, func(hit *transcriptv1.SearchHit) error {
		place := fmt.Sprintf("%s.%d", short(hit.GetPlace().GetNodeId()), hit.GetPlace().GetMessageIndex())
		cells := []string{place, clock(hit.GetSentAt()), roleName(hit.GetRole())}
		if c.Prefix != nil {
			cells = append(cells, name(hit.GetAlias()))
		}
		return t.print(hit, append(cells, visible(strings.Join(strings.Fields(hit.GetExcerpt()), " ")))...)
	})
	if err != nil || n > 0 || c.Prefix == nil {
		return err
	}
	return s.remarkNone(ctx, *c.Prefix)
}

func (c *searchCommand) request(ctx context.Context, s *session) (*transcriptv1.SearchRequest, error) {
	req := &transcriptv1.SearchRequest{
		Pattern:   &transcriptv1.SearchRequest_Text{Text: c.Pattern},
		ToolNames: c.Tool, ErrorsOnly: c.Errors, Redact: c.Redact, PageSize: pageSize(c.Limit, 100),
	}
	if c.Regexp {
		req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: c.Pattern}
	}
	for _, role := range c.Role {
		number := transcriptv1.Role_value["ROLE_"+strings.ToUpper(role)]
		req.Roles = append(req.Roles, transcriptv1.Role(number))
	}
	if c.Since != nil {
		req.Since = timestamppb.New(*c.Since)
	}
	if c.Until != nil {
		req.Until = timestamppb.New(*c.Until)
	}
	switch {
	case (c.Ref == "") == (c.Prefix == nil):
		return nil, usagef("search needs either a REF or --prefix")
	case c.Prefix != nil:
		req.Scope = &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: string(*c.Prefix)}
		return req, nil
	}
	ref, err := s.ref(ctx, c.Ref)
	req.Scope = &transcriptv1.SearchRequest_Head{Head: ref.NodeRef()}
	return req, err
}
