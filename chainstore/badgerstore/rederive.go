package badgerstore

import (
	"context"
	"errors"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/verify"
)

// Rederive checks the store in a directory, which nobody else may have open, as Verify does, and makes anew what follows from nodes and
// aliases: indexes, folds in headers, counters. Each problem that it puts right is Repaired. What was put or set stays as it is: messages,
// metadata, notes, aliases, their history, settings. A row of an index whose node, or alias, is not there or cannot be read stays too, for it
// tells what is lost.
//
// What is put right is in commits of its own, parents before children. When it ends early, also by a kill, what is left is found when it is
// called again. The check has no Cursor. Errors are those of Open and Verify, and chainstore.ErrDiskFull.
func Rederive(
	ctx context.Context, dir string, o Options, check chainstore.Check, judge chainstore.Judge, report func(chainstore.VerifyReport) error,
) error {
	o.noPurges = true // they would commit beside
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	err = s.rederive(ctx, check, judge, report)
	return errors.Join(err, s.Close())
}

// rederive is Rederive of a store that nobody has written to since it was opened.
func (s *Store) rederive(ctx context.Context, check chainstore.Check, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	if check.Cursor != nil {
		return chainstore.ErrBadCursor
	}
	v := verify.Verifier{
		Source: s.source, Now: s.now, Judge: judge, Report: report,
		Mend: func(rows map[string][]byte) error { return s.rewriteRows(ctx, rows) },
	}
	return v.Verify(ctx, check)
}

// rewriteRows commits rows, nil for those to delete, in as many commits as they need.
func (s *Store) rewriteRows(ctx context.Context, rows map[string][]byte) error {
	mostBytes, mostKeys := s.source.DB.MaxCommit()
	writes, bytes := map[string]commit.Write{}, int64(0)
	flush := func() error {
		if err := errors.Join(s.source.DB.Ready()); err != nil {
			return err
		}
		err := s.write(s.source.Versions.Last()+1, writes)
		s.source.DB.Pace(ctx)
		writes, bytes = map[string]commit.Write{}, 0
		return err
	}
	for key, value := range rows {
		w := commit.Write{Value: value, Deleted: value == nil}
		cost := commit.Cost(key, w)
		if len(writes) > 0 && (bytes+cost > mostBytes || int64(len(writes)) >= mostKeys) {
			if err := flush(); err != nil {
				return err
			}
		}
		writes[key], bytes = w, bytes+cost
	}
	return flush()
}
