package server_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// canary stands for what nobody but its owner may see.
const canary = "canary-5f1d"

// silent asserts that the canary is in none of the errors, the log and the metrics.
func (r *rig) silent(errs ...error) {
	r.Helper()
	for _, err := range errs {
		if f := failureOf(err); strings.Contains(f.all, canary) {
			r.Errorf("an error tells the canary: %s", f.all)
		}
	}
	if logs := r.logs.String(); strings.Contains(logs, canary) {
		at := strings.Index(logs, canary)
		r.Errorf("the log tells the canary: %s", logs[max(0, at-500):min(len(logs), at+100)])
	}
	families, err := r.registry.Gather()
	if err != nil {
		r.Fatal(err)
	}
	if len(families) == 0 {
		r.Error("there are no metrics")
	}
	for _, f := range families {
		if strings.Contains(f.String(), canary) {
			r.Errorf("the metrics tell the canary: %s", f.GetName())
		}
	}
}

// everywhere is a node with the canary in every field that may hold it.
func everywhere() *PutNode {
	call := calling(canary, canary)
	call.Parts = append(call.Parts,
		&transcriptv1.Part{Extras: `{"x":"` + canary + `"}`, Kind: &transcriptv1.Part_Json{Json: canary}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: canary, Signature: canary, RedactedData: []byte(canary)}}},
		&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: canary, Source: &transcriptv1.Media_Uri{Uri: canary}}}},
	)
	call.Extras, call.Name = `{"`+canary+`":1}`, proto.String(canary)
	return &PutNode{
		Namespace: canary, Messages: []*Message{user(canary), call, result(canary, canary), result(canary, "left out")},
		Metadata:    []*transcriptv1.MetadataEntry{{Key: "var/" + canary, Value: canary}, {Key: canary, Value: canary}},
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: absent, ToolCallId: proto.String(canary)},
		Aliases:     []*Update{{Name: canary + "/" + canary, Labels: &transcriptv1.Labels{Entries: map[string]string{canary: canary}}}},
	}
}

// TestCanaryInGoodCalls: what succeeds is logged and counted without what it was about.
func TestCanaryInGoodCalls(t *testing.T) {
	r := newRig(t)
	req := everywhere()
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req))
	name := req.Aliases[0].Name
	_, err := r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Namespace: canary, Nodes: []*transcriptv1.NewNode{{Messages: req.Messages}}})
	errs := []error{err}
	add := func(err error) { errs = append(errs, err) }
	_, err = r.Alias(r.ctx(), &transcriptv1.AliasRequest{Namespace: canary, Aliases: []*transcriptv1.AliasMove{{Name: canary, Target: byAlias(name)}}})
	add(err)
	_, err = r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Namespace: canary, Name: canary})
	add(err)
	_, err = r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{Namespace: canary, PageSize: 1, Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: canary}})
	add(err)
	_, err = r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Namespace: canary, Name: name})
	add(err)
	_, err = r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Namespace: canary, Node: byAlias(name)})
	add(err)
	_, err = r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Namespace: canary, Node: byAlias(name)})
	add(err)
	for _, view := range []transcriptv1.View{full, effective} {
		q := &Assemble{Namespace: canary, Head: byAlias(name), View: view, NodeDetail: envelopes, IfNoneMatch: canary}
		_, err = r.Assemble(r.ctx(), q)
		add(err)
		_, err = r.frames(q)
		add(err)
	}
	_, err = r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{Namespace: canary})
	add(err)
	_, err = r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{Namespace: canary, Settings: &transcriptv1.NamespaceSettings{MaxNodes: 100}})
	add(err)
	_, err = r.ListNamespaces(r.ctx(), &transcriptv1.ListNamespacesRequest{})
	add(err)
	_, err = r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Namespace: canary, Name: name})
	add(err)
	_, err = r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Namespace: canary, Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: canary}})
	add(err)
	add(send(r.Conn, t, transcriptv1.AdminService_Verify_FullMethodName, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), canary)))
	for i, err := range errs {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	r.silent(errs...)
	for _, method := range []string{"PutNode", "PutNodes", "Alias", "DeleteAlias", "DeleteAliases", "ListChildren", "StreamAssemble", "Verify"} {
		if !strings.Contains(r.logs.String(), `"grpc.method":"`+method+`"`) {
			t.Errorf("%s was not logged", method)
		}
	}
	if put.NodeId == "" {
		t.Error("no id")
	}
}

