package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// eraseCanaries puts a chain with the canary in everything that erasure takes away, compacted twice, and gives the ids of its nodes that have it, and of
// the compaction nodes.
func (r *rig) eraseCanaries() (targets, compactions []string) {
	r.Helper()
	root := r.put("", system("the prompt"))
	ask := &PutNode{
		Parent: byID(root), Salt: []byte(canary + "-salt-0123"[:16-len(canary)%16]), Messages: []*Message{user("asks of " + canary)},
		Metadata: []*transcriptv1.MetadataEntry{{Key: "subject", Value: canary}, {Key: "var/x", Value: `"` + canary + `"`}},
		Notes:    []*transcriptv1.MessageNote{{Model: canary, Attributes: map[string]string{"user": canary}}},
		Aliases:  []*Update{{Name: "chat"}},
	}
	targets = append(targets, must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), ask)).NodeId)
	call := calling("read", "c1")
	call.Parts[0].GetToolCall().Arguments = `{"path":"` + canary + `"}`
	targets = append(targets, r.put2("chat", call), r.put2("chat", result("c1", strings.Repeat("reads "+canary+" ", 40))), r.put2("chat", assistant("replies "+canary)))
	through := r.put2("chat", work("2")...)
	compactions = append(compactions, r.compact(&Compact{Head: byAlias("chat"), ThroughId: through, Summary: "tells of " + canary}).NodeId)
	r.put2("chat", work("3")...)
	compactions = append(compactions, r.compact(&Compact{Head: byAlias("chat")}).NodeId)
	r.put2("chat", work("4")...)
	return targets, compactions
}

// replies are those of every rpc that reads content, as texts.
func (r *rig) replies(ids []string) (all []string) {
	r.Helper()
	add := func(m proto.Message, err error) {
		r.Helper()
		if err != nil {
			r.Error(err)
			return
		}
		b := must[[]byte](r)(proto.Marshal(m))
		all = append(all, fmt.Sprintf("%s: %s", m.ProtoReflect().Descriptor().Name(), b))
	}
	add(asMessage(r.GetNodes(r.ctx(), &transcriptv1.GetNodesRequest{NodeIds: ids})))
	for _, head := range append([]*NodeRef{byAlias("chat")}, byID(ids[3])) {
		for _, view := range []transcriptv1.View{full, effective, conversation} {
			q := &Assemble{Head: head, View: view, NodeDetail: envelopes}
			add(asMessage(r.Assemble(r.ctx(), q)))
			for _, f := range must[[]*transcriptv1.StreamAssembleResponse](r)(r.frames(q)) {
				add(f, nil)
			}
		}
		add(asMessage(r.ListRunLoops(r.ctx(), &transcriptv1.ListRunLoopsRequest{Head: head, PreviewChars: 200})))
		add(asMessage(r.RecallToolCall(r.ctx(), &transcriptv1.RecallToolCallRequest{Head: head, ToolCallId: ptr("c1")})))
		add(asMessage(r.ReplayTools(r.ctx(), &Replay{Head: head})))
		add(asMessage(r.Describe(r.ctx(), &transcriptv1.DescribeRequest{Head: head, Mode: modePreview})))
		add(asMessage(r.Search(r.ctx(), &transcriptv1.SearchRequest{
			Scope: &transcriptv1.SearchRequest_Head{Head: head}, Pattern: &transcriptv1.SearchRequest_Text{Text: canary},
		})))
	}
	for _, id := range ids {
		add(asMessage(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(id)})))
		add(asMessage(r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byID(id)})))
	}
	return all
}

func asMessage[M proto.Message](m M, err error) (proto.Message, error) { return m, err }

// TestEraseShowsNoCanary: what was shown by calls before an erasure is shown by none behind it, by each selector that finds the nodes.
func TestEraseShowsNoCanary(t *testing.T) {
	selectors := map[string]func(r *rig, ids []string) *Erase{
		"ids": func(_ *rig, ids []string) *Erase { return &Erase{Selector: theNodes(ids...)} },
		"prefix": func(*rig, []string) *Erase {
			return &Erase{Selector: prefixOf("chat"), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_KEEP}
		},
	}
	for name, selects := range selectors {
		t.Run(name, func(t *testing.T) {
			bothEngines(t, func(r *rig) {
				targets, compactions := r.eraseCanaries()
				ids := slices.Concat(targets, compactions)
				shown := 0
				for _, reply := range r.replies(ids) {
					if strings.Contains(reply, canary) {
						shown++
					}
				}
				if shown < 15 {
					r.Errorf("%d replies show the canary before", shown)
				}
				r.erased(selects(r, targets))
				for _, reply := range r.replies(ids) {
					if at := strings.Index(reply, canary); at >= 0 {
						r.Errorf("it is shown: %q", reply[max(0, at-200):at+len(canary)])
					}
				}
				if !r.shows(byAlias("chat"), "the prompt") {
					r.Error("the prompt went, too")
				}
				r.silent()
			})
		})
	}
}

