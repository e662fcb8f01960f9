package conformance

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// probe is what a check works with. A check that fails ends its goroutine, as a test of package testing does.
type probe struct {
	transcriptv1.TranscriptServiceClient
	admin transcriptv1.AdminServiceClient

	ctx              context.Context
	kit              *kit
	namespace, other string
	id               string
	calls            *calls
	texts            int

	status Status
	reason string
}

func newProbe(ctx context.Context, k *kit, c Check) *probe {
	calls := &calls{conn: k.conn, called: map[string]bool{}}
	return &probe{
		TranscriptServiceClient: transcriptv1.NewTranscriptServiceClient(calls), admin: transcriptv1.NewAdminServiceClient(calls),
		ctx: ctx, kit: k, namespace: k.namespace, other: k.other, id: c.ID, calls: calls, status: Passed,
	}
}

// calls is a connection that notes which rpcs were called.
type calls struct {
	conn   grpc.ClientConnInterface
	mu     sync.Mutex
	called map[string]bool
}

func (c *calls) note(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.called[strings.TrimPrefix(method, "/")] = true
}

func (c *calls) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.called))
	for name := range c.called {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Invoke implements grpc.ClientConnInterface.
func (c *calls) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	c.note(method)
	return c.conn.Invoke(ctx, method, args, reply, opts...)
}

// NewStream implements grpc.ClientConnInterface.
func (c *calls) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	c.note(method)
	return c.conn.NewStream(ctx, desc, method, opts...)
}

// failf ends the check: the promise is not kept.
func (p *probe) failf(format string, args ...any) {
	p.status, p.reason = Failed, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// skipf ends the check: it cannot be seen here whether the promise is kept.
func (p *probe) skipf(format string, args ...any) {
	p.status, p.reason = Skipped, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// unreadable makes a failure of what a check could not read: a reply without a field that it always has, say.
func (p *probe) unreadable() {
	if r := recover(); r != nil {
		p.status, p.reason = Failed, fmt.Sprintf("a reply lacks what the check reads of it: %v", r)
	}
}

// ok goes on where a call succeeded.
func (p *probe) ok(err error, what string) {
	if err == nil {
		return
	}
	s := status.Convert(err)
	if s.Code() == codes.Unimplemented && reasonOf(s) == "" {
		p.skipf("%s: the server does not have this rpc (UNIMPLEMENTED)", what)
	}
	p.failf("%s: expected success, got %s", what, describe(err))
}

// is compares a number, an id, an enum or a list of such.
func is[V any](p *probe, what string, got, want V) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		p.failf("%s: expected %s, got %s", what, p.show(w), p.show(g))
	}
}

// holds fails where a fact does not hold.
func (p *probe) holds(fact bool, format string, args ...any) {
	if !fact {
		p.failf("expected "+format, args...)
	}
}

// same compares messages of the contract, and tells where they differ without their content.
func (p *probe) same(what string, got, want proto.Message) {
	if !proto.Equal(got, want) {
		p.failf("%s: expected it to be equal, got another that differs in %s", what, difference(got, want))
	}
}

// sameMessages compares lists of messages.
func (p *probe) sameMessages(what string, got, want []*transcriptv1.Message) {
	is(p, what+", number of messages", len(got), len(want))
	for i := range got {
		p.same(fmt.Sprintf("%s, message %d", what, i), got[i], want[i])
	}
}

// maxShown is the bytes of a value that a reason shows.
const maxShown = 300

// show is a value as a reason tells it: not at all where it may be another's text.
func (p *probe) show(value string) string {
	foreign := func(c rune) bool { return c < ' ' || c > '~' }
	if strings.ContainsFunc(value, foreign) {
		return fmt.Sprintf("%d bytes of text", len(value))
	}
	if value == "" {
		return "nothing"
	}
	if len(value) > maxShown {
		return value[:maxShown] + fmt.Sprintf("… (%d bytes)", len(value))
	}
	return value
}

