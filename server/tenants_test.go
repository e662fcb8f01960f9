package server_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// tenants are two callers of one server, each with every role on a namespace of its own.
type tenants struct {
	ours, theirs *rig
	grpc         *grpc.Server
	// heads are of a chain of each, in that order.
	heads [2]string
	// erased is a node of ours that was erased.
	erased string
	// secrets are the texts that only they have, by what they are; as arguments, we have them too.
	secrets map[string]string
	// told is what everything of theirs looks like to themselves.
	told string
}

// theirNamespace is theirs: its name, too, they alone know.
const theirNamespace = "theirs-7c2f1b"

// named knows callers by their names.
type named struct{}

func (named) Authenticate(c identity.Credentials) (*identity.Principal, error) {
	if len(c.Authorization) != 1 {
		return nil, identity.ErrUnauthenticated
	}
	return &identity.Principal{Name: c.Authorization[0], Grants: []identity.Grant{
		{Roles: ^identity.Role(0), Namespaces: identity.Pattern(c.Authorization[0])},
	}}, nil
}

func newTenants(t *testing.T) *tenants {
	t.Helper()
	at := time.Now()
	s := testserver.StartWith(t, memstore.New(memstore.Options{}), server.Config{Authenticator: named{}, Now: func() time.Time { return at }})
	server.CollectsBeside(t, s.Server)
	w := &tenants{ours: tenant(t, s, "ours"), theirs: tenant(t, s, theirNamespace), grpc: s.GRPC, secrets: map[string]string{}}
	w.heads[0], _ = w.ours.settle("mine", "we")
	head, ids := w.theirs.settle(canary, canary)
	w.heads[1] = head
	w.erased = absent
	ids = append(ids, w.theirs.eraseOne(theirNamespace, canary+" said this once"))
	for i, id := range ids {
		w.secrets[fmt.Sprint("node ", i)] = id
	}
	w.secrets["text"], w.secrets["alias"], w.secrets["namespace"] = canary, canary+"/chat", theirNamespace
	w.told = w.theirs.holds()
	page := must[*transcriptv1.ListAliasesResponse](w.theirs)(w.theirs.ListAliases(t.Context(), &transcriptv1.ListAliasesRequest{PageSize: 1}))
	children := must[*transcriptv1.ListChildrenResponse](w.theirs)(w.theirs.ListChildren(t.Context(), &transcriptv1.ListChildrenRequest{Node: byID(ids[0]), PageSize: 1}))
	w.secrets["page token"], w.secrets["another page token"] = page.NextPageToken, children.NextPageToken
	w.secrets["etag"] = must[*transcriptv1.AssembleResponse](w.theirs)(w.theirs.Assemble(t.Context(), &Assemble{Head: byID(head)})).Etag
	for what, s := range w.secrets {
		if len(s) < 10 {
			t.Fatalf("%s is %q", what, s)
		}
	}
	return w
}

// tenant is a rig whose calls are of a tenant, and about its namespace where they name none.
func tenant(t *testing.T, s *testserver.Stack, name string) *rig {
	t.Helper()
	about := func(ctx context.Context, req any) context.Context {
		if m, ok := req.(proto.Message); ok {
			if f := m.ProtoReflect().Descriptor().Fields().ByName("namespace"); f != nil && !m.ProtoReflect().Has(f) {
				m.ProtoReflect().Set(f, protoreflect.ValueOfString(name))
			}
		}
		return grpcmetadata.AppendToOutgoingContext(ctx, "authorization", name)
	}
	conn := s.Dial(t, grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, c *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
		return next(about(ctx, req), method, req, reply, c, o...)
	}), grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
		return next(about(ctx, nil), d, c, method, o...)
	}))
	own := *s
	own.Conn = conn
	return &rig{T: t, Stack: &own, TranscriptServiceClient: transcriptv1.NewTranscriptServiceClient(conn), admin: transcriptv1.NewAdminServiceClient(conn), logs: &safeBuffer{}}
}

