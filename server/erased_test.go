package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
	"github.com/transcriptd/transcriptd/server"
)

// erase erases all messages of nodes.
func (r *rig) erase(ids ...string) {
	r.Helper()
	r.eraseWhere(func(int) bool { return true }, ids...)
}

// eraseWhere erases messages of nodes: those that erased tells of, by their index.
func (r *rig) eraseWhere(erased func(i int) bool, ids ...string) {
	r.Helper()
	for _, text := range ids {
		id := must[chainstore.ID](r)(chainstore.ParseID(text))
		var nodes []chainstore.ErasedNode
		err := r.store.Nodes(r.ctx(), "default", []chainstore.ID{id}, func(n *chainstore.FoundNode) error {
			was := must[chainstore.Judgement](r)(server.Judge(n.Header, n.Payload, n.Metadata, n.Parent, n.Covers))
			messages := must[[]*Message](r)(canonical.DecodePayload(n.Payload))
			left := chainstore.ErasedNode{
				ID: id, Payload: canonical.EncodePayload(canonical.ErasedWhere(messages, erased)), Variables: was.Variables, Receipt: testreceipt.Of(r, id, ""),
				PayloadDigest: canonical.PayloadDigest(n.Header.Salt, n.Payload),
			}
			left.Facts = must[chainstore.Judgement](r)(server.Judge(n.Header, left.Payload, nil, n.Parent, n.Covers)).Messages
			if len(n.Metadata) > 0 {
				digest := chainstore.ID(canonical.MetadataDigest(n.Header.Salt, n.Metadata))
				left.MetadataDigest = &digest
			}
			nodes = append(nodes, left)
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
		equal(r, "the nodes erased", must[int](r)(r.store.Erase(r.ctx(), "default", nodes)), 1)
	}
}

// TestPayloadErased: a node that was erased is refused where it is put again, by its field. Views show markers, whose nodes hash to their ids by
// the digests that are told, and Verify finds nothing.
func TestPayloadErased(t *testing.T) {
	r := newRig(t)
	salt := []byte(strings.Repeat("s", 16))
	first := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Messages: []*Message{user("my secret")}, Salt: salt, Metadata: variables("x", `"secret"`, "y", `1`),
	})).NodeId
	ids := append([]string{first}, r.put(first, calling("read", "c1")))
	ids = append(ids, r.put(ids[1], result("c1", "a secret")))
	ids = append(ids, r.put(ids[2], assistant("so")))
	before := r.describe(&Describe{Head: byID(ids[3])})
	r.erase(ids[0], ids[1], ids[2])
	_, err := r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("my secret")}, Salt: salt, Metadata: variables("x", `"secret"`, "y", `1`)})
	r.fails(err, codes.FailedPrecondition, "PAYLOAD_ERASED", "salt")
	_, err = r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
		{Messages: []*Message{user("other")}}, {Parent: byID(ids[0]), Messages: []*Message{calling("read", "c1")}},
	}})
	r.fails(err, codes.FailedPrecondition, "PAYLOAD_ERASED", "nodes[1].salt")
	equal(r, "a node put behind", r.put(ids[2], assistant("so")), ids[3])

	view := r.assemble(&Assemble{Head: byID(ids[3]), View: full, NodeDetail: envelopes})
	r.verify(view.Messages, view.Nodes, "")
	markers := []*Message{user("[erased]"), calling("read", "c1"), result("c1", "[erased]"), assistant("so")}
	markers[1].Parts = append([]*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "[erased]"}}}, markers[1].Parts...)
	markers[1].Parts[1].GetToolCall().Arguments = "{}"
	r.sameMessages("the messages", view.Messages, markers...)
	after := r.describe(&Describe{Head: byID(ids[3]), Mode: modePreview})
	equal(r, "the variables", len(after.Variables), len(before.Variables))
	for i, v := range after.Variables {
		equal(r, "the name", v.Name, before.Variables[i].Name)
		equal(r, "what is told of the value", v.Type+v.Preview, "")
	}
	found := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(ids[0])}))
	equal(r, "the salt", len(found.Info.Envelope.Salt), 0)
	equal(r, "the metadata", len(found.Metadata.GetEntries()), 0)
	equal(r, "what is told of its messages", found.Info.Content, transcriptv1.NodeContent_NODE_CONTENT_ERASED)
	r.clean("")
}

