package server_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
	"github.com/transcriptd/transcriptd/server/internal/retention"
)

// Erase is a request to erase.
type Erase = transcriptv1.EraseRequest

// erasing is what the reports of an Erase have come to.
type erasing struct {
	*transcriptv1.EraseResponse
	nodes   []*transcriptv1.ErasedNode
	aliases []*transcriptv1.ReachingAlias
	spawned []string
	phases  []transcriptv1.ErasePhase
}

// ids are those of the nodes that the call erased, or would, in order.
func (e *erasing) ids() (ids []string) {
	for _, n := range e.nodes {
		if !n.AlreadyErased {
			ids = append(ids, n.NodeId)
		}
	}
	slices.Sort(ids)
	return ids
}

// node is what is told of a node.
func (e *erasing) node(id string) *transcriptv1.ErasedNode {
	for _, n := range e.nodes {
		if n.NodeId == id {
			return n
		}
	}
	return nil
}

// names are those of the aliases that are told.
func (e *erasing) names() (names []string) {
	for _, a := range e.aliases {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

// erasingCall runs an Erase to its end.
func (r *rig) erasingCall(req *Erase) (*erasing, error) {
	r.Helper()
	stream, err := r.admin.Erase(r.ctx(), req)
	if err != nil {
		return nil, err
	}
	all := &erasing{}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && all.GetDone():
			return all, nil
		case err != nil:
			return nil, err
		case all.GetDone():
			r.Error("a report comes behind the last one")
		case len(m.Nodes) > 1000 || len(m.Aliases) > 1000:
			r.Errorf("a report has %d nodes and %d aliases", len(m.Nodes), len(m.Aliases))
		}
		all.EraseResponse = m
		all.nodes, all.aliases, all.spawned = append(all.nodes, m.Nodes...), append(all.aliases, m.Aliases...), append(all.spawned, m.SpawnedNodeIds...)
		all.phases = append(all.phases, m.Phase)
	}
}

// erased runs an Erase that succeeds; one that is no dry run is made dry first, and both tell the same.
func (r *rig) erased(req *Erase) *erasing {
	r.Helper()
	dry := proto.CloneOf(req)
	dry.DryRun, dry.Reference, dry.WaitForFiles = true, "", false
	before := must[*erasing](r)(r.erasingCall(dry))
	if req.DryRun {
		return before
	}
	all := must[*erasing](r)(r.erasingCall(req))
	equal(r, "the nodes that a dry run tells", strings.Join(before.ids(), " "), strings.Join(all.ids(), " "))
	equal(r, "the messages that a dry run tells", before.Messages, all.Messages)
	equal(r, "the bytes that a dry run tells", before.MessageBytes, all.MessageBytes)
	equal(r, "the number of nodes that a dry run tells", before.NodesErased, all.NodesErased)
	equal(r, "the number of compaction nodes that a dry run tells", before.Compactions, all.Compactions)
	r.clean(req.Namespace)
	return all
}

// eraseOne puts a root and erases it.
func (r *rig) eraseOne(namespace, said string) string {
	r.Helper()
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Namespace: namespace, Messages: []*Message{user(said)}, Salt: salted('e'), Aliases: []*Update{{Name: "erased"}}})).NodeId
	must[*erasing](r)(r.erasingCall(&Erase{Namespace: namespace, Selector: theNodes(id)}))
	return id
}

func salted(c byte) []byte { return []byte(strings.Repeat(string(c), 16)) }

func theNodes(ids ...string) *transcriptv1.EraseRequest_Nodes {
	return &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: ids}}
}

func prefixOf(prefix string) *transcriptv1.EraseRequest_AliasPrefix {
	return &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: prefix}
}

// shows tells whether a view of a head shows a text.
func (r *rig) shows(head *NodeRef, what string) bool {
	r.Helper()
	for _, view := range []transcriptv1.View{full, effective} {
		if strings.Contains(r.assemble(&Assemble{Head: head, View: view, NodeDetail: envelopes}).String(), what) {
			return true
		}
	}
	return false
}