// TestCanaryInBadCalls puts the canary into every string and every bytes field of every request of every method, in
// forms that are right and forms that are wrong.
func TestCanaryInBadCalls(t *testing.T) {
	r := newRig(t)
	spoilt := []string{
		canary, canary + "\xff", "\xff" + canary, canary + "\n", canary + strings.Repeat("x", 5000), `{"` + canary + `":}`, `{"` + canary + `":1,"` + canary + `":2}`,
	}
	var errs []error
	for method, input := range methods() {
		walk(input, "", func(b []byte) []byte { return b }, func(d protoreflect.MessageDescriptor, _ string, wrap func([]byte) []byte) {
			unknown := protowire.AppendString(protowire.AppendTag(nil, 999, protowire.BytesType), canary)
			errs = append(errs, send(r.Conn, t, method, wrap(unknown)))
			for i := range d.Fields().Len() {
				fd := d.Fields().Get(i)
				if fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind {
					continue
				}
				for _, s := range spoilt {
					b := protowire.AppendTag(nil, fd.Number(), protowire.BytesType)
					errs = append(errs, send(r.Conn, t, method, wrap(protowire.AppendString(b, s))))
				}
			}
		})
	}
	r.silent(errs...)
	refusedCalls := 0
	for _, err := range errs {
		if f := failureOf(err); f.code != codes.OK {
			if refusedCalls++; f.code == codes.Unknown || f.code == codes.Internal || f.reason == "" {
				t.Errorf("failed with %v: %s", f.code, f.all)
			}
		}
	}
	if refusedCalls < 500 {
		t.Errorf("only %d of %d calls were refused", refusedCalls, len(errs))
	}
}

// TestCanaryInConflicts: names of aliases are not in the errors about them.
func TestCanaryInConflicts(t *testing.T) {
	r := newRig(t)
	req := everywhere()
	must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req))
	other := everywhere()
	other.Messages = []*Message{user("other " + canary)}
	other.Aliases[0].Precondition = &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
	_, exists := r.PutNode(r.ctx(), other)
	r.fails(exists, codes.AlreadyExists, "ALIAS_EXISTS", "")
	other.Aliases[0].Precondition = &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: absent}}
	_, moved := r.PutNode(r.ctx(), other)
	r.fails(moved, codes.Aborted, "ALIAS_MOVED", "")
	other.Aliases = repeat(2, &Update{Name: canary})
	_, twice := r.PutNode(r.ctx(), other)
	r.fails(twice, codes.InvalidArgument, "DUPLICATE_ALIAS", "aliases[1].name")
	_, none := r.ResolveAlias(r.ctx(), &transcriptv1.ResolveAliasRequest{Namespace: canary, Name: "not " + canary})
	r.fails(none, codes.NotFound, "ALIAS_NOT_FOUND", "name")
	_, parent := r.PutNode(r.ctx(), &PutNode{Parent: byAlias("not " + canary), Messages: req.Messages})
	r.fails(parent, codes.NotFound, "PARENT_NOT_FOUND", "parent")
	r.silent(exists, moved, twice, none, parent)
}

// panicking is a store with a bug.
type panicking struct{ chainstore.Store }

func (panicking) Commit(context.Context, string, *chainstore.Change) (*chainstore.Committed, error) {
	panic("with " + canary)
}

func (panicking) Chain(context.Context, string, chainstore.Ref, *chainstore.ID) (chainstore.Chain, error) {
	panic(append([]string{}, canary)[len(canary)]) // an index out of range
}

