package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// Short names for what every test writes.
type (
	Message  = transcriptv1.Message
	NodeRef  = transcriptv1.NodeRef
	PutNode  = transcriptv1.PutNodeRequest
	Assemble = transcriptv1.AssembleRequest
	Update   = transcriptv1.AliasUpdate
)

// rig is a server over a store, its clients, and what it logs and counts.
type rig struct {
	*testing.T
	*testserver.Stack
	transcriptv1.TranscriptServiceClient
	admin    transcriptv1.AdminServiceClient
	store    chainstore.Store
	registry *prometheus.Registry
	logs     *safeBuffer
}

// safeBuffer is a buffer that may be written to while it is read.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newRig serves a store; none: an empty one in memory. What the server borrows from the store is spoilt afterwards, so
// that keeping it would show.
func newRig(t *testing.T, stores ...chainstore.Store) *rig {
	t.Helper()
	var store chainstore.Store = memstore.New(memstore.Options{})
	if len(stores) > 0 {
		store = stores[0]
	}
	r := newPlainRig(t, storetest.Mangle(t, store))
	r.store = store
	return r
}

// newPlainRig serves a store as it is.
func newPlainRig(t *testing.T, store chainstore.Store) *rig {
	t.Helper()
	r := &rig{T: t, registry: prometheus.NewRegistry(), logs: &safeBuffer{}}
	r.Stack = testserver.StartWith(t, store, server.Config{
		Version: "v0.0.0-test", Registerer: r.registry,
		Logger: slog.New(slog.NewJSONHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	r.TranscriptServiceClient = transcriptv1.NewTranscriptServiceClient(r.Conn)
	r.admin = transcriptv1.NewAdminServiceClient(r.Conn)
	return r
}

func (r *rig) ctx() context.Context { return r.T.Context() }

// must fails the test for an error.
func must[T any](r *rig) func(T, error) T {
	return func(v T, err error) T {
		r.Helper()
		if err != nil {
			r.Fatalf("unexpected error: %v", err)
		}
		return v
	}
}

func byID(id string) *NodeRef { return &NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}} }

func byAlias(name string) *NodeRef { return &NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}} }

func text(s string) []*transcriptv1.Part {
	return []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: s}}}
}

func system(s string) *Message {
	return &Message{Role: transcriptv1.Role_ROLE_SYSTEM, Parts: text(s)}
}

func user(s string) *Message { return &Message{Role: transcriptv1.Role_ROLE_USER, Parts: text(s)} }

func assistant(s string) *Message {
	return &Message{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: text(s)}
}

func calling(name string, ids ...string) *Message {
	m := &Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	for _, id := range ids {
		m.Parts = append(m.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{
			ToolCall: &transcriptv1.ToolCall{Id: &id, Name: &name, Arguments: "{}"},
		}})
	}
	return m
}

func result(id, s string) *Message {
	return &Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: &id, Parts: text(s)}
}

// put puts a node under a parent, none where that is empty, and returns its id.
func (r *rig) put(parent string, messages ...*Message) string {
	r.Helper()
	req := &PutNode{Messages: messages}
	if parent != "" {
		req.Parent = byID(parent)
	}
	return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
}

// chain puts each message as a node under the one before, and sets an alias to the last.
func (r *rig) chain(alias string, messages ...*Message) []string {
	r.Helper()
	var ids []string
	for from := 0; from < len(messages); from += 500 {
		req := &transcriptv1.PutNodesRequest{}
		for i, m := range messages[from:min(from+500, len(messages))] {
			n := &transcriptv1.NewNode{Messages: []*Message{m}, Previous: i > 0}
			if i == 0 && from > 0 {
				n.Parent = byID(ids[len(ids)-1])
			}
			req.Nodes = append(req.Nodes, n)
		}
		if from+500 >= len(messages) && alias != "" {
			req.Nodes[len(req.Nodes)-1].Aliases = []*Update{{Name: alias}}
		}
		for _, n := range must[*transcriptv1.PutNodesResponse](r)(r.PutNodes(r.ctx(), req)).Nodes {
			ids = append(ids, n.NodeId)
		}
	}
	return ids
}

func (r *rig) assemble(req *Assemble) *transcriptv1.AssembleResponse {
	r.Helper()
	return must[*transcriptv1.AssembleResponse](r)(r.Assemble(r.ctx(), req))
}

// frames reads a whole stream for the same request.
func (r *rig) frames(req *Assemble) ([]*transcriptv1.StreamAssembleResponse, error) {
	stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{
		Namespace: req.Namespace, Head: req.Head, View: req.View, AfterId: req.AfterId, AfterErasures: req.AfterErasures, IfNoneMatch: req.IfNoneMatch,
		NodeDetail: req.NodeDetail, NodeFacts: req.NodeFacts,
	})
	if err != nil {
		return nil, err
	}
	var frames []*transcriptv1.StreamAssembleResponse
	for {
		f, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
		frames = append(frames, f)
	}
}

// failure is what a refused call tells.
type failure struct {
	code   codes.Code
	reason string
	// field has the fields that were violated, rule is that of the first.
	field, rule string
	conflicts   []*transcriptv1.AliasConflict
	candidates  []string
	requestID   string
	// facts are the metadata of ErrorInfo.
	facts map[string]string
	// all is everything that the caller is told, as text.
	all string
}

func failureOf(err error) failure {
	st := status.Convert(err)
	f := failure{code: st.Code(), all: st.Message()}
	for _, d := range st.Details() {
		f.all += fmt.Sprintf("\n%T %v", d, d)
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			f.reason, f.facts = d.Reason, d.Metadata
			if d.Domain != "transcript.v1" {
				f.reason = "of another domain"
			}
		case *errdetails.BadRequest:
			var fields []string
			for _, v := range d.FieldViolations {
				fields = append(fields, v.Field)
			}
			f.field, f.rule = strings.Join(fields, " "), d.FieldViolations[0].Description
		case *transcriptv1.AliasConflicts:
			f.conflicts = d.Conflicts
		case *transcriptv1.AmbiguousPrefix:
			f.candidates = d.NodeIds
		case *errdetails.RequestInfo:
			f.requestID = d.RequestId
		}
	}
	return f
}

// fails asserts how a call fails.
func (r *rig) fails(err error, code codes.Code, reason, field string) failure {
	r.Helper()
	f := failureOf(err)
	if f.code != code || f.reason != reason || f.field != field {
		r.Errorf("failed with %v, %s, field %q (%s); want %v, %s, field %q", f.code, f.reason, f.field, f.all, code, reason, field)
	}
	if err != nil && f.requestID == "" {
		r.Errorf("the error names no request: %s", f.all)
	}
	return f
}

func equal[T comparable](r *rig, what string, got, want T) {
	r.Helper()
	if got != want {
		r.Errorf("%s is %v, want %v", what, got, want)
	}
}

// sameMessages compares by canonical encoding.
func (r *rig) sameMessages(what string, got []*Message, want ...*Message) {
	r.Helper()
	if !bytes.Equal(canonical.EncodePayload(got), canonical.EncodePayload(want)) {
		r.Errorf("%s are\n%v\nwant\n%v", what, brief(got), brief(want))
	}
}

func brief(messages []*Message) string {
	var b strings.Builder
	for _, m := range messages {
		s := m.String()
		b.WriteString(s[:min(len(s), 200)] + "\n")
	}
	return b.String()
}
