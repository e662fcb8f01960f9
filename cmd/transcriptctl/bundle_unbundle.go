package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type bundleUnbundleCommand struct {
	archiveKeys
	Prefix      aliasPrefix `placeholder:"PREFIX" help:"Write this before the name of each alias."`
	NoAliases   bool        `xor:"aliases" help:"Set no alias."`
	FastForward bool        `xor:"aliases" help:"Also move an alias that is there, where the bundle goes on from its node."`
	File        string      `arg:"" name:"FILE" help:"The bundle, or - for standard input."`
}

func (c *bundleUnbundleCommand) Help() string {
	return `Checks a bundle whole, as bundle verify does, and then puts its nodes, with their ids, notes and times. What is there already stays as it is, so it can be run again. At last it sets the aliases of the bundle, each only if it does not exist, or points to that node already; exit code 4 where one does not. Examples:

    transcriptctl bundle unbundle trip.bundle
    transcriptctl bundle unbundle trip.bundle --prefix from-alice/
    transcriptctl bundle unbundle more.bundle --fast-forward`
}

// Run puts what a bundle has.
func (c *bundleUnbundleCommand) Run(ctx context.Context, s *session) (err error) {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	in, place, err := s.openTwice(ctx, c.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	u := &unbundler{session: s, parents: map[[32]byte]*[32]byte{}, putter: archivedPutter{to: s.Client}}
	r, err := s.readArchive(ctx, in, place, identities, u.check)
	switch {
	case err != nil:
		return err
	case r.Header().GetKind() != transcriptv1.ArchiveKind_ARCHIVE_KIND_BUNDLE:
		return inputf("%s: a backup, and no bundle", place)
	case u.namespaces > 1:
		return inputf("%s: a bundle of several namespaces", place)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	put := func(r *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		if n == nil {
			return nil
		}
		return u.putter.put(ctx, r.GetNode(), n)
	}
	if _, err := s.readArchive(ctx, in, place, identities, put); err != nil {
		return err
	}
	if err := u.putter.flush(ctx); err != nil {
		return err
	}
	if !c.NoAliases {
		if err := u.set(ctx, c); err != nil {
			return err
		}
	}
	return u.tell(s)
}

// openTwice opens a file that can be read twice. What cannot is copied to one that is removed when it is closed.
func (s *session) openTwice(ctx context.Context, file string) (io.ReadSeekCloser, string, error) {
	in, place, err := s.openInput(ctx, file)
	if err != nil {
		return nil, place, err
	}
	if f, is := in.(*os.File); is {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, place, nil
		}
	}
	spool, err := os.CreateTemp("", "transcriptctl-*.bundle")
	if err != nil {
		return nil, place, errors.Join(err, in.Close())
	}
	// Where the system lets an open file be removed, a kill leaves nothing. Elsewhere it is removed when it is closed.
	out := &spooled{File: spool, stays: os.Remove(spool.Name()) != nil}
	_, err = io.Copy(spool, in)
	if err = errors.Join(err, in.Close()); err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, place, errors.Join(err, out.Close())
	}
	return out, place, nil
}

// spooled is a file that goes when it is closed. stays: it has a name until then.
type spooled struct {
	*os.File
	stays bool
}

func (s *spooled) Close() error {
	err := s.File.Close()
	if s.stays {
		err = errors.Join(err, os.Remove(s.Name()))
	}
	return err
}

// unbundler puts the nodes of a bundle, and sets its aliases.
type unbundler struct {
	*session
	namespaces int
	parents    map[[32]byte]*[32]byte
	aliases    []*transcriptv1.ArchiveAlias
	putter     archivedPutter
	results    []setAlias
}

// setAlias is what became of an alias.
type setAlias struct {
	Name   string `json:"name"`
	NodeID string `json:"nodeId"`
	Fate   string `json:"fate"`
}

// check is the first reading.
func (u *unbundler) check(r *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
	switch {
	case n != nil:
		u.parents[n.ID] = n.Envelope.Parent
	case r.GetAlias() != nil:
		u.aliases = append(u.aliases, r.GetAlias())
	case r.GetNamespace() != nil:
		u.namespaces++
	}
	return nil
}

// errAliasesElsewhere says that aliases of a bundle point elsewhere; which, is printed already.
var errAliasesElsewhere = errors.New("aliases of the bundle exist and point elsewhere; its nodes are there")

// set sets the aliases. Those that point elsewhere are told with the rest.
func (u *unbundler) set(ctx context.Context, c *bundleUnbundleCommand) error {
	for _, a := range u.aliases {
		states := a.GetStates()
		head := states[len(states)-1].GetNode()
		if len(head) == 0 {
			continue // it was deleted there
		}
		one := setAlias{Name: string(c.Prefix) + a.GetName(), NodeID: fmt.Sprintf("%x", head)}
		move := client.AliasMove{Name: one.Name, Target: client.ByID(one.NodeID), If: client.MustNotExist(), Labels: a.GetLabels()}
		_, err := u.SetAliases(ctx, move)
		one.Fate = "set"
		if errors.Is(err, client.ErrAliasExists) {
			one.Fate, err = u.elsewhere(ctx, c, move)
		}
		if err != nil {
			return err
		}
		u.results = append(u.results, one)
	}
	return nil
}

// elsewhere tells what becomes of an alias that is there and points to another node.
func (u *unbundler) elsewhere(ctx context.Context, c *bundleUnbundleCommand, move client.AliasMove) (fate string, err error) {
	now, err := u.Resolve(ctx, move.Name)
	if err != nil {
		return "", err
	}
	is := now.GetAlias().GetNodeId()
	if !c.FastForward || !u.above(is, hashOf(move.Target.NodeRef().GetNodeId())) {
		return "elsewhere", nil
	}
	move.If, move.Labels = client.HeadIs(is), nil
	if _, err := u.SetAliases(ctx, move); errors.Is(err, client.ErrAliasMoved) {
		return "elsewhere", nil
	} else if err != nil {
		return "", err
	}
	return "moved", nil
}

// above tells whether a node is an ancestor of one of the bundle, as far as the bundle tells.
func (u *unbundler) above(id string, head *[32]byte) bool {
	for at := head; at != nil; at = u.parents[*at] {
		if fmt.Sprintf("%x", *at) == id {
			return true
		}
	}
	return false
}

func (u *unbundler) tell(s *session) error {
	elsewhere := false
	for _, a := range u.results {
		elsewhere = elsewhere || a.Fate == "elsewhere"
	}
	var failed error
	if elsewhere {
		failed = errAliasesElsewhere
	}
	if s.json {
		if u.results == nil {
			u.results = []setAlias{}
		}
		return errors.Join(s.printJSON(struct {
			Created int64      `json:"nodesCreated,string"`
			There   int64      `json:"nodesThere,string"`
			Aliases []setAlias `json:"aliases"`
		}{u.putter.created, u.putter.there, u.results}), failed)
	}
	rows := [][2]string{{"nodes", fmt.Sprintf("%d created, %d there already", u.putter.created, u.putter.there)}}
	for _, a := range u.results {
		rows = append(rows, [2]string{"alias", name(a.Name) + " " + a.Fate})
	}
	return errors.Join(s.printRows(rows), failed)
}
