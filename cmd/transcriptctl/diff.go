package main

import (
	"context"
	"encoding/json"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type diffCommand struct {
	A     string `arg:"" completes:"ref" help:"The node that one chain ends in."`
	B     string `arg:"" completes:"ref" help:"The node that the other chain ends in."`
	Limit uint   `short:"n" placeholder:"N" help:"At most this many nodes of each chain, the newest. Default: all."`
}

func (c *diffCommand) Help() string {
	return `A line a node as log has it, newest first: what A alone has (a), what B alone has (b), and the last node of both, their common ancestor. Chains that have no node in common have no such line, and a remark says so. Examples:

    transcriptctl diff chat/42 branch/try
    transcriptctl diff chat/42 3f9a1c2b -5
    transcriptctl diff chat/42 branch/try --output json | jq -r 'select(.in == "a") | .node.info.nodeId'

With --output json a line is {"in": "a", "b" or "both", "node": the node as log prints it}.`
}

// Run compares two chains.
func (c *diffCommand) Run(ctx context.Context, s *session) error {
	d := &differ{
		s: s, sides: [2]*diffSide{{in: "a", name: c.A}, {in: "b", name: c.B}},
		table: s.table(left("IN").wide(len(inBoth)), nodeColumn(), timeColumn("PUT"), left("ROLES").wide(len("compaction")), left("MESSAGES")),
	}
	for i, text := range []string{c.A, c.B} {
		ref, err := s.ref(ctx, text)
		if err != nil {
			return err
		}
		if d.sides[i].at, err = d.read(ctx, ref); err != nil {
			return err
		}
	}
	ancestor, err := d.climb(ctx)
	if err != nil {
		return err
	}
	for _, side := range d.sides {
		for i, n := range side.alone {
			if c.Limit > 0 && uint(i) == c.Limit {
				s.remark("%s more that %s alone has; see them with -n 0", count(int64(len(side.alone)-i), "node"), name(side.name))
				break
			}
			if err := d.print(ctx, side.in, n); err != nil {
				return err
			}
		}
	}
	if ancestor == nil {
		s.remark("%s and %s have no node in common", name(c.A), name(c.B))
		return nil
	}
	return d.print(ctx, inBoth, ancestor)
}

// inBoth says that both chains have a node.
const inBoth = "both"

// diffSide is one of two chains that are compared.
type diffSide struct {
	in, name string
	// at is where the climb is; nil above the root. alone are the nodes below it.
	at    *transcriptv1.GetNodeResponse
	alone []*transcriptv1.GetNodeResponse
}

func (s *diffSide) id() string { return s.at.GetInfo().GetNodeId() }

// ancestors is how many nodes are above the one where the climb is; -1 above the root.
func (s *diffSide) ancestors() int64 {
	if s.at == nil {
		return -1
	}
	return int64(max(0, s.at.GetAncestors()))
}

// differ compares two chains.
type differ struct {
	s     *session
	sides [2]*diffSide
	table *table
}

func (d *differ) read(ctx context.Context, ref client.Ref) (*transcriptv1.GetNodeResponse, error) {
	return d.s.NodeInfo(ctx, ref)
}

// climb goes up both chains, the longer first, until they meet; nil where they do not.
func (d *differ) climb(ctx context.Context) (*transcriptv1.GetNodeResponse, error) {
	a, b := d.sides[0], d.sides[1]
	for a.id() != b.id() {
		// With as many nodes above them both go up.
		up := []*diffSide{a, b}
		switch {
		case a.ancestors() > b.ancestors():
			up = up[:1]
		case a.ancestors() < b.ancestors():
			up = up[1:]
		}
		for _, side := range up {
			side.alone = append(side.alone, side.at)
			parent := side.at.GetInfo().GetEnvelope().GetParentId()
			if side.at = nil; parent == "" {
				continue
			}
			var err error
			if side.at, err = d.read(ctx, client.ByID(parent)); err != nil {
				return nil, err
			}
		}
	}
	return a.at, nil
}

// diffLine is a node as json has it.
type diffLine struct {
	In   string          `json:"in"`
	Node json.RawMessage `json:"node"`
}

// print prints a node. Its messages are read here, so that no more are than are shown.
func (d *differ) print(ctx context.Context, in string, n *transcriptv1.GetNodeResponse) error {
	if d.s.json {
		node, err := protoLine(n)
		if err != nil {
			return err
		}
		return d.s.printJSON(diffLine{in, node})
	}
	whole, err := d.s.Node(ctx, client.ByID(n.GetInfo().GetNodeId()))
	if err != nil {
		return err
	}
	roles, says := nodeCells(whole)
	if err := d.table.row([]string{in, short(whole.GetInfo().GetNodeId()), clock(whole.GetFirstPutAt()), roles, says}); err != nil {
		return err
	}
	return d.s.out.Flush()
}
