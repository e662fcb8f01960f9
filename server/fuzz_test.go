package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// seeds are requests that succeed, or nearly do, by method.
func seeds(tb testing.TB) map[string][]proto.Message {
	put := everywhere()
	put.Namespace = ""
	ref := byAlias(put.Aliases[0].Name)
	const transcripts, admin = "/transcript.v1.TranscriptService/", "/transcript.v1.AdminService/"
	gone := []*Message{user("gone")}
	erasedElsewhere := &transcriptv1.PutArchivedNodesRequest{Nodes: []*transcriptv1.ArchivedNode{archived("", gone...)}}
	erasedElsewhere.Nodes[0].Payload = canonical.EncodePayload(canonical.Erased(gone))
	erasedElsewhere.Nodes[0].Erasure = canonical.NewErasure(gone, nil, func(int) bool { return true }, testreceipt.Of(tb, idOf(erasedElsewhere.Nodes[0]), ""))
	return map[string][]proto.Message{
		transcripts + "PutNode": {put, &PutNode{Parent: ref, Messages: []*Message{user("x")}}},
		transcripts + "PutNodes": {&transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{
			{Parent: ref, Messages: []*Message{calling("t", "1")}}, {Previous: true, Messages: []*Message{result("1", "")}, Aliases: []*Update{{Name: "a"}}},
		}}},
		admin + "Erase": {
			&transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "b"}, DryRun: true},
			&transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{absent}}}, Reference: "T-1"},
		},
		admin + "GetReceipts":            {&transcriptv1.GetReceiptsRequest{NodeIds: []string{absent}}},
		admin + "DeleteNamespace":        {&transcriptv1.DeleteNamespaceRequest{Namespace: "x", Confirm: "x"}},
		admin + "CollectGarbage":         {&transcriptv1.CollectGarbageRequest{Grace: durationpb.New(0)}, &transcriptv1.CollectGarbageRequest{Scope: transcriptv1.Scope_SCOPE_STORE, DryRun: true}},
		admin + "Backup":                 {&transcriptv1.BackupRequest{}, &transcriptv1.BackupRequest{Scope: transcriptv1.Scope_SCOPE_STORE}},
		transcripts + "PutArchivedNodes": {&transcriptv1.PutArchivedNodesRequest{Nodes: []*transcriptv1.ArchivedNode{archived("", user("x"))}}, erasedElsewhere},
		transcripts + "Alias":            {&transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "b", Target: ref}}}},
		transcripts + "DeleteAlias":      {&transcriptv1.DeleteAliasRequest{Name: "b"}, &transcriptv1.DeleteAliasRequest{Name: "b", ForgetHistory: true}},
		transcripts + "DeleteAliases":    {&transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "b"}, PageSize: 1}},
		transcripts + "ResolveAlias":     {&transcriptv1.ResolveAliasRequest{Name: ref.GetAlias()}},
		transcripts + "ListAliases":      {&transcriptv1.ListAliasesRequest{PageSize: 1, Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: canary}}},
		transcripts + "ListAliasHistory": {&transcriptv1.ListAliasHistoryRequest{Name: ref.GetAlias(), PageSize: 1}},
		transcripts + "Assemble":         {&Assemble{Head: ref, NodeDetail: envelopes}, &Assemble{Head: byAlias("a"), AfterId: absent, View: full}, lastBefore(ref, absent, 0)},
		transcripts + "StreamAssemble": {&transcriptv1.StreamAssembleRequest{Head: ref, IfNoneMatch: "x"}, &transcriptv1.StreamAssembleRequest{
			Head: ref, View: transcriptv1.View_VIEW_CONVERSATION, Policy: &Policy{MaxBytes: proto.Int64(1), MaxUserChars: proto.Int32(1)}, CondenseLast: true,
		}},
		transcripts + "GetNode":      {&transcriptv1.GetNodeRequest{Node: ref}, &transcriptv1.GetNodeRequest{Node: byID("abcdef")}},
		transcripts + "GetNodes":     {&transcriptv1.GetNodesRequest{NodeIds: []string{absent}, OmitMessages: true}},
		transcripts + "ListChildren": {&transcriptv1.ListChildrenRequest{Node: ref, PageSize: 1, PageToken: "AQAAAAAAAAAAAA"}},
		transcripts + "Compact": {
			&Compact{Head: ref, ThroughId: absent, Summary: canary, Policy: &Policy{MaxRunLoops: proto.Int32(1), ClearToolResults: clears(proto.Int32(0))}},
			&Compact{Head: byAlias("a"), ThroughId: absent, SummaryOnly: true, DryRun: true, Aliases: []*Update{{Name: "c"}}},
		},
		transcripts + "ListRunLoops":   {&transcriptv1.ListRunLoopsRequest{Head: ref, PreviewChars: 5, PageSize: 1}},
		transcripts + "RecallToolCall": {&transcriptv1.RecallToolCallRequest{Head: ref, ToolCallId: ptr("1"), Place: "0123456789ab.0", Redact: true}},
		transcripts + "Search": {
			&transcriptv1.SearchRequest{
				Scope: &transcriptv1.SearchRequest_Head{Head: ref}, Pattern: &transcriptv1.SearchRequest_Regexp{Regexp: "(?i)x+$"},
				ToolNames: []string{"t"},
			},
			&transcriptv1.SearchRequest{
				Scope: &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: ""}, Pattern: &transcriptv1.SearchRequest_Text{Text: "x"}, Redact: true,
			},
		},
		transcripts + "ReplayTools":    {&Replay{Head: ref, MaxCalls: 1, ToolNames: []string{"t"}, PastLoopsOnly: true}},
		transcripts + "Describe":       {&transcriptv1.DescribeRequest{Head: ref, Mode: 3, MaxItems: 1, PreviewChars: 1, MaxTextChars: 9}},
		transcripts + "ListNamespaces": {&transcriptv1.ListNamespacesRequest{PageSize: 1}, &transcriptv1.ListNamespacesRequest{PageToken: "AQAAAAAAAAAAAA"}},
		admin + "Restore":              {&transcriptv1.RestoreRequest{Archived: &transcriptv1.ArchiveNamespace{RevisionFloor: 1}, Aliases: []*transcriptv1.ArchiveAlias{{Name: "x", Revision: 1, States: []*transcriptv1.ArchiveAliasState{{Node: make([]byte, 32), Revision: 1, BeganAt: wireTime(1)}}}}}},
		admin + "SetNamespace":         {&transcriptv1.SetNamespaceRequest{Namespace: "x", Settings: &transcriptv1.NamespaceSettings{MaxNodes: 1 << 40}}},
		transcripts + "ServerInfo":     {&transcriptv1.ServerInfoRequest{}},
		admin + "NamespaceStats":       {&transcriptv1.NamespaceStatsRequest{Namespace: "x"}},
		admin + "Verify": {&transcriptv1.VerifyRequest{}, &transcriptv1.VerifyRequest{
			Scope: transcriptv1.Scope_SCOPE_STORE, Cursor: "AQ", MaxBytesPerSecond: 1 << 30,
		}},
	}
}

