package server_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// goodReads are requests that succeed, with all that they may have, by method. Those that only write are not here.
func goodReads(w *planted) map[string][]proto.Message {
	chat := byAlias("chat")
	return map[string][]proto.Message{
		"ServerInfo":     {&transcriptv1.ServerInfoRequest{}},
		"ListNamespaces": {&transcriptv1.ListNamespacesRequest{}},
		"ResolveAlias":   {&transcriptv1.ResolveAliasRequest{Name: "chat"}},
		"ListAliases":    {&transcriptv1.ListAliasesRequest{}, &transcriptv1.ListAliasesRequest{IncludeLoops: true, OpenOnly: true}},
		"DeleteAliases": {&transcriptv1.DeleteAliasesRequest{
			Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}, DryRun: true, MovedBefore: timestamppb.New(time.UnixMilli(1)),
		}},
		"ListAliasHistory": {&transcriptv1.ListAliasHistoryRequest{Name: "chat"}},
		"Assemble":         {&Assemble{Head: chat, View: conversation, NodeDetail: ids, NodeFacts: &NodeFacts{}, Policy: &Policy{}}, &Assemble{Head: chat, AfterId: w.chat[3]}, lastBefore(chat, w.chat[3], 0)},
		"StreamAssemble": {
			&transcriptv1.StreamAssembleRequest{Head: chat, View: conversation, Policy: &Policy{}},
			&transcriptv1.StreamAssembleRequest{Head: chat, AfterId: w.chat[3]},
			&transcriptv1.StreamAssembleRequest{Head: chat, View: full, LastBytes: 1, Before: &transcriptv1.MessagePlace{NodeId: w.chat[3]}},
		},
		"Compact":        {&Compact{Head: chat, ThroughId: w.chat[5], Policy: &Policy{}, DryRun: true}},
		"GetNode":        {&transcriptv1.GetNodeRequest{Node: chat}},
		"GetNodes":       {&transcriptv1.GetNodesRequest{NodeIds: w.chat}},
		"ListChildren":   {&transcriptv1.ListChildrenRequest{Node: chat}},
		"ListRunLoops":   {&ListLoops{Head: chat}},
		"RecallToolCall": {&Recall{Head: byID(w.results), ToolCallId: ptr("1")}, &Recall{Head: byID(w.results), Place: w.results + ".2", Redact: true}},
		"Search": {
			byRegexp(inChain(chat, ""), "x"),
			with(underPrefix("", "x"), func(q *SearchRequest) { q.Since, q.Until = &timestamppb.Timestamp{}, timestamppb.Now() }),
		},
		"ReplayTools": {&Replay{Head: chat}, &Replay{Head: chat, PastLoopsOnly: true}},
		"Describe":    {&Describe{Head: chat}},
	}
}

// spoiler makes a field of a request bad. bad says that it must be refused; else it may be.
type spoiler struct {
	field string
	bad   bool
	spoil func(protoreflect.Message)
}

