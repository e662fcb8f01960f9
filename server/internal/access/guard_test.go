package access

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/internal/identity"
)

// callers names whom it is told to.
type callers struct {
	who *identity.Principal
	err error
}

func (c callers) Authenticate(identity.Credentials) (*identity.Principal, error) { return c.who, c.err }

// Who is known may do what a grant covers, and nothing beside: roles hold no other roles, patterns end where they say, and only the pattern
// that covers everything covers the store itself.
func TestPermit(t *testing.T) {
	const all = ^identity.Role(0)
	put, get := Find(transcriptv1.TranscriptService_PutNode_FullMethodName), Find(transcriptv1.TranscriptService_GetNode_FullMethodName)
	verify, info := Find(transcriptv1.AdminService_Verify_FullMethodName), Find(transcriptv1.TranscriptService_ServerInfo_FullMethodName)
	forget := Find(transcriptv1.TranscriptService_DeleteAlias_FullMethodName)
	of := func(namespace string) Scope { return Scope{Namespace: namespace} }
	for i, c := range []struct {
		grants []identity.Grant
		m      *Method
		of     Scope
		may    bool
	}{
		{nil, get, of("acme"), false},
		{nil, info, Scope{}, true},
		{[]identity.Grant{{Roles: identity.Read, Namespaces: "acme"}}, get, of("acme"), true},
		{[]identity.Grant{{Roles: identity.Read, Namespaces: "acme"}}, put, of("acme"), false},
		{[]identity.Grant{{Roles: all &^ identity.Read, Namespaces: "*"}}, get, of("acme"), false},
		{[]identity.Grant{{Roles: all &^ identity.Append, Namespaces: "*"}}, put, of("acme"), false},
		{[]identity.Grant{{Roles: all &^ identity.Operate, Namespaces: "*"}}, verify, of("acme"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "acme"}}, get, of("acme2"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "acme"}}, get, of("acm"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "acme"}}, get, of("Acme"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "acme*"}}, get, of("acme2"), true},
		{[]identity.Grant{{Roles: all, Namespaces: "acme*"}}, get, of("acme"), true},
		{[]identity.Grant{{Roles: all, Namespaces: "acme*"}}, get, of("acm"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "acme.*"}}, get, of("acme"), false},
		{[]identity.Grant{{Roles: all, Namespaces: "a.b"}}, get, of("axb"), false},
		{[]identity.Grant{{Roles: all, Namespaces: ""}}, get, of("default"), false},
		{[]identity.Grant{{Roles: identity.Operate, Namespaces: "acme*"}}, verify, of("acme"), true},
		{[]identity.Grant{{Roles: all, Namespaces: "acme*"}}, verify, Scope{All: true}, false},
		{[]identity.Grant{{Roles: all, Namespaces: ""}}, verify, Scope{All: true}, false},
		{[]identity.Grant{{Roles: identity.Operate, Namespaces: "*"}}, verify, Scope{All: true}, true},
		{[]identity.Grant{{Roles: identity.Read, Namespaces: "*"}, {Roles: identity.Operate, Namespaces: "acme"}}, verify, Scope{All: true}, false},
		{[]identity.Grant{{Roles: identity.Read, Namespaces: "b"}, {Roles: identity.Append, Namespaces: "a"}}, get, of("a"), false},
		// To forget needs the role erase, too, on the same namespace.
		{[]identity.Grant{{Roles: identity.Append, Namespaces: "a"}}, forget, Scope{Namespace: "a"}, true},
		{[]identity.Grant{{Roles: identity.Append, Namespaces: "a"}}, forget, Scope{Namespace: "a", Forgets: true}, false},
		{[]identity.Grant{{Roles: identity.Erase, Namespaces: "a"}}, forget, Scope{Namespace: "a", Forgets: true}, false},
		{[]identity.Grant{{Roles: identity.Append, Namespaces: "a"}, {Roles: identity.Erase, Namespaces: "b"}}, forget, Scope{Namespace: "a", Forgets: true}, false},
		{[]identity.Grant{{Roles: identity.Append, Namespaces: "a*"}, {Roles: identity.Erase, Namespaces: "a"}}, forget, Scope{Namespace: "a", Forgets: true}, true},
		// A method of a role whose request is about no namespace is about the store.
		{[]identity.Grant{{Roles: all, Namespaces: "acme*"}}, &Method{Role: identity.Admin, Kind: Reads}, Scope{}, false},
		{[]identity.Grant{{Roles: all, Namespaces: "*"}}, &Method{Role: identity.Admin, Kind: Reads}, Scope{}, true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			err := GuardOf(callers{}).Permit(t.Context(), &identity.Principal{Grants: c.grants}, c.m, c.of)
			if c.may != (err == nil) || err != nil && !errors.Is(err, ErrDenied) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A guard that tells callers apart lets nobody through whom it does not know, but for health, of which it asks nobody.
func TestWhoIsNotKnown(t *testing.T) {
	somebody := &identity.Principal{Name: "somebody"}
	for name, m := range methods {
		for _, c := range []struct {
			callers callers
			want    error
		}{
			{callers{somebody, nil}, nil}, {callers{nil, identity.ErrUnauthenticated}, identity.ErrUnauthenticated},
			{callers{somebody, identity.ErrUnavailable}, identity.ErrUnavailable}, {callers{}, identity.ErrUnauthenticated},
		} {
			who, err := GuardOf(c.callers).Identify(m, identity.Credentials{})
			switch {
			case m.Kind == Health && (who != nil || err != nil):
				t.Errorf("%s asks who calls: %v, %v", name, who, err)
			case m.Kind != Health && (!errors.Is(err, c.want) || (who == nil) != (c.want != nil)):
				t.Errorf("%s: %v, %v; want %v", name, who, err, c.want)
			}
		}
		err := GuardOf(callers{}).Permit(t.Context(), nil, m, Scope{Namespace: "default"})
		if (m.Kind == Health) != (err == nil) || err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("%s permits nobody: %v", name, err)
		}
	}
	if g, ok := GuardOf(nil).(Anybody); !ok {
		t.Errorf("without an authenticator the guard is %v", g)
	}
}

