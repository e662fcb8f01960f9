package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/storekey"
)

type restoreCommand struct {
	archiveKeys
	Store             string            `placeholder:"badger://PATH" help:"Restore into this folder, which no transcriptd has open, without a server. It is made."`
	EncryptionKeyFile string            `type:"path" placeholder:"FILE" help:"With --store, the key that the store is, or is to be, encrypted with: see 'transcriptd key create'."`
	Map               map[string]string `placeholder:"FROM=TO" help:"Restore a namespace under another name, which must be new; may be repeated. Needed for each namespace where the store has something."`
	Again             bool              `help:"Go on with a restore of the same files that was cut. What is there already stays."`
	Files             []string          `arg:"" name:"FILE" type:"path" help:"The backups in their order: a full one, the rest of one that was cut, what changed since."`
}

func (c *restoreCommand) Help() string {
	return `Checks the backups whole, as backup verify does, and then puts what they have: nodes with their ids, notes and times, aliases with labels, revisions and histories, and settings. Indexes are made anew. The store must have nothing, or each namespace must be mapped to one that has nothing. What is restored without a server is verified behind it. What a restore does not bring back is in docs/operations.md. Examples:

    transcriptctl restore sunday.backup monday.backup --store badger:///var/lib/transcriptd
    transcriptctl restore sunday.backup
    transcriptctl restore team.backup --map team=team-as-of-sunday`
}

// AsksNoServer says that the command reaches a server by itself, where it needs one.
func (*restoreCommand) AsksNoServer() {}