// spoilers are those of every field of a message that has few right values: numbers, enums, ids, references, times.
func spoilers(d protoreflect.MessageDescriptor, path string) (all []spoiler) {
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		field := path + string(fd.Name())
		set := func(bad bool, values ...any) {
			for _, v := range values {
				all = append(all, spoiler{field, bad, func(m protoreflect.Message) { m.Set(fd, protoreflect.ValueOf(v)) }})
			}
		}
		messages := func(values ...proto.Message) {
			for _, v := range values {
				set(true, v.ProtoReflect())
			}
		}
		switch kind := fd.Kind(); {
		case fd.IsMap(), fd.IsList() && kind != protoreflect.EnumKind:
		case fd.IsList():
			all = append(all, spoiler{field + "[0]", true, func(m protoreflect.Message) {
				m.Mutable(fd).List().Append(protoreflect.ValueOfEnum(99))
			}})
		case kind == protoreflect.EnumKind:
			set(true, protoreflect.EnumNumber(-1), protoreflect.EnumNumber(99), protoreflect.EnumNumber(math.MaxInt32))
		case kind == protoreflect.Int32Kind:
			set(true, int32(-1), int32(math.MinInt32))
			set(false, int32(math.MaxInt32))
		case kind == protoreflect.Int64Kind:
			set(true, int64(-1), int64(math.MinInt64))
			set(false, int64(math.MaxInt64))
		case kind == protoreflect.StringKind && strings.HasSuffix(field, "_id") && fd.Name() != "tool_call_id":
			id := strings.Repeat("a", 64)
			set(true, "x", id[:5], id+"a", strings.ToUpper(id), id[:63]+"g", " "+id[1:])
		case kind == protoreflect.StringKind && fd.Name() == "alias":
			set(true, "", strings.Repeat("x", 513), "a\nb", "a\u0085b")
		case kind != protoreflect.MessageKind:
		case fd.Message().FullName() == "google.protobuf.Timestamp":
			messages(&timestamppb.Timestamp{Seconds: -1}, &timestamppb.Timestamp{Seconds: math.MinInt64}, &timestamppb.Timestamp{Seconds: math.MaxInt64},
				&timestamppb.Timestamp{Seconds: 253402300800}, &timestamppb.Timestamp{Nanos: -1}, &timestamppb.Timestamp{Nanos: 1_000_000_000})
		case fd.Message().FullName() == "google.protobuf.Duration":
			messages(&durationpb.Duration{Seconds: -1}, &durationpb.Duration{Seconds: math.MinInt64}, &durationpb.Duration{Seconds: math.MaxInt64},
				&durationpb.Duration{Seconds: 1, Nanos: -1}, &durationpb.Duration{Seconds: 1, Nanos: 1_000_000_000}, &durationpb.Duration{Nanos: -1})
		case fd.Message().FullName() == "transcript.v1.NodeRef":
			messages(&NodeRef{})
			fallthrough
		default:
			for _, s := range spoilers(fd.Message(), field+".") {
				all = append(all, spoiler{s.field, s.bad, func(m protoreflect.Message) { s.spoil(m.Mutable(fd).Message()) }})
			}
		}
	}
	return all
}

// TestFieldsOutOfRange spoils, one by one, every number, enum, id, reference and time in requests that are otherwise right. The
// refusal names the field and its rule.
func TestFieldsOutOfRange(t *testing.T) {
	r := newRig(t)
	w := r.plant()
	writers := []string{"PutNode", "PutNodes", "PutArchivedNodes", "Alias", "DeleteAlias"}
	reads := goodReads(w)
	before, spoilt := r.holds(), 0
	for method := range methods() {
		name, ok := strings.CutPrefix(method, "/transcript.v1.TranscriptService/")
		if !ok || slices.Contains(writers, name) {
			continue
		}
		if len(reads[name]) == 0 {
			t.Errorf("no request for %s", name)
		}
		for _, good := range reads[name] {
			if err := r.sends(method, good); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, s := range spoilers(good.ProtoReflect().Descriptor(), "") {
				spoilt++
				req := proto.Clone(good)
				s.spoil(req.ProtoReflect())
				err := r.sends(method, req)
				f := failureOf(err)
				named := f.rule != "" && (strings.HasPrefix(f.field, s.field) || strings.HasPrefix(s.field, f.field+"."))
				refused := f.code == invalid && (f.reason == badField || f.reason == overLimit) && named
				if !refused && (s.bad || err != nil && f.reason != noToolCall) {
					t.Errorf("%s with a bad %s: %v, %s, field %q\n%v", name, s.field, f.code, f.reason, f.field, req)
				}
			}
		}
	}
	equal(r, "what the store holds afterwards", r.holds(), before)
	if spoilt < 200 {
		t.Errorf("only %d fields were spoilt", spoilt)
	}
}

// sends calls a method with a request.
func (r *rig) sends(method string, req proto.Message) error {
	r.Helper()
	b, err := proto.Marshal(req)
	if err != nil {
		r.Fatal(err)
	}
	return send(r.Conn, r.T, method, b)
}