// A request that forgets says so of its scope, whichever it is.
func TestForgets(t *testing.T) {
	for _, req := range []proto.Message{&transcriptv1.DeleteAliasRequest{ForgetHistory: true}, &transcriptv1.DeleteAliasesRequest{ForgetHistory: true}} {
		m := Find("/transcript.v1.TranscriptService/" + strings.TrimSuffix(string(req.ProtoReflect().Descriptor().Name()), "Request"))
		if !m.Scope(req).Forgets || m.Scope(req.ProtoReflect().New().Interface()).Forgets {
			t.Errorf("%T: %+v", req, m.Scope(req))
		}
	}
	m := Find(transcriptv1.TranscriptService_PutArchivedNodes_FullMethodName)
	for forgets, nodes := range map[bool][]*transcriptv1.ArchivedNode{false: {{}, {}}, true: {{}, {Erasure: &transcriptv1.ArchivedErasure{}}}} {
		if got := m.Scope(&transcriptv1.PutArchivedNodesRequest{Namespace: "a", Nodes: nodes}); got != (Scope{Namespace: "a", Forgets: forgets}) {
			t.Errorf("%v: %+v", nodes, got)
		}
	}
	m = Find(transcriptv1.AdminService_Restore_FullMethodName)
	for forgets, receipts := range map[bool][][]byte{false: nil, true: {{1}}} {
		if got := m.Scope(&transcriptv1.RestoreRequest{Namespace: "a", Receipts: receipts}); got != (Scope{Namespace: "a", Forgets: forgets}) {
			t.Errorf("%v: %+v", receipts, got)
		}
	}
}
