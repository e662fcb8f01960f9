package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

type bundleVerifyCommand struct {
	archiveKeys
	Head []string `placeholder:"ID" help:"The id of a node that must be a head of the bundle; may be repeated."`
	File string   `arg:"" name:"FILE" help:"The bundle, or - for standard input."`
}

func (c *bundleVerifyCommand) Help() string {
	return `Reads a bundle and recomputes the id of each node. With --head it proves that the bundle has exactly the chain with that id: messages, metadata and everything before it. Times, notes and aliases are as whoever made the bundle says. A thin bundle proves only what is behind the nodes that it names as known. Exit code 6 where the file is cut or changed, or a head is not in it. Examples:

    transcriptctl bundle verify trip.bundle --head 3f9a1c2b…
    ssh host cat trip.bundle | transcriptctl bundle verify - --output json | jq -r .heads[]`
}

// AsksNoServer says that the command works on files.
func (*bundleVerifyCommand) AsksNoServer() {}

// Run verifies a file.
func (c *bundleVerifyCommand) Run(ctx context.Context, s *session) (err error) {
	for _, id := range c.Head {
		if len(id) != idDigits || !isHex(id) {
			return usagef("--head must be a whole id of 64 digits, since only that proves something; is %q", id)
		}
	}
	identities, err := c.identities()
	if err != nil {
		return err
	}
	in, place, err := s.openInput(ctx, c.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	aliases := []bundledAlias{}
	r, err := s.readArchive(ctx, in, place, identities, func(r *transcriptv1.ArchiveRecord, _ *canonical.Stored) error {
		if a := r.GetAlias(); a != nil {
			last := a.GetStates()[len(a.GetStates())-1]
			aliases = append(aliases, bundledAlias{a.GetName(), hex.EncodeToString(last.GetNode())})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.Header().GetKind() != transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE {
		return inputf("%s: a backup, and no bundle", place)
	}
	told := newToldBundle(r.Digest(), hexes(r.Header().GetHeads()), hexes(r.Header().GetKnown()), r.Counts(), aliases)
	for _, id := range c.Head {
		if !slices.Contains(told.Heads, id) {
			return fmt.Errorf("%s: %w: node %s is no head of it", place, archive.ErrBroken, id)
		}
	}
	return told.print(s)
}

// toldBundle is what is told of a bundle.
type toldBundle struct {
	Digest   string         `json:"digest"`
	Heads    []string       `json:"heads"`
	Known    []string       `json:"known,omitempty"`
	Nodes    int64          `json:"nodes,string"`
	Messages int64          `json:"messages,string"`
	Bytes    int64          `json:"messageBytes,string"`
	Aliases  []bundledAlias `json:"aliases"`
}

// bundledAlias is an alias of a bundle.
type bundledAlias struct {
	Name   string `json:"name"`
	NodeID string `json:"nodeId"`
}

// newToldBundle is what is told of a bundle with a digest, its heads and known nodes, and what it has.
func newToldBundle(digest archive.Digest, heads, known []string, n archive.Counts, aliases []bundledAlias) *toldBundle {
	return &toldBundle{
		Digest: digest.String(), Heads: heads, Known: known, Nodes: n.Nodes, Messages: n.Messages, Bytes: n.MessageBytes, Aliases: aliases,
	}
}

func hexes(ids [][]byte) (out []string) {
	for _, id := range ids {
		out = append(out, hex.EncodeToString(id))
	}
	return out
}

func (b *toldBundle) print(s *session) error {
	if s.json {
		return s.printJSON(b)
	}
	rows := [][2]string{{"nodes", fmt.Sprint(b.Nodes)}, {"messages", fmt.Sprint(b.Messages)}, {"bytes", size(b.Bytes)}}
	for _, id := range b.Heads {
		rows = append(rows, [2]string{"head", id})
		for _, a := range b.Aliases {
			if a.NodeID == id {
				rows = append(rows, [2]string{"", name(a.Name)})
			}
		}
	}
	if len(b.Known) > 0 {
		rows = append(rows, [2]string{"known", strings.Join(b.Known, " ")})
	}
	return s.printRows(append(rows, [2]string{"digest", b.Digest}))
}
