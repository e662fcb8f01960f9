package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/transcriptd/transcriptd/tools/limits/internal/limit"
	"github.com/transcriptd/transcriptd/tools/limits/internal/measure"
)

var (
	importLike = measure.AtLeast(0.5, "import of real conversations, 10 workers: throughput relative to the same import into a bare committer").OnDisk().
			Meaning("The same import, behind the same gRPC, takes little less where nodes are only made durable.")
	importAlone = measure.AtLeast(0.5, "the same: throughput relative to a bare committer that has the payloads at hand").OnDisk().
			Meaning("Nor has the import into a bare committer 0.5 of it: most of an import is reading, parsing, naming and sending.")
)

// importWorkers is how many conversations are stored at once.
const importWorkers = 10

// importReal holds the import of real conversations against the bare committer, in two forms. Each import goes into a namespace of its
// own, so that every node is written, and takes the time of its process, from start to end.
//
// The first is like with like: the same command reads, parses, names and sends the same lines, in the same batches, to a server that
// only makes their payloads durable. The second is the committer alone: the batches that the import sends, noted beforehand, are handed
// to one in this process by as many workers.
func importReal(ctx context.Context, e *env) ([]measure.Figure, error) {
	files, _ := filepath.Glob(filepath.Join(e.transcripts, "*.jsonl.gz")) // a folder is no bad pattern
	if len(files) == 0 {
		why := fmt.Sprintf("there is no *.jsonl.gz in the folder %q that --transcripts names", e.transcripts)
		return []measure.Figure{importLike.Nothing(why), importAlone.Nothing(why)}, nil
	}
	s, err := e.fresh()
	if err != nil {
		return nil, err
	}
	bare, err := e.limit(limit.Importing)
	if err != nil {
		return nil, err
	}
	alone, err := e.replayed(ctx, files)
	if err != nil {
		return nil, err
	}
	o, err := measure.Contest(ctx, e.rounds, 0, s.imports("transcriptd", files), bare.imports("a bare committer", files), alone)
	if err != nil {
		return nil, err
	}
	return []measure.Figure{
		measure.Versus(importLike, o[0], o[1], (*measure.Sample).Rate), measure.Versus(importAlone, o[0], o[2], (*measure.Sample).Rate),
	}, nil
}

// imports are imports into a server, one after the other.
func (s *server) imports(name string, files []string) *measure.Side {
	var times atomic.Int64
	return &measure.Side{Name: name, Callers: 1, Rest: s.rest, Call: func(ctx context.Context, _, _ int) error {
		return s.e.importInto(ctx, s.process.Addr, fmt.Sprintf("import-%d", times.Add(1)), files)
	}}
}

// importInto runs the command.
func (e *env) importInto(ctx context.Context, addr, namespace string, files []string) error {
	args := append([]string{"import", "--addr=" + addr, "--namespace=" + namespace, fmt.Sprintf("--workers=%d", importWorkers)}, files...)
	if out, err := exec.CommandContext(ctx, e.transcriptctl, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("import: %w\n%s", err, out)
	}
	return nil
}

// replayed hands the batches of an import to a committer in this process.
func (e *env) replayed(ctx context.Context, files []string) (*measure.Side, error) {
	batches, err := e.batches(ctx, files)
	if err != nil {
		return nil, err
	}
	dir, err := e.folder()
	if err != nil {
		return nil, err
	}
	c, err := limit.OpenCommitter(dir)
	if err != nil {
		return nil, err
	}
	e.ends(c.Close)
	rest := func(ctx context.Context) error { return e.rest(ctx, os.Getpid()) }
	return &measure.Side{Name: "a bare committer alone", Callers: 1, Rest: rest, Call: func(context.Context, int, int) error {
		group := new(errgroup.Group)
		group.SetLimit(importWorkers)
		for _, batch := range batches {
			group.Go(func() error { return c.Put(batch...) })
		}
		return group.Wait()
	}}, nil
}

// batches are the payloads of each request of an import.
func (e *env) batches(ctx context.Context, files []string) (batches [][][]byte, err error) {
	dir, err := e.folder()
	if err != nil {
		return nil, err
	}
	i, err := limit.OpenImport(dir)
	if err != nil {
		return nil, err
	}
	i.Batches = &batches
	addr, stop, err := i.Listen(ctx)
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	err = e.importInto(ctx, addr, "batches", files)
	return batches, errors.Join(err, stop())
}
