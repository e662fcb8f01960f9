package server

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
)

// showing is a context of calls that show values as their authorization.
func showing(ctx context.Context, authorization ...string) context.Context {
	for _, a := range authorization {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", a)
	}
	return ctx
}

// told is what a caller is told, apart from the id of the call.
func told(t *testing.T, err error) *spb.Status {
	t.Helper()
	s := proto.CloneOf(status.Convert(err).Proto())
	for i, d := range s.GetDetails() {
		if d.MessageIs(&errdetails.RequestInfo{}) {
			empty, err := anypb.New(&errdetails.RequestInfo{})
			if err != nil {
				t.Fatal(err)
			}
			s.Details[i] = empty
		}
	}
	return s
}

// alike holds that calls are told the same, byte for byte.
type alike struct {
	first *spb.Status
	calls int
}

func (a *alike) add(t *testing.T, code codes.Code, err error, what ...any) {
	t.Helper()
	s := told(t, err)
	if a.first == nil {
		a.first = s
	}
	if a.calls++; codes.Code(s.GetCode()) != code || !proto.Equal(s, a.first) {
		t.Errorf("%v: told %v, the first was told %v", what, s, a.first)
	}
}

// TestHostileCredentials calls every method that is served, health apart, with all that does not say who calls: each is refused in the same way,
// before anything of the store is touched.
func TestHostileCredentials(t *testing.T) {
	w := newForger(t)
	var untouched struct{ chainstore.Store }
	g := serveGuarded(t, New(untouched, Config{Authenticator: w.directory}), nil)
	var all alike
	g.ways(func(way string) { g.forged(w, way, &all) })
	if all.calls < 22*len(w.forgeries(t)) {
		t.Errorf("%d calls were made: the walk is broken", all.calls)
	}
}

func (g *guardedServer) forged(w *forger, way string, all *alike) {
	t := g.T
	g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
		if !g.takes(m) {
			return
		}
		for what, shown := range w.forgeries(t) {
			req := requestWith(t, d, nil)
			fill(req.ProtoReflect(), 3)
			switch err := g.callIn(showing(t.Context(), shown...), name, d, req); {
			case m.Kind != access.Health:
				all.add(t, codes.Unauthenticated, err, way, name, what)
			case status.Code(err) == codes.Unauthenticated:
				t.Errorf("%s asks who calls: %v", name, err)
			}
		}
		for what, shown := range w.good {
			if err := g.callIn(showing(t.Context(), shown), name, d, requestWith(t, d, nil)); status.Code(err) == codes.Unauthenticated {
				t.Errorf("%s over %s: %s does not say who calls: %v", name, way, what, err)
			}
		}
	})
}

// badges names a principal by what stands behind "Bearer".
type badges map[string]*identity.Principal

func (b badges) Authenticate(c identity.Credentials) (*identity.Principal, error) {
	if len(c.Authorization) == 1 && b[c.Authorization[0]] != nil {
		return b[c.Authorization[0]], nil
	}
	return nil, identity.ErrUnauthenticated
}

const everyRole = ^identity.Role(0)

// trespassers are grants that do not give a role on the namespace "theirs", nor on "default" or "nowhere".
func trespassers(role identity.Role) badges {
	grants := map[string][]identity.Grant{
		"no grant": nil, "every other role": {{Roles: everyRole &^ role, Namespaces: "*"}},
		"the others there, all elsewhere": {{Roles: everyRole &^ role, Namespaces: "theirs"}, {Roles: everyRole, Namespaces: "ours*"}},
	}
	for _, pattern := range []identity.Pattern{"ours", "ours*", "their", "theirs2", "theirs.*", "theirs-*", "thei", "t.*", "Theirs", "heirs", "", "**", "*theirs", "?heirs", "default2", "nowhere*x"} {
		grants["every role on "+string(pattern)+"."] = []identity.Grant{{Roles: everyRole, Namespaces: pattern}}
	}
	out := badges{}
	for name, g := range grants {
		out[name] = &identity.Principal{Name: name, Grants: g}
	}
	return out
}