// cutting is a store whose Erase fails from the n-th time on.
type cutting struct {
	chainstore.Store
	left int
}

func (c *cutting) Erase(ctx context.Context, ns string, nodes []chainstore.ErasedNode) (int, error) {
	if c.left--; c.left < 0 {
		return 0, chainstore.ErrDiskFull
	}
	return c.Store.Erase(ctx, ns, nodes)
}

// TestEraseGoesOn: of a call that is cut at any of its commits, and made again, nothing is left, also where its selector finds no node any more that was erased.
func TestEraseGoesOn(t *testing.T) {
	by := &Erase{Selector: &transcriptv1.EraseRequest_Metadata{Metadata: &transcriptv1.EntrySelector{Key: "subject", Value: canary}}}
	for commits := range 3 {
		store := &cutting{memstore.New(memstore.Options{}), commits}
		r := newRig(t, store)
		targets, _ := r.eraseCanaries()
		_, err := r.erasingCall(by)
		if commits < 2 && err == nil {
			t.Errorf("%d commits were enough", commits)
		}
		store.left = 100
		must[*erasing](r)(r.erasingCall(by))
		if r.shows(byAlias("chat"), "asks of "+canary) || r.shows(byAlias("chat"), "tells of "+canary) {
			t.Errorf("cut behind %d commits, it shows", commits)
		}
		must[*erasing](r)(r.erasingCall(&Erase{Selector: theNodes(targets...)}))
		equal(r, "whether anything shows at last", r.shows(byAlias("chat"), canary), false)
		r.clean("")
	}
}

// TestEraseBesideCompactions: chats that are compacted all the time while their words are erased show none of it when both have ended.
func TestEraseBesideCompactions(t *testing.T) {
	bothEngines(t, func(r *rig) {
		const chats = 8
		var ids []string
		for i := range chats {
			name := fmt.Sprint("chat/", i)
			chain := r.chain(name, concat([]*Message{user(fmt.Sprint("a secret ", i))}, work("1"), work("2"))...)
			ids = append(ids, chain[0])
		}
		done, failed := make(chan struct{}), make(chan error, chats)
		for i := range chats {
			go func() {
				name := byAlias(fmt.Sprint("chat/", i))
				for n := 0; ; n++ {
					select {
					case <-done:
						failed <- nil
						return
					default:
					}
					_, err := r.PutNode(r.ctx(), &PutNode{Parent: name, Messages: work(fmt.Sprint(n + 3)), Aliases: []*Update{{Name: name.GetAlias()}}})
					if err == nil {
						_, err = r.Compact(r.ctx(), &Compact{Head: name})
					}
					if f := failureOf(err); err != nil && f.reason != "ERASED_MEANWHILE" && f.reason != "ALIAS_MOVED" {
						failed <- err
						return
					}
				}
			}()
		}
		for _, id := range ids {
			must[*erasing](r)(r.erasingCall(&Erase{Selector: theNodes(id), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE}))
		}
		close(done)
		for range chats {
			if err := <-failed; err != nil {
				r.Error(err)
			}
		}
		for i := range chats {
			equal(r, "whether it shows", r.shows(byAlias(fmt.Sprint("chat/", i)), "a secret"), false)
		}
		again := r.erased(&Erase{Selector: theNodes(ids...)})
		equal(r, "what is found behind it", again.NodesErased, 0)
	})
}

// TestEraseEndsWithItsCaller: who hangs up ends it, and what it had begun is there for the next.
func TestEraseEndsWithItsCaller(t *testing.T) {
	r := newRig(t)
	ids := r.chain("chat", user("a secret"), assistant("so"))
	ctx, cancel := context.WithCancel(r.ctx())
	stream := must[grpc.ServerStreamingClient[transcriptv1.EraseResponse]](r)(r.admin.Erase(ctx, &Erase{Selector: theNodes(ids[1])}))
	_, err := stream.Recv()
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) && failureOf(err).reason != "CANCELLED" && !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("it ends with %v", err)
	}
	must[*erasing](r)(r.erasingCall(&Erase{Selector: theNodes(ids[1])}))
	equal(r, "whether it shows", r.shows(byID(ids[1]), "so"), false)
}
