package server_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// racers are writers that put batches of nodes and compactions at once, all under each other's nodes.
type racers struct {
	*rig
	mu  sync.Mutex
	ids []string
}

// put adds nodes that others go on from.
func (w *racers) put(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = append(w.ids, ids...)
}

// one is the id of a node that was put lately.
func (w *racers) one(rnd *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ids[len(w.ids)-1-rnd.IntN(min(len(w.ids), 20))]
}

// node is a node that changes variables; some were spawned, begin a chain, or come behind the one before.
func (w *racers) node(rnd *rand.Rand, i int) *transcriptv1.NewNode {
	n := &transcriptv1.NewNode{Messages: []*Message{user("u"), assistant("a")}, Salt: fmt.Appendf(nil, "%016x", rnd.Uint64())}
	set := map[string]string{}
	for range rnd.IntN(30) {
		name := fmt.Sprintf("%0*d", []int{3, 200}[rnd.IntN(2)], rnd.IntN(200))
		set["var/"+name] = []string{"", "1"}[rnd.IntN(2)]
		set["varinfo/"+name] = []string{"", fmt.Sprintf(declaration, 5, 6)}[rnd.IntN(2)]
		delete(set, []string{"var/", "varinfo/"}[rnd.IntN(2)]+name)
	}
	for key, value := range set {
		n.Metadata = append(n.Metadata, &transcriptv1.MetadataEntry{Key: key, Value: value})
	}
	if rnd.IntN(4) == 0 {
		n.SpawnedFrom = spawnedBy(w.one(rnd), "c")
	}
	switch k := rnd.IntN(8); {
	case i > 0 && k < 4:
		n.Previous = true
	case k < 7:
		n.Parent = byID(w.one(rnd))
	}
	if rnd.IntN(5) == 0 { // most of these fail, and nothing of the batch is put
		n.Aliases = []*Update{{Name: fmt.Sprint("alias ", i), Precondition: &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: w.one(rnd)},
		}}}
	}
	return n
}

// race puts one batch or compaction after the other.
func (w *racers) race(seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 40 {
		if rnd.IntN(8) == 0 {
			if reply, err := w.Compact(w.ctx(), &Compact{Head: byID(w.one(rnd))}); err == nil && reply.Written {
				w.put(reply.NodeId)
			}
			continue
		}
		req := &transcriptv1.PutNodesRequest{}
		for i := range 1 + rnd.IntN(4) {
			req.Nodes = append(req.Nodes, w.node(rnd, i))
		}
		if reply, err := w.PutNodes(w.ctx(), req); err == nil {
			for _, n := range reply.Nodes {
				w.put(n.NodeId)
			}
		}
	}
}

// walks are the nodes as they are read one by one.
type walks map[string]*transcriptv1.GetNodeResponse

func (w walks) program(id string) *programNode {
	if id == "" {
		return nil
	}
	n := &programNode{id: id, parent: w.program(w[id].Info.Envelope.ParentId), metadata: map[string]string{}}
	for _, e := range w[id].Metadata.GetEntries() {
		n.metadata[e.Key] = e.Value
	}
	return n
}

func (w walks) depth(id string) int32 {
	for ; id != ""; id = w[id].Info.Envelope.ParentId {
		if from := w[id].Info.Envelope.SpawnedFrom; from != nil {
			return w.depth(from.NodeId) + 1
		}
	}
	return 0
}

// TestDescribeAfterRaces: whatever writers did at once, with batches, forks, compactions and changes that fail, variables and depths are
// those of a walk over the path, and the same when the store is opened again.
func TestDescribeAfterRaces(t *testing.T) {
	dir := t.TempDir()
	open := func() (*rig, *badgerstore.Store) {
		disk, err := badgerstore.Open(dir, badgerstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = disk.Close() })
		return newPlainRig(t, disk), disk
	}
	tell := func(r *rig, id string) *DescribeResponse {
		return r.describe(&Describe{
			Head: byID(id), Mode: modePreview, MaxItems: 64, VariableNames: &VariableNames{Prefix: proto.String("")}, Now: timestamppb.New(begun),
		})
	}
	r, disk := open()
	w := &racers{rig: r, ids: []string{r.put("", user("u"), calling("task", "c"))}}
	var all sync.WaitGroup
	for seed := range uint64(6) {
		all.Go(func() { w.race(seed) })
	}
	all.Wait()
	told := map[string]*DescribeResponse{}
	for _, id := range w.ids {
		told[id] = tell(r, id)
	}
	if err := disk.Close(); err != nil {
		t.Fatal(err)
	}
	r, _ = open()
	r.clean("")
	nodes := walks{}
	for _, id := range w.ids {
		nodes[id] = must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id), OmitMessages: true}))
	}
	for _, id := range w.ids {
		d := told[id]
		r.sameReply("a description after the store was opened again", tell(r, id), d)
		equal(r, "the depth", d.Lineage.SpawnDepth, nodes.depth(id))
		by := map[string]string{}
		for _, v := range nodes.program(id).variables() {
			by[v.name] = v.node.id
		}
		equal(r, "the variables", len(d.Variables)+int(d.MoreVariables), len(by))
		for _, v := range d.Variables {
			equal(r, "the node that set "+v.Name, v.SetBy.NodeId, by[v.Name])
		}
	}
}