// TestHostileGrants calls every method that needs a role, with grants that do not give it there: each is refused in the same way, whether the
// namespace is there or not, whatever else the request has, over a store that fails whoever touches it as over one that does not. With the role it
// is not refused.
func TestHostileGrants(t *testing.T) {
	var untouched struct{ chainstore.Store }
	stores := map[string]chainstore.Store{"untouched": untouched, "with theirs": storeWith(t, "theirs")}
	var all alike
	for store, of := range stores {
		callers := badges{}
		g := serveGuarded(t, New(of, Config{Authenticator: callers}), nil)
		if store == "untouched" {
			g.ways(func(way string) { g.trespass(callers, store+" over "+way, &all) })
		} else {
			g.trespass(callers, store, &all)
		}
	}
	if all.calls < 2*21*18*3 {
		t.Errorf("%d calls were made: the walk is broken", all.calls)
	}
}

func (g *guardedServer) trespass(callers badges, way string, all *alike) {
	t := g.T
	g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
		if m.Role == 0 {
			if m.Namespace != "" {
				t.Errorf("%s is about a namespace, and needs no role there", name)
			}
			return
		}
		clear(callers)
		for who, p := range trespassers(m.Role) {
			callers[who] = p
			for _, fields := range requestsOf(m) {
				for _, filled := range []bool{false, true} {
					req := requestWith(t, d, nil)
					if filled {
						fill(req.ProtoReflect(), 3)
					}
					for name, v := range fields {
						req.ProtoReflect().Set(d.Input().Fields().ByName(protoreflect.Name(name)), v)
					}
					all.add(t, codes.PermissionDenied, g.callIn(showing(t.Context(), who), name, d, req), way, name, who, fields)
				}
			}
		}
		callers["it"] = &identity.Principal{Name: "it", Grants: []identity.Grant{{Roles: m.Role, Namespaces: "th*"}}}
		req := requestWith(t, d, map[string]protoreflect.Value{m.Namespace: protoreflect.ValueOfString("theirs")})
		if err := g.callIn(showing(t.Context(), "it"), name, d, req); status.Code(err) == codes.PermissionDenied || status.Code(err) == codes.Unauthenticated {
			t.Errorf("%s is refused with the role that it needs: %v", name, err)
		}
	})
}

// requestsOf are what requests of a method may be about: a namespace that may be there, one that is not, the default one, the whole store.
func requestsOf(m *access.Method) (all []map[string]protoreflect.Value) {
	for _, namespace := range []string{"theirs", "nowhere", ""} {
		of := map[string]protoreflect.Value{m.Namespace: protoreflect.ValueOfString(namespace)}
		if m.ScopedBy != "" {
			of[m.ScopedBy] = protoreflect.ValueOfEnum(transcriptv1.Scope_SCOPE_NAMESPACE.Number())
		}
		all = append(all, of)
	}
	if m.ScopedBy != "" {
		for _, scope := range []protoreflect.EnumNumber{transcriptv1.Scope_SCOPE_STORE.Number(), 77} {
			all = append(all, map[string]protoreflect.Value{m.ScopedBy: protoreflect.ValueOfEnum(scope), m.Namespace: protoreflect.ValueOfString("")})
		}
	}
	return all
}

// storeWith is a store that has a namespace.
func storeWith(t *testing.T, namespace string) chainstore.Store {
	t.Helper()
	store := memstore.New(memstore.Options{})
	conn := serveGuarded(t, New(store, Config{}), nil).conn
	req := &transcriptv1.PutNodeRequest{Namespace: namespace, Messages: []*transcriptv1.Message{{
		Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "theirs"}}},
	}}}
	if _, err := transcriptv1.NewTranscriptServiceClient(conn).PutNode(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return store
}

// fill gives every field of a message something, and messages in it so deep; a name of a namespace it leaves out.
func fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.IsMap() || f.Name() == "namespace" || f.Message() != nil && depth == 0:
		case f.IsList() && f.Message() != nil:
			fill(m.Mutable(f).List().AppendMutable().Message(), depth-1)
		case f.IsList():
			m.Mutable(f).List().Append(something(f))
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, something(f))
		}
	}
}

func something(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("theirs")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("theirs"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(7)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(7)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(7)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(7)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(7)
	default:
		panic(fmt.Sprint("no value of kind ", f.Kind()))
	}
}
