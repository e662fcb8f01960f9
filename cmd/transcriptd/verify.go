package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/bytecount"
	"github.com/transcriptd/transcriptd/server"
)

type verifyConfig struct {
	Namespace string          `placeholder:"NAME" help:"Check this namespace alone. Default: the whole store."`
	Rate      bytecount.Count `placeholder:"N" help:"Read at most N bytes of the store a second: in bytes or as 64KiB, 20MiB; 0: no bound."`
	Cursor    string          `placeholder:"TOKEN" help:"Go on where an earlier check of the same was, as its last line tells."`
	Recover   bool            `help:"Open the folder as a start does: what a kill left in the log becomes a table, and a store of an earlier format is brought to this one. Default: no file is changed, and such a folder is refused."`
	Repair    bool            `help:"Make anew what follows from nodes and aliases: indexes, folds in headers, counters. What was put or set is not changed. Then the store is checked again."`
}

func (v *verifyConfig) check() error {
	if v.Repair && v.Cursor != "" {
		return usagef("--repair begins at the beginning: leave out --cursor")
	}
	return nil
}

const commandVerify = "verify"

// errProblems says that a store has problems; they are printed already.
var errProblems = errors.New("problems were found in the store: docs/operations.md says what to do about each kind")

// verifyFolder checks the store that --store names, which no transcriptd has open, and prints what it finds.
func verifyFolder(ctx context.Context, cfg *config, stdout, stderr io.Writer) error {
	path, err := cfg.badgerPath(commandVerify)
	if err != nil {
		return err
	}
	options, err := cfg.storeOptions()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, "MANIFEST")); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store in %s", path)
	}
	options.Logger = newLogger(cfg, stderr)
	f := &folder{cfg: cfg, path: path, options: options, out: stdout}
	if cfg.Verify.Repair {
		if err := f.repair(ctx); err != nil {
			return err
		}
	}
	return f.verify(ctx)
}

// folder is a store that is checked by the program alone.
type folder struct {
	cfg     *config
	path    string
	options badgerstore.Options
	out     io.Writer
	// newest is the last report, found counts problems, repaired those that were put right.
	newest          chainstore.VerifyReport
	found, repaired int
}

func (f *folder) check() (chainstore.Check, error) {
	check := chainstore.Check{WholeStore: f.cfg.Verify.Namespace == "", Namespace: f.cfg.Verify.Namespace, BytesPerSecond: int64(f.cfg.Verify.Rate)}
	if f.cfg.Verify.Cursor == "" {
		return check, nil
	}
	cursor, err := base64.RawURLEncoding.DecodeString(f.cfg.Verify.Cursor)
	if err != nil || len(cursor) == 0 {
		return check, usagef("--cursor must be what the last line of an earlier check tells")
	}
	check.Cursor = cursor
	return check, nil
}

// verify checks the store. Error: errProblems.
func (f *folder) verify(ctx context.Context) (err error) {
	check, err := f.check()
	if err != nil {
		return err
	}
	options := f.options
	options.ReadOnly = !f.cfg.Verify.Recover && !f.cfg.Verify.Repair
	store, err := badgerstore.Open(f.path, options)
	if errors.Is(err, badgerstore.ErrUnclean) {
		return fmt.Errorf("opening the store in %s: %w\nNothing was changed. Give --recover to open it as a start does, or work on a copy of it", f.path, err)
	}
	if err != nil {
		return fmt.Errorf("opening the store in %s: %w%s", f.path, err, aboutKey(err))
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	f.found, f.newest = 0, chainstore.VerifyReport{}
	err = store.Verify(ctx, check, server.Judge, func(r chainstore.VerifyReport) error { return f.take(r, true) })
	if errors.Is(err, chainstore.ErrBadCursor) {
		return usagef("--cursor is of another check, or of another version of the program: leave it out to begin anew")
	}
	if err != nil {
		return f.ended(ctx, err)
	}
	if !check.WholeStore && f.newest.Nodes+f.newest.Entries == 0 && f.found == 0 {
		if err := f.isThere(ctx, store, check.Namespace); err != nil {
			return err
		}
	}
	fmt.Fprintf(f.out, "checked: nodes %d, index entries %d, namespaces %d, files %d; problems: %d\n",
		f.newest.Nodes, f.newest.Entries, max(f.newest.Namespaces, one(!check.WholeStore)), f.newest.Files, f.found)
	if f.found > 0 {
		return errProblems
	}
	return nil
}

// ended says how a check that was not finished goes on. It can from where a table was read to its end.
func (f *folder) ended(ctx context.Context, err error) error {
	how := "it ended before a table was read to its end: repeat the same command"
	if f.newest.Cursor != nil {
		how = "to go on: the same command with --cursor " + base64.RawURLEncoding.EncodeToString(f.newest.Cursor)
	}
	fmt.Fprintf(f.out, "not finished; %s\n", how)
	if ctx.Err() != nil {
		return fmt.Errorf("verifying the store in %s: interrupted", f.path)
	}
	return fmt.Errorf("verifying the store in %s: %w", f.path, err)
}

// isThere is an error where the store has no namespace of a name: a check of it would be clean.
func (f *folder) isThere(ctx context.Context, store *badgerstore.Store, namespace string) error {
	found, err := store.Namespaces(ctx, chainstore.NamespaceQuery{Prefix: namespace, Limit: 1})
	if err != nil {
		return fmt.Errorf("verifying the store in %s: %w", f.path, err)
	}
	if !slices.Contains(found, namespace) {
		return fmt.Errorf("nothing was checked: the store in %s has no namespace %q", f.path, namespace)
	}
	return nil
}

func one(so bool) int64 {
	if so {
		return 1
	}
	return 0
}

// repair makes anew what follows from other rows. What it cannot put right, the check behind it tells.
func (f *folder) repair(ctx context.Context) error {
	check, err := f.check()
	if err != nil {
		return err
	}
	err = badgerstore.Rederive(ctx, f.path, f.options, check, server.Judge, func(r chainstore.VerifyReport) error { return f.take(r, false) })
	if err != nil {
		return fmt.Errorf("repairing the store in %s: %w%s", f.path, err, aboutKey(err))
	}
	fmt.Fprintf(f.out, "problems: %d, repaired: %d\n", f.found, f.repaired)
	return nil
}

// take takes a report and prints its problems: all, or those that were put right.
func (f *folder) take(r chainstore.VerifyReport, all bool) error {
	f.newest = r
	for _, p := range r.Problems {
		f.found++
		if p.Repaired {
			f.repaired++
		}
		if !p.Repaired && !all {
			continue
		}
		if _, err := fmt.Fprintln(f.out, problemLine(&p)); err != nil {
			return err
		}
	}
	return nil
}

// problemLine is a problem in a line: its kind, the namespace and the node, - for none, and what is wrong.
func problemLine(p *chainstore.Problem) string {
	namespace, node, what := "-", "-", p.What
	if p.Namespace != "" {
		namespace = fmt.Sprintf("%q", p.Namespace)
	}
	if p.HasNode {
		node = p.Node.String()
	}
	if p.Repaired {
		what += " (repaired)"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s", p.Kind, namespace, node, what)
}
