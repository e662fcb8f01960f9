package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"filippo.io/age"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
)

type restoreCommand struct {
	archiveKeys
	Store             string            `placeholder:"badger://PATH" help:"Restore into this folder, which no transcriptd has open, without a server. It is made, and is PATH.part until the restore is complete."`
	EncryptionKeyFile string            `type:"path" placeholder:"FILE" help:"With --store, the key that the store is, or is to be, encrypted with: see 'transcriptd key create'."`
	Map               map[string]string `placeholder:"FROM=TO" help:"Restore a namespace under another name, which must be new, and of which no other one of the backups has the name; may be repeated. Needed for each namespace where the store has something."`
	Again             bool              `help:"Go on with a restore of the same files that was cut, into a store where nobody wrote since. What is there as the backups have it stays."`
	Erasures          []string          `type:"path" placeholder:"FILE" help:"A later backup of the same store, of which the erasures alone are taken: nodes that were erased in its span come back erased, and a namespace that was deleted before one with --all was made is left out. Give a full one, or each of those that have what changed since."`
	Files             []string          `arg:"" name:"FILE" type:"path" help:"The backups in their order: a full one, the rest of one that was cut, what changed since."`
}

func (c *restoreCommand) Help() string {
	return `Checks the backups whole, as backup verify does, and then puts what they have: nodes with their ids, notes and times, aliases with labels, revisions and histories, and settings. Indexes are made anew. With --namespace, or TRANSCRIPTCTL_NAMESPACE in the environment, that namespace of the backups alone is restored. The store must have nothing, or each namespace that is restored must be mapped to one that has nothing. Through a server the caller needs the roles read, append and admin on each namespace that is restored to. What is restored without a server is verified behind it. A node that is erased in one of the backups, or in one of --erasures, or was erased in the namespace that it goes into, comes back erased, and for that the role erase is needed, too. What a restore does not bring back is in docs/operations.md. Examples:

    transcriptctl restore sunday.backup monday.backup --store badger:///var/lib/transcriptd/store
    transcriptctl restore sunday.backup
    transcriptctl restore sunday.backup --namespace team --map team=team-as-of-sunday
    transcriptctl restore sunday.backup --erasures friday.backup`
}

// AsksNoServer says that the command reaches a server by itself, where it needs one.
func (*restoreCommand) AsksNoServer() {}

// Run restores backups.
func (c *restoreCommand) Run(ctx context.Context, s *session) (err error) {
	identities, err := c.identities()
	if err == nil {
		err = c.judge()
	}
	if err != nil {
		return err
	}
	// A context's namespace does not count: it is not read here.
	r := &restorer{
		session: s, command: c, only: s.flags.Namespace, settings: map[string]*transcriptv1.ArchiveNamespace{}, living: map[string]archive.Namespace{},
		newest: map[string]map[string]int64{}, erased: erasedNodes{},
	}
	chain, err := s.readBackups(ctx, c.Files, identities, "checked", 0, func(chain *archive.Chain, record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		r.told.add(record, n)
		r.see(chain, record, n)
		return nil
	})
	if err != nil {
		return err
	}
	if chain.Partial() {
		return inputf("%s has what changed since another backup: name that one before it", c.Files[0])
	}
	r.living = chain.Namespaces()
	if err := r.dropDeleted(chain); err != nil {
		return err
	}
	if err := r.judge(); err != nil {
		return err
	}
	if err := r.erasures(ctx, s, identities, chain); err != nil {
		return err
	}
	r.told.Digest = chain.Last().Digest().String()
	r.files.of(chain)
	if encrypted := func(f archive.File) bool { return f.Encrypted() }; c.Store != "" && c.EncryptionKeyFile == "" && slices.ContainsFunc(chain.Files(), encrypted) {
		s.remark("the backups are encrypted, and the store that is made of them is not: --encryption-key-file makes an encrypted one")
	}
	complete, err := r.reach(ctx, s)
	if err != nil {
		return err
	}
	err = errors.Join(r.run(ctx, identities), r.Close())
	if err == nil {
		err = complete()
	}
	if err != nil {
		return err
	}
	return r.tell()
}

