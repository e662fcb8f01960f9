package conformance

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// erased runs an erasure to its end, and gives its last report, and the ids of the nodes that were erased, or would be.
func (p *probe) erased(r *transcriptv1.EraseRequest) (last *transcriptv1.EraseResponse, ids []string, err error) {
	stream, err := p.admin.Erase(p.ctx, r)
	if err != nil {
		return nil, nil, err
	}
	for {
		report, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			p.holds(last.GetDone(), "a last report that says done")
			return last, ids, nil
		}
		if err != nil {
			return nil, nil, err
		}
		p.holds(!last.GetDone(), "no report behind the one that says done")
		for _, n := range report.GetNodes() {
			if !n.GetAlreadyErased() {
				ids = append(ids, n.GetNodeId())
			}
		}
		last = report
	}
}

func theNodes(ids ...string) *transcriptv1.EraseRequest_Nodes {
	return &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: ids}}
}

// lines puts a root with a salt and a node behind it, in a namespace of the check's own.
func (p *probe) lines(more *transcriptv1.PutNodeRequest) (ids []string) {
	root := p.put(&transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{p.user()}, Salt: bytes.Repeat([]byte("s"), 16)}).GetNodeId()
	more.Parent, more.Messages = byID(root), []*transcriptv1.Message{p.user()}
	return []string{root, p.put(more).GetNodeId()}
}

func eraseMarks(p *probe) {
	p.namespace = p.other + "-erased"
	ids := p.lines(&transcriptv1.PutNodeRequest{Aliases: []*transcriptv1.AliasUpdate{{Name: "me/1"}}})
	behind := p.node(ids[1], p.user())
	ask := &transcriptv1.EraseRequest{Namespace: p.namespace, Selector: theNodes(ids[1]), DryRun: true}
	told, would, err := p.erased(ask)
	p.ok(err, "a dry run")
	is(p, "the nodes of a dry run", would, ids[1:])
	said := func(id string) string {
		r, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
		p.ok(err, "GetNode")
		return r.GetMessages()[0].GetParts()[0].GetText()
	}
	p.holds(said(ids[1]) != canonical.ErasedText, "a node that a dry run leaves as it is")
	ask.DryRun = false
	did, gone, err := p.erased(ask)
	p.ok(err, "Erase")
	is(p, "the nodes", gone, ids[1:])
	is(p, "nodes, messages and bytes", []int64{did.GetNodesErased(), did.GetMessages(), did.GetMessageBytes()}, []int64{1, 1, told.GetMessageBytes()})
	is(p, "what the node says", said(ids[1]), canonical.ErasedText)
	p.holds(said(ids[0]) != canonical.ErasedText && said(behind) != canonical.ErasedText, "nodes around it as they are")
	again, gone, err := p.erased(ask)
	p.ok(err, "Erase again")
	is(p, "the nodes that are erased again", len(gone), 0)
	is(p, "already_erased", again.GetAlreadyErased(), 1)
	_, gone, err = p.erased(&transcriptv1.EraseRequest{Namespace: p.namespace, Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "me/"}})
	p.ok(err, "Erase by a prefix")
	is(p, "the nodes of the prefix", gone, ids[:1])
	reports := p.verify(p.namespace)
	is(p, "problems that Verify finds", reports[len(reports)-1].GetProblemsFound(), 0)
}

func eraseFinds(p *probe) {
	p.namespace = p.other + "-selected"
	subject := []*transcriptv1.MetadataEntry{{Key: "subject", Value: "alice"}}
	marked := p.lines(&transcriptv1.PutNodeRequest{Metadata: subject})[1]
	noted := p.lines(&transcriptv1.PutNodeRequest{Notes: []*transcriptv1.MessageNote{{Attributes: map[string]string{"subject": "alice"}}}})[1]
	entry := &transcriptv1.EntrySelector{Key: "subject", Value: "alice"}
	_, gone, err := p.erased(&transcriptv1.EraseRequest{Namespace: p.namespace, Selector: &transcriptv1.EraseRequest_Metadata{Metadata: entry}})
	p.ok(err, "Erase by metadata")
	is(p, "the nodes with the metadata", gone, []string{marked})
	_, gone, err = p.erased(&transcriptv1.EraseRequest{Namespace: p.namespace, Selector: &transcriptv1.EraseRequest_Attribute{Attribute: entry}})
	p.ok(err, "Erase by an attribute")
	is(p, "the nodes with the attribute", gone, []string{noted})
}

