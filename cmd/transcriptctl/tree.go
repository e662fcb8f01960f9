package main

import (
	"context"
	"fmt"
	"io"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type treeCommand struct {
	Ref    string       `arg:"" optional:"" help:"Draw this node and all that follows it."`
	Root   bool         `help:"Draw from the root of the REF's chain."`
	Prefix *aliasPrefix `completes:"alias" placeholder:"PREFIX" help:"Draw the chains of the aliases that begin with this; empty: all. Not with REF."`
	Limit  uint         `short:"n" default:"1000" placeholder:"N" help:"At most about this many nodes; what is left out is marked. 0: all."`
}

func (c *treeCommand) Help() string {
	return `Nodes that follow each other without a fork or an alias between them are one line: first and last id, how many they are, and how the first begins. A compaction node begins a line, which says through which node it stands for what came before. Examples:

    transcriptctl tree 3f9a1c2b
    transcriptctl tree chat/42 --root
    transcriptctl tree --prefix chat/

With --output json it is a line a node, parents first: nodeId, parentId, coversThroughId (of a compaction), roles, aliases, more (children not drawn).`
}

// Run draws a tree.
func (c *treeCommand) Run(ctx context.Context, s *session) error {
	roots, err := c.read(ctx, s)
	if err != nil {
		return err
	}
	for _, root := range roots.children {
		if s.json {
			err = s.printTreeNodes(root)
		} else {
			err = drawTree(s.out, root)
		}
		if err != nil {
			return err
		}
	}
	if c.Prefix != nil && len(roots.children) == 0 {
		return s.remarkNone(ctx, *c.Prefix)
	}
	if roots.more {
		s.remark("not all of it is drawn; see more with -n 0")
	}
	return nil
}

// read is the tree to draw, under a node that stands for none.
func (c *treeCommand) read(ctx context.Context, s *session) (*treeNode, error) {
	switch {
	case (c.Ref == "") == (c.Prefix == nil):
		return nil, usagef("give either REF or --prefix")
	case c.Root && c.Ref == "":
		return nil, usagef("--root needs a REF")
	case c.Prefix != nil:
		return s.readChains(ctx, string(*c.Prefix), c.Limit)
	}
	ref, err := s.ref(ctx, c.Ref)
	if err != nil {
		return nil, err
	}
	if c.Root {
		for n, err := range climb(ctx, s.NodeInfo, ref) {
			if err != nil {
				return nil, err
			}
			ref = client.ByID(n.GetInfo().GetNodeId())
		}
	}
	return s.readBelow(ctx, ref, c.Limit)
}

// treeNode is a node with what hangs from it.
type treeNode struct {
	id, parent string
	roles      []transcriptv1.Role
	preview    string
	aliases    []string
	// through is what a compaction node covers; empty on others.
	through  string
	children []*treeNode
	// more says that there are children which were not read.
	more bool
}

// printTreeNodes prints a node and all below it, a line each.
func (s *session) printTreeNodes(n *treeNode) error {
	for stack := []*treeNode{n}; len(stack) > 0; {
		n, stack = stack[len(stack)-1], stack[:len(stack)-1]
		roles := make([]string, len(n.roles))
		for i, r := range n.roles {
			roles[i] = r.String()
		}
		err := s.printJSON(struct {
			NodeID          string   `json:"nodeId"`
			ParentID        string   `json:"parentId,omitempty"`
			CoversThroughID string   `json:"coversThroughId,omitempty"`
			Roles           []string `json:"roles"`
			Aliases         []string `json:"aliases,omitempty"`
			More            bool     `json:"more,omitempty"`
		}{n.id, n.parent, n.through, roles, n.aliases, n.more})
		if err != nil {
			return err
		}
		for i := len(n.children) - 1; i >= 0; i-- {
			stack = append(stack, n.children[i])
		}
	}
	return nil
}

// treeLine is a piece of a tree that waits to be drawn: a node, what to write before its line, and what before those
// of the nodes that hang from it.
type treeLine struct {
	node         *treeNode
	first, below string
}

// drawTree draws a node and all below it. A line is a run of nodes; what continues a run stands below it at the same
// indent, branches are indented further.
func drawTree(w io.Writer, root *treeNode) error {
	for stack := []treeLine{{node: root}}; len(stack) > 0; {
		line := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		last, length := runOf(line.node)
		if _, err := fmt.Fprintln(w, line.first+runText(line.node, last, length)); err != nil {
			return err
		}
		if last.more {
			if _, err := fmt.Fprintln(w, line.below+"└─ …"); err != nil {
				return err
			}
		}
		if len(last.children) == 1 && !last.more {
			stack = append(stack, treeLine{last.children[0], line.below, line.below})
			continue
		}
		for i := len(last.children) - 1; i >= 0; i-- {
			if i == len(last.children)-1 && !last.more {
				stack = append(stack, treeLine{last.children[i], line.below + "└─ ", line.below + "   "})
			} else {
				stack = append(stack, treeLine{last.children[i], line.below + "├─ ", line.below + "│  "})
			}
		}
	}
	return nil
}

// runOf is the last node of the run that first begins, and its length. A run ends at a fork, at an alias and before a
// compaction node.
func runOf(first *treeNode) (last *treeNode, length int) {
	last, length = first, 1
	for len(last.children) == 1 && len(last.aliases) == 0 && !last.more && last.children[0].through == "" {
		last = last.children[0]
		length++
	}
	return last, length
}

func runText(first, last *treeNode, length int) string {
	text := short(first.id)
	if length > 1 {
		text += " → " + short(last.id) + fmt.Sprintf(" (%d nodes)", length)
	}
	switch {
	case first.through != "":
		text += "  compaction " + throughText(first.through)
	case first.preview != "":
		text += "  " + roleNames(first.roles) + "  " + first.preview
	default:
		text += "  " + roleNames(first.roles)
	}
	if len(last.aliases) > 0 {
		text += "  " + aliasText(last.aliases, false)
	}
	return text
}