// TestErasedViews: a view says which messages were erased, it has another name once they were, and whoever may hold them gets all of it.
func TestErasedViews(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", user("one"), assistant("two"), user("three"), assistant("four"))
	view := func(v transcriptv1.View, after string, erasures int64, etag string) *transcriptv1.AssembleResponse {
		t.Helper()
		return r.assemble(&Assemble{Head: byAlias("chat"), View: v, AfterId: after, AfterErasures: erasures, IfNoneMatch: etag, NodeDetail: envelopes})
	}
	etags := map[transcriptv1.View]string{}
	for _, v := range []transcriptv1.View{full, effective, conversation} {
		etags[v] = view(v, "", 0, "").Etag
		equal(r, "that it is as it was", view(v, "", 0, etags[v]).NotModified, true)
	}
	r.erase(ids[0], ids[1])
	erasures := view(full, "", 0, "").Erasures
	for v, etag := range etags {
		now := view(v, "", 0, etag)
		equal(r, "that it is as it was", now.NotModified, false)
		equal(r, "erasures", now.Erasures, erasures)
		equal(r, "that it is as it was since", view(v, "", 0, now.Etag).NotModified, true)
		var kinds []transcriptv1.FindingKind
		for _, f := range now.Report.Findings {
			kinds = append(kinds, f.Kind)
			equal(r, "of how many messages", f.Count, 1)
		}
		equal(r, "findings", fmt.Sprint(kinds), "[FINDING_KIND_ERASED FINDING_KIND_ERASED]")
		equal(r, "repairs", now.Report.Repairs, 0)
		for i, n := range now.Nodes {
			want := transcriptv1.NodeContent_NODE_CONTENT_VERBATIM
			if i < 2 {
				want = transcriptv1.NodeContent_NODE_CONTENT_ERASED
			}
			equal(r, "what is told of its messages", n.Content, want)
		}
	}
	for _, v := range []transcriptv1.View{full, effective} {
		equal(r, "the base of who may hold it", view(v, ids[2], 0, "").BaseId, "")
		equal(r, "the base of who read after the first", view(v, ids[2], erasures-1, "").BaseId, "")
		equal(r, "the messages", len(view(v, ids[2], 0, "").Messages), 4)
		equal(r, "the base of who read since", view(v, ids[2], erasures, "").BaseId, ids[2])
		frames := must[[]*transcriptv1.StreamAssembleResponse](r)(r.frames(&Assemble{Head: byAlias("chat"), View: v, AfterId: ids[2], AfterErasures: erasures}))
		equal(r, "the base of a stream", frames[0].BaseId, ids[2])
		equal(r, "the erasures of a stream", frames[0].Erasures, erasures)
	}
	_, err := r.Assemble(r.ctx(), &Assemble{Head: byAlias("chat"), AfterId: ids[2], AfterErasures: -1})
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "after_erasures")
}

// TestErasedMeanwhile: a compaction is planned again where something was erased, and is given up in the end.
func TestErasedMeanwhile(t *testing.T) {
	store := &between{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	ids := r.chain("chat", concat(work("1"), work("2"), work("3"))...)
	store.f = func() { r.erase(ids[0]) }
	res := r.compact(&Compact{Head: byAlias("chat")})
	equal(r, "that it is written", res.Written, true)
	equal(r, "the first message", r.assemble(&Assemble{Head: byAlias("chat")}).Messages[0].Parts[0].GetText(), "[erased]")
	r.put2("chat", concat(work("4"), work("5"), work("6"), work("7"))...)
	left := ids[1:]
	var again func()
	again = func() {
		r.erase(left[0])
		left, store.f = left[1:], again
	}
	store.f = again
	_, err := r.Compact(r.ctx(), &Compact{Head: byAlias("chat")})
	r.fails(err, codes.Aborted, "ERASED_MEANWHILE", "")
	store.f = nil
	r.clean("")
}