// settle puts chains whose every text has a mark: calls and results, a fork, a compaction, what is left of a deleted alias, and a subagent. It
// gives the head of the compacted chain, and the ids of all.
func (r *rig) settle(folder, mark string) (head string, ids []string) {
	r.Helper()
	say := func(s string) string { return mark + " " + s }
	ids = r.chain(folder+"/chat", system(say("prompt")), user(say("question")), calling(say("tool"), mark), result(mark, say("result")),
		assistant(say("reply")), user(say("again")), assistant(say("done")))
	whole := everywhere()
	whole.Namespace, whole.Messages = "", []*Message{user(say("whole"))}
	whole.SpawnedFrom.NodeId, whole.Aliases[0].Name = ids[2], folder+"/run"
	whole.SpawnedFrom.ToolCallId, whole.Metadata[0].Value, whole.Metadata[1].Value = &mark, mark, mark
	whole.Metadata[0].Key, whole.Metadata[1].Key = "var/"+mark, mark
	whole.Aliases[0].Labels.Entries = map[string]string{mark: mark}
	ids = append(ids, must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), whole)).NodeId)
	for _, fork := range []string{"fork", "another fork"} { // under aliases, so that no collection takes them
		ids = append(ids, must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{Parent: byID(ids[0]), Messages: []*Message{user(say(fork))}, Aliases: []*Update{{Name: folder + "/" + fork}}})).NodeId)
	}
	r.point(folder+"/gone", ids[3])
	must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: folder + "/gone"}))
	r.point(folder+"/short", ids[6])
	head = r.compact(&Compact{Head: byAlias(folder + "/short"), ThroughId: ids[4], Summary: say("summary")}).NodeId
	return head, append(ids, head)
}

// calls are requests of ours that are served, by method; a method that is not here is called with nothing.
func (w *tenants) calls() map[string]proto.Message {
	head := byID(w.heads[0])
	all := map[string]proto.Message{
		"PutNode": &PutNode{Parent: head, Messages: []*Message{user("more")}}, "PutNodes": &transcriptv1.PutNodesRequest{Nodes: []*transcriptv1.NewNode{{Parent: head, Messages: []*Message{user("more")}}}},
		"PutArchivedNodes": &transcriptv1.PutArchivedNodesRequest{Nodes: []*transcriptv1.ArchivedNode{archived(w.heads[0], user("more"))}},
		"Alias":            &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "mine/x", Target: head}}}, "DeleteAlias": &transcriptv1.DeleteAliasRequest{Name: "mine/run"},
		"DeleteAliases": &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "mine/"}, MovedBefore: timestamppb.New(time.Now().Add(time.Hour)), DryRun: true}, "Compact": &Compact{Head: byAlias("mine/chat"), DryRun: true},
		"GetNode": &transcriptv1.GetNodeRequest{Node: head}, "GetNodes": &transcriptv1.GetNodesRequest{NodeIds: []string{w.heads[0]}}, "Assemble": &Assemble{Head: head},
		"StreamAssemble": &transcriptv1.StreamAssembleRequest{Head: head}, "ListChildren": &transcriptv1.ListChildrenRequest{Node: head, PageSize: 1},
		"ListRunLoops": &transcriptv1.ListRunLoopsRequest{Head: head, PageSize: 1}, "RecallToolCall": &transcriptv1.RecallToolCallRequest{Head: head, ToolCallId: ptr("we")},
		"ReplayTools": &Replay{Head: head}, "Search": &transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_Head{Head: head}, Pattern: &transcriptv1.SearchRequest_Text{Text: "e"}},
		"Describe": &transcriptv1.DescribeRequest{Head: head}, "ResolveAlias": &transcriptv1.ResolveAliasRequest{Name: "mine/chat"}, "ListAliases": &transcriptv1.ListAliasesRequest{PageSize: 1},
		"ListAliasHistory": &transcriptv1.ListAliasHistoryRequest{Name: "mine/chat"}, "NamespaceStats": &transcriptv1.NamespaceStatsRequest{}, "Verify": &transcriptv1.VerifyRequest{}, "Backup": &transcriptv1.BackupRequest{},
		"Erase":           &transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "mine/"}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE},
		"GetReceipts":     &transcriptv1.GetReceiptsRequest{NodeIds: []string{w.erased}},
		"CollectGarbage":  &transcriptv1.CollectGarbageRequest{Grace: durationpb.New(0)},
		"Restore":         &transcriptv1.RestoreRequest{Archived: &transcriptv1.ArchiveNamespace{RevisionFloor: 1}},
		"SetNamespace":    &transcriptv1.SetNamespaceRequest{Settings: &transcriptv1.NamespaceSettings{MaxNodes: 1 << 40}},
		"DeleteNamespace": &transcriptv1.DeleteNamespaceRequest{Namespace: "ours", Confirm: "ours"},
	}
	return all
}

