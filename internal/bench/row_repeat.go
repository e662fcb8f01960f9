package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// repeats is how many calls are repeated.
const repeats = 200

// What the figures of this row are of.
var (
	bytesWritten = claim{"bytes written by puts of what is there", atMost(0).in("bytes")}
	keysWritten  = claim{"keys written by puts of what is there", atMost(0).in("keys")}
)

// repeatedPut counts what transcriptd writes when calls are repeated that it has answered before: puts behind a node id,
// some with an alias that points to the node already, and puts of several nodes. Before each count it is waited until
// transcriptd does no more work in the background. Counted are the keys that the engine sets or deletes, the bytes that the
// system counts as written to storage by the process, and the blocks that its files take. What the first puts wrote is shown
// beside it, as a proof that it is counted.
func repeatedPut(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids(errNotOurs.Error(), bytesWritten, keysWritten), nil
	}
	s, err := e.transcriptd()
	if err != nil {
		return nil, err
	}
	w, err := s.repeated(ctx)
	if err != nil {
		return nil, err
	}
	var counts [2]storeWrites
	for i, created := range []bool{true, false} {
		if counts[i], err = s.writes(ctx, func() error { return w.put(ctx, created) }); err != nil {
			return nil, err
		}
	}
	first, again := counts[0], counts[1]
	inBytes := figure(bytesWritten, max(again.stored, again.allocated),
		first.measured("the first puts"), again.measured("the same again"))
	if !again.told {
		inBytes = inBytes.voided("this system does not tell what a process writes")
	}
	return []Figure{inBytes, figure(keysWritten, again.keys,
		Measured{Name: "the first puts", Value: first.keys, Unit: "keys"},
		Measured{Name: "the same again", Value: again.keys, Unit: "keys"})}, nil
}

// storeWrites is what a transcriptd wrote.
type storeWrites struct {
	// keys the engine set or deleted; stored is bytes that the system counts as written, if it tells; allocated is
	// what files grew by on disk.
	keys, stored, allocated float64
	told                    bool
}

func (w *storeWrites) measured(name string) Measured {
	return Measured{Name: name + fmt.Sprintf(" (%g keys, files grow by %g bytes)", w.keys, w.allocated), Value: w.stored, Unit: "bytes"}
}

// writes counts what the server writes for f and until it is idle.
func (s *server) writes(ctx context.Context, f func() error) (w storeWrites, err error) {
	pid := s.process.cmd.Process.Pid
	if err := s.e.quiet(ctx, pid); err != nil {
		return w, err
	}
	storedBefore, told := storedBytes(pid)
	allocatedBefore, err := diskUsage(s.dir)
	if err != nil {
		return w, err
	}
	grown, err := s.grown(ctx, []string{engineSets}, func() error {
		if err := f(); err != nil {
			return err
		}
		return s.e.quiet(ctx, pid)
	})
	if err != nil {
		return w, err
	}
	stored, _ := storedBytes(pid)
	allocated, err := diskUsage(s.dir)
	return storeWrites{
		keys: grown[0], stored: float64(stored - storedBefore), allocated: float64(allocated - allocatedBefore), told: told,
	}, err
}

// storedBytes is what a process has had written to storage so far, pages of mapped files that it changed included; false
// where the system does not tell.
func storedBytes(pid int) (n int64, told bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		if value, ok := bytes.CutPrefix(line, []byte("write_bytes: ")); ok {
			n, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// repeated are calls that can be repeated.
type repeated struct {
	rpc    transcriptv1.TranscriptServiceClient
	single []*transcriptv1.PutNodeRequest
	many   []*transcriptv1.PutNodesRequest
}

// repeated makes the calls: puts behind the same node, every fourth with an alias, and puts of two nodes in one.
func (s *server) repeated(ctx context.Context) (*repeated, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	w := &repeated{rpc: rpc}
	root, err := s.fill(ctx, "repeated", s.e.seeds(10), 10)
	if err != nil {
		return nil, err
	}
	first := s.e.seeds(2 * repeats)
	for i := range uint64(repeats) {
		one := &transcriptv1.PutNodeRequest{Namespace: s.namespace, Parent: byID(root), Messages: turn(first + 2*i)}
		if i%4 == 0 {
			one.Aliases = []*transcriptv1.AliasUpdate{{Name: fmt.Sprintf("repeated/%d", i)}}
		}
		w.single = append(w.single, one)
		if i%10 == 0 {
			w.many = append(w.many, &transcriptv1.PutNodesRequest{Namespace: s.namespace, Nodes: []*transcriptv1.NewNode{
				{Parent: byID(root), Messages: turn(first + 2*i + 1)}, {Previous: true, Messages: turn(first + 2*i)},
			}})
		}
	}
	return w, nil
}

// put makes all calls; created is what each must answer.
func (w *repeated) put(ctx context.Context, created bool) error {
	var replies []*transcriptv1.PutNodeResponse
	for _, req := range w.single {
		res, err := w.rpc.PutNode(ctx, req)
		if err != nil {
			return err
		}
		replies = append(replies, res)
	}
	for _, req := range w.many {
		res, err := w.rpc.PutNodes(ctx, req)
		if err != nil {
			return err
		}
		replies = append(replies, res.Nodes...)
	}
	for _, res := range replies {
		if res.Created != created {
			return fmt.Errorf("a put answered created %t, not %t", res.Created, created)
		}
	}
	return nil
}