// TestPanics: a bug is INTERNAL, its place is in the log under the request's id, the value of the panic is not, and the
// server goes on.
func TestPanics(t *testing.T) {
	r := newRig(t, panicking{memstore.New(memstore.Options{})})
	_, put := r.PutNode(r.ctx(), everywhere())
	f := r.fails(put, codes.Internal, "INTERNAL", "")
	_, read := r.frames(&Assemble{Head: byAlias(canary)})
	g := r.fails(read, codes.Internal, "INTERNAL", "")
	r.silent(put, read)
	logs := r.logs.String()
	for _, want := range []string{f.requestID, g.requestID, "canary_test.go", "index out of range"} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log does not have %q: %s", want, logs)
		}
	}
	must[*transcriptv1.NamespaceStatsResponse](r)(r.admin.NamespaceStats(r.ctx(), &transcriptv1.NamespaceStatsRequest{}))
}

// TestCanaryInReadsAndCompactions calls the rpcs that read content, well and badly: nothing of it is in errors or logs.
func TestCanaryInReadsAndCompactions(t *testing.T) {
	r := newRig(t)
	req := everywhere()
	put := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req))
	ns, head, gone := req.Namespace, byAlias(req.Aliases[0].Name), byAlias(canary+"x")
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	add(r.Compact(r.ctx(), &Compact{Namespace: ns, Head: head, ThroughId: put.NodeId, Summary: canary, SummaryOnly: true, Aliases: []*Update{{Name: canary}}}))
	add(r.Compact(r.ctx(), &Compact{Namespace: ns, Head: gone}))
	add(r.Compact(r.ctx(), &Compact{Namespace: ns, Head: head, Aliases: []*Update{{Name: head.GetAlias()}}}))
	add(r.Compact(r.ctx(), &Compact{Namespace: ns, Head: head, ThroughId: put.NodeId, Summary: strings.Repeat(canary, 100_000)}))
	add(r.Assemble(r.ctx(), &Assemble{Namespace: ns, Head: head, View: conversation, Policy: &Policy{}}))
	add(r.ListRunLoops(r.ctx(), &transcriptv1.ListRunLoopsRequest{Namespace: ns, Head: head, PreviewChars: 100, Redact: true}))
	add(r.ListRunLoops(r.ctx(), &transcriptv1.ListRunLoopsRequest{Namespace: ns, Head: head, PageToken: canary}))
	for _, place := range []string{"", canary, put.NodeId + ".0"} {
		add(r.RecallToolCall(r.ctx(), &transcriptv1.RecallToolCallRequest{Namespace: ns, Head: head, ToolCallId: ptr(canary), Place: place}))
		add(r.RecallToolCall(r.ctx(), &transcriptv1.RecallToolCallRequest{
			Namespace: ns, Head: head, ToolCallId: ptr(canary), Place: place, Redact: true, PageToken: strings.TrimSuffix(place, put.NodeId+".0"),
		}))
	}
	add(r.ReplayTools(r.ctx(), &Replay{Namespace: ns, Head: head, ToolNames: []string{canary}}))
	add(r.ReplayTools(r.ctx(), &Replay{Namespace: ns, Head: head, PastLoopsOnly: true}))
	add(r.Describe(r.ctx(), &transcriptv1.DescribeRequest{Namespace: ns, Head: head, Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW}))
	add(r.Describe(r.ctx(), &transcriptv1.DescribeRequest{Namespace: ns, Head: gone}))
	for _, pattern := range []string{canary, canary + "("} {
		add(r.Search(r.ctx(), &transcriptv1.SearchRequest{
			Namespace: ns, Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: canary},
			Pattern: &transcriptv1.SearchRequest_Regexp{Regexp: pattern}, PageToken: strings.TrimSuffix(pattern, canary),
		}))
	}
	r.silent(errs...)
}
