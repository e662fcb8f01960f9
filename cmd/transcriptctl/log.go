package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type logCommand struct {
	Ref   string `arg:"" help:"The node that the chain ends in."`
	Limit uint   `short:"n" placeholder:"N" help:"At most this many nodes. Default: all, to the root."`
	sinceFlag
}

func (c *logCommand) Help() string {
	return `A line a node, newest first: id, time of the first put, roles, beginning of the messages, aliases. Of a compaction node it says through which node it stands for what came before. Lines are printed as they are read, so a pager or head need not wait. Examples:

    transcriptctl log chat/42 -20
    transcriptctl log chat/42 --since 2h
    transcriptctl log chat/42 | less
    transcriptctl log chat/42 --output json | jq -r .info.nodeId`
}

// Run walks from a node to its root.
func (c *logCommand) Run(ctx context.Context, s *session) error {
	next, err := s.ref(ctx, c.Ref)
	if err != nil {
		return err
	}
	read := s.Node
	if s.json {
		read = s.NodeInfo
	}
	nodes := since(c.sinceFlag, climb(ctx, read, next), true, (*transcriptv1.GetNodeResponse).GetFirstPutAt)
	_, err = printSome(s, nodes, c.Limit, s.logTable())
	return err
}

// readNode is Client.Node or Client.NodeInfo.
type readNode func(context.Context, client.Ref) (*transcriptv1.GetNodeResponse, error)

// climb yields a node, its parent and so on to the root. An error ends it.
func climb(ctx context.Context, read readNode, from client.Ref) iter.Seq2[*transcriptv1.GetNodeResponse, error] {
	return func(yield func(*transcriptv1.GetNodeResponse, error) bool) {
		for {
			n, err := read(ctx, from)
			if err != nil {
				yield(nil, err)
				return
			}
			parent := n.GetInfo().GetEnvelope().GetParentId()
			if !yield(n, nil) || parent == "" {
				return
			}
			from = client.ByID(parent)
		}
	}
}

// logTable prints nodes, a line each.
func (s *session) logTable() func(*transcriptv1.GetNodeResponse) error {
	t := s.table(nodeColumn(), timeColumn("PUT"), left("ROLES").wide(len("compaction")), left("MESSAGES"))
	return func(n *transcriptv1.GetNodeResponse) error {
		roles, says := nodeCells(n)
		return t.print(n, short(n.GetInfo().GetNodeId()), clock(n.GetFirstPutAt()), roles, says)
	}
}

// nodeCells are the roles of a node, and its beginning with its aliases.
func nodeCells(n *transcriptv1.GetNodeResponse) (roles, says string) {
	var words []string
	roles = roleNames(n.GetRoles())
	if through := n.GetInfo().GetEnvelope().GetCoversThroughId(); through != "" {
		roles, words = "compaction", []string{throughText(through)}
	} else if n.GetErasure() != nil {
		words = append(words, erasedText)
	} else if line := firstLine(n.GetMessages()); line != "" {
		words = append(words, line)
	}
	if aliases := n.GetAliases(); len(aliases) > 0 {
		words = append(words, aliasText(aliases, n.GetHasMoreAliases()))
	}
	return roles, strings.Join(words, "  ")
}

// erasedText stands for what an erased node said.
const erasedText = "(erased)"

// throughText tells what a compaction stands for.
func throughText(through string) string { return "through " + short(through) }

// firstLine is what the first message says that says anything.
func firstLine(messages []*transcriptv1.Message) string {
	for _, m := range messages {
		if line := messageLine(m); line != "" {
			return line
		}
	}
	return ""
}

// shownAliases is how many aliases of a node a line shows.
const shownAliases = 4

// aliasText names the first of a node's aliases; cut says that there are more than it was given, or may be.
func aliasText(aliases []string, cut bool) string {
	more := ""
	if n := len(aliases) - shownAliases; n > 0 && !cut {
		more = fmt.Sprintf(" and %d more", n)
	} else if cut {
		more = " and perhaps more"
	}
	aliases = aliases[:min(len(aliases), shownAliases)]
	names := make([]string, len(aliases))
	for i, a := range aliases {
		names[i] = name(a)
	}
	return "[" + strings.Join(names, ", ") + more + "]"
}