// judge refuses names that no namespace has, and files that cannot be read twice.
func (c *restoreCommand) judge() error {
	if slices.Contains(c.Files, "-") {
		return usagef("restore reads the backups twice, first to check them, and standard input cannot be: write it to a file first")
	}
	for _, from := range slices.Sorted(maps.Keys(c.Map)) {
		to := &transcriptv1.ArchiveRecord_Namespace{Namespace: &transcriptv1.ArchiveNamespace{Name: c.Map[from]}}
		if c.Map[from] == "" || judged(&transcriptv1.ArchiveRecord{Record: to}, nil) != nil {
			return usagef("--map %s=%s: the new name must be 1 to 64 of a-z, 0-9, '.', '_' and '-'", from, c.Map[from])
		}
	}
	return nil
}

// judge refuses a --namespace or --map of what the backups have not, and one name for two namespaces.
func (r *restorer) judge() error {
	they := nameLine(r.all.all)
	if r.only != "" && len(r.namespaces) == 0 {
		return usagef("--namespace %s: the backups have no namespace of that name; they have %s", r.only, they)
	}
	for _, from := range slices.Sorted(maps.Keys(r.command.Map)) {
		switch {
		case !r.all.seen[from]:
			return usagef("--map %s: the backups have no namespace of that name; they have %s", from, they)
		case !slices.Contains(r.namespaces, from):
			return usagef("--map %s: --namespace, or TRANSCRIPTCTL_NAMESPACE in the environment, restores %s alone", from, r.only)
		}
	}
	taken := map[string]string{}
	for _, from := range r.namespaces {
		to := r.to(from)
		if other, is := taken[to]; is {
			return usagef("--map: namespaces %s and %s of the backups would both become %s: give each a name of its own", name(other), name(from), name(to))
		}
		taken[to] = from
	}
	return nil
}

// reach reaches the server, or the folder with one of its own. complete is to be called behind the restore, once the session is closed.
func (r *restorer) reach(ctx context.Context, s *session) (complete func() error, err error) {
	c := r.command
	if c.Store == "" {
		if c.EncryptionKeyFile != "" {
			return nil, usagef("--encryption-key-file goes with --store")
		}
		r.session, err = open(&s.flags, s.in, s.out, s.notes)
		return func() error { return nil }, err
	}
	folder, err := c.folder()
	if err != nil {
		return nil, err
	}
	r.at = folder.at
	r.session, err = folder.open(ctx, c, s)
	return folder.complete, err
}

// restorer restores backups into what its session reaches.
type restorer struct {
	*session
	command *restoreCommand
	told    toldBackup
	files   toldFiles
	// at is the folder of a restore without a server.
	at string
	// only is the one namespace that is restored; empty: all are.
	only string
	// all are the namespaces of the backups, in their order, namespaces those that are restored, and within the one that is being read, which passes if it is not
	// restored. living are those that were not deleted. newest are the revisions of aliases in the last backup that has them, by namespace: only these are set, so
	// that a restore that was cut can be done again.
	all        namesInOrder
	namespaces []string
	within     string
	passes     bool
	living     map[string]archive.Namespace
	newest     map[string]map[string]int64
	// putter and aliases are of the namespace that is being read.
	putter  archivedPutter
	aliases aliasRestorer
	// settings are the newest of each namespace: they are set at the end, so that quotas do not refuse what was there.
	settings map[string]*transcriptv1.ArchiveNamespace
	// erased are the nodes that come back erased, and applied those of them that the backups have with their content.
	erased         erasedNodes
	applied        []string
	created, there int64
	set            int64
}