// difference names the first field in which two messages differ.
func difference(a, b proto.Message) string {
	fields := a.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		x, y := a.ProtoReflect().New(), b.ProtoReflect().New()
		if a.ProtoReflect().Has(f) {
			x.Set(f, a.ProtoReflect().Get(f))
		}
		if b.ProtoReflect().Has(f) {
			y.Set(f, b.ProtoReflect().Get(f))
		}
		if !proto.Equal(x.Interface(), y.Interface()) {
			return "the field " + string(f.Name())
		}
	}
	return "unknown fields"
}

// text is a text that no other check puts.
func (p *probe) text(words string) string {
	p.texts++
	return fmt.Sprintf("%s %s %d: %s", p.kit.mark, p.id, p.texts, words)
}

// name is an alias that no other check has.
func (p *probe) name(rest string) string { return p.kit.mark + "/" + p.id + "/" + rest }

// user is a user's message that no other check puts.
func (p *probe) user() *transcriptv1.Message {
	return text(transcriptv1.Role_ROLE_USER, p.text("asks"))
}

func text(role transcriptv1.Role, words string) *transcriptv1.Message {
	return &transcriptv1.Message{Role: role, Parts: []*transcriptv1.Part{textPart(words)}}
}

func textPart(words string) *transcriptv1.Part {
	return &transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: words}}
}

// byID and byAlias are references; byID of nothing is none.
func byID(id string) *transcriptv1.NodeRef {
	if id == "" {
		return nil
	}
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

func byAlias(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}

// put puts a node and gives the reply.
func (p *probe) put(r *transcriptv1.PutNodeRequest) *transcriptv1.PutNodeResponse {
	r.Namespace = p.namespace
	reply, err := p.PutNode(p.ctx, r)
	p.ok(err, "PutNode")
	return reply
}

// node puts messages behind a parent, or as a root, and gives the id.
func (p *probe) node(parent string, messages ...*transcriptv1.Message) string {
	return p.put(&transcriptv1.PutNodeRequest{Parent: byID(parent), Messages: messages}).GetNodeId()
}

// point sets an alias.
func (p *probe) point(name, id string) *transcriptv1.AliasResult {
	return p.move(&transcriptv1.AliasMove{Name: name, Target: byID(id)})[0]
}

// move sets and deletes aliases in one call.
func (p *probe) move(moves ...*transcriptv1.AliasMove) []*transcriptv1.AliasResult {
	reply, err := p.Alias(p.ctx, &transcriptv1.AliasRequest{Namespace: p.namespace, Aliases: moves})
	p.ok(err, "Alias")
	is(p, "results of Alias", len(reply.GetAliases()), len(moves))
	return reply.GetAliases()
}

// resolve reads an alias.
func (p *probe) resolve(name string) *transcriptv1.AliasInfo {
	reply, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: name})
	p.ok(err, "ResolveAlias")
	return reply.GetAlias()
}

// gone holds that an alias does not exist.
func (p *probe) gone(name string) {
	_, err := p.ResolveAlias(p.ctx, &transcriptv1.ResolveAliasRequest{Namespace: p.namespace, Name: name})
	p.holds(err != nil, "no alias here: it was deleted, or its call was refused; got one")
	p.refused(err, "ALIAS_NOT_FOUND")
}

// get reads a node.
func (p *probe) get(id string) *transcriptv1.GetNodeResponse {
	reply, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id)})
	p.ok(err, "GetNode")
	return reply
}

// children are the ids of a node's children, on one page.
func (p *probe) children(id string) []string {
	reply, err := p.ListChildren(p.ctx, &transcriptv1.ListChildrenRequest{Namespace: p.namespace, Node: byID(id), PageSize: 1000})
	p.ok(err, "ListChildren")
	var ids []string
	for _, c := range reply.GetChildren() {
		ids = append(ids, c.GetNodeId())
	}
	return ids
}

// payloadBytes is how many bytes messages take in canonical encoding, as entries of a payload.
func payloadBytes(messages ...*transcriptv1.Message) int {
	return len(canonical.EncodePayload(messages))
}

// messageBytes is how many bytes a message takes in canonical encoding.
func messageBytes(m *transcriptv1.Message) int {
	entry := canonical.EncodePayload([]*transcriptv1.Message{m})
	size, _ := protowire.ConsumeVarint(entry[1:]) // behind the tag
	return int(size)
}
