package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type NodeFacts = transcriptv1.NodeFacts

// bothEngines runs a test over an empty store of each engine.
func bothEngines(t *testing.T, test func(*rig)) {
	engines := map[string]func(t *testing.T) (chainstore.Store, error){
		"memory": func(*testing.T) (chainstore.Store, error) { return memstore.New(memstore.Options{}), nil },
		"badger": func(t *testing.T) (chainstore.Store, error) {
			store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
			if err == nil {
				t.Cleanup(func() { _ = store.Close() })
			}
			return store, err
		},
	}
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			test(newRig(t, store))
		})
	}
}

// metadata are entries of keys and values in turn.
func metadata(keysAndValues ...string) (entries []*transcriptv1.MetadataEntry) {
	for i := 0; i < len(keysAndValues); i += 2 {
		entries = append(entries, &transcriptv1.MetadataEntry{Key: keysAndValues[i], Value: keysAndValues[i+1]})
	}
	return entries
}

func TestNodeFactsByName(t *testing.T) {
	bothEngines(t, func(r *rig) {
		put := func(m *Message, parent *NodeRef, meta ...string) string {
			return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
				Parent: parent, Messages: []*Message{m}, Metadata: metadata(meta...), Aliases: []*Update{{Name: "chat"}},
			})).NodeId
		}
		put(system("s"), nil)
		first := put(user("hello"), byAlias("chat"), "message_id", "1001", "secret", "x")
		put(assistant("hi"), byAlias("chat"), "message_id", strings.Repeat("é", 512), "long", strings.Repeat("l", 1025))
		got := r.assemble(&Assemble{Head: byAlias("chat"), NodeDetail: ids, NodeFacts: &NodeFacts{MetadataKeys: []string{"message_id", "long"}}})
		equal(r, "the nodes", len(got.Nodes), 3)
		for i, want := range []string{"[] false", "[message_id 1001] false", "[message_id " + strings.Repeat("é", 512) + "] true"} {
			var told []string
			for _, e := range got.Nodes[i].Metadata {
				told = append(told, e.Key, e.Value)
			}
			equal(r, "what is told of a node", fmt.Sprint(told, got.Nodes[i].HasMoreMetadata), want)
		}
		node := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(first)}))
		equal(r, "its first put", got.Nodes[1].FirstPutAt.AsTime(), node.FirstPutAt.AsTime())
		bare := r.assemble(&Assemble{Head: byAlias("chat"), NodeDetail: ids, NodeFacts: &NodeFacts{}})
		equal(r, "the metadata without keys", len(bare.Nodes[1].Metadata), 0)
		equal(r, "the first put without keys", bare.Nodes[1].FirstPutAt.AsTime(), node.FirstPutAt.AsTime())
	})
}

// TestNodeFactsFit: keys and values of a node are told up to 16 KiB; what does not fit is left out whole, and what is smaller comes still.
func TestNodeFactsFit(t *testing.T) {
	r := newRig(t)
	var all []*transcriptv1.MetadataEntry
	var keys []string
	for i := range 14 {
		all = append(all, metadata(fmt.Sprintf("k%02d", i), strings.Repeat("v", 1024))...)
	}
	room := 16<<10 - 14*(3+1024)
	all = append(all, metadata("k14", strings.Repeat("v", 1024), "k15", strings.Repeat("v", room-3-1024-3))...)
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	told := func() *transcriptv1.NodeInfo {
		id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("q")}, Metadata: all})).NodeId
		return r.assemble(&Assemble{Head: byID(id), NodeDetail: ids, NodeFacts: &NodeFacts{MetadataKeys: keys}}).Nodes[0]
	}
	equal(r, "the entries of 16 KiB", fmt.Sprint(len(told().Metadata), told().HasMoreMetadata), "16 false")
	all[15].Value += "v"
	equal(r, "the entries of a byte more", fmt.Sprint(len(told().Metadata), told().HasMoreMetadata), "15 true")
	all[15].Value = "v"
	all[13].Value += "v"
	n := told()
	equal(r, "the entries beside one that is too large", fmt.Sprint(len(n.Metadata), n.HasMoreMetadata)+" "+n.Metadata[14].Key, "15 true k15")
}

// factsProgram is a random tree whose nodes have metadata.
type factsProgram struct{ *program }