func (r *restorer) run(ctx context.Context, identities []age.Identity) error {
	if err := r.readable(ctx); err != nil {
		return err
	}
	if err := r.mayRestore(ctx); err != nil {
		return err
	}
	_, err := r.readBackups(ctx, r.command.Files, identities, "restored", r.told.Nodes, func(chain *archive.Chain, record *transcriptv1.ArchiveRecord, n *canonical.Stored) error {
		switch {
		case record.GetNamespace() != nil:
			return r.enter(ctx, chain, record.GetNamespace())
		case r.passes:
			return nil
		case n != nil:
			return r.put(ctx, record.GetNode(), n)
		case record.GetAlias() != nil:
			if a := record.GetAlias(); a.GetRevision() < r.newest[r.within][a.GetName()] {
				return nil
			}
			if err := r.putter.flush(ctx); err != nil {
				return err
			}
			return r.aliases.add(ctx, record.GetAlias())
		default:
			return nil
		}
	})
	if err == nil {
		err = r.flush(ctx)
	}
	if err == nil {
		err = r.keep(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\n%w", err, &goOn{"The restore is not finished; to go on: the same command with --again"})
	}
	for name, settings := range r.settings {
		if _, err := r.in(name).Restore(ctx, settings); err != nil {
			return fmt.Errorf("the settings of namespace %s: %w", r.to(name), err)
		}
	}
	return r.verified(ctx)
}

// mayRestore refuses a store that has something, but for what a restore of these files may have left.
func (r *restorer) mayRestore(ctx context.Context) error {
	if !r.command.Again {
		return r.nothingThere(ctx)
	}
	begun, err := r.mayHaveBegun(ctx)
	if err == nil && !begun {
		err = inputf("--again goes on with a restore of these files that was cut, and the store has what is not of them: a namespace, an alias, or a later revision of one. Restore beside it, with --map FROM=TO")
	}
	return err
}

// see notes what namespaces and aliases there are, and what was erased. What it noted of a namespace that was deleted is forgotten where another one of
// the name begins.
func (r *restorer) see(chain *archive.Chain, record *transcriptv1.ArchiveRecord, n *canonical.Stored) {
	if of := record.GetNamespace(); of != nil {
		r.within, r.passes = of.GetName(), r.only != "" && of.GetName() != r.only
		if r.all.add(r.within) && !r.passes {
			r.namespaces = append(r.namespaces, r.within)
		}
		if is := chain.Within(); is.Which != r.living[r.within].Which {
			r.living[r.within], r.newest[r.within] = is, map[string]int64{}
			delete(r.erased, r.within)
		}
	}
	if r.passes {
		return
	}
	if a := record.GetAlias(); a != nil {
		r.newest[r.within][a.GetName()] = a.GetRevision()
	}
	r.erased.see(r.within, record, n)
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
			return r.hasSomething(ctx, "the store has something, namespace %s for example: restore into one that has nothing, or give each of %s another name with --map FROM=TO", name, nameLine(r.namespaces))
		}
		for _, from := range r.namespaces {
			if r.to(from) == name {
				return r.hasSomething(ctx, "--map %s=%s: there is a namespace of that name: give it one that is new", from, name)
			}
		}
	}
	return nil
}

// readable asks for something of each namespace that is restored to, which is refused without the role read: who has it not would not be told
// that the namespace has something.
func (r *restorer) readable(ctx context.Context) error {
	for _, from := range r.namespaces {
		more := false
		for _, err := range first(r.in(from).Aliases(ctx, client.AliasesWithPrefix("")), 1, &more) {
			if err != nil {
				return fmt.Errorf("looking whether namespace %s has something: %w", r.to(from), err)
			}
		}
	}
	return nil
}

