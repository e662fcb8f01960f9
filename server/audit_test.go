package server

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// known are callers by what they show.
type known map[string]*identity.Principal

func (k known) Authenticate(shown identity.Credentials) (*identity.Principal, error) {
	if len(shown.Authorization) == 1 && k[shown.Authorization[0]] != nil {
		return k[shown.Authorization[0]], nil
	}
	return nil, identity.ErrUnauthenticated
}

// fillable is a disk for an audit, which is full when it is said to be.
type fillable struct{ full atomic.Bool }

type fillableFile struct {
	*os.File
	disk *fillable
}

func (f fillableFile) Write(b []byte) (int, error) {
	if f.disk.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

// audited is a server with an audit, and callers: writer and reader of acme, operator of everything, and hurried, who has one call.
type audited struct {
	*testing.T
	transcriptv1.TranscriptServiceClient
	admin transcriptv1.AdminServiceClient
	disk  fillable
	path  string
	log   *audit.Log
}

func newAudited(t *testing.T, store chainstore.Store, options audit.Options) *audited {
	t.Helper()
	a := &audited{T: t, path: filepath.Join(t.TempDir(), "audit.jsonl")}
	options.OpenFile = func(name string, flag int, perm os.FileMode) (audit.File, error) {
		f, err := os.OpenFile(name, flag, perm)
		return fillableFile{f, &a.disk}, err
	}
	var err error
	if a.log, err = audit.Open(a.path, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.disk.full.Store(false)
		if err := a.log.Close(); err != nil {
			t.Error(err)
		}
	})
	grant := func(name string, roles identity.Role, on identity.Pattern) *identity.Principal {
		return &identity.Principal{Name: name, Grants: []identity.Grant{{Roles: roles, Namespaces: on}}}
	}
	server, err := New(store, Config{Audit: a.log, Authenticator: known{
		"planted-writer-token":   grant("writer", identity.Append, "acme"),
		"planted-reader-token":   grant("reader", identity.Read, "acme"),
		"planted-operator-token": grant("operator", identity.Operate, "*"),
		"planted-eraser-token":   grant("eraser", identity.Erase|identity.Append, "acme"),
		"planted-admin-token":    grant("admin", identity.Admin, "acme"),
		"planted-hurried-token":  {Name: "hurried", Rate: identity.Rate{PerSecond: 1e-9, Burst: 1}, Grants: []identity.Grant{{Roles: identity.Read, Namespaces: "*"}}},
	}}).GRPC()
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, server)
	a.TranscriptServiceClient, a.admin = transcriptv1.NewTranscriptServiceClient(conn), transcriptv1.NewAdminServiceClient(conn)
	return a
}

// as is the context of a call of somebody; empty: nobody.
func (a *audited) as(name string) context.Context {
	if name == "" {
		return a.Context()
	}
	return metadata.AppendToOutgoingContext(a.Context(), "authorization", "planted-"+name+"-token")
}

// toldCall is what a line tells of a call.
type toldCall struct {
	Principal, Method, Namespace, Scope, Code, Reason, Peer string
	Selector                                                string
	DryRun                                                  bool     `json:"dry_run"`
	ForgetHistory                                           bool     `json:"forget_history"`
	Nodes, Aliases                                          []string `json:",omitempty"`
	NodeCount                                               int      `json:"node_count"`
	AliasCount                                              int      `json:"alias_count"`
	RequestID                                               string   `json:"request_id"`
}

// calls are those that the audit tells of by now, and all of its text.
func (a *audited) calls() (calls []toldCall, text string) {
	a.Helper()
	content, err := os.ReadFile(a.path)
	if err != nil {
		a.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(content)))
	for lines.Scan() {
		var line struct{ Call *toldCall }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			a.Fatal(err)
		}
		if line.Call != nil {
			calls = append(calls, *line.Call)
		}
	}
	return calls, string(content)
}

func plantedNode(i int) *transcriptv1.NewNode {
	return &transcriptv1.NewNode{
		Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{
			Kind: &transcriptv1.Part_Text{Text: fmt.Sprint("planted text ", i)},
		}}}},
		Metadata: []*transcriptv1.MetadataEntry{{Key: "planted/key", Value: "planted value"}},
		Aliases:  []*transcriptv1.AliasUpdate{{Name: fmt.Sprint("planted/alias/", i), Labels: &transcriptv1.Labels{Entries: map[string]string{"planted": "label"}}}},
	}
}

func plantedPut(namespace string) *transcriptv1.PutNodeRequest {
	n := plantedNode(0)
	return &transcriptv1.PutNodeRequest{Namespace: namespace, Messages: n.Messages, Metadata: n.Metadata, Aliases: n.Aliases}
}

