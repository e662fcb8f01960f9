// Package erasure finds the nodes that a request selects and what copies them, and erases them.
package erasure

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Erasure is what to erase, and how. One of IDs, Prefix, Metadata and Attribute is set.
type Erasure struct {
	Store     chainstore.Store
	Namespace string

	IDs                 []chainstore.ID
	Prefix              string
	Metadata, Attribute *transcriptv1.EntrySelector

	DryRun bool
	// Roots says what becomes of roots without a salt.
	Roots transcriptv1.SharedRoots
	// Receipts makes the receipts.
	Receipts *Receipts
	// Reference stands in them.
	Reference string
	// Holds refuses what is held, which ends the call.
	Holds Holds
	// Wait waits until the content has left the files; Erased is called before.
	Wait   bool
	Erased func()
	// Most is how many nodes, and how many names of aliases, are selected at most. Field is the one of the request that selects them.
	Most  int
	Field string
	// Tell is told how far it is. What it is given is its own.
	Tell func(*transcriptv1.EraseResponse) error
}

// Holds refuses what is held.
type Holds interface {
	// Check is asked about all nodes and aliases before the first is erased. Erase runs what erases some of them, and Labels what erases labels of aliases.
	Check(ctx context.Context, ids []chainstore.ID, names []string) error
	Erase(ctx context.Context, ids []chainstore.ID, erase func() error) error
	Labels(ctx context.Context, names []string, erase func() error) error
}

const (
	// batchNodes and batchBytes bound what one commit erases, and what is in memory of it.
	batchNodes = 200
	batchBytes = 4 << 20
	// pageBytes is about how much is read at a time where all nodes of a namespace are looked at.
	pageBytes = 1 << 20
	// listed is how many entries of each list are in a report.
	listed = 1000
	// looks is how often it looks behind a target again, while others put copies of it.
	looks = 16
)

// ErrCopiesGoOn says that others put compactions with copies as fast as these are erased.
var ErrCopiesGoOn = errors.New("compactions with copies of what is erased are put as fast as they are erased")

// ErrSharedRoot says that a root without a salt is selected, and nothing is said of such. It comes in a SharedRootError.
var ErrSharedRoot = errors.New("a root without a salt is selected, which all chains have that begin with the same words")

// SharedRootError is ErrSharedRoot of a root.
type SharedRootError struct{ ID chainstore.ID }

// Error names the root.
func (e *SharedRootError) Error() string { return ErrSharedRoot.Error() + ": " + e.ID.String() }

// Unwrap is ErrSharedRoot.
func (e *SharedRootError) Unwrap() error { return ErrSharedRoot }

// Run erases. The last report is told with its counts, and without a phase. Errors: wire.Missing, SharedRootError, canonical.ErrLimit of Field, ErrCopiesGoOn, those of Holds, Tell and the store.
func (e *Erasure) Run(ctx context.Context) error {
	r := &run{Erasure: e, now: &transcriptv1.EraseResponse{}, targets: map[chainstore.ID]*target{}}
	if err := r.held(ctx); err != nil {
		return err
	}
	if e.Wait {
		e.Erased()
		r.targets, r.heads, r.names = nil, nil, nil // it can wait for long
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
	r.now.Phase, r.now.Done = transcriptv1.ErasePhase_ERASE_PHASE_UNSPECIFIED, true
	return r.tell(nil)
}

// run is an erasure under way.
type run struct {
	*Erasure
	// now has the counts and the phase.
	now *transcriptv1.EraseResponse
	// targets are the nodes that are selected, and those of which copies are looked for.
	targets map[chainstore.ID]*target
	// heads are the nodes with which Prefix began.
	heads []chainstore.ID
	// names are the aliases with Prefix, labelled is how many of them have labels.
	names    []string
	labelled int64
	// labelsAt is when labels were erased last, in milliseconds since the epoch; 0: no alias is selected.
	labelsAt int64
	// purges is the content that is to leave the files, where that is waited for.
	purges []purging
	// selected counts the targets that are not unselected.
	selected int
}

// purging is content of nodes that leaves the files together: the receipt of one of them tells when.
type purging struct {
	id    chainstore.ID
	nodes int64
}

// tooMany refuses a selection.
func (r *run) tooMany() error {
	return wire.OverLimit(r.Field, "must select at most %d nodes, and as many aliases: erase some of them first, by a longer prefix or by ids", r.Most)
}

// leaves notes content that is to leave the files.
func (r *run) leaves(id chainstore.ID, nodes int) {
	if r.Wait && nodes > 0 {
		r.purges = append(r.purges, purging{id, int64(nodes)})
	}
}

// leftBefore notes the content of a node that was erased before, unless it has left the files.
func (r *run) leftBefore(id chainstore.ID, receipt *chainstore.Receipt) {
	if receipt.PurgedAt == 0 {
		r.leaves(id, 1)
	}
}

// target is a node whose copies are to go.
type target struct {
	seq uint32
	// kept says that it is a root that stays, and is no target.
	kept bool
	// erasedAt is when it was erased before, in milliseconds since the epoch; 0: it was not.
	erasedAt int64
	// again says that it is a compaction node that was erased before, of which there may be more to erase; unselected, that it only was found
	// erased.
	again, unselected bool
}

// held selects and erases. Nothing that is there is collected meanwhile.
func (r *run) held(ctx context.Context) error {
	release, err := r.Store.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	r.now.Phase = transcriptv1.ErasePhase_ERASE_PHASE_SELECTING
	if err := r.tell(nil); err != nil {
		return err
	}
	if err := r.selectNodes(ctx); err != nil {
		return err
	}
	all := r.sorted(func(t *target) bool { return t.erasedAt == 0 || t.again })
	r.now.Phase, r.now.NodesSelected = transcriptv1.ErasePhase_ERASE_PHASE_ERASING, int64(len(all))+r.now.AlreadyErased
	if err := r.tell(nil); err != nil {
		return err
	}
	if err := r.Holds.Check(ctx, slices.Concat(all, r.heads), r.names); err != nil {
		return err
	}
	if err := r.erase(ctx, all, nil); err != nil {
		return err
	}
	fresh, before := r.sorted(func(t *target) bool { return t.erasedAt == 0 }), r.sorted(func(t *target) bool { return t.erasedAt != 0 })
	found := &behind{run: r, reached: map[chainstore.ID]bool{}, listed: map[chainstore.ID]bool{}}
	for _, group := range [][]chainstore.ID{fresh, before} {
		if err := found.look(ctx, group); err != nil {
			return err
		}
	}
	if !r.DryRun {
		return r.labels(ctx)
	}
	r.now.LabelsErased = r.labelled
	if err := r.spawned(ctx, fresh); err != nil {
		return err
	}
	return r.reaching(ctx, found.reached)
}

// tell tells how far it is, with what add adds.
func (r *run) tell(add func(*transcriptv1.EraseResponse)) error {
	report := proto.CloneOf(r.now)
	if add != nil {
		add(report)
	}
	return r.Tell(report)
}

// breathe tells how far the run is, and rests.
func (r *run) breathe(ctx context.Context, since time.Time) error {
	if err := r.tell(nil); err != nil {
		return err
	}
	return rest(ctx, since)
}

// rest waits for as long as something took, so that others have their turn, too.
func rest(ctx context.Context, since time.Time) error {
	return deadline.Sleep(ctx, time.Since(since))
}