// hasSomething is the error of a store that has something. It names --again where a restore of these files may have been cut.
func (r *restorer) hasSomething(ctx context.Context, format string, args ...any) error {
	maybe, err := r.mayHaveBegun(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(format, args...)
	if maybe {
		text += ". Only if a restore of these files was cut, and nobody wrote there since: go on with --again"
	}
	return inputf("%s", text)
}

// mayHaveBegun tells whether what the store has may be of a restore of these files: nothing but namespaces that are restored to, if not all are
// mapped, and no alias but those of the backups, with no higher revision.
func (r *restorer) mayHaveBegun(ctx context.Context) (bool, error) {
	from := map[string]string{}
	for _, name := range r.namespaces {
		from[r.to(name)] = name
	}
	for there, err := range r.Namespaces(ctx) {
		if err != nil {
			return false, err
		}
		name, is := from[there]
		if !is && len(r.command.Map) == 0 {
			return false, nil
		}
		if !is {
			continue
		}
		for a, err := range r.in(name).Aliases(ctx, client.AliasesWithPrefix("")) {
			if err != nil {
				return false, err
			}
			if last, has := r.newest[name][a.GetName()]; !has || a.GetRevision() > last {
				return false, nil
			}
		}
	}
	return true, nil
}

// enter begins with a namespace, and takes what the backup has of it.
func (r *restorer) enter(ctx context.Context, chain *archive.Chain, n *transcriptv1.ArchiveNamespace) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.within = n.GetName()
	if r.passes = r.only != "" && r.within != r.only || r.living[r.within].Which != chain.Within().Which; r.passes {
		return nil
	}
	to := r.in(r.within)
	r.putter, r.aliases = archivedPutter{to: to, apply: true}, aliasRestorer{to: to, namespace: r.to(r.within)}
	if n.GetSettingsRevision() > 0 || n.GetRevisionFloor() > 0 {
		// The floor of a full backup is above the names that it leaves out: what changed since has them neither, and may have a lower one.
		n.RevisionFloor = max(n.GetRevisionFloor(), r.settings[n.GetName()].GetRevisionFloor())
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
	for _, id := range r.putter.erased {
		r.applied = append(r.applied, hex.EncodeToString(id[:]))
	}
	r.putter.created, r.putter.there, r.aliases.set, r.putter.erased = 0, 0, 0, nil
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
			return fmt.Errorf("%w: transcriptd verify --store %s lists them", errProblems, "badger://"+r.at)
		}
	}
	return nil
}

// tell tells what was restored; namespaces by the names that they got.
func (r *restorer) tell() error {
	as := make([]string, len(r.namespaces))
	r.files.Namespaces = make([]string, len(r.namespaces))
	for i, from := range r.namespaces {
		to := r.to(from)
		if as[i], r.files.Namespaces[i] = to, to; to != from {
			as[i] = from + " as " + to
		}
	}
	if len(r.applied) > 0 {
		r.remark("nodes that the backups have with their content were erased since, and are back erased. Compactions can have copies: erase the same nodes again, which looks for these; --output json lists them")
	}
	if r.json {
		return r.printJSON(struct {
			toldFiles
			Digest  string `json:"digest"`
			Created int64  `json:"nodesCreated,string"`
			There   int64  `json:"nodesThere,string"`
			Set     int64  `json:"aliasesSet,string"`
			// Erased are the ids of nodes that the backups have with their content, and that are back erased.
			Erased []string `json:"nodesErased,omitempty"`
		}{r.files, r.told.Digest, r.created, r.there, r.set, r.applied})
	}
	rows := [][2]string{{"nodes", fmt.Sprintf("%d created, %d there already", r.created, r.there)}, {"aliases", fmt.Sprintf("%d set", r.set)}}
	if n := len(r.applied); n > 0 {
		rows = append(rows, [2]string{"erased", fmt.Sprintf("%d of the nodes, by receipts", n)})
	}
	rows = append(rows, r.files.rows(nameLine(as))...)
	return r.printRows(append(rows, [2]string{"digest", r.told.Digest}))
}

// A call sets at most so many aliases with so many states and bytes: less than a server takes.
const setAliases, setStates, setBytes = 500, 5_000, 1 << 20