// TestEraseNodes: nodes by their ids are erased, with receipts; again nothing is, and what is not there is told.
func TestEraseNodes(t *testing.T) {
	bothEngines(t, func(r *rig) {
		ids := r.chain("chat", user("my secret"), calling("read", "c1"), result("c1", "a secret"), assistant("so"))
		fork := r.put(ids[1], result("c1", "another"))
		key := func() []byte {
			return must[*transcriptv1.ServerInfoResponse](r)(r.ServerInfo(r.ctx(), &transcriptv1.ServerInfoRequest{})).ReceiptPublicKey
		}
		must[*erasing](r)(r.erasingCall(&Erase{Selector: theNodes(ids[1]), DryRun: true}))
		equal(r, "the bytes of the key before an erasure", len(key()), 0)
		got := r.erased(&Erase{Selector: theNodes(ids[1], ids[2]), Reference: "T-1", WaitForFiles: true})
		equal(r, "the nodes", strings.Join(got.ids(), " "), strings.Join(slices.Sorted(slices.Values(ids[1:3])), " "))
		equal(r, "the number of nodes", got.NodesErased, 2)
		equal(r, "the number of messages", got.Messages, 2)
		equal(r, "the nodes in files", got.NodesInFiles, 0)
		if !slices.Contains(got.phases, transcriptv1.ErasePhase_ERASE_PHASE_PURGING) || got.Phase != transcriptv1.ErasePhase_ERASE_PHASE_UNSPECIFIED {
			r.Errorf("the phases were %v", got.phases)
		}
		equal(r, "whether the erased result shows", r.shows(byAlias("chat"), "a secret"), false)
		equal(r, "whether the rest shows", r.shows(byAlias("chat"), "my secret") && r.shows(byID(fork), "another"), true)

		again := must[*erasing](r)(r.erasingCall(&Erase{Selector: theNodes(ids[1], ids[2]), Reference: "T-2", WaitForFiles: true}))
		equal(r, "the nodes that are erased again", again.NodesErased, 0)
		equal(r, "the nodes that were erased", again.AlreadyErased, 2)
		equal(r, "whether that is told of a node", again.node(ids[1]).GetAlreadyErased(), true)

		info := must[*transcriptv1.ServerInfoResponse](r)(r.ServerInfo(r.ctx(), &transcriptv1.ServerInfoRequest{}))
		receipts := must[*transcriptv1.GetReceiptsResponse](r)(r.admin.GetReceipts(r.ctx(), &transcriptv1.GetReceiptsRequest{NodeIds: ids[1:3]})).Receipts
		for i, one := range receipts {
			says, err := canonical.CheckReceipt(one.Receipt)
			if err != nil || string(one.Receipt.PublicKey) != string(info.ReceiptPublicKey) || len(info.ReceiptPublicKey) != ed25519.PublicKeySize {
				r.Errorf("the receipt does not verify with the server's key: %v", err)
			}
			equal(r, "the node of a receipt", chainstore.ID(says.NodeId).String(), ids[1+i])
			equal(r, "the store, namespace and reference", says.StoreId+says.Namespace+says.Reference, info.StoreId+"defaultT-1")
			equal(r, "whether it left the files", one.PurgedAt != nil, true)
			equal(r, "whether it was erased before", says.ErasedAt.AsTime().After(one.PurgedAt.AsTime()), false)
		}
		if other := newRig(r.T, r.store); r.store.Info().Engine == "badger" {
			again := must[*transcriptv1.ServerInfoResponse](other)(other.ServerInfo(r.ctx(), &transcriptv1.ServerInfoRequest{}))
			equal(r, "the key as another server of the store tells it", string(again.ReceiptPublicKey), string(key()))
		}
		_, err := r.admin.GetReceipts(r.ctx(), &transcriptv1.GetReceiptsRequest{NodeIds: []string{ids[1], ids[0]}})
		r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "node_ids[1]")
		_, err = r.erasingCall(&Erase{Selector: theNodes(ids[3], absent)})
		r.fails(err, codes.NotFound, "NODE_NOT_FOUND", "nodes.ids[1]")
		equal(r, "whether a refused call erased", r.shows(byAlias("chat"), "so"), true)
	})
}

