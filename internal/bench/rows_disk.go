package bench

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// What the figures of these rows are of.
var (
	bytesOfBranches = claim{"50 branches of 20 turns off the middle of 200: bytes added, of an unbranched chain's", atMost(1.05)}
	bytesOfText     = claim{"disk bytes per text byte, 1,000 turns, as a stopped transcriptd leaves them", atMost(0.5)}
	bytesOfNode     = claim{
		"disk bytes a node beside its payload of 100, one chain of 100,000 nodes of one message", atMost(120).in("bytes"),
	}
	bytesOfFork  = claim{"disk bytes of a fork of one message, its payload of 100 included", atMost(250).in("bytes")}
	bytesOfAlias = claim{"disk bytes of an alias with a name of 24 bytes", atMost(120).in("bytes")}
)

// filesElsewhere is why a row is void whose figure is the size of a store's files.
const filesElsewhere = "the server's files lie elsewhere"

// branchBytes holds what 50 branches of 20 turns take, off the middle of a chain of 200, against the same turns put behind
// that chain: each is a store of its own less one with that chain alone. Turns are put one by one, each with the alias of
// its branch, as agents do; so each branch takes an alias with 20 states, and the unbranched chain one with as many as are
// kept.
func branchBytes(ctx context.Context, e *env) ([]Figure, error) {
	const (
		trunk           = 200
		branches, turns = 50, 20
	)
	if e.Remote != "" {
		return voids(filesElsewhere, bytesOfBranches), nil
	}
	alone, err := e.atRest(ctx, func(ctx context.Context, s *server) error {
		_, err := s.chat(ctx, nil, "chat/trunk", 0, trunk)
		return err
	})
	if err != nil {
		return nil, err
	}
	branched, err := e.atRest(ctx, func(ctx context.Context, s *server) error {
		ids, err := s.chat(ctx, nil, "chat/trunk", 0, trunk)
		for b := 0; b < branches && err == nil; b++ {
			_, err = s.chat(ctx, byID(ids[trunk/2-1]), fmt.Sprintf("chat/branch-%d", b), uint64(trunk+b*turns), turns)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	straight, err := e.atRest(ctx, func(ctx context.Context, s *server) error {
		_, err := s.chat(ctx, nil, "chat/trunk", 0, trunk+branches*turns)
		return err
	})
	if err != nil {
		return nil, err
	}
	put := textOf(trunk, branches*turns)
	return []Figure{figure(bytesOfBranches, float64(branched-alone)/float64(straight-alone),
		perByte("branches", branched-alone, put), perByte("unbranched", straight-alone, put))}, nil
}

// textBytesOnDisk holds a store with a chain of 1,000 turns against the text in it: all that a turn says and calls with,
// nothing of how it is encoded. Turns are put one by one as agents do, each with an alias for its message and the chat's
// alias moved.
func textBytesOnDisk(ctx context.Context, e *env) ([]Figure, error) {
	const turns = 1000
	if e.Remote != "" {
		return voids(filesElsewhere, bytesOfText), nil
	}
	bytes, err := e.atRest(ctx, func(ctx context.Context, s *server) error {
		_, err := s.chat(ctx, nil, "chat/bench", 0, turns, messageAlias)
		return err
	})
	if err != nil {
		return nil, err
	}
	put := textOf(0, turns)
	return []Figure{figure(bytesOfText, float64(bytes)/float64(put), perByte("store", bytes, put))}, nil
}

// nodeBytesOnDisk tells what a store takes beside the payloads of a long chain, a node. Payloads hardly compress, so that
// what is saved on them does not hide what a node takes.
func nodeBytesOnDisk(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids(filesElsewhere, bytesOfNode), nil
	}
	const nodes = 100_000
	bytes, err := e.atRest(ctx, func(ctx context.Context, s *server) error {
		chain := make([]*transcriptv1.NewNode, nodes)
		for i := range chain {
			chain[i] = &transcriptv1.NewNode{Messages: small(uint64(i)), Previous: i > 0}
		}
		_, err := s.putAll(ctx, chain)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []Figure{figure(bytesOfNode, float64(bytes)/float64(nodes)-smallPayload, each("store", bytes, nodes))}, nil
}

// forkBytes tells what a fork takes, and what an alias does: a store with as many as there are chains, less one without.
// A chain is two nodes, and a fork a second child of the first; its 100 bytes of payload, which hardly compress, are
// counted. An alias is named as those of messages are, msg/ and 20 random characters, set with the node that it names, and
// never moved.
func forkBytes(ctx context.Context, e *env) ([]Figure, error) {
	if e.Remote != "" {
		return voids(filesElsewhere, bytesOfFork, bytesOfAlias), nil
	}
	chains := e.fewer(20_000, 10_000)
	size := func(forks, aliases bool) (int64, error) {
		return e.atRest(ctx, func(ctx context.Context, s *server) error { return s.pairs(ctx, chains, forks, aliases) })
	}
	plain, err := size(false, false)
	if err != nil {
		return nil, err
	}
	forked, err := size(true, false)
	if err != nil {
		return nil, err
	}
	named, err := size(false, true)
	if err != nil {
		return nil, err
	}
	without := each("chains of two", plain, chains)
	return []Figure{
		figure(bytesOfFork, float64(forked-plain)/float64(chains), without, each("with a fork each", forked, chains)),
		figure(bytesOfAlias, float64(named-plain)/float64(chains), without, each("with an alias each", named, chains)),
	}, nil
}

// pairs puts chains of two nodes, the second with an alias where there are to be aliases, and then forks off the first ones.
func (s *server) pairs(ctx context.Context, chains int, forks, aliases bool) error {
	var nodes []*transcriptv1.NewNode
	for i := range uint64(chains) {
		second := &transcriptv1.NewNode{Messages: small(2*i + 1), Previous: true}
		if aliases {
			second.Aliases = []*transcriptv1.AliasUpdate{{Name: messageAlias(i)}}
		}
		nodes = append(nodes, &transcriptv1.NewNode{Messages: small(2 * i)}, second)
	}
	ids, err := s.putAll(ctx, nodes)
	if err != nil || !forks {
		return err
	}
	nodes = nil
	for i := range chains {
		nodes = append(nodes, &transcriptv1.NewNode{Messages: small(uint64(2*chains + i)), Parent: byID(ids[2*i])})
	}
	_, err = s.putAll(ctx, nodes)
	return err
}

// messageAlias names a turn's message as agents do, by an id of 20 characters from where it was sent.
func messageAlias(seed uint64) string {
	return "msg/" + base64.RawURLEncoding.EncodeToString(noise(noiseOfNames, seed, 15))
}

// chat puts turns with the seeds from first on as an agent does, one by one, each moving an alias and setting those that
// also names by its seed, below a parent or nil, and returns their ids.
func (s *server) chat(
	ctx context.Context, parent *transcriptv1.NodeRef, alias string, first uint64, turns int, also ...func(seed uint64) string,
) (ids []string, err error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	for seed := first; seed < first+uint64(turns); seed++ {
		req := &transcriptv1.PutNodeRequest{
			Namespace: s.namespace, Parent: parent, Messages: turn(seed), Aliases: []*transcriptv1.AliasUpdate{{Name: alias}},
		}
		for _, name := range also {
			req.Aliases = append(req.Aliases, &transcriptv1.AliasUpdate{Name: name(seed)})
		}
		res, err := rpc.PutNode(ctx, req)
		if err != nil {
			return nil, err
		}
		ids = append(ids, res.NodeId)
		parent = byID(res.NodeId)
	}
	return ids, nil
}

// putAll puts nodes in commits of up to 1,000 and returns their ids. A node whose parent is the previous one goes on the
// one before it, in whichever commit that is.
func (s *server) putAll(ctx context.Context, nodes []*transcriptv1.NewNode) (ids []string, err error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	for len(nodes) > 0 {
		n := min(1000, len(nodes))
		if nodes[0].Previous {
			nodes[0].Previous, nodes[0].Parent = false, byID(ids[len(ids)-1])
		}
		res, err := rpc.PutNodes(ctx, &transcriptv1.PutNodesRequest{Namespace: s.namespace, Nodes: nodes[:n]})
		if err != nil {
			return nil, err
		}
		for _, node := range res.Nodes {
			ids = append(ids, node.NodeId)
		}
		nodes = nodes[n:]
	}
	return ids, nil
}

// smallPayload is how many bytes small's message is as a payload.
const smallPayload = 100

// small is one message whose payload is smallPayload bytes, 90 of them random: encrypted reasoning, which a provider returns
// and takes as it is. Random text would not do: zstd saves a quarter of its bytes.
func small(seed uint64) []*transcriptv1.Message {
	role := transcriptv1.Role_ROLE_USER
	if seed%2 == 1 {
		role = transcriptv1.Role_ROLE_ASSISTANT
	}
	return []*transcriptv1.Message{{Role: role, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Reasoning{
		Reasoning: &transcriptv1.Reasoning{Redacted: noise(noiseOfPayloads, seed, smallPayload-10)},
	}}}}}
}

// Kinds of noise, so that no two are alike.
const (
	noiseOfNames = 3 + iota
	noiseOfPayloads
)

// noise is random bytes; the same numbers give the same.
func noise(kind, seed uint64, n int) []byte {
	random := rand.New(rand.NewPCG(kind, seed))
	var b []byte
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, random.Uint64())
	}
	return b[:n]
}

func textOf(first uint64, turns int) (n int64) {
	for i := range uint64(turns) {
		n += textBytes(turn(first + i))
	}
	return n
}

func perByte(name string, bytes, put int64) Measured {
	return Measured{Name: name, Value: float64(bytes) / float64(put), Unit: fmt.Sprintf("bytes a byte, of %d", put)}
}

func each(name string, bytes int64, n int) Measured {
	return Measured{Name: name, Value: float64(bytes) / float64(n), Unit: fmt.Sprintf("bytes each, of %d", n)}
}

// fewer is n, or where the run is quick fewer.
func (e *env) fewer(n, quick int) int {
	if e.Quick {
		return quick
	}
	return n
}
