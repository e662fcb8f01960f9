package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/mcpserver"
)

type mcpCommand struct {
	Chain    string `placeholder:"REF" help:"Serve only the chain that ends in this node. Not with --prefix."`
	Prefix   string `placeholder:"TEXT" help:"Serve only conversations whose aliases begin so. Without it and --chain: all of the namespace."`
	Write    bool   `help:"Offer tools that write, too: put_message and, without --chain, fork_conversation. Each caller needs the role append."`
	NoRedact bool   `help:"Show secrets as they are. Without it they are replaced."`
	mcpHTTPFlags
	Verbose bool `short:"v" help:"Tell on standard error of each call: its tool, and how it ended. No contents."`
}

func (c *mcpCommand) Help() string {
	return `Serves tools to a program that speaks the Model Context Protocol, over standard input and output until that ends, or over HTTP: list_conversations, read_conversation, describe_chain, list_run_loops, search_history and recall_tool_call. A program such as an editor or an assistant starts it. docs/mcp.md has the configuration of some. Examples:

    transcriptctl mcp
    transcriptctl mcp --prefix chat/
    transcriptctl mcp --chain chat/42 --namespace team
    transcriptctl mcp --http 127.0.0.1:7423

Over HTTP each caller brings its own token, as Authorization: Bearer, which transcriptd judges; the token of --token-file is not used. An address that is not of this machine alone needs a transcriptd with principals.`
}

// Run serves until the client goes away.
func (c *mcpCommand) Run(ctx context.Context, s *session) error {
	if err := c.check(&s.flags.reachFlags); err != nil {
		return err
	}
	binding, err := c.binding(ctx, s)
	if err != nil {
		return err
	}
	if c.HTTP != "" {
		return c.serveHTTP(ctx, s, binding)
	}
	conn, err := s.connect()
	if err != nil {
		return err
	}
	server := mcpserver.New(c.config(s, transcriptv1.NewTranscriptServiceClient(conn), binding))
	err = server.Run(ctx, mcpserver.Lines(s.in, lineWriter{s.out}))
	if ctx.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)) {
		err = nil // the client has closed our input: that is how it ends
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("over standard input and output, where each line is a message of the Model Context Protocol: %w", err)
	}
	return errors.Join(err, conn.Close())
}

func (c *mcpCommand) config(s *session, to transcriptv1.TranscriptServiceClient, binding mcpserver.Binding) mcpserver.Config {
	if c.NoRedact {
		s.remark("--no-redact: secrets in transcripts are shown to the model and to whoever it talks to")
	}
	cfg := mcpserver.Config{
		Client: to, Namespace: s.flags.Namespace, Binding: binding, Write: c.Write, Plain: c.NoRedact, Timeout: s.flags.Timeout, Version: buildVersion(),
	}
	if c.Verbose {
		cfg.Log = slog.New(slog.NewTextHandler(s.notes, nil))
	}
	return cfg
}

// binding is what callers may reach.
func (c *mcpCommand) binding(ctx context.Context, s *session) (mcpserver.Binding, error) {
	switch {
	case c.Chain != "" && c.Prefix != "":
		return mcpserver.Binding{}, usagef("give either --chain or --prefix")
	case len(c.Prefix) > client.MaxAliasBytes:
		return mcpserver.Binding{}, usagef("--prefix takes %d bytes and may take %d", len(c.Prefix), client.MaxAliasBytes)
	case c.Chain == "":
		return mcpserver.Binding{Prefix: c.Prefix}, nil
	}
	if id, named := strings.CutPrefix(c.Chain, "node:"); c.HTTP != "" && len(id) != idDigits && (named || isHex(id)) {
		return mcpserver.Binding{}, usagef("with --http, --chain needs the whole id of a node, or alias:NAME: nobody's token is there to look the rest up")
	}
	ref, err := s.ref(ctx, c.Chain)
	if err == nil && c.Write && ref.NodeRef().GetAlias() == "" {
		err = usagef("with --write, --chain needs an alias, which moves on with what is written")
	}
	return mcpserver.Binding{Chain: ref.NodeRef()}, err
}

// lineWriter sends each message at once.
type lineWriter struct{ *bufio.Writer }

func (w lineWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	return n, errors.Join(err, w.Flush())
}