// FuzzRequests sends any bytes to any method of one server: whatever they are, the answer is a reply or a refusal with
// a reason that is no fault of the server, and the server stands.
func FuzzRequests(f *testing.F) {
	shapes := methods()
	names := slices.Sorted(maps.Keys(shapes))
	for i, name := range names {
		requests := seeds(f)[name]
		if len(requests) == 0 {
			f.Fatalf("no seed for %s", name)
		}
		for _, m := range requests {
			b, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), b)
		}
	}
	store := memstore.New(memstore.Options{})
	conn := testserver.StartWith(f, storetest.Mangle(f, store), server.Config{}).Conn
	f.Fuzz(func(t *testing.T, method uint8, request []byte) {
		name := names[int(method)%len(names)]
		err := send(conn, t, name, unpaced(shapes[name], request))
		if err == nil {
			return
		}
		switch got := failureOf(err); {
		case got.code == codes.Unknown || got.code == codes.Internal || got.code == codes.Unavailable || got.code == codes.DataLoss:
			t.Errorf("%v: %s", got.code, got.all)
		case got.reason == "":
			t.Errorf("no reason: %s", got.all)
		}
	})
}

// unpaced is the request with a last word on the pace: none. A request may ask for an answer that takes hours.
func unpaced(m protoreflect.MessageDescriptor, request []byte) []byte {
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); strings.HasSuffix(string(f.Name()), "_per_second") {
			request = protowire.AppendVarint(protowire.AppendTag(slices.Clip(request), f.Number(), protowire.VarintType), 0)
		}
	}
	return request
}
