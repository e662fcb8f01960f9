package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// importWorkers is how many conversations are stored at once.
const importWorkers = 10

// importReal holds the import of real conversations against the bare committer, in two forms. Each import goes into a
// namespace of its own, so that every node is written, and takes the time of its process, from start to end.
//
// The first is like with like: the same command reads, parses, names and sends the same lines, in the same batches, to a
// server that only makes their payloads durable. What is left is what a store costs.
//
// The second is the committer alone: the payloads of the nodes that the import creates, read out beforehand, are handed to
// one in this process, by as many workers and as many at a time as the import puts. What that has on the import is mostly
// that nobody reads, parses, names or sends anything. What the committer takes where each worker waits for every node by
// itself is told beside.
func importReal(ctx context.Context, e *env) ([]Figure, error) {
	files, why := e.transcripts()
	if why != "" {
		return voids(why, importLike, importAlone), nil
	}
	i, err := e.newImporting(files)
	if err != nil {
		return nil, err
	}
	chains, err := i.first(ctx)
	if err != nil {
		return nil, err
	}
	batched, err := e.bareImport("bare committer, a batch a call", chains, importBatchNodes)
	if err != nil {
		return nil, err
	}
	single, err := e.bareImport("bare committer, a node a call", chains, 1)
	if err != nil {
		return nil, err
	}
	o, err := e.contest(ctx, 0,
		i.side("transcriptd", i.server), i.side("the same import into a bare committer", i.limit), batched, single)
	if err != nil {
		return nil, err
	}
	return importFigures(o[0], o[1], o[2], o[3], nodesIn(chains)), nil
}

// What the figures of the import are of.
var (
	importLike  = claim{"import of real conversations, 10 workers: speed of a bare committer's", atLeast(0.5).onDisk(syncsAtAll)}
	importAlone = claim{"the same: speed of a bare committer that has the nodes at hand", atLeast(0.5).onDisk(syncsAtAll)}
)

// importFigures are made of imports of so many nodes into transcriptd and into the bare committer, and of the committer
// alone, with a batch and with a node a call.
func importFigures(ours, like, batched, single *outcome, nodes int) []Figure {
	of := func(o *outcome) Measured { return imported(o, nodes) }
	return []Figure{
		ratios(importLike, over(ours, like, (*sample).perSecond), of(ours), of(like)),
		ratios(importAlone, over(ours, batched, (*sample).perSecond), of(ours), of(batched), of(single)),
	}
}

// imported is the nodes a second of a side whose calls are imports.
func imported(o *outcome, nodes int) Measured {
	m := o.measured()
	return Measured{Name: o.name, Value: m.PerSecond * float64(nodes), Unit: fmt.Sprintf("nodes a second, of %d", nodes)}
}

func nodesIn(chains [][][]byte) (n int) {
	for _, chain := range chains {
		n += len(chain)
	}
	return n
}

// transcripts are the files to import, or why there are none.
func (e *env) transcripts() (files []string, why string) {
	switch {
	case e.Remote != "":
		return nil, "what it is held against runs beside a transcriptd of its own only"
	case e.Transcripts == "":
		return nil, "there is no folder with conversations: name it with --transcripts"
	}
	if files, _ = filepath.Glob(filepath.Join(e.Transcripts, "*.jsonl.gz")); len(files) == 0 {
		return nil, "there is no *.jsonl.gz in the folder with conversations"
	}
	return files, ""
}

// importing is the import of files, again and again.
type importing struct {
	*env
	files         []string
	server, limit *server
	// times counts the imports, each of which has a namespace of its own.
	times atomic.Int64
}

func (e *env) newImporting(files []string) (i *importing, err error) {
	i = &importing{env: e, files: files}
	if i.server, err = e.transcriptd(); err != nil {
		return nil, err
	}
	i.limit, err = e.limit("import")
	return i, err
}