// TestEraseSharedRoot: a root without a salt is erased, or kept, as the request says, and refused where it says nothing.
func TestEraseSharedRoot(t *testing.T) {
	bothEngines(t, func(r *rig) {
		mine := r.chain("me/1", system("you are helpful"), user("my secret"))
		theirs := r.chain("you/1", system("you are helpful"), user("theirs"))
		equal(r, "the root that both have", mine[0], theirs[0])
		_, err := r.erasingCall(&Erase{Selector: prefixOf("me/")})
		r.fails(err, codes.FailedPrecondition, "SHARED_ROOT", "shared_roots")
		info := status.Convert(err).Details()[0].(*errdetails.ErrorInfo)
		equal(r, "the root that is named", info.Metadata["node_id"], mine[0])
		equal(r, "whether the message names it", strings.Contains(status.Convert(err).Message(), mine[0]), true)
		equal(r, "whether a refused call erased", r.shows(byAlias("me/1"), "my secret"), true)

		dry := r.erased(&Erase{Selector: prefixOf("me/"), DryRun: true})
		root := dry.node(mine[0])
		equal(r, "what is told of the root", root.Root && root.Forked && !root.Salted, true)
		equal(r, "the aliases that reach it", strings.Join(dry.names(), " "), "me/1 you/1")
		equal(r, "whether these are told apart", dry.aliases[0].OfPrefix && !dry.aliases[1].OfPrefix, true)

		kept := r.erased(&Erase{Selector: prefixOf("me/"), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_KEEP})
		equal(r, "the nodes", strings.Join(kept.ids(), " "), mine[1])
		equal(r, "the number of roots that are kept", kept.SharedRootsKept, 1)
		equal(r, "whether the root shows", r.shows(byAlias("me/1"), "you are helpful"), true)
		equal(r, "the nodes at last", r.erased(&Erase{Selector: prefixOf("me/"), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE}).ids()[0], mine[0])
		equal(r, "whether the root shows to others", r.shows(byAlias("you/1"), "you are helpful"), false)
		equal(r, "whether the rest shows to others", r.shows(byAlias("you/1"), "theirs"), true)
		equal(r, "the nodes once more", len(r.erased(&Erase{Selector: prefixOf("me/")}).ids()), 0) // a root that was erased is not refused
	})
}

// labelsErased is a store that tells of which names labels were erased.
type labelsErased struct {
	*memstore.Store
	of []string
}

func (s *labelsErased) EraseLabels(ctx context.Context, namespace string, names []string) (int, error) {
	s.of = append(s.of, names...)
	return s.Store.EraseLabels(ctx, namespace, names)
}

// TestEraseLabelsOfForgottenNames: an alias prefix takes the labels of names that are forgotten, too, which the files have yet, and of no others.
func TestEraseLabelsOfForgottenNames(t *testing.T) {
	s := &labelsErased{Store: memstore.New(memstore.Options{})}
	r := newRig(t, s)
	for _, name := range []string{"me/kept", "me/gone", "you/gone"} {
		r.chain(name, user("a chat"))
	}
	for _, name := range []string{"me/gone", "you/gone"} {
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: name, ForgetHistory: true}))
	}
	r.erased(&Erase{Selector: prefixOf("me/"), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_KEEP})
	equal(r, "the names", strings.Join(s.of, " "), "me/gone me/kept")
}

