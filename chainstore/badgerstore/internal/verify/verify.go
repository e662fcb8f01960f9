// Package verify reads everything that is stored, derives it again and tells what differs.
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/pace"
)

// ReportInterval is how often Verify reports, by the store's clock: well within the second that it promises.
const ReportInterval = 300 * time.Millisecond

// Verifier checks a store; see chainstore.Verifier.
type Verifier struct {
	Source *snapshot.Source
	// Now tells when to report.
	Now func() time.Time
	// Mend, if not nil, commits rows that are put right, nil for those to delete. Then nobody else has the store open.
	Mend func(rows map[string][]byte) error
	// Judge recomputes nodes from their bytes, Report is told what is found.
	Judge  chainstore.Judge
	Report func(chainstore.VerifyReport) error
}

// Verify checks a namespace, or the store.
func (v Verifier) Verify(ctx context.Context, check chainstore.Check) error {
	r := &verification{
		Verifier: v, ctx: ctx, reported: v.Now(), marked: v.Now(), pace: pace.Pace{Rate: check.BytesPerSecond}, cursor: check.Cursor,
		at: &position{whole: check.WholeStore, namespace: check.Namespace},
	}
	if check.Cursor != nil {
		if err := r.at.parse(check.Cursor); err != nil {
			return err
		}
	}
	run := r.one
	switch {
	case check.WholeStore:
		run = r.store
	case v.Mend != nil:
		run = r.filesAndOne
	}
	if err := run(); err != nil {
		return err
	}
	return r.end()
}

// verification is one under way.
type verification struct {
	Verifier
	ctx  context.Context
	pace pace.Pace
	// view is the snapshot that is held, until due by the source's clock; read are the bytes read of all of them that the pace was
	// not told of.
	view *snapshot.Snapshot
	due  time.Duration
	read int64
	// at is how far it has come. At a mark, between two rows, it is whole: cursor is the last mark's, problems[:told] were found before.
	at       *position
	cursor   []byte
	problems []chainstore.Problem
	told     int
	mending
	// quiet says that what is found is told already; hides, that a damaged file may hide rows.
	quiet, hides bool
	// reported and marked are when there was a report, and a mark, last.
	reported, marked time.Time
}

// tick is called for every step of what takes its time: it reports if it is time to, and fails where Verify must end.
func (r *verification) tick() error {
	if err := r.alive(); err != nil || r.Now().Sub(r.reported) < ReportInterval {
		return err
	}
	return r.flush()
}

func (r *verification) alive() error {
	if r.Source.Versions.IsShut() {
		return chainstore.ErrClosed
	}
	return r.ctx.Err()
}

// isDue tells, between two rows, whether it is time for a mark: since it is time to report, to rest, or to let go of the snapshot.
func (r *verification) isDue() bool {
	r.spend()
	return len(r.problems) >= chainstore.MaxProblems || r.Now().Sub(r.marked) >= ReportInterval || r.isOld() || r.pace.Due()
}

func (r *verification) isOld() bool { return r.Source.Clock() >= r.due }

// spend tells the pace what was read.
func (r *verification) spend() {
	r.pace.Read(r.read)
	r.read = 0
}

// mark makes a cursor of how far it has come, reports, and rests. No cursor on the snapshot is open.
func (r *verification) mark() error {
	r.cursor, r.told, r.marked = r.at.append(nil), len(r.problems), r.Now()
	if err := r.flush(); err != nil {
		return err
	}
	return r.rest()
}

// rest waits as long as the pace says, and takes a new snapshot where the one that is held is old.
func (r *verification) rest() error {
	for {
		if r.isOld() {
			if err := r.view.Renew(); err != nil {
				return err
			}
			r.hold()
		}
		if !r.pace.Due() {
			return nil
		}
		if err := r.pace.Rest(r.ctx, ReportInterval); err != nil {
			return err
		}
		if err := r.tick(); err != nil {
			return err
		}
	}
}

func (r *verification) hold() { r.due = r.Source.Clock() + chainstore.RowsHold }

// flush reports how far it has come, and what was found before the last mark.
func (r *verification) flush() error {
	out := r.at.report()
	out.Problems, out.Cursor = r.problems[:r.told:r.told], r.cursor
	r.problems, r.told, r.reported = r.problems[r.told:], 0, r.Now()
	return r.Report(out)
}

// end is the last report.
func (r *verification) end() error {
	r.cursor, r.told = nil, len(r.problems)
	return r.flush()
}

// inView runs f on a snapshot of the newest state, which is renewed at rests. While one is open, the database is not closed.
func (r *verification) inView(f func(*snapshot.Snapshot) error) error {
	v, err := r.Source.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	v.Meter(&r.read)
	r.view = v
	r.hold()
	return f(v)
}

func (r *verification) problem(kind chainstore.ProblemKind, id *chainstore.ID, format string, args ...any) {
	if r.quiet {
		return
	}
	p := chainstore.Problem{Kind: kind, Namespace: r.at.namespace, What: fmt.Sprintf(format, args...)}
	if id != nil {
		p.HasNode, p.Node = true, *id
	}
	r.problems = append(r.problems, p)
}

// set puts a row right, of which the last problem is.
func (r *verification) set(key, value []byte) {
	if r.Mend != nil {
		r.write(key, append([]byte{}, value...))
		r.repaired()
	}
}

// drop takes a row away.
func (r *verification) drop(key []byte) {
	if r.Mend != nil {
		r.write(key, nil)
	}
}

// repaired says that the last problem is put right.
func (r *verification) repaired() {
	if r.Mend != nil && len(r.problems) > 0 {
		r.problems[len(r.problems)-1].Repaired = true
	}
}

// settle commits what is put right, and goes on in a snapshot that has it. No cursor on the one that is held is open.
func (r *verification) settle() error {
	if len(r.mended) == 0 {
		return nil
	}
	if err := r.Mend(r.mended); err != nil {
		return err
	}
	r.mending = mending{}
	if err := r.view.Renew(); err != nil {
		return err
	}
	r.hold()
	return nil
}

// judged makes what is corrupt a problem, and lets other errors through.
func (r *verification) judged(kind chainstore.ProblemKind, id *chainstore.ID, err error) error {
	if !errors.Is(err, chainstore.ErrCorrupt) {
		return err
	}
	r.problem(kind, id, "%v", err)
	return nil
}

// one checks the one namespace.
func (r *verification) one() error {
	if err := r.alive(); err != nil {
		return err
	}
	return r.inView(func(v *snapshot.Snapshot) error {
		number, _, err := v.NumberOf(r.at.namespace)
		if err != nil {
			return err
		}
		v.Namespace = number
		return r.namespace(v)
	})
}

// filesAndOne checks the files, which may hide rows, and then the one namespace.
func (r *verification) filesAndOne() error {
	if err := r.files(); err != nil {
		return err
	}
	return r.one()
}