// side imports the files into a server in each round.
func (i *importing) side(name string, s *server) *side {
	return &side{
		name: name, limit: s == i.limit, callers: 1,
		call:   func(ctx context.Context, _, _ int) error { return i.run(ctx, s, i.namespace()) },
		settle: s.settled,
	}
}

func (i *importing) namespace() string {
	return fmt.Sprintf("%s-%d", i.server.namespace, i.times.Add(1))
}

// run runs the command.
func (i *importing) run(ctx context.Context, s *server, namespace string) error {
	words := append([]string(nil), i.Import...)
	words = append(words, "--addr="+s.addr, "--namespace="+namespace, fmt.Sprintf("--workers=%d", importWorkers))
	words = append(words, i.files...)
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("import: %w\n%s", err, out)
	}
	return nil
}

// first imports into both servers once, and reads back the payloads of the nodes, conversation by conversation; one that
// several share is the first one's.
func (i *importing) first(ctx context.Context) (chains [][][]byte, err error) {
	namespace := i.namespace()
	if err := errors.Join(i.run(ctx, i.limit, namespace), i.run(ctx, i.server, namespace)); err != nil {
		return nil, err
	}
	c, err := i.server.client(client.WithNamespace(namespace))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for alias, err := range c.Aliases(ctx, client.AliasesWithPrefix("chat/")) {
		if err != nil {
			return nil, err
		}
		chain, err := newPayloads(ctx, c, alias.NodeId, known)
		if err != nil {
			return nil, err
		}
		chains = append(chains, chain)
	}
	return chains, nil
}

// newPayloads are the payloads of the nodes of a chain that are not known yet; then they are.
func newPayloads(ctx context.Context, c *client.Client, head string, known map[string]bool) (payloads [][]byte, err error) {
	query := client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}
	for frame, err := range c.Frames(ctx, client.ByID(head), query) {
		if err != nil {
			return nil, err
		}
		messages, err := frame.Encoded()
		if err != nil {
			return nil, err
		}
		for _, node := range frame.Nodes {
			var payload []byte
			for _, m := range messages[:node.MessageCount] {
				payload = append(payload, m...)
			}
			messages = messages[node.MessageCount:]
			if !known[node.NodeId] {
				known[node.NodeId] = true
				payloads = append(payloads, payload)
			}
		}
	}
	return payloads, nil
}

// The most that the import puts at once.
const (
	importBatchNodes = 250
	importBatchBytes = 1 << 20
)

// bareImport hands the payloads of chains to a committer of its own: each chain by one of the workers, which waits until
// as many payloads at a time are durable.
func (e *env) bareImport(name string, chains [][][]byte, atOnce int) (*side, error) {
	dir, err := e.folder("bare")
	if err != nil {
		return nil, err
	}
	p, err := openCommitter(dir)
	if err != nil {
		return nil, err
	}
	committer := p.(*bareCommitter)
	e.ends(committer.Close)
	return &side{name: name, limit: true, callers: 1, call: func(ctx context.Context, _, _ int) error {
		group, _ := errgroup.WithContext(ctx)
		group.SetLimit(importWorkers)
		for _, chain := range chains {
			group.Go(func() error { return committer.putChain(chain, atOnce) })
		}
		return group.Wait()
	}, settle: func(ctx context.Context) error { return e.quiet(ctx, os.Getpid()) }}, nil
}

// putChain makes payloads durable in order, up to so many and a MiB at a time.
func (b *bareCommitter) putChain(payloads [][]byte, atOnce int) error {
	for len(payloads) > 0 {
		var nodes []*bareNode
		for bytes := 0; len(nodes) < min(atOnce, len(payloads)); {
			payload := payloads[len(nodes)]
			if bytes += len(payload); len(nodes) > 0 && bytes > importBatchBytes {
				break
			}
			nodes = append(nodes, b.node(payload))
		}
		if err := b.hand(nodes...); err != nil {
			return err
		}
		payloads = payloads[len(nodes):]
	}
	return nil
}
