package bench

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// filling is a store that is filled with chains.
type filling struct {
	s *server
	// heads are the chains'; disk is what the store takes of the disk, at rest.
	heads []string
	disk  int64
	// requests are how long each put of a batch took, in all of the while in which there were such.
	requests waits
	while    time.Duration
}

// fillToDisk puts chains until the store takes at least so many bytes of the disk, at rest, and starts the server on it
// again.
func fillToDisk(ctx context.Context, s *server, bytes int64) (*filling, error) {
	f := &filling{s: s}
	for f.disk < bytes {
		s.e.note("a store of %d MB is filled to %d", f.disk/1e6, bytes/1e6)
		// What is in logs takes more than it does in tables, and is counted while the server runs.
		err := f.fillWhile(ctx, func() (bool, error) {
			running, err := diskUsage(s.dir)
			if errors.Is(err, fs.ErrNotExist) { // a table that was merged away meanwhile
				return true, nil
			}
			return running < bytes+bytes/20, err
		})
		if err != nil {
			return nil, err
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
		if f.disk, err = diskUsage(s.dir); err != nil {
			return nil, err
		}
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// fillWhile lets several callers put chains, one after the other, as long as more says so.
func (f *filling) fillWhile(ctx context.Context, more func() (bool, error)) error {
	clients, err := f.s.clients(memoryFillers)
	if err != nil {
		return err
	}
	begin := time.Now()
	defer func() { f.while += time.Since(begin) }()
	var mu sync.Mutex
	told := begin
	group, ctx := errgroup.WithContext(ctx)
	for _, rpc := range clients {
		group.Go(func() (err error) {
			for goes := true; goes && err == nil; goes, err = more() {
				head, err := f.chain(ctx, rpc)
				if err != nil {
					return err
				}
				mu.Lock()
				f.heads = append(f.heads, head)
				if time.Since(told) > time.Minute {
					told = time.Now()
					f.s.e.note("%d chains", len(f.heads))
				}
				mu.Unlock()
			}
			return err
		})
	}
	return group.Wait()
}

// chain puts a chain in a few requests and returns its head.
func (f *filling) chain(ctx context.Context, rpc transcriptv1.TranscriptServiceClient) (head string, err error) {
	for range memoryChain / memoryBatch {
		first := f.s.e.seeds(memoryBatch)
		req := &transcriptv1.PutNodesRequest{Namespace: f.s.namespace}
		for i := range uint64(memoryBatch) {
			req.Nodes = append(req.Nodes, &transcriptv1.NewNode{Messages: turn(first + i), Previous: i > 0})
		}
		if head != "" {
			req.Nodes[0].Parent = byID(head)
		}
		begin := time.Now()
		res, err := rpc.PutNodes(ctx, req)
		if err != nil {
			return "", err
		}
		f.requests.add(time.Since(begin))
		head = res.GetNodes()[memoryBatch-1].GetNodeId()
	}
	return head, nil
}

// measured tells what the callers that filled the store waited for.
func (f *filling) measured() []Measured {
	return f.requests.sample(f.while).waited("PutNodes of 200 turns while the store was filled", memoryFillers)
}
