package server_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
)

// archivedNodes are the nodes of a backup of a namespace, in its order.
func (r *rig) archivedNodes(namespace string) (nodes []*transcriptv1.ArchivedNode) {
	r.Helper()
	data, _, err := r.backedUp(&transcriptv1.BackupRequest{Namespace: namespace})
	if err != nil {
		r.Fatal(err)
	}
	for _, record := range recordsOf(r, data) {
		if n := record.GetNode(); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func (r *rig) putArchived(namespace string, nodes ...*transcriptv1.ArchivedNode) error {
	r.Helper()
	_, err := r.PutArchivedNodes(r.ctx(), &transcriptv1.PutArchivedNodesRequest{Namespace: namespace, Nodes: nodes})
	return err
}

// refused is the field of an error that says that one is wrong.
func (r *rig) refused(err error) string {
	r.Helper()
	f := failureOf(err)
	equal(r, "the code", f.code, codes.InvalidArgument)
	return f.field
}

func (r *rig) sameNodes(what string, got, want []*transcriptv1.ArchivedNode) {
	r.Helper()
	equal(r, "the number of "+what, len(got), len(want))
	for i := range got {
		if !proto.Equal(got[i], want[i]) {
			r.Fatalf("%s: node %d is\n%v\nand was\n%v", what, i, got[i], want[i])
		}
	}
}

// TestArchivedErased: a namespace with erased nodes, compactions among them, is archived without what they had, and is the same behind a restore:
// in an empty namespace, over the nodes with their content, and over what is erased already. What was put elsewhere with its content is refused then.
func TestArchivedErased(t *testing.T) {
	bothEngines(t, func(r *rig) {
		head := r.randomCompacted(rand.New(rand.NewPCG(1, 2)))
		r.point("chat", head)
		before := r.archivedNodes("default")
		if err := r.putArchived("there", before...); err != nil {
			r.Fatal(err)
		}
		erased := 0
		for i, n := range r.path("", head) {
			switch {
			case n.Copies != nil:
				r.eraseWhere(func(i int) bool { return i%2 == 0 }, n.Info.NodeId)
				erased++
			case i%3 == 0:
				r.erase(n.Info.NodeId)
				erased++
			}
		}
		after := r.archivedNodes("default")
		marked, inPart := 0, false
		for _, n := range after {
			if n.Erasure == nil {
				continue
			}
			marked++
			if n.Copies != nil && len(n.Erasure.MessageBytes) > 1 {
				inPart = inPart || n.Erasure.MessageBytes[1] == 0
			}
			if len(n.Metadata) > 0 || len(n.Salt) > 0 || string(n.Erasure.Receipt) != string(testreceipt.Of(r, idOf(n), "")) {
				r.Errorf("an erased node is archived as %v", n)
			}
		}
		equal(r, "the nodes erased", marked, erased)
		equal(r, "that a compaction is erased in part", inPart, true)
		for _, namespace := range []string{"empty", "there", "there"} {
			if err := r.putArchived(namespace, after...); err != nil {
				r.Fatal(err)
			}
			r.sameNodes("nodes of "+namespace, r.archivedNodes(namespace), after)
			if problems := r.verified(namespace); len(problems) > 0 {
				r.Errorf("%s: %v", namespace, problems)
			}
			found := r.path(namespace, head)
			for i, n := range r.path("", head) {
				if n.Aliases, found[i].Aliases = nil, nil; !proto.Equal(found[i], n) {
					r.Errorf("%s: node %d is\n%v\nand was\n%v", namespace, i, found[i], n)
				}
			}
		}
		for i, n := range after {
			if n.Erasure != nil {
				err := r.putArchived("there", before[i])
				r.fails(err, codes.FailedPrecondition, "PAYLOAD_ERASED", "nodes[0]")
				break
			}
		}
		r.clean("")
	})
}

// TestArchivedErasedTwice: markers of another kind are refused by their field also where the node is erased already, and so is a node that comes twice.
func TestArchivedErasedTwice(t *testing.T) {
	bothEngines(t, func(r *rig) {
		for i, m := range []*Message{user("said"), assistant("said")} {
			id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Messages: []*Message{m}, Salt: salted(byte('a' + i))})).NodeId
			r.erase(id)
		}
		nodes := r.archivedNodes("default")
		bad := proto.CloneOf(nodes[0])
		bad.Payload, bad.Erasure.MessageBytes = nodes[1].Payload, nodes[1].Erasure.MessageBytes
		equal(r, "the field of other markers", r.refused(r.putArchived("default", bad)), "nodes[0].payload")
		equal(r, "the field of a node that comes twice", r.refused(r.putArchived("fresh", nodes[0], bad)), "nodes[1]")
	})
}