func (p *factsProgram) grow() {
	t := p.t
	if len(p.heads) > 0 && rapid.IntRange(0, 3).Draw(t, "compact") == 0 {
		p.compactAt(p.head())
		return
	}
	req := &PutNode{Namespace: p.namespace, Metadata: drawMetadata(t)}
	if len(p.heads) > 0 {
		req.Parent = byID(p.head())
	}
	for range rapid.IntRange(1, 3).Draw(t, "messages") {
		req.Messages = append(req.Messages, drawMessage(t))
	}
	p.heads = append(p.heads, must[*transcriptv1.PutNodeResponse](p.rig)(p.PutNode(p.ctx(), req)).NodeId)
}

// factKeys are keys that nodes have and that are asked for; two of the long ones with the largest values do not fit by keys alone.
func factKeys() []string {
	keys := []string{"message_id", "var/x"}
	for i := range 18 {
		keys = append(keys, strings.Repeat(string(rune('a'+i)), 1+i*15))
	}
	return keys
}

func drawMetadata(t *rapid.T) (entries []*transcriptv1.MetadataEntry) {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(factKeys()), 0, 20, rapid.ID).Draw(t, "keys")
	for _, key := range keys {
		n := rapid.SampledFrom([]int{0, 1, 700, 1023, 1024, 1025, 4096}).Draw(t, "value")
		entries = append(entries, metadata(key, strings.Repeat("v", n))...)
	}
	return entries
}

// factsModel is what is told of a node's metadata, and whether something is left out.
func factsModel(all []*transcriptv1.MetadataEntry, keys []string) (told []*transcriptv1.MetadataEntry, more bool) {
	sum := 0
	for _, e := range all {
		if !slices.Contains(keys, e.Key) {
			continue
		}
		if len(e.Value) <= 1024 && sum+len(e.Key)+len(e.Value) <= 16*1024 {
			sum += len(e.Key) + len(e.Value)
			told = append(told, e)
		} else {
			more = true
		}
	}
	return told, more
}

// checkFacts compares a view that tells facts with the same view that does not, and each node with GetNode. It counts what is left out.
func (p *factsProgram) checkFacts(req *Assemble, keys []string) (left int) {
	req.Namespace, req.NodeDetail = p.namespace, rapid.SampledFrom([]transcriptv1.NodeDetail{ids, envelopes}).Draw(p.t, "detail")
	plain := p.assemble(req)
	req.NodeFacts = &NodeFacts{MetadataKeys: keys}
	told := p.assemble(req)
	if frames := must[*transcriptv1.AssembleResponse](p.rig)(p.streamed(req)); !proto.Equal(frames, told) {
		p.Errorf("in frames the reply is\n%v\nwant\n%v", frames, told)
	}
	for _, n := range told.Nodes {
		node := must[*transcriptv1.GetNodeResponse](p.rig)(p.GetNode(p.ctx(), &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(n.NodeId)}))
		want, more := factsModel(node.Metadata.GetEntries(), keys)
		equal(p.rig, "the first put", n.FirstPutAt.AsTime(), node.FirstPutAt.AsTime())
		equal(p.rig, "that metadata is left out", n.HasMoreMetadata, more)
		if !proto.Equal(&transcriptv1.Metadata{Entries: n.Metadata}, &transcriptv1.Metadata{Entries: want}) {
			p.Errorf("the metadata of a node is %v, want %v", n.Metadata, want)
		}
		if n.FirstPutAt, n.Metadata, n.HasMoreMetadata = nil, nil, false; more {
			left++
		}
	}
	equal(p.rig, "that the etag is another", told.Etag == plain.Etag, false)
	held := proto.CloneOf(req)
	held.IfNoneMatch = told.Etag
	equal(p.rig, "not_modified", p.assemble(held).NotModified, true)
	held.NodeFacts = &NodeFacts{MetadataKeys: append(slices.Clone(keys[:min(len(keys), 15)]), "another")}
	equal(p.rig, "not_modified for other keys", p.assemble(held).NotModified, false)
	if told.Etag = plain.Etag; !proto.Equal(told, plain) {
		p.Errorf("without the facts the reply is\n%v\nwant\n%v", told, plain)
	}
	return left
}

