package server_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// wireBytes is a client's codec that sends bytes as they are and does not look at replies.
type wireBytes struct{}

func (wireBytes) Name() string { return "proto" }

func (wireBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (wireBytes) Unmarshal(mem.BufferSlice, any) error { return nil }

// send calls any method with any bytes and returns how that ended.
func send(conn *grpc.ClientConn, t testing.TB, method string, request []byte) error {
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(wireBytes{}))
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = stream.CloseSend()
	}
	for err == nil {
		var reply []byte
		err = stream.RecvMsg(&reply)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// methods are all methods of our services with the shapes of their requests.
func methods() map[string]protoreflect.MessageDescriptor {
	all := map[string]protoreflect.MessageDescriptor{}
	for _, file := range []protoreflect.FileDescriptor{
		transcriptv1.File_transcript_v1_transcript_service_proto, transcriptv1.File_transcript_v1_admin_service_proto,
	} {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for k := range s.Methods().Len() {
				m := s.Methods().Get(k)
				all[fmt.Sprintf("/%s/%s", s.FullName(), m.Name())] = m.Input()
			}
		}
	}
	return all
}

// walk visits every message within a request as the wire forms that lead to it: wrap puts the bytes of that message
// into a request.
func walk(d protoreflect.MessageDescriptor, path string, wrap func([]byte) []byte, visit func(d protoreflect.MessageDescriptor, path string, wrap func([]byte) []byte)) {
	visit(d, path, wrap)
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		if fd.Message() == nil {
			continue
		}
		name := string(fd.Name())
		if fd.IsList() {
			name += "[0]"
		}
		walk(fd.Message(), path+name+".", func(b []byte) []byte {
			return wrap(protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), b))
		}, visit)
	}
}

// TestUnknownFieldsAndUTF8 puts an unknown field into every message, and invalid UTF-8 into every string, of every
// request of every method.
func TestUnknownFieldsAndUTF8(t *testing.T) {
	r := newRig(t)
	seen := 0
	for method, input := range methods() {
		refuse := func(request []byte, field string) {
			r.Helper()
			seen++
			r.fails(send(r.Conn, t, method, request), codes.InvalidArgument, "MALFORMED_REQUEST", field)
		}
		walk(input, "", func(b []byte) []byte { return b }, func(d protoreflect.MessageDescriptor, path string, wrap func([]byte) []byte) {
			refuse(wrap(protowire.AppendVarint(protowire.AppendTag(nil, 2000, protowire.VarintType), 1)), path+"2000")
			for i := range d.Fields().Len() {
				if fd := d.Fields().Get(i); fd.Kind() == protoreflect.StringKind {
					name := string(fd.Name())
					if fd.IsList() {
						name += "[0]"
					}
					b := protowire.AppendTag(nil, fd.Number(), protowire.BytesType)
					refuse(wrap(protowire.AppendString(b, "\xff")), path+name)
					b = protowire.AppendTag(nil, fd.Number(), protowire.VarintType)
					refuse(wrap(protowire.AppendVarint(b, 1)), path+fmt.Sprint(fd.Number()))
				}
			}
		})
		for _, garbage := range []string{"\x07", "\x0a", "\x0a\xff", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0b", "\x0c"} {
			err := send(r.Conn, t, method, []byte(garbage))
			if f := failureOf(err); f.code != codes.InvalidArgument || f.reason != "MALFORMED_REQUEST" {
				t.Errorf("%s with %q: %v", method, garbage, err)
			}
		}
		big := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), make([]byte, 4<<20+64<<10))
		r.fails(send(r.Conn, t, method, big), codes.InvalidArgument, "LIMIT_EXCEEDED", "request")
		huge := make([]byte, 8<<20+1)
		if err := send(r.Conn, t, method, huge); failureOf(err).code != codes.ResourceExhausted {
			t.Errorf("%s with 8 MiB and a byte: %v", method, err)
		}
		if input.Fields().ByName("namespace") == nil {
			continue
		}
		r.fails(send(r.Conn, t, method, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "UPPER")),
			codes.InvalidArgument, "INVALID_FIELD", "namespace")
	}
	if seen < 200 {
		t.Errorf("only %d requests were tried", seen)
	}
}