// TestEraseByAliasPrefix: what heads and past states reach goes, of deleted aliases too; other chains, and other namespaces, stay.
func TestEraseByAliasPrefix(t *testing.T) {
	bothEngines(t, func(r *rig) {
		first := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("secret root")}, Salt: salted('a')})).NodeId
		left, right := r.put(first, assistant("secret left")), r.put(first, assistant("secret right"))
		r.point("me/chat", left)
		r.point("me/chat", right) // left is of its past
		gone := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Messages: []*Message{user("secret gone")}, Salt: salted('b')})).NodeId
		r.point("me/gone", gone)
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "me/gone"}))
		fork := r.put(right, user("of a fork"))
		r.point("you/fork", fork)
		labels := func(name string) *transcriptv1.AliasMove {
			return &transcriptv1.AliasMove{Name: name, Target: byAlias(name), Labels: &transcriptv1.Labels{Entries: map[string]string{"name": "secret"}}}
		}
		must[*transcriptv1.AliasResponse](r)(r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{labels("me/chat"), labels("you/fork")}}))
		r.chain("mean", user("another"))
		must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
			Namespace: "other", Messages: []*Message{user("secret root")}, Salt: salted('a'), Aliases: []*Update{{Name: "me/chat"}},
		}))

		dry := r.erased(&Erase{Selector: prefixOf("me/"), DryRun: true})
		equal(r, "the aliases", strings.Join(dry.names(), " "), "me/chat me/gone you/fork")
		for _, a := range dry.aliases {
			equal(r, "whether an alias is deleted", a.Deleted, a.Name == "me/gone")
			equal(r, "whether only the past of an alias reaches it", a.PastOnly, a.Name == "me/gone")
		}
		equal(r, "the labels that would go", dry.LabelsErased, 1)
		got := r.erased(&Erase{Selector: prefixOf("me/"), WaitForFiles: true})
		equal(r, "the labels that went", got.LabelsErased, 1)
		for name, want := range map[string]string{"me/chat": "", "you/fork": "secret"} {
			alias := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: name}))
			equal(r, "the label of "+name, alias.Alias.Labels["name"], want)
		}
		equal(r, "the nodes", strings.Join(got.ids(), " "), strings.Join(slices.Sorted(slices.Values([]string{first, left, right, gone})), " "))
		for _, head := range []string{left, right, gone, fork} {
			equal(r, "whether a secret shows", r.shows(byID(head), "secret"), false)
		}
		equal(r, "whether the fork shows", r.shows(byID(fork), "of a fork"), true)
		elsewhere := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Namespace: "other", Node: byAlias("me/chat")}))
		equal(r, "what another namespace has", elsewhere.Messages[0].Parts[0].GetText(), "secret root")
		r.clean("other")
		none := r.erased(&Erase{Selector: prefixOf("nobody/")})
		equal(r, "the nodes of a prefix that nothing has", none.NodesSelected+none.NodesErased, 0)
	})
}

// TestEraseByContent: by an entry of metadata, and by an attribute of a message, which must be equal, and in all chains.
func TestEraseByContent(t *testing.T) {
	bothEngines(t, func(r *rig) {
		put := func(parent, said string, more func(*PutNode)) string {
			req := &PutNode{Messages: []*Message{user(said)}, Salt: salted('c')}
			if parent != "" {
				req.Parent = byID(parent)
			}
			more(req)
			return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
		}
		subject := func(key, value string) func(*PutNode) {
			return func(q *PutNode) {
				q.Metadata = []*transcriptv1.MetadataEntry{{Key: "app", Value: "x"}, {Key: key, Value: value}}
			}
		}
		attribute := func(key, value string) func(*PutNode) {
			return func(q *PutNode) {
				q.Messages = append(q.Messages, user("too"))
				q.Notes = []*transcriptv1.MessageNote{{}, {Attributes: map[string]string{"a": "b", key: value}}}
			}
		}
		one := put("", "one", subject("subject", "alice"))
		two := put("", "two", subject("subject", "bob"))
		three := put(two, "three", subject("subject", "alice"))
		put(two, "four", subject("subject", "alicea"))
		five := put(two, "five", attribute("user", "alice"))
		put(two, "six", attribute("user", "bob"))
		put(two, "seven", attribute("subject", "alice"))

		by := &Erase{Selector: &transcriptv1.EraseRequest_Metadata{Metadata: &transcriptv1.EntrySelector{Key: "subject", Value: "alice"}}}
		got := r.erased(by)
		equal(r, "the nodes with the metadata", strings.Join(got.ids(), " "), strings.Join(slices.Sorted(slices.Values([]string{one, three})), " "))
		equal(r, "the nodes that were looked at", got.NodesLookedAt, 7)
		equal(r, "the number of nodes that are erased again", r.erased(by).NodesErased, 0)
		got = r.erased(&Erase{Selector: &transcriptv1.EraseRequest_Attribute{Attribute: &transcriptv1.EntrySelector{Key: "user", Value: "alice"}}})
		equal(r, "the nodes with the attribute", strings.Join(got.ids(), " "), five)
		equal(r, "the messages with the attribute's", got.Messages, 2)
		found := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(one)}))
		equal(r, "the metadata that is left", len(found.Metadata.GetEntries())+len(found.Info.Envelope.Salt), 0)
	})
}