// TestTenantsSeeNothingOfEachOther calls every method as one tenant, with everything of another's in every place of its request: ids whole and
// cut, names, texts, page tokens, etags. No reply and no error has anything of the other that was not in the request; each is what it would be if
// there were no such thing; and the other finds all as it was.
func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	w := newTenants(t)
	reply, err := w.theirs.ask(theirNamespace, transcriptv1.TranscriptService_StreamAssemble_FullMethodName, &transcriptv1.StreamAssembleRequest{Head: byID(w.heads[1])})
	if found := w.found(reply, ""); err != nil || !slices.Contains(found, "text") || !slices.Contains(found, "node 10") {
		t.Fatalf("of what they have themselves they see %v: %v", found, err)
	}
	calls := 0
	for service, info := range w.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			if !strings.HasPrefix(service, "transcript.") {
				continue
			}
			at := w
			if isWrite := slices.Contains([]string{"PutNode", "PutNodes", "PutArchivedNodes", "Alias", "DeleteAlias", "DeleteAliases", "Compact", "Restore", "Erase", "DeleteNamespace"}, m.Name); isWrite {
				at = newTenants(t) // what we put there ourselves, we may read
			}
			if m.Name == "GetReceipts" {
				at = newTenants(t)
				at.erased = at.ours.eraseOne("ours", "we said this once")
			}
			calls += at.tries(t, "/"+service+"/"+m.Name, at.calls()[m.Name])
		}
	}
	equal(w.theirs, "what they have", w.theirs.holds(), w.told)
	if calls < 900 {
		t.Errorf("%d calls were made: the walk is broken", calls)
	}
	// What they put without a salt has the id that it has here; that it is there, we are not told.
	put := must[*transcriptv1.PutNodeResponse](w.ours)(w.ours.PutNode(t.Context(), &PutNode{Messages: []*Message{system(canary + " prompt")}}))
	if put.NodeId != w.secrets["node 0"] || !put.Created {
		t.Errorf("what they have already is put as %v", put)
	}
}

// tries calls a method with each secret, and what is like one and is none, in each place of a request of ours.
func (w *tenants) tries(t *testing.T, method string, base proto.Message) (calls int) {
	t.Helper()
	if base == nil {
		input := methods()[method]
		if input == nil {
			t.Fatalf("%s has no request", method)
		}
		kind, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
		if err != nil {
			t.Fatal(err)
		}
		base = kind.New().Interface()
	}
	if reply, err := w.ours.ask("ours", method, proto.Clone(base)); err != nil {
		t.Errorf("%s is refused: %v", method, err)
	} else {
		w.silent(t, method, reply, "")
	}
	for what, secret := range w.arguments() {
		places(base.ProtoReflect(), 3, func(place string, request func(string) proto.Message) {
			calls++
			reply, err := w.ours.ask("ours", method, request(secret))
			w.silent(t, method+" "+place+" "+what, reply, secret)
			none := unlike(secret)
			other, otherErr := w.ours.ask("ours", method, request(none))
			same := bytes.Equal(reply, bytes.ReplaceAll(other, []byte(none), []byte(secret)))
			if status.Code(err) != status.Code(otherErr) || !bytes.Equal(statusBytes(t, err), statusBytes(t, otherErr)) || !same && isRead(method) {
				t.Errorf("%s: %s as %s is told apart from what is nowhere:\n%v %v\n%v %v", method, what, place, err, reply, otherErr, other)
			}
		})
	}
	return calls
}

func isRead(method string) bool {
	name := method[strings.LastIndex(method, "/")+1:]
	return !strings.HasPrefix(name, "Put") && name != "Alias" && name != "SetNamespace" && !strings.HasPrefix(name, "Delete") && name != "Compact"
}

// arguments are the secrets as they may stand in requests.
func (w *tenants) arguments() map[string]string {
	all := maps.Clone(w.secrets)
	for _, what := range slices.Collect(maps.Keys(w.secrets)) {
		if strings.HasPrefix(what, "node ") {
			if what != "node 3" && what != "node 10" { // two are enough
				delete(all, what)
				continue
			}
			all[what+", cut"], all[what+", a place"] = all[what][:12], all[what]+".0"
		}
	}
	all["prefix"] = canary + "/"
	return all
}