func callPut(req *PutNode) func(*rig) error {
	return func(r *rig) error {
		if len(req.Messages) == 0 {
			req.Messages = []*Message{user("x")}
		}
		_, err := r.PutNode(r.ctx(), req)
		return err
	}
}

func callNodes(nodes ...*transcriptv1.NewNode) func(*rig) error {
	return func(r *rig) error {
		_, err := r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: nodes})
		return err
	}
}

func callAlias(moves ...*transcriptv1.AliasMove) func(*rig) error {
	return func(r *rig) error {
		_, err := r.Alias(r.ctx(), &transcriptv1.AliasRequest{Aliases: moves})
		return err
	}
}

func repeat[T any](n int, v T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func badPuts() []bad {
	long := strings.Repeat("x", 513)
	many := func(n int) []*Update {
		var out []*Update
		for i := range n {
			out = append(out, &Update{Name: fmt.Sprint(i)})
		}
		return out
	}
	one := func(m *Message) *PutNode { return &PutNode{Messages: []*Message{m}} }
	precondition := func(p *transcriptv1.AliasPrecondition) *PutNode {
		return &PutNode{Aliases: []*Update{{Name: "a"}, {Name: "b", Precondition: p}}}
	}
	labels := func(k, v string) *PutNode {
		return &PutNode{Aliases: []*Update{{Name: "a", Labels: &transcriptv1.Labels{Entries: map[string]string{k: v}}}}}
	}
	tooManyLabels := map[string]string{}
	for i := range 65 {
		tooManyLabels[fmt.Sprint(i)] = ""
	}
	note := func(n *transcriptv1.MessageNote) *PutNode { return &PutNode{Notes: []*transcriptv1.MessageNote{n}} }
	attributes := func(n int, key, value string) *PutNode {
		all := map[string]string{}
		for i := range n {
			all[key+string(rune('a'+i))] = value
		}
		return note(&transcriptv1.MessageNote{Attributes: all})
	}
	part := func(p *transcriptv1.Part) *PutNode {
		return one(&Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{p}})
	}
	var calls []string
	for i := range 257 {
		calls = append(calls, fmt.Sprint(i))
	}
	noMessages := func(r *rig) error { _, err := r.PutNode(r.ctx(), &PutNode{}); return err }
	return []bad{
		{"no messages", noMessages, invalid, badField, "messages"},
		{"no role", callPut(one(&Message{})), invalid, badField, "messages[0].role"},
		{"a role unknown", callPut(one(&Message{Role: 17})), invalid, badField, "messages[0].role"},
		{"a negative role", callPut(one(&Message{Role: -1})), invalid, badField, "messages[0].role"},
		{"an origin", callPut(one(&Message{Role: 3, Origin: 2})), invalid, badField, "messages[0].origin"},
		{"a state unknown", callPut(one(&Message{Role: 3, State: 9})), invalid, badField, "messages[0].state"},
		{"a form implied", callPut(one(&Message{Role: 3, ContentForm: 2, Parts: text("x")})), invalid, badField, "messages[0].content_form"},
		{"a part of no kind", callPut(part(&transcriptv1.Part{})), invalid, badField, "messages[0].parts[0]"},
		{"a call of a user", callPut(one(&Message{Role: 3, Parts: calling("t", "1").Parts})), invalid, badField, "messages[0].parts[0].tool_call"},
		{"a user with a call id", callPut(one(&Message{Role: 3, ToolCallId: proto.String("1")})), invalid, badField, "messages[0].tool_call_id"},
		{"a user in error", callPut(one(&Message{Role: 3, IsError: true})), invalid, badField, "messages[0].is_error"},
		{"a long call id", callPut(one(calling("t", strings.Repeat("x", 1025)))), invalid, overLimit, "messages[0].parts[0].tool_call.id"},
		{"257 calls", callPut(one(calling("t", calls...))), invalid, overLimit, "messages[0].parts"},
		{"a blob", callPut(part(&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{
			Source: &transcriptv1.Media_BlobDigest{BlobDigest: make([]byte, 32)}}}})), invalid, badField, "messages[0].parts[0].media.blob_digest"},
		{"extras with white space", callPut(one(&Message{Role: 3, Extras: `{"a": 1}`})), invalid, badField, "messages[0].extras"},
		{"extras that are no object", callPut(part(&transcriptv1.Part{Extras: "[]", Kind: &transcriptv1.Part_Json{}})), invalid, badField, "messages[0].parts[0].extras"},
		{"1,001 messages", callPut(&PutNode{Messages: repeat(1001, user("x"))}), invalid, overLimit, "messages"},
		{"200,001 messages and parts", callPut(one(&transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: repeat(200_000, &transcriptv1.Part{})})),
			invalid, overLimit, "messages[0].parts[199999]"},
		{"200,000 messages and parts", callPut(one(&transcriptv1.Message{Role: transcriptv1.Role_ROLE_USER, Parts: repeat(199_999, &transcriptv1.Part{})})),
			invalid, badField, "messages[0].parts[0]"},
		{"a message over 3 MiB", callPut(one(user(strings.Repeat("x", 3<<20)))), invalid, overLimit, "messages[0]"},
		{"messages over 4 MiB - 128 KiB", callPut(&PutNode{Messages: repeat(2, user(strings.Repeat("x", 2<<20-60<<10)))}), invalid, overLimit, "messages"},
		{"10,001 calls and results", callPut(&PutNode{Messages: append(repeat(40, calling("t", calls[:250]...)), result("1", ""))}), invalid, overLimit, "messages"},
		{"a salt of 15", callPut(&PutNode{Salt: make([]byte, 15)}), invalid, badField, "salt"},
		{"a salt of 33", callPut(&PutNode{Salt: make([]byte, 33)}), invalid, badField, "salt"},
		{"an empty key", callPut(&PutNode{Metadata: []*transcriptv1.MetadataEntry{{}}}), invalid, badField, "metadata[0].key"},
		{"a key twice", callPut(&PutNode{Metadata: repeat(2, &transcriptv1.MetadataEntry{Key: "k"})}), invalid, badField, "metadata[1].key"},
		{"a long value", callPut(&PutNode{Metadata: []*transcriptv1.MetadataEntry{{Key: "k", Value: strings.Repeat("x", 4097)}}}), invalid, overLimit, "metadata[0].value"},
		{"65 entries", callPut(&PutNode{Metadata: repeat(65, &transcriptv1.MetadataEntry{Key: "k"})}), invalid, overLimit, "metadata"},
		{"a spawner without id", callPut(&PutNode{SpawnedFrom: &transcriptv1.SpawnedFromRef{}}), invalid, badField, "spawned_from.node_id"},
		{"a spawner's long call id", callPut(&PutNode{SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: absent, ToolCallId: &long}}), codes.OK, "", ""},
		{"two notes for a message", callPut(&PutNode{Notes: repeat(2, &transcriptv1.MessageNote{})}), invalid, badField, "notes"},
		{"a negative count", callPut(note(&transcriptv1.MessageNote{TokenCount: proto.Int32(-1)})), invalid, badField, "notes[0].token_count"},
		{"an estimate of nothing", callPut(note(&transcriptv1.MessageNote{TokenCountEstimated: true})), invalid, badField, "notes[0].token_count_estimated"},
		{"a note before 1970", callPut(note(&transcriptv1.MessageNote{SentAt: timestamppb.New(time.Unix(-1, 0))})), invalid, badField, "notes[0].sent_at"},
		{"a note after 9999", callPut(note(&transcriptv1.MessageNote{SentAt: &timestamppb.Timestamp{Seconds: 253402300800}})), invalid, badField, "notes[0].sent_at"},
		{"a note with odd nanoseconds", callPut(note(&transcriptv1.MessageNote{SentAt: &timestamppb.Timestamp{Nanos: -1}})), invalid, badField, "notes[0].sent_at"},
		{"a negative count", callPut(note(&transcriptv1.MessageNote{InputTokens: proto.Int32(-1)})), invalid, badField, "notes[0].input_tokens"},
		{"a negative output", callPut(note(&transcriptv1.MessageNote{OutputTokens: proto.Int32(-1)})), invalid, badField, "notes[0].output_tokens"},
		{"negative cached tokens", callPut(note(&transcriptv1.MessageNote{CachedTokens: proto.Int32(-1 << 31)})), invalid, badField, "notes[0].cached_tokens"},
		{"a model of 1,022 bytes", callPut(note(&transcriptv1.MessageNote{Model: strings.Repeat("m", 1022)})), invalid, overLimit, "notes[0].model"},
		{"a model of 1,021 bytes", callPut(note(&transcriptv1.MessageNote{Model: strings.Repeat("m", 1021), SentAt: timestamppb.Now(), TokenCount: proto.Int32(1)})), codes.OK, "", ""},
		{"a model of 1,021 bytes and a count", callPut(note(&transcriptv1.MessageNote{Model: strings.Repeat("m", 1021), InputTokens: proto.Int32(0)})), invalid, overLimit, "notes[0].model"},
		{"a long reason", callPut(note(&transcriptv1.MessageNote{Model: strings.Repeat("m", 500), FinishReason: strings.Repeat("m", 530)})), invalid, overLimit, "notes[0].finish_reason"},
		{"17 attributes", callPut(attributes(17, "k", "v")), invalid, overLimit, "notes[0].attributes"},
		{"16 attributes", callPut(attributes(16, "k", "v")), codes.OK, "", ""},
		{"16 long attributes", callPut(attributes(16, "k", strings.Repeat("v", 60))), invalid, overLimit, "notes[0].attributes"},
		{"an attribute without key", callPut(note(&transcriptv1.MessageNote{Attributes: map[string]string{"": "v"}})), invalid, badField, "notes[0].attributes"},
		{"a key of 65 bytes", callPut(attributes(1, strings.Repeat("k", 64), "v")), invalid, overLimit, "notes[0].attributes"},
		{"a key of 64 bytes", callPut(attributes(1, strings.Repeat("k", 63), strings.Repeat("v", 256))), codes.OK, "", ""},
		{"an attribute of 257 bytes", callPut(attributes(1, "k", strings.Repeat("v", 257))), invalid, overLimit, "notes[0].attributes"},
		{"notes of 64 KiB", callPut(&PutNode{Messages: repeat(64, user("x")), Notes: repeat(64, &transcriptv1.MessageNote{Model: strings.Repeat("m", 1021)})}), codes.OK, "", ""},
		{"notes over 64 KiB", callPut(&PutNode{
			Messages: repeat(65, user("x")), Notes: append(repeat(64, &transcriptv1.MessageNote{Model: strings.Repeat("m", 1021)}), &transcriptv1.MessageNote{FinishReason: "x"}),
		}), invalid, overLimit, "notes"},
		{"an empty parent", callPut(&PutNode{Parent: &NodeRef{}}), invalid, badField, "parent"},
		{"a short parent", callPut(&PutNode{Parent: byID("abcdef")}), invalid, badField, "parent.node_id"},
		{"a parent in capitals", callPut(&PutNode{Parent: byID(strings.Repeat("A", 64))}), invalid, badField, "parent.node_id"},
		{"an absent parent", callPut(&PutNode{Parent: byID(absent)}), codes.NotFound, "PARENT_NOT_FOUND", "parent"},
		{"an absent alias as parent", callPut(&PutNode{Parent: byAlias("nobody")}), codes.NotFound, "PARENT_NOT_FOUND", "parent"},
		{"a nameless alias as parent", callPut(&PutNode{Parent: byAlias("")}), invalid, badField, "parent.alias"},
		{"a long alias as parent", callPut(&PutNode{Parent: byAlias(long)}), invalid, overLimit, "parent.alias"},
		{"a nameless alias", callPut(&PutNode{Aliases: []*Update{{}}}), invalid, badField, "aliases[0].name"},
		{"an alias with a line break", callPut(&PutNode{Aliases: []*Update{{Name: "a\nb"}}}), invalid, badField, "aliases[0].name"},
		{"an alias with a control character above ASCII", callPut(&PutNode{Aliases: []*Update{{Name: "a\u0085b"}}}), invalid, badField, "aliases[0].name"},
		{"a long alias", callPut(&PutNode{Aliases: []*Update{{Name: long}}}), invalid, overLimit, "aliases[0].name"},
		{"an alias twice", callPut(&PutNode{Aliases: repeat(2, &Update{Name: "a"})}), invalid, "DUPLICATE_ALIAS", "aliases[1].name"},
		{"1,001 aliases", callPut(&PutNode{Aliases: many(1001)}), invalid, overLimit, "aliases"},
		{"must_not_exist = false", callPut(precondition(&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{}})), invalid, badField, "aliases[1].precondition.must_not_exist"},
		{"must_exist = false", callPut(precondition(&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{}})), invalid, badField, "aliases[1].precondition.must_exist"},
		{"a head that is no id", callPut(precondition(&transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{}})), invalid, badField, "aliases[1].precondition.head_id"},
		{"revision 0", callPut(precondition(&transcriptv1.AliasPrecondition{Revision: proto.Int64(0)})), invalid, badField, "aliases[1].precondition.revision"},
		{"a negative revision beside a head", callPut(precondition(&transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: absent}, Revision: proto.Int64(-1)})), invalid, badField, "aliases[1].precondition.revision"},
		{"a revision beside must_exist", callPut(precondition(&transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}, Revision: proto.Int64(1)})), invalid, badField, "aliases[1].precondition.revision"},
		{"a revision beside must_not_exist", callPut(precondition(&transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}, Revision: proto.Int64(1)})), invalid, badField, "aliases[1].precondition.revision"},
		{"a delete with labels", callPut(&PutNode{Aliases: []*Update{{Name: "a", Delete: true, Labels: &transcriptv1.Labels{}}}}), invalid, badField, "aliases[0].labels"},
		{"a delete that must not exist", callPut(&PutNode{Aliases: []*Update{{Name: "a", Delete: true, Precondition: &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}}}}), invalid, badField, "aliases[0].precondition.must_not_exist"},
		{"an alias set and deleted", callPut(&PutNode{Aliases: []*Update{{Name: "a"}, {Name: "a", Delete: true}}}), invalid, "DUPLICATE_ALIAS", "aliases[1].name"},
		{"a label without key", callPut(labels("", "v")), invalid, badField, "aliases[0].labels.entries"},
		{"a long label key", callPut(labels(strings.Repeat("k", 257), "v")), invalid, overLimit, "aliases[0].labels.entries"},
		{"a long label", callPut(labels("k", strings.Repeat("v", 4097))), invalid, overLimit, "aliases[0].labels.entries"},
		{"65 labels", callPut(&PutNode{Aliases: []*Update{{Name: "a", Labels: &transcriptv1.Labels{Entries: tooManyLabels}}}}), invalid, overLimit, "aliases[0].labels.entries"},
		{"too many open calls", callPut(&PutNode{Messages: repeat(5, calling("t", calls[:256]...))}), invalid, "TOO_MANY_OPEN_CALLS", ""},
	}
}

