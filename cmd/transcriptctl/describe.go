package main

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type describeCommand struct {
	Ref            string   `arg:"" help:"The node that the chain ends in."`
	Preview        bool     `help:"Show the beginnings of messages and of variables, too."`
	Redact         bool     `help:"Replace secrets in what is shown."`
	MaxItems       int32    `default:"16" placeholder:"N" help:"Entries of each list (1 to 64). Default: ${default}."`
	Variable       []string `sep:"none" placeholder:"NAME" help:"Only this variable; may be repeated, at most --max-items times."`
	VariablePrefix *string  `placeholder:"PREFIX" help:"Only variables whose names begin with this, beside those of --variable."`

	StaleAfter *time.Duration `placeholder:"DURATION" help:"An open run loop is stale when nothing was put for longer. Default: 1h."`
	Now        *time.Time     `placeholder:"TIME" help:"The time that ages count to. Default: the server's clock."`
}

func (c *describeCommand) Help() string {
	return `Prints the state of a chain as a text that can go into a prompt: its size, where its run loop stands, where it comes from, its tools, aliases and variables. Examples:

    transcriptctl describe chat/42
    transcriptctl describe chat/42 --preview --redact
    transcriptctl describe chat/42 --preview --variable plan --variable-prefix notes/
    transcriptctl describe chat/42 --output json | jq .loop.state`
}

// Run prints the state of a chain.
func (c *describeCommand) Run(ctx context.Context, s *session) error {
	if c.MaxItems < 1 {
		return usagef("--max-items must be at least 1")
	}
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	req := &transcriptv1.DescribeRequest{
		Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_METADATA, Redact: c.Redact, MaxItems: c.MaxItems,
	}
	if len(c.Variable) > 0 || c.VariablePrefix != nil {
		req.VariableNames = &transcriptv1.VariableNames{Exact: c.Variable, Prefix: c.VariablePrefix}
	}
	if c.Preview {
		req.Mode = transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW
	}
	if c.StaleAfter != nil {
		req.StaleAfter = durationpb.New(*c.StaleAfter)
	}
	if c.Now != nil {
		req.Now = timestamppb.New(*c.Now)
	}
	reply, err := s.Describe(ctx, ref, req)
	if err != nil {
		return err
	}
	if s.json {
		return s.printReply(reply)
	}
	return s.printLine("%s", visible(reply.GetText()))
}