// TestNodeFacts compares the facts of all views of random trees with GetNode's.
func TestNodeFacts(t *testing.T) {
	bothEngines(t, func(r *rig) {
		compacted, left := 0, 0
		model := &viewModel{rig: r, namespace: "facts"}
		rapid.Check(r.T, func(rt *rapid.T) {
			p := &factsProgram{&program{viewModel: model, t: rt}}
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				p.grow()
			}
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom(factKeys()), 0, 16, rapid.ID).Draw(rt, "asked")
			head := p.head()
			after := rapid.SampledFrom(p.path(head)).Draw(rt, "after").id
			for _, req := range []*Assemble{
				{View: full}, {View: full, AfterId: after}, {View: effective}, {View: effective, AfterId: after},
				{View: conversation, Policy: drawPolicy(rt)},
			} {
				req.Head = byID(head)
				left += p.checkFacts(req, keys)
			}
			compacted += p.compacted
			if r.Failed() {
				rt.FailNow()
			}
		})
		if !testing.Short() && (compacted == 0 || left == 0) {
			r.Errorf("%d compactions were written, of %d nodes metadata was left out: one of the two was not tried", compacted, left)
		}
	})
}

// TestLargestNodeWithFacts: the frame of a node as large as a node can be, with notes, envelope, facts and findings, has its bound.
func TestLargestNodeWithFacts(t *testing.T) {
	r := newRig(t)
	req := &PutNode{Parent: byID(r.put("", system("s")))}
	for range 1000 {
		late := result("x", strings.Repeat("m", 4000)) // each a finding
		req.Messages = append(req.Messages, late)
		req.Notes = append(req.Notes, fullNote(62))
	}
	room := canonical.MaxPayloadBytes - len(canonical.EncodePayload(req.Messages))
	req.Messages[0] = result("x", strings.Repeat("m", 4000+room))
	for n := len(canonical.EncodePayload(req.Messages)) - canonical.MaxPayloadBytes; n > 0; n = len(canonical.EncodePayload(req.Messages)) - canonical.MaxPayloadBytes {
		req.Messages[0] = result("x", strings.Repeat("m", len(req.Messages[0].Parts[0].GetText())-n))
	}
	var keys []string
	for i := range 16 {
		keys = append(keys, fmt.Sprintf("%02d%s", i, strings.Repeat("k", []int{0, 254}[i%2])))
		req.Metadata = append(req.Metadata, metadata(keys[i], strings.Repeat("v", 1024))...)
	}
	req.Salt = []byte(strings.Repeat("s", 32))
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{
		Head: byID(id), View: full, NodeDetail: envelopes, NodeFacts: &NodeFacts{MetadataKeys: keys},
	})
	largest := 0
	for err == nil {
		var f *transcriptv1.StreamAssembleResponse
		if f, err = stream.Recv(); err == nil {
			largest = max(largest, proto.Size(f))
		}
	}
	if largest < canonical.MaxPayloadBytes+80<<10 || largest > 4<<20 {
		r.Errorf("the largest frame has %d bytes", largest)
	}
}

// TestFramesAreMadeBySizeWithFacts: frames of small nodes are about 64 KiB with what is told of them.
func TestFramesAreMadeBySizeWithFacts(t *testing.T) {
	r := newRig(t)
	nodes := &transcriptv1.PutNodesRequest{}
	var keys []string
	for i := range 200 {
		n := &transcriptv1.NewNode{Previous: i > 0, Messages: []*Message{user(fmt.Sprint(i))}}
		for k := range 15 {
			n.Metadata = append(n.Metadata, metadata(fmt.Sprint("k", k), strings.Repeat("v", 1024))...)
		}
		nodes.Nodes = append(nodes.Nodes, n)
	}
	for k := range 15 {
		keys = append(keys, fmt.Sprint("k", k))
	}
	put := must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), nodes))
	stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{
		Head: byID(put.Nodes[199].NodeId), NodeDetail: ids, NodeFacts: &NodeFacts{MetadataKeys: keys},
	})
	frames, told := 0, 0
	for err == nil {
		var f *transcriptv1.StreamAssembleResponse
		if f, err = stream.Recv(); err == nil {
			frames, told = frames+1, told+len(f.Nodes)
			if size := proto.Size(f); size > 64<<10+1<<10 {
				r.Errorf("a frame of %d bytes", size)
			}
		}
	}
	equal(r, "the nodes told of", told, 200)
	equal(r, "that there are many frames", frames >= 200*15/64, true)
}