func badBatches() []bad {
	node := func(n *transcriptv1.NewNode) *transcriptv1.NewNode {
		n.Messages = []*Message{user("x")}
		return n
	}
	plain := node(&transcriptv1.NewNode{})
	var aliases []*Update
	for i := range 600 {
		aliases = append(aliases, &Update{Name: fmt.Sprint(i)})
	}
	var others []*Update
	for i := range 600 {
		others = append(others, &Update{Name: fmt.Sprint("b", i)})
	}
	return []bad{
		{"no nodes", callNodes(), invalid, badField, "nodes"},
		{"1,001 nodes", callNodes(repeat(1001, plain)...), invalid, overLimit, "nodes"},
		{"10,001 messages", callNodes(append(repeat(10, &transcriptv1.NewNode{Messages: repeat(1000, user(""))}), plain)...), invalid, overLimit, "nodes"},
		{"10,001 results", callNodes(append(repeat(10, &transcriptv1.NewNode{Messages: repeat(10, calling("t", repeat(100, "c")...))}),
			&transcriptv1.NewNode{Messages: []*Message{result("c", "")}})...), invalid, overLimit, "nodes"},
		{"previous on the first", callNodes(&transcriptv1.NewNode{Previous: true}), invalid, badField, "nodes[0].previous"},
		{"previous and parent", callNodes(plain, &transcriptv1.NewNode{Previous: true, Parent: byID(absent)}), invalid, badField, "nodes[1].previous"},
		{"a node without messages", callNodes(plain, &transcriptv1.NewNode{}), invalid, badField, "nodes[1].messages"},
		{"a bad message in a node", callNodes(plain, &transcriptv1.NewNode{Messages: []*Message{user(""), {}}}), invalid, badField, "nodes[1].messages[1].role"},
		{"a bad parent in a node", callNodes(plain, node(&transcriptv1.NewNode{Parent: byID("?")})), invalid, badField, "nodes[1].parent.node_id"},
		{"an absent parent in a node", callNodes(plain, node(&transcriptv1.NewNode{Parent: byID(absent)})), codes.NotFound, "PARENT_NOT_FOUND", "nodes[1].parent"},
		{"notes of a node", callNodes(node(&transcriptv1.NewNode{Notes: repeat(2, &transcriptv1.MessageNote{})})), invalid, badField, "nodes[0].notes"},
		{"a count of a node", callNodes(node(&transcriptv1.NewNode{Notes: repeat(1, &transcriptv1.MessageNote{InputTokens: proto.Int32(-1)})})), invalid, badField, "nodes[0].notes[0].input_tokens"},
		{"an alias twice over nodes", callNodes(node(&transcriptv1.NewNode{Aliases: aliases[:1]}), node(&transcriptv1.NewNode{Aliases: aliases[:1]})), invalid, "DUPLICATE_ALIAS", "nodes[1].aliases[0].name"},
		{"1,001 aliases over nodes", callNodes(node(&transcriptv1.NewNode{Aliases: aliases}), node(&transcriptv1.NewNode{Aliases: others})), invalid, overLimit, "aliases"},
	}
}