// Run restores backups.
func (c *restoreCommand) Run(ctx context.Context, s *session) (err error) {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	r := &restorer{command: c, settings: map[string]*transcriptv1.ArchiveNamespace{}, newest: map[string]map[string]int64{}}
	chain, err := s.readBackups(ctx, c.Files, identities, "checked", 0, func(record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		r.told.add(record, n)
		r.see(record)
		return nil
	})
	if err != nil {
		return err
	}
	if chain.Partial() {
		return inputf("%s has what changed since another backup: name that one before it", c.Files[0])
	}
	for from := range c.Map {
		if !slices.Contains(r.namespaces, from) {
			return usagef("--map %s: the backups have no namespace of that name; they have %s", from, strings.Join(r.namespaces, ", "))
		}
	}
	r.told.Digest = chain.Last().Digest().String()
	if r.session, err = c.reach(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.run(ctx, identities)
}

// reach is a session with the server, or with one of its own over the folder.
func (c *restoreCommand) reach(ctx context.Context, s *session) (*session, error) {
	if c.Store == "" {
		if c.EncryptionKeyFile != "" {
			return nil, usagef("--encryption-key-file goes with --store")
		}
		return open(&s.flags, s.in, s.out, s.notes)
	}
	path, ok := strings.CutPrefix(c.Store, "badger://")
	if !ok || path == "" {
		return nil, usagef("--store must be badger://PATH, is %q", c.Store)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	options := badgerstore.Options{}
	if c.EncryptionKeyFile != "" {
		if options.EncryptionKey, err = storekey.Read(c.EncryptionKeyFile); err != nil {
			return nil, &inputError{err}
		}
	}
	store, err := badgerstore.Open(path, options)
	if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", path, err)
	}
	return s.over(ctx, store)
}

// restorer restores backups into what its session reaches.
type restorer struct {
	*session
	command *restoreCommand
	told    toldBackup
	// namespaces are those of the backups, in their order, and within the one that is being read. newest are the revisions of aliases in the
	// last backup that has them, by namespace: only these are set, so that a restore that was cut can be done again.
	namespaces []string
	within     string
	newest     map[string]map[string]int64
	// putter and aliases are of the namespace that is being read.
	putter  archivedPutter
	aliases aliasRestorer
	// settings are the newest of each namespace: they are set at the end, so that quotas do not refuse what was there.
	settings       map[string]*transcriptv1.ArchiveNamespace
	created, there int64
	set            int64
}

func (r *restorer) run(ctx context.Context, identities []age.Identity) error {
	if !r.command.Again {
		if err := r.nothingThere(ctx); err != nil {
			return err
		}
	}
	_, err := r.readBackups(ctx, r.command.Files, identities, "restored", r.told.Nodes, func(record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		switch {
		case n != nil:
			return r.putter.put(ctx, record.GetNode(), n)
		case record.GetAlias() != nil:
			if a := record.GetAlias(); a.GetRevision() < r.newest[r.within][a.GetName()] {
				return nil
			}
			if err := r.putter.flush(ctx); err != nil {
				return err
			}
			return r.aliases.add(ctx, record.GetAlias())
		case record.GetNamespace() != nil:
			return r.enter(ctx, record.GetNamespace())
		default:
			return nil
		}
	})
	if err == nil {
		err = r.flush(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\nThe restore is not finished; to go on: the same command with --again", err)
	}
	for name, settings := range r.settings {
		if _, err := r.in(name).Restore(ctx, settings); err != nil {
			return fmt.Errorf("the settings of namespace %s: %w", r.to(name), err)
		}
	}
	if err := r.verified(ctx); err != nil {
		return err
	}
	return r.tell()
}

// see notes what namespaces and aliases there are.
func (r *restorer) see(record *transcriptv1.ArchiveRecord) {
	if n := record.GetNamespace(); n != nil {
		if r.within = n.GetName(); r.newest[r.within] == nil {
			r.namespaces, r.newest[r.within] = append(r.namespaces, r.within), map[string]int64{}
		}
	}
	if a := record.GetAlias(); a != nil {
		r.newest[r.within][a.GetName()] = a.GetRevision()
	}
}

// to is the name that a namespace gets.
func (r *restorer) to(namespace string) string {
	if to, mapped := r.command.Map[namespace]; mapped {
		return to
	}
	return namespace
}

// in is a client of a namespace of the backups, on the session's connection.
func (r *restorer) in(namespace string) *client.Client { return r.Client.In(r.to(namespace)) }

// nothingThere refuses a store that has something, unless all is mapped, and a namespace that has.
func (r *restorer) nothingThere(ctx context.Context) error {
	mapped := true
	for _, name := range r.namespaces {
		_, is := r.command.Map[name]
		mapped = mapped && is
	}
	for name, err := range r.Namespaces(ctx) {
		if err != nil {
			return err
		}
		if !mapped {
			return inputf("the store has something, namespace %s for example: restore into one that has nothing, give each of %s another name with --map FROM=TO, or go on with a restore that was cut with --again", name, strings.Join(r.namespaces, ", "))
		}
		for _, from := range r.namespaces {
			if r.to(from) == name {
				return inputf("--map %s=%s: there is a namespace of that name: give it one that is new, or go on with a restore that was cut with --again", from, name)
			}
		}
	}
	return nil
}

// enter begins with a namespace, and takes what the backup has of it.
func (r *restorer) enter(ctx context.Context, n *transcriptv1.ArchiveNamespace) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.within = n.GetName()
	to := r.in(r.within)
	r.putter, r.aliases = archivedPutter{to: to}, aliasRestorer{to: to}
	if n.GetSettingsRevision() > 0 || n.GetRevisionFloor() > 0 {
		r.settings[n.GetName()] = n
	}
	return nil
}

// flush puts and sets what waits.
func (r *restorer) flush(ctx context.Context) error {
	if err := r.putter.flush(ctx); err != nil {
		return err
	}
	if err := r.aliases.flush(ctx); err != nil {
		return err
	}
	r.created, r.there, r.set = r.created+r.putter.created, r.there+r.putter.there, r.set+r.aliases.set
	r.putter.created, r.putter.there, r.aliases.set = 0, 0, 0
	return nil
}

// verified verifies what was restored into a folder: nobody else did.
func (r *restorer) verified(ctx context.Context) error {
	if r.command.Store == "" {
		r.remark("transcriptctl verify --all checks the store")
		return nil
	}
	line := newProgress(r.notes)
	defer line.clear()
	for report, err := range r.Verify(ctx, client.Check{WholeStore: true}) {
		if err != nil {
			return fmt.Errorf("verifying what was restored: %w", err)
		}
		line.show(count(report.GetNodesChecked(), "node") + " verified")
		if report.GetDone() && report.GetProblemsFound() > 0 {
			return fmt.Errorf("%w: transcriptd verify --store %s lists them", errProblems, r.command.Store)
		}
	}
	return nil
}

func (r *restorer) tell() error {
	if r.json {
		return r.printJSON(struct {
			Digest  string `json:"digest"`
			Created int64  `json:"nodesCreated,string"`
			There   int64  `json:"nodesThere,string"`
			Set     int64  `json:"aliasesSet,string"`
		}{r.told.Digest, r.created, r.there, r.set})
	}
	return r.printRows([][2]string{
		{"nodes", fmt.Sprintf("%d created, %d there already", r.created, r.there)}, {"aliases", fmt.Sprintf("%d set", r.set)},
		{"namespaces", fmt.Sprint(len(r.namespaces))}, {"digest", r.told.Digest},
	})
}

// A call sets at most so many aliases with so many states and bytes: less than a server takes.
const setAliases, setStates, setBytes = 500, 5_000, 1 << 20