// TestEraseCopies: copies in compaction nodes, in compactions of these, and in those of forks, go with the node, and so do summaries that stand for it; what
// a compaction node copied of others stays, and so does what stands for none.
func TestEraseCopies(t *testing.T) {
	bothEngines(t, func(r *rig) {
		ids := r.chain("chat", concat([]*Message{system("the prompt")}, work("1"), work("2"))...)
		early := r.compact(&Compact{Head: byID(ids[len(ids)-1]), ThroughId: ids[4], Summary: "early words", SummaryOnly: true}).NodeId
		secret := r.put(ids[len(ids)-1], user("a secret"))
		r.point("chat", secret)
		r.put2("chat", concat(work("3"), work("4"))...)
		head := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "chat"})).Alias.NodeId
		first := r.compact(&Compact{Head: byAlias("chat"), ThroughId: head, Summary: "he told a secret"}).NodeId
		r.put2("chat", work("5")...)
		second := r.compact(&Compact{Head: byAlias("chat"), ThroughId: must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "chat"})).Alias.NodeId}).NodeId
		if first == "" || second == "" || early == "" {
			r.Fatal("nothing was compacted")
		}
		equal(r, "whether it shows", r.shows(byAlias("chat"), "secret"), true)
		got := r.erased(&Erase{Selector: theNodes(secret)})
		equal(r, "whether it shows when it is erased", r.shows(byAlias("chat"), "secret") || r.shows(byID(first), "secret"), false)
		equal(r, "whether the rest shows", r.shows(byAlias("chat"), "the prompt") && r.shows(byID(early), "early words"), true)
		equal(r, "the number of compaction nodes", got.Compactions, 2)
		for _, id := range []string{first, second} {
			equal(r, "the cause", got.node(id).GetCause(), transcriptv1.EraseCause_ERASE_CAUSE_COPIES)
		}
		equal(r, "the messages of the first compaction", got.node(first).GetMessages(), 2)
		again := r.erased(&Erase{Selector: theNodes(secret)})
		equal(r, "what is erased again", again.NodesErased, 0)

		// A summary that is written when the node is erased is not of it.
		r.put2("chat", work("6")...)
		late := must[*transcriptv1.ResolveAliasResponse](r)(r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Name: "chat"})).Alias.NodeId
		third := r.compact(&Compact{Head: byAlias("chat"), ThroughId: late, Summary: "written later", SummaryOnly: true}).NodeId
		equal(r, "what is erased behind a later summary", r.erased(&Erase{Selector: theNodes(secret)}).NodesErased, 0)
		equal(r, "whether the later summary shows", r.shows(byID(third), "written later"), true)
		// Erased itself, all of it goes.
		equal(r, "the node by its id", strings.Join(r.erased(&Erase{Selector: theNodes(third)}).ids(), " "), third)
		equal(r, "whether the later summary shows when it is erased", r.shows(byID(third), "written later"), false)
	})
}