func badAliases() []bad {
	remove := func(req *transcriptv1.DeleteAliasRequest) func(*rig) error {
		return func(r *rig) error { _, err := r.DeleteAlias(r.ctx(), req); return err }
	}
	move := func(m *transcriptv1.AliasMove) func(*rig) error { return callAlias(m) }
	removeAll := func(req *DeleteAliases) func(*rig) error { return asked((*rig).DeleteAliases, req) }
	all := &transcriptv1.DeleteAliasesRequest_All{All: true}
	var many []*transcriptv1.AliasMove
	for i := range 1001 {
		many = append(many, &transcriptv1.AliasMove{Name: fmt.Sprint(i), Target: byID(absent)})
	}
	return []bad{
		{"no aliases", callAlias(), invalid, badField, "aliases"},
		{"1,001 moves", callAlias(many...), invalid, overLimit, "aliases"},
		{"a move without target", move(&transcriptv1.AliasMove{Name: "a"}), invalid, badField, "aliases[0].target"},
		{"a move to no id", move(&transcriptv1.AliasMove{Name: "a", Target: byID("x")}), invalid, badField, "aliases[0].target.node_id"},
		{"a move to an absent node", move(&transcriptv1.AliasMove{Name: "a", Target: byID(absent)}), codes.NotFound, "NODE_NOT_FOUND", "aliases[0].target"},
		{"a move to an absent alias", move(&transcriptv1.AliasMove{Name: "a", Target: byAlias("nobody")}), codes.NotFound, "ALIAS_NOT_FOUND", "aliases[0].target"},
		{"a nameless move", move(&transcriptv1.AliasMove{Target: byID(absent)}), invalid, badField, "aliases[0].name"},
		{"a move twice", callAlias(repeat(2, many[0])...), invalid, "DUPLICATE_ALIAS", "aliases[1].name"},
		{"a move and delete", move(&transcriptv1.AliasMove{Name: "a", Target: byID(absent), Delete: true}), invalid, badField, "aliases[0].target"},
		{"a delete with labels", move(&transcriptv1.AliasMove{Name: "a", Delete: true, Labels: &transcriptv1.Labels{}}), invalid, badField, "aliases[0].labels"},
		{"a move on revision 0", move(&transcriptv1.AliasMove{Name: "a", Delete: true, Precondition: &transcriptv1.AliasPrecondition{
			Revision: proto.Int64(0)}}), invalid, badField, "aliases[0].precondition.revision"},
		{"a delete on revision 0", remove(&transcriptv1.DeleteAliasRequest{Name: "a", Precondition: &transcriptv1.AliasPrecondition{
			Revision: proto.Int64(0)}}), invalid, badField, "precondition.revision"},
		{"a delete on a revision that there is not", remove(&transcriptv1.DeleteAliasRequest{Name: "nobody", Precondition: &transcriptv1.AliasPrecondition{
			Revision: proto.Int64(1)}}), codes.Aborted, "ALIAS_MOVED", ""},
		{"a nameless delete", remove(&transcriptv1.DeleteAliasRequest{}), invalid, badField, "name"},
		{"a delete that must not exist", remove(&transcriptv1.DeleteAliasRequest{Name: "a", Precondition: &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}}), invalid, badField, "precondition.must_not_exist"},
		{"a delete of no head", remove(&transcriptv1.DeleteAliasRequest{Name: "a", Precondition: &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: "x"}}}), invalid, badField, "precondition.head_id"},
		{"a delete that must exist", remove(&transcriptv1.DeleteAliasRequest{Name: "nobody", Precondition: &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}}}), codes.NotFound, "ALIAS_NOT_FOUND", ""},
		{"a deletion of nobody knows what", removeAll(&DeleteAliases{}), invalid, badField, "prefix all"},
		{"a deletion of an empty prefix", removeAll(&DeleteAliases{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{}}), invalid, badField, "prefix"},
		{"a deletion of a long prefix", removeAll(&DeleteAliases{Scope: startingWith(strings.Repeat("a", 513))}), invalid, overLimit, "prefix"},
		{"a deletion of not all", removeAll(&DeleteAliases{Scope: &transcriptv1.DeleteAliasesRequest_All{}}), invalid, badField, "all"},
		{"a deletion before 1970", removeAll(&DeleteAliases{Scope: all, MovedBefore: &timestamppb.Timestamp{Seconds: -1}}), invalid, badField, "moved_before"},
		{"a deletion in negative pages", removeAll(&DeleteAliases{Scope: all, PageSize: -1}), invalid, badField, "page_size"},
		{"a deletion with another's token", removeAll(&DeleteAliases{Scope: all, PageToken: "AAAA"}), invalid, "INVALID_PAGE_TOKEN", "page_token"},
	}
}