// Once a call has ended, the audit tells of it: who, what, where and what came of it, of each call that writes or administers, and of each that was refused.
// Nothing of what callers store or show is in it.
func TestAuditTellsOfCalls(t *testing.T) {
	a := newAudited(t, memstore.New(memstore.Options{}), audit.Options{})
	alias := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "planted/alias/0"}}
	var want []toldCall
	expect := func(c toldCall) { want = append(want, c) }
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	mustNot := func(code codes.Code) func(_ any, err error) {
		return func(_ any, err error) {
			t.Helper()
			if status.Code(err) != code {
				t.Error(err)
			}
		}
	}

	made, err := a.PutNode(a.as("writer"), plantedPut("acme"))
	must(made, err)
	expect(toldCall{Principal: "writer", Method: "PutNode", Namespace: "acme", Code: "OK", Nodes: []string{made.GetNodeId()}, NodeCount: 1, AliasCount: 1})
	nodes := &transcriptv1.PutNodesRequest{Namespace: "acme"}
	for i := range 20 {
		nodes.Nodes = append(nodes.Nodes, plantedNode(i+1))
	}
	all, err := a.PutNodes(a.as("writer"), nodes)
	must(all, err)
	ids := make([]string, audit.Listed)
	for i := range ids {
		ids[i] = all.GetNodes()[i].GetNodeId()
	}
	expect(toldCall{Principal: "writer", Method: "PutNodes", Namespace: "acme", Code: "OK", Nodes: ids, NodeCount: 20, AliasCount: 20})
	must(a.Alias(a.as("writer"), &transcriptv1.AliasRequest{Namespace: "acme", Aliases: []*transcriptv1.AliasMove{{Name: "planted/other", Target: alias}}}))
	expect(toldCall{Principal: "writer", Method: "Alias", Namespace: "acme", Code: "OK", AliasCount: 1})
	must(a.Compact(a.as("writer"), &transcriptv1.CompactRequest{Namespace: "acme", Head: alias, Summary: "planted summary", DryRun: true}))
	expect(toldCall{Principal: "writer", Method: "Compact", Namespace: "acme", Code: "OK", AliasCount: 1, DryRun: true})
	must(a.DeleteAlias(a.as("writer"), &transcriptv1.DeleteAliasRequest{Namespace: "acme", Name: "planted/other"}))
	expect(toldCall{Principal: "writer", Method: "DeleteAlias", Namespace: "acme", Code: "OK", AliasCount: 1})
	must(a.DeleteAliases(a.as("writer"), &transcriptv1.DeleteAliasesRequest{
		Namespace: "acme", Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "planted/alias/1"},
	}))
	expect(toldCall{Principal: "writer", Method: "DeleteAliases", Namespace: "acme", Code: "OK", AliasCount: 11})
	late := plantedPut("acme")
	late.Salt = []byte("planted salt of 16")
	late.Aliases[0].Precondition = &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustNotExist{MustNotExist: true}}
	mustNot(codes.AlreadyExists)(a.PutNode(a.as("writer"), late))
	expect(toldCall{Principal: "writer", Method: "PutNode", Namespace: "acme", Code: "ALREADY_EXISTS", Reason: "ALIAS_EXISTS", AliasCount: 1})
	mustNot(codes.InvalidArgument)(a.PutNode(a.as("writer"), &transcriptv1.PutNodeRequest{Namespace: "PLANTED"}))
	expect(toldCall{Principal: "writer", Method: "PutNode", Code: "INVALID_ARGUMENT", Reason: "INVALID_FIELD"})

	// Reads are told of where they are refused.
	get := &transcriptv1.GetNodeRequest{Namespace: "acme", Node: alias}
	must(a.GetNode(a.as("reader"), get))
	mustNot(codes.PermissionDenied)(a.GetNode(a.as("writer"), get))
	expect(toldCall{Principal: "writer", Method: "GetNode", Namespace: "acme", Code: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED"})
	mustNot(codes.PermissionDenied)(a.PutNode(a.as("writer"), plantedPut("")))
	expect(toldCall{Principal: "writer", Method: "PutNode", Namespace: "default", Code: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED"})
	denied, err := a.StreamAssemble(a.as("writer"), &transcriptv1.StreamAssembleRequest{Namespace: "acme", Head: alias})
	must(denied, err)
	mustNot(codes.PermissionDenied)(denied.Recv())
	expect(toldCall{Principal: "writer", Method: "StreamAssemble", Namespace: "acme", Code: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED"})
	mustNot(codes.Unauthenticated)(a.GetNode(a.as(""), get))
	expect(toldCall{Method: "GetNode", Code: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED"})
	patient, cancel := context.WithTimeout(a.as("stranger"), time.Hour)
	defer cancel()
	mustNot(codes.Unauthenticated)(a.PutNode(patient, plantedPut("acme")))
	expect(toldCall{Method: "PutNode", Code: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED"})

	mustNot(codes.NotFound)(a.GetNode(a.as("hurried"), &transcriptv1.GetNodeRequest{Namespace: "other", Node: alias}))
	mustNot(codes.ResourceExhausted)(a.GetNode(a.as("hurried"), get))
	expect(toldCall{Principal: "hurried", Method: "GetNode", Code: "RESOURCE_EXHAUSTED", Reason: "RATE_LIMITED"})
	verify, err := a.admin.Verify(a.as("operator"), &transcriptv1.VerifyRequest{Scope: transcriptv1.Scope_SCOPE_STORE})
	must(verify, err)
	for err == nil {
		_, err = verify.Recv()
	}
	expect(toldCall{Principal: "operator", Method: "Verify", Scope: "store", Code: "OK"})

	quotas := &transcriptv1.SetNamespaceRequest{Namespace: "acme", Settings: &transcriptv1.NamespaceSettings{MaxNodes: 1}}
	must(a.admin.SetNamespace(a.as("admin"), quotas))
	expect(toldCall{Principal: "admin", Method: "SetNamespace", Namespace: "acme", Code: "OK"})
	held := &transcriptv1.NamespaceSettings{MaxNodes: 1, Retention: []*transcriptv1.RetentionRule{
		{AliasPrefix: "planted/held", LegalHold: true}, {AliasPrefix: "planted/ttl", Ttl: durationpb.New(time.Hour)},
	}}
	must(a.admin.SetNamespace(a.as("admin"), &transcriptv1.SetNamespaceRequest{Namespace: "acme", Settings: held}))
	expect(toldCall{Principal: "admin", Method: "SetNamespace", Namespace: "acme", Code: "OK", AliasCount: 1})
	must(a.admin.SetNamespace(a.as("admin"), quotas))
	expect(toldCall{Principal: "admin", Method: "SetNamespace", Namespace: "acme", Code: "OK"})
	mustNot(codes.PermissionDenied)(a.admin.SetNamespace(a.as("writer"), quotas))
	expect(toldCall{Principal: "writer", Method: "SetNamespace", Namespace: "acme", Code: "PERMISSION_DENIED", Reason: "PERMISSION_DENIED"})
	over := plantedPut("acme")
	over.Salt = []byte("planted salt of 16")
	mustNot(codes.ResourceExhausted)(a.PutNode(a.as("writer"), over))
	expect(toldCall{Principal: "writer", Method: "PutNode", Namespace: "acme", Code: "RESOURCE_EXHAUSTED", Reason: "QUOTA_EXCEEDED", AliasCount: 1})

	node, err := hex.DecodeString(made.GetNodeId())
	must(node, err)
	must(a.DeleteAlias(a.as("eraser"), &transcriptv1.DeleteAliasRequest{Namespace: "acme", Name: "planted/alias/2", ForgetHistory: true}))
	expect(toldCall{Principal: "eraser", Method: "DeleteAlias", Namespace: "acme", Code: "OK", ForgetHistory: true, AliasCount: 1})
	must(a.admin.Restore(a.as("admin"), &transcriptv1.RestoreRequest{Namespace: "acme", Archived: &transcriptv1.ArchiveNamespace{}, Aliases: []*transcriptv1.ArchiveAlias{{
		Name: "planted/restored", Revision: 1, States: []*transcriptv1.ArchiveAliasState{{Node: node, Revision: 1, BeganAt: timestamppb.Now()}},
	}}}))
	expect(toldCall{Principal: "admin", Method: "Restore", Namespace: "acme", Code: "OK", AliasCount: 1})

	calls, text := a.calls()
	if len(calls) != len(want) {
		t.Fatalf("%d calls are told of, not %d:\n%s", len(calls), len(want), text)
	}
	for i, c := range calls {
		if c.Peer == "" || (c.RequestID == "") != (c.Reason == "UNAUTHENTICATED" || c.Reason == "RATE_LIMITED") || len(c.Aliases) != min(c.AliasCount, audit.Listed) {
			t.Errorf("call %d: %+v", i, c)
		}
		c.Peer, c.RequestID, c.Aliases = "", "", nil
		_, c.Method, _ = strings.Cut(c.Method, "/")
		if fmt.Sprint(c) != fmt.Sprint(want[i]) {
			t.Errorf("call %d is told as %+v, want %+v", i, c, want[i])
		}
	}
	if strings.Contains(strings.ToLower(text), "planted") {
		t.Errorf("what was planted is in the audit:\n%s", text)
	}
}

// Where lines are required, no call that writes does anything while they cannot be written; reads go on; and writes once there is room again.
func TestAuditThatIsRequired(t *testing.T) {
	commits := &whileCommitting{Store: memstore.New(memstore.Options{})}
	a := newAudited(t, commits, audit.Options{Required: true})
	made, err := a.PutNode(a.as("writer"), plantedPut("acme"))
	if err != nil {
		t.Fatal(err)
	}
	a.disk.full.Store(true)
	if err := a.log.Add(&audit.Record{Code: "OK"}); !errors.Is(err, audit.ErrUnwritten) {
		t.Fatal(err)
	}
	before := commits.n.Load()
	_, err = a.PutNode(a.as("writer"), plantedPut("acme"))
	if status.Code(err) != codes.Unavailable || !strings.Contains(fmt.Sprint(status.Convert(err).Details()), "AUDIT_UNAVAILABLE") {
		t.Error(err)
	}
	if n := commits.n.Load(); n != before {
		t.Errorf("%d commits", n-before)
	}
	if _, err = a.PutNode(a.as("writer"), plantedPut("other")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("who may not write is told %v", err)
	}
	ref := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: made.GetNodeId()}}
	if _, err := a.GetNode(a.as("reader"), &transcriptv1.GetNodeRequest{Namespace: "acme", Node: ref}); err != nil {
		t.Errorf("a read: %v", err)
	}
	a.disk.full.Store(false)
	if _, err := a.PutNode(a.as("writer"), plantedPut("acme")); err != nil {
		t.Error(err)
	}
	if calls, text := a.calls(); len(calls) != 5 {
		t.Errorf("%d calls are told of\n%s", len(calls), text)
	}
}

// A call whose line could not be written once it was made has an unknown outcome for its caller, and its line comes first when there is room.
func TestAuditThatFailsBehindACall(t *testing.T) {
	for _, required := range []bool{true, false} {
		commits := &whileCommitting{Store: memstore.New(memstore.Options{})}
		a := newAudited(t, commits, audit.Options{Required: required})
		commits.do = func() { a.disk.full.Store(true) }
		want := codes.OK
		if required {
			want = codes.Internal
		}
		if _, err := a.PutNode(a.as("writer"), plantedPut("acme")); status.Code(err) != want {
			t.Errorf("required is %t: %v", required, err)
		}
		ref := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "planted/alias/0"}}
		node, err := a.GetNode(a.as("reader"), &transcriptv1.GetNodeRequest{Namespace: "acme", Node: ref})
		if err != nil {
			t.Fatal(err)
		}
		a.disk.full.Store(false)
		if err := a.log.Ready(); err != nil {
			t.Error(err)
		}
		calls, text := a.calls()
		if len(calls) != 1 || !slices.Equal(calls[0].Nodes, []string{node.GetInfo().GetNodeId()}) {
			t.Errorf("the audit is\n%s", text)
		}
	}
}

// whileCommitting does something in each commit, and counts them.
type whileCommitting struct {
	chainstore.Store
	do func()
	n  atomic.Int64
}

func (w *whileCommitting) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	w.n.Add(1)
	if w.do != nil {
		w.do()
	}
	return w.Store.Commit(ctx, namespace, c)
}

// TestAuditTellsOfErasures: a line has the kind of the selector, the ids and their number, and never what selects; one that was cut after it erased is
// not told as one that changed nothing.
func TestAuditTellsOfErasures(t *testing.T) {
	a := newAudited(t, memstore.New(memstore.Options{}), audit.Options{})
	put := plantedPut("acme")
	put.Salt = []byte("planted salt 123")
	node, err := a.PutNode(a.as("writer"), put)
	if err != nil {
		t.Fatal(err)
	}
	erase := func(who string, dry bool) error {
		stream, err := a.admin.Erase(a.as(who), &transcriptv1.EraseRequest{
			Namespace: "acme", DryRun: dry,
			Selector: &transcriptv1.EraseRequest_Metadata{Metadata: &transcriptv1.EntrySelector{Key: "planted/key", Value: "planted value"}},
		})
		for err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	for _, dry := range []bool{true, false} {
		if err := erase("eraser", dry); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if err := erase("admin", false); status.Code(err) != codes.PermissionDenied {
		t.Errorf("an admin erases: %v", err)
	}
	told, text := a.calls()
	told = told[1:]
	if len(told) != 3 || told[0].Selector != "metadata" || !told[0].DryRun || told[0].NodeCount != 0 ||
		told[1].Selector != "metadata" || told[1].DryRun || told[1].NodeCount != 1 || told[1].Nodes[0] != node.NodeId || told[1].Principal != "eraser" ||
		told[2].Selector != "" || told[2].Code != "PERMISSION_DENIED" {
		t.Errorf("it tells %+v", told)
	}
	if strings.Contains(text, "planted/key") || strings.Contains(text, "planted value") {
		t.Errorf("it tells what selects: %s", text)
	}
}