// TestBadArchivedErased: what is known of an erased node has to hold together, and to be that of the node that is there; each mistake names its
// field, and nothing changes.
func TestBadArchivedErased(t *testing.T) {
	bothEngines(t, func(r *rig) {
		put := &PutNode{
			Messages: []*Message{user("my secret"), calling("read", "c1"), result("c1", "a secret")}, Salt: []byte(strings.Repeat("s", 16)),
			Metadata: []*transcriptv1.MetadataEntry{{Key: "run/end", Value: "failed"}, {Key: "var/x", Value: "1"}, {Key: "var/y", Value: "2"}},
		}
		id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), put)).NodeId
		with := r.archivedNodes("default")
		if err := r.putArchived("there", with...); err != nil {
			r.Fatal(err)
		}
		r.erase(id)
		good := r.archivedNodes("default")[0]
		for what, c := range map[string]struct {
			spoil func(n *transcriptv1.ArchivedNode)
			field string
			there bool // only where the node is there can it be told
		}{
			"content and erasure": {func(n *transcriptv1.ArchivedNode) { n.Payload = with[0].Payload }, "payload.messages[0]", false},
			"metadata":            {func(n *transcriptv1.ArchivedNode) { n.Metadata = with[0].Metadata }, "metadata", false},
			"a salt":              {func(n *transcriptv1.ArchivedNode) { n.Salt = with[0].Salt }, "salt", false},
			"details": {func(n *transcriptv1.ArchivedNode) {
				n.Notes = []*transcriptv1.MessageNote{{Model: "m"}, {}, {}}
			}, "notes", false},
			"no receipt":        {func(n *transcriptv1.ArchivedNode) { n.Erasure.Receipt = nil }, "erasure.receipt", false},
			"a large receipt":   {func(n *transcriptv1.ArchivedNode) { n.Erasure.Receipt = make([]byte, canonical.MaxReceiptBytes+1) }, "erasure.receipt", false},
			"no SignedReceipt":  {func(n *transcriptv1.ArchivedNode) { n.Erasure.Receipt = []byte("receipt") }, "erasure.receipt", false},
			"another's receipt": {func(n *transcriptv1.ArchivedNode) { n.Erasure.Receipt = testreceipt.Of(r, [32]byte{1}, "") }, "erasure.receipt", false},
			"too few lengths":   {func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes = n.Erasure.MessageBytes[1:] }, "erasure.message_bytes", false},
			"a length of 0":     {func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes[1] = 0 }, "erasure.message_bytes[1]", false},
			"a length below 0":  {func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes[1] = -1 }, "erasure.message_bytes[1]", false},
			"huge lengths":      {func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes[1] = canonical.MaxPayloadBytes }, "erasure.message_bytes", false},
			"no metadata bytes": {func(n *transcriptv1.ArchivedNode) { n.Erasure.MetadataBytes = 0 }, "erasure.metadata_bytes", false},
			"much metadata":     {func(n *transcriptv1.ArchivedNode) { n.Erasure.MetadataBytes = 1 << 30 }, "erasure.metadata_bytes", false},
			"an outcome":        {func(n *transcriptv1.ArchivedNode) { n.Erasure.Outcome = 256 }, "erasure.outcome", false},
			"a variable without a name": {func(n *transcriptv1.ArchivedNode) {
				n.Erasure.Variables[0].Name = ""
			}, "erasure.variables[0].name", false},
			"variables out of order": {func(n *transcriptv1.ArchivedNode) {
				n.Erasure.Variables[0], n.Erasure.Variables[1] = n.Erasure.Variables[1], n.Erasure.Variables[0]
			}, "erasure.variables[1].name", false},
			"other roles": {func(n *transcriptv1.ArchivedNode) {
				n.Payload = canonical.EncodePayload(canonical.Erased([]*Message{user("x"), user("y"), user("z")}))
			}, "payload", true},
			"another length":       {func(n *transcriptv1.ArchivedNode) { n.Erasure.MessageBytes[1]++ }, "erasure.message_bytes[1]", true},
			"other metadata bytes": {func(n *transcriptv1.ArchivedNode) { n.Erasure.MetadataBytes++ }, "erasure.metadata_bytes", true},
			"other variables":      {func(n *transcriptv1.ArchivedNode) { n.Erasure.Variables[0].Unset = true }, "erasure.variables", true},
			"another outcome": {func(n *transcriptv1.ArchivedNode) {
				n.Erasure.Outcome = transcriptv1.RunOutcome_RUN_OUTCOME_REPLIED
			}, "erasure.outcome", true},
		} {
			bad := proto.CloneOf(good)
			c.spoil(bad)
			for _, namespace := range []string{"empty", "there"} {
				if c.there && namespace == "empty" {
					continue
				}
				st := r.refused(r.putArchived(namespace, bad))
				if !strings.HasPrefix(st, "nodes[0]."+c.field) {
					r.Errorf("%s, in %s: the field is %q, want %s", what, namespace, st, c.field)
				}
			}
			r.sameNodes("nodes behind "+what, r.archivedNodes("there"), with)
			equal(r, "nodes put by "+what, len(r.archivedNodes("empty")), 0)
		}
		plain := proto.CloneOf(with[0])
		e := canonical.Envelope{PayloadDigest: [32]byte{1}}
		plain.Envelope, plain.Metadata, plain.Salt, plain.Payload, plain.Erasure = canonical.AppendEnvelope(nil, e), nil, nil, good.Payload, proto.CloneOf(good.Erasure)
		plain.Erasure.Receipt = testreceipt.Of(r, canonical.NodeID(e), "")
		equal(r, "the field of an erasure that tells more than the envelope", r.refused(r.putArchived("empty", plain)), "nodes[0].erasure.metadata_bytes")
	})
}