// unlike is what has the form of a secret, and is nowhere.
func unlike(secret string) string {
	if strings.Contains(secret, canary) {
		return strings.ReplaceAll(secret, canary, "nobody-0000")
	}
	digits, _, _ := strings.Cut(secret, ".") // a place has the number of a message behind it
	turned := []byte(digits)
	for i, c := range turned {
		if strings.IndexByte("0123456789abcdef", c) >= 0 {
			turned[i] = "fedcba9876543210"[strings.IndexByte("0123456789abcdef", c)]
		}
	}
	return string(turned) + secret[len(digits):]
}

// statusBytes are those of a status without the request's id.
func statusBytes(t *testing.T, err error) []byte {
	t.Helper()
	s := proto.CloneOf(status.Convert(err).Proto())
	for _, d := range s.GetDetails() {
		if d.MessageIs(&errdetails.RequestInfo{}) {
			d.Value = nil
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// silent holds that a reply has nothing of theirs, but what the request had.
func (w *tenants) silent(t *testing.T, what string, reply []byte, given string) {
	t.Helper()
	for _, of := range w.found(reply, given) {
		t.Errorf("%s tells %s", what, of)
	}
}

// found is what of theirs a reply has, that the request did not have.
func (w *tenants) found(reply []byte, given string) (all []string) {
	for of, secret := range w.secrets {
		if given != "" && (strings.Contains(given, secret) || strings.Contains(secret, given)) {
			continue
		}
		raw, err := hex.DecodeString(secret)
		isID := err == nil && len(raw) == 32
		if bytes.Contains(reply, []byte(secret)) || isID && (bytes.Contains(reply, raw) || bytes.Contains(reply, []byte(secret[:12]))) {
			all = append(all, of)
		}
	}
	return all
}

// ask calls a method, and gives all bytes of its replies, its error, its header and its trailer.
func (r *rig) ask(namespace, method string, req proto.Message) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.ctx(), 20*time.Second)
	defer cancel()
	if f := req.ProtoReflect().Descriptor().Fields().ByName("namespace"); f != nil {
		req.ProtoReflect().Set(f, protoreflect.ValueOfString(namespace))
	}
	stream, err := r.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var all []byte
	for {
		reply := &emptypb.Empty{}
		err := stream.RecvMsg(reply)
		if err == nil {
			all = append(all, reply.ProtoReflect().GetUnknown()...)
			continue
		}
		header, _ := stream.Header()
		all = append(all, fmt.Sprint(header, stream.Trailer()["x"])...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		for _, d := range status.Convert(err).Proto().GetDetails() {
			if !d.MessageIs(&errdetails.RequestInfo{}) {
				all = append(all, d.Value...)
			}
		}
		return append(all, status.Convert(err).Message()...), err
	}
}

// places calls f with each place of a text in a request, in messages so deep too, and with what makes the request with a text there. What a
// message says is not such a place: it is ours.
func places(m protoreflect.Message, depth int, f func(place string, request func(string) proto.Message)) {
	eachPlace(m.Descriptor(), depth, nil, func(path []protoreflect.FieldDescriptor) {
		names := make([]string, len(path))
		for i, field := range path {
			names[i] = string(field.Name())
		}
		f(strings.Join(names, "."), func(text string) proto.Message {
			made := proto.Clone(m.Interface())
			at := made.ProtoReflect()
			for _, field := range path[:len(path)-1] {
				if !field.IsList() {
					at = at.Mutable(field).Message()
				} else if list := at.Mutable(field).List(); list.Len() > 0 {
					at = list.Get(0).Message()
				} else {
					at = list.AppendMutable().Message()
				}
			}
			v, last := protoreflect.ValueOfString(text), path[len(path)-1]
			if last.Kind() == protoreflect.BytesKind {
				v = protoreflect.ValueOfBytes([]byte(text))
			}
			if last.IsList() {
				at.Mutable(last).List().Append(v)
			} else {
				at.Set(last, v)
			}
			return made
		})
	})
}

func eachPlace(d protoreflect.MessageDescriptor, depth int, above []protoreflect.FieldDescriptor, f func([]protoreflect.FieldDescriptor)) {
	for i := range d.Fields().Len() {
		field := d.Fields().Get(i)
		path := append(slices.Clone(above), field)
		switch {
		case field.IsMap() || slices.Contains([]protoreflect.Name{"namespace", "messages", "notes", "policy", "summary"}, field.Name()):
		case field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind:
			f(path)
		case field.Message() != nil && depth > 0:
			eachPlace(field.Message(), depth-1, path, f)
		}
	}
}