// TestEraseRefused: a bad field is named, and nothing goes.
func TestEraseRefused(t *testing.T) {
	r := newRig(t)
	id := r.put("", user("alone"))
	entry := func(key, value string) *transcriptv1.EntrySelector {
		return &transcriptv1.EntrySelector{Key: key, Value: value}
	}
	for want, req := range map[string]*Erase{
		"INVALID_FIELD nodes.ids":          {Selector: theNodes()},
		"INVALID_FIELD nodes.ids[0]":       {Selector: theNodes("x")},
		"INVALID_FIELD nodes.ids[1]":       {Selector: theNodes(id, id)},
		"LIMIT_EXCEEDED nodes.ids":         {Selector: theNodes(slices.Repeat([]string{id}, 1001)...)},
		"INVALID_FIELD alias_prefix":       {Selector: prefixOf("")},
		"LIMIT_EXCEEDED alias_prefix":      {Selector: prefixOf(strings.Repeat("x", 513))},
		"INVALID_FIELD metadata.key":       {Selector: &transcriptv1.EraseRequest_Metadata{}},
		"LIMIT_EXCEEDED metadata.key":      {Selector: &transcriptv1.EraseRequest_Metadata{Metadata: entry(strings.Repeat("x", 257), "")}},
		"LIMIT_EXCEEDED metadata.value":    {Selector: &transcriptv1.EraseRequest_Metadata{Metadata: entry("x", strings.Repeat("x", canonical.MaxMetadataValueBytes+1))}},
		"INVALID_FIELD attribute.key":      {Selector: &transcriptv1.EraseRequest_Attribute{Attribute: entry("", "x")}},
		"LIMIT_EXCEEDED attribute.key":     {Selector: &transcriptv1.EraseRequest_Attribute{Attribute: entry(strings.Repeat("x", 65), "x")}},
		"LIMIT_EXCEEDED attribute.value":   {Selector: &transcriptv1.EraseRequest_Attribute{Attribute: entry("x", strings.Repeat("x", 257))}},
		"INVALID_FIELD shared_roots":       {Selector: theNodes(id), SharedRoots: 3},
		"LIMIT_EXCEEDED reference":         {Selector: theNodes(id), Reference: strings.Repeat("x", 129)},
		"INVALID_FIELD reference":          {Selector: theNodes(id), Reference: "a\nb"},
		"INVALID_FIELD reference ":         {Selector: theNodes(id), DryRun: true, Reference: "T-1"},
		"INVALID_FIELD wait_for_files":     {Selector: theNodes(id), DryRun: true, WaitForFiles: true},
		"INVALID_FIELD namespace":          {Selector: theNodes(id), Namespace: "A"},
		"INVALID_FIELD alias_prefix again": {Selector: prefixOf("a\x00")},
	} {
		_, err := r.erasingCall(req)
		reason, field, _ := strings.Cut(want, " ")
		field, _, _ = strings.Cut(field, " ")
		r.fails(err, codes.InvalidArgument, reason, field)
	}
	_, err := r.erasingCall(&Erase{})
	r.fails(err, codes.InvalidArgument, "INVALID_FIELD", "nodes alias_prefix metadata attribute")
	for want, ids := range map[string][]string{"INVALID_FIELD node_ids": nil, "INVALID_FIELD node_ids[0]": {"x"}, "LIMIT_EXCEEDED node_ids": slices.Repeat([]string{id}, 1001)} {
		_, err := r.admin.GetReceipts(r.ctx(), &transcriptv1.GetReceiptsRequest{NodeIds: ids})
		reason, field, _ := strings.Cut(want, " ")
		r.fails(err, codes.InvalidArgument, reason, field)
	}
	equal(r, "whether anything was erased", r.shows(byID(id), "alone"), true)
}