// putsMeanwhile does something before a commit.
type putsMeanwhile struct {
	chainstore.Store
	before func()
}

func (s *putsMeanwhile) Commit(ctx context.Context, ns string, change *chainstore.Change) (*chainstore.Committed, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Store.Commit(ctx, ns, change)
}

// TestArchivedErasedMeanwhile: an erasure of a node that is put between the look at it and the commit is held against it, and against holds.
func TestArchivedErasedMeanwhile(t *testing.T) {
	store := &putsMeanwhile{Store: memstore.New(memstore.Options{})}
	r := newRig(t, store)
	chain := r.chain("case/1", user("evidence"), assistant("yes"))
	whole := r.archivedNodes("default")
	r.erase(chain[1])
	erased := r.archivedNodes("default")[1]
	meanwhile := func(namespace string, hold bool) {
		if err := r.putArchived(namespace, whole[0]); err != nil {
			t.Fatal(err)
		}
		store.before = func() {
			if err := r.putArchived(namespace, whole[1]); err != nil {
				t.Error(err)
			}
			if hold {
				_, err := r.Alias(r.ctx(), &transcriptv1.AliasRequest{Namespace: namespace, Aliases: []*transcriptv1.AliasMove{{Name: "case/1", Target: byID(chain[1])}}})
				_, err2 := r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{
					Namespace: namespace, Settings: &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{held("case/")}},
				})
				if err := errors.Join(err, err2); err != nil {
					t.Error(err)
				}
			}
		}
	}
	meanwhile("held", true)
	r.fails(r.putArchived("held", erased), codes.FailedPrecondition, "LEGAL_HOLD", "nodes[0].erasure")
	r.sameNodes("nodes that are held", r.archivedNodes("held"), whole)

	lie := proto.CloneOf(erased)
	lie.Erasure.MessageBytes[0]++
	meanwhile("lied", false)
	equal(r, "the field that lies", r.refused(r.putArchived("lied", lie)), "nodes[0].erasure.message_bytes[0]")
	r.sameNodes("nodes that somebody lies about", r.archivedNodes("lied"), whole)

	meanwhile("free", false)
	if err := r.putArchived("free", erased); err != nil {
		t.Fatal(err)
	}
	r.sameNodes("nodes that were erased", r.archivedNodes("free")[1:], []*transcriptv1.ArchivedNode{erased})
}