func eraseRefused(p *probe) {
	p.namespace = p.other + "-unsalted"
	root := p.node("", p.user())
	ask := &transcriptv1.EraseRequest{Namespace: p.namespace, Selector: theNodes(root)}
	_, _, err := p.erased(ask)
	p.refused(err, "SHARED_ROOT", "shared_roots")
	ask.SharedRoots = transcriptv1.SharedRoots_SHARED_ROOTS_KEEP
	kept, gone, err := p.erased(ask)
	p.ok(err, "Erase that keeps shared roots")
	is(p, "the nodes and shared_roots_kept", []int64{int64(len(gone)), kept.GetSharedRootsKept()}, []int64{0, 1})
	absent := strings.Repeat("0", 64)
	_, _, err = p.erased(&transcriptv1.EraseRequest{Namespace: p.namespace, Selector: theNodes(root, absent), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
	p.refused(err, "NODE_NOT_FOUND", "nodes.ids[1]")
	for field, r := range map[string]*transcriptv1.EraseRequest{
		"nodes.ids":      {Selector: theNodes()},
		"alias_prefix":   {Selector: &transcriptv1.EraseRequest_AliasPrefix{}},
		"metadata.key":   {Selector: &transcriptv1.EraseRequest_Metadata{}},
		"attribute.key":  {Selector: &transcriptv1.EraseRequest_Attribute{}},
		"reference":      {Selector: theNodes(root), Reference: "a\nb"},
		"wait_for_files": {Selector: theNodes(root), DryRun: true, WaitForFiles: true},
		"shared_roots":   {Selector: theNodes(root), SharedRoots: 99},
	} {
		r.Namespace = p.namespace
		_, _, err := p.erased(r)
		p.refused(err, "INVALID_FIELD", field)
	}
}

func receiptsSigned(p *probe) {
	p.namespace = p.other + "-receipts"
	ids := p.lines(&transcriptv1.PutNodeRequest{})
	_, _, err := p.erased(&transcriptv1.EraseRequest{Namespace: p.namespace, Selector: theNodes(ids...), Reference: "T-1", WaitForFiles: true})
	p.ok(err, "Erase")
	slices.Reverse(ids)
	r, err := p.admin.GetReceipts(p.ctx, &transcriptv1.GetReceiptsRequest{Namespace: p.namespace, NodeIds: ids})
	p.ok(err, "GetReceipts")
	is(p, "receipts", len(r.GetReceipts()), len(ids))
	info, err := p.ServerInfo(p.ctx, &transcriptv1.ServerInfoRequest{}) // the key is drawn with the first erasure
	p.ok(err, "ServerInfo")
	for i, one := range r.GetReceipts() {
		says, err := canonical.CheckReceipt(one.GetReceipt())
		p.holds(err == nil, "a receipt that its key has signed: %v", err)
		is(p, "the node", hex.EncodeToString(says.GetNodeId()), ids[i])
		is(p, "namespace and reference", []string{says.GetNamespace(), says.GetReference()}, []string{p.namespace, "T-1"})
		p.holds(bytes.Equal(one.GetReceipt().GetPublicKey(), info.GetReceiptPublicKey()), "the key that ServerInfo tells")
		p.holds(one.GetPurgedAt() != nil, "a time at which the content had left the files")
	}
	lone := p.node("", p.user())
	_, err = p.admin.GetReceipts(p.ctx, &transcriptv1.GetReceiptsRequest{Namespace: p.namespace, NodeIds: []string{ids[0], lone}})
	p.refused(err, "NODE_NOT_FOUND", "node_ids[1]")
}