// TestEraseRaces: a compaction that is planned before an erasure and committed behind the look for copies is found by the next look.
func TestEraseRaces(t *testing.T) {
	store := &between{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	ids := r.chain("chat", concat([]*Message{user("a secret")}, work("1"), work("2"), work("3"))...)
	store.f = func() {
		_, err := r.erasingCall(&Erase{Selector: theNodes(ids[0]), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
		if err != nil {
			r.Error(err)
		}
	}
	res := r.compact(&Compact{Head: byAlias("chat")})
	equal(r, "that it is written", res.Written, true)
	equal(r, "whether it shows", r.shows(byAlias("chat"), "a secret"), false)
	r.clean("")
}

// putsBehindErasures does something behind each erasure.
type putsBehindErasures struct {
	chainstore.Store
	behind func()
}

func (s *putsBehindErasures) Erase(ctx context.Context, ns string, nodes []chainstore.ErasedNode) (int, error) {
	n, err := s.Store.Erase(ctx, ns, nodes)
	s.behind()
	return n, err
}

// TestErasureOfCopiesEnds: copies that are put behind each look are erased, and a call to which that happens again and again ends.
func TestErasureOfCopiesEnds(t *testing.T) {
	for copies, ends := range map[int]bool{3: true, 40: false} {
		store := &putsBehindErasures{Store: memstore.New(memstore.Options{}), behind: func() {}}
		r := newRig(t, store)
		long := strings.Repeat("a long result ", 50)
		id := r.put("", system("be brief"), user("one"), calling("read", "1"), result("1", long), assistant("done"))
		head := r.put(id, user("two"), assistant("done too"))
		if err := r.putArchived("there", r.archivedNodes("default")...); err != nil {
			t.Fatal(err)
		}
		for i := range copies {
			req := &Compact{Namespace: "there", Head: byID(head), ThroughId: id, Summary: "s", Salt: salted(byte(i))}
			equal(r, "written", must[*transcriptv1.CompactResponse](r)(r.Compact(r.ctx(), req)).Written, true)
		}
		left := r.archivedNodes("there")[2:]
		equal(r, "the number of compactions", len(left), copies)
		store.behind = func() {
			if len(left) > 0 {
				if err := r.putArchived("default", left[0]); err != nil {
					t.Error(err)
				}
				left = left[1:]
			}
		}
		err := r.erasesNow(&Erase{Selector: theNodes(id), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
		if ends {
			equal(r, "the error", err, nil)
			for _, n := range r.archivedNodes("default") {
				equal(r, "that it is erased", n.Erasure != nil || n.Copies == nil && strings.Contains(string(n.Payload), "two"), true)
			}
			continue
		}
		r.fails(err, codes.ResourceExhausted, "OVERLOADED", "")
		equal(r, "that it stops before all is put", len(left) > 0, true)
	}
}

// TestSelectionsHaveALimit: more nodes, heads or aliases than one call takes are refused by the field that selects them, whatever was erased before.
func TestSelectionsHaveALimit(t *testing.T) {
	r := newRig(t)
	chain := r.chain("chat/1", user("one"), assistant("two"), user("three"))
	r.erase(r.put(chain[2], user("erased before")))
	for i := range 4 {
		r.point(fmt.Sprint("names/", i), chain[0])
		r.point("heads/1", r.put("", user(fmt.Sprint(i))))
	}
	for prefix, needs := range map[string]int{"chat/": 3, "names/": 4, "heads/": 4, "": 7} {
		for most, want := range map[int]error{needs: nil, needs - 1: canonical.ErrLimit} {
			holds := retention.NewKeeper(r.store).Erasing("default", func(int) string { return "" })
			e := &erasure.Erasure{
				Store: r.store, Namespace: "default", Prefix: prefix, DryRun: true, Holds: holds, Most: most, Field: "the field", Tell: func(*transcriptv1.EraseResponse) error { return nil },
			}
			if prefix == "" {
				e.Metadata = &transcriptv1.EntrySelector{Key: "k", Value: "v"}
				e.Most, want = 1, nil // what was erased before is not selected
			}
			err := e.Run(t.Context())
			var field *canonical.FieldError
			if !errors.Is(err, want) || want != nil && (!errors.As(err, &field) || field.Field != "the field") {
				t.Errorf("%q of %d at most: %v", prefix, most, err)
			}
			holds.End()
		}
	}
}
