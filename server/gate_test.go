package server

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/overhttp"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// permitted is a judgement that a guard was asked for.
type permitted struct {
	who *identity.Principal
	m   *access.Method
	of  access.Scope
}

// somebody is whom strict names.
var somebody = &identity.Principal{Name: "somebody"}

// strict is a guard that refuses what it is told to, and remembers what it was asked.
type strict struct {
	unknown, forbidden error
	// panics is the name of the method that panics; empty: none.
	panics string

	mu         sync.Mutex
	identified []*access.Method
	permitted  []permitted
	canHangUp  []bool
}

func (s *strict) Identify(m *access.Method, _ identity.Credentials) (*identity.Principal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics == "Identify" {
		panic("of the guard")
	}
	s.identified = append(s.identified, m)
	if s.unknown != nil {
		return nil, s.unknown
	}
	return somebody, nil
}

func (s *strict) Permit(ctx context.Context, who *identity.Principal, m *access.Method, of access.Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics == "Permit" {
		panic("of the guard")
	}
	s.permitted, s.canHangUp = append(s.permitted, permitted{who, m, of}), append(s.canHangUp, receive.CanHangUp(ctx))
	return s.forbidden
}

// guardedServer is a server with a guard, over a store that fails whoever touches it.
type guardedServer struct {
	*testing.T
	*strict
	server *Server
	grpc   *grpc.Server
	conn   *grpc.ClientConn
	// via is what calls are made over: conn, unless a test says otherwise.
	via grpc.ClientConnInterface
}

func newGuarded(t *testing.T, guard *strict) *guardedServer {
	t.Helper()
	var untouched struct{ chainstore.Store }
	server := New(untouched, Config{})
	server.transport.Guard = guard
	return serveGuarded(t, server, guard)
}

func serveGuarded(t *testing.T, server *Server, guard *strict) *guardedServer {
	t.Helper()
	g := &guardedServer{T: t, strict: guard, server: server}
	var err error
	if g.grpc, err = g.server.GRPC(); err != nil {
		t.Fatal(err)
	}
	g.conn = serve(t, g.grpc)
	g.via = g.conn
	CollectsBeside(t, server)
	return g
}

// ways calls f with each way to make calls that the hostile take: over gRPC, and over HTTP in forms that differ.
func (g *guardedServer) ways(f func(way string)) {
	g.Helper()
	f("gRPC")
	if testing.Short() {
		return // with the race detector the walks over HTTP take minutes
	}
	http, err := g.server.HTTP(g.grpc, HTTPConfig{})
	if err != nil {
		g.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	served := make(chan error, 1)
	go func() { served <- http.Serve(s.Listener) }()
	for _, form := range []overhttp.Form{overhttp.Curl, overhttp.Web} {
		g.via = &overhttp.Conn{URL: "http://" + s.Listener.Addr().String(), Form: form, Client: &nethttp.Client{Transport: &nethttp.Transport{}}}
		f(string(form))
	}
	g.via = g.conn
	if err := errors.Join(http.Shutdown(g.Context()), <-served); err != nil {
		g.Error(err)
	}
}

// takes tells whether a method is served the way that calls are made now: reflection is of gRPC alone.
func (g *guardedServer) takes(m *access.Method) bool {
	return g.via == g.conn || m.Kind != access.Reflection
}

// serve serves until the test ends, and returns a connection.
func serve(t *testing.T, server *grpc.Server) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-serving; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// methods calls f with every method that is served: its name, its row and its descriptor.
func (g *guardedServer) methods(f func(name string, m *access.Method, d protoreflect.MethodDescriptor)) {
	g.Helper()
	found := 0
	for service, info := range g.grpc.GetServiceInfo() {
		for _, method := range info.Methods {
			name := "/" + service + "/" + method.Name
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method.Name))
			if err != nil {
				g.Fatal(err)
			}
			found++
			f(name, access.Find(name), d.(protoreflect.MethodDescriptor))
		}
	}
	if found < 24 {
		g.Errorf("%d methods are served: the walk is broken", found)
	}
}

// call calls a method, and returns how it ended.
func (g *guardedServer) call(name string, d protoreflect.MethodDescriptor, req proto.Message) error {
	return g.callIn(g.Context(), name, d, req)
}

func (g *guardedServer) callIn(ctx context.Context, name string, d protoreflect.MethodDescriptor, req proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if !d.IsStreamingClient() && !d.IsStreamingServer() {
		return g.via.Invoke(ctx, name, req, &emptypb.Empty{})
	}
	stream, err := g.via.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: d.IsStreamingClient()}, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return stream.RecvMsg(&emptypb.Empty{})
}

// requestWith is a request of a method that has nothing but some fields.
func requestWith(t *testing.T, d protoreflect.MethodDescriptor, fields map[string]protoreflect.Value) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New()
	for name, v := range fields {
		m.Set(d.Input().Fields().ByName(protoreflect.Name(name)), v)
	}
	return m.Interface()
}

// Whoever is refused by the request headers takes no room, whatever the method, and nothing sees the request: there is no room left, and
// the store can not be touched.
func TestWhoIsRefusedByTheHead(t *testing.T) {
	g := newGuarded(t, &strict{unknown: status.Error(codes.Unauthenticated, "unknown")})
	i := g.server.transport.Requests
	for _, r := range []*receive.ByteQuota{i.Writes, i.Reads, i.Health, i.Reflection} {
		r.Free = fair.NewSemaphore(0)
	}
	g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
		g.identified = nil
		if err := g.call(name, d, requestWith(t, d, nil)); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(g.identified, []*access.Method{m}) || m == nil {
			t.Errorf("%s: the guard was asked about %v", name, g.identified)
		}
	})
	if len(g.permitted) > 0 {
		t.Errorf("of those refused by their heads %d were judged again", len(g.permitted))
	}
}

// What a request is about is judged once, whatever the method, before anything else in it is looked at: nothing else is there, and the
// store can not be touched.
func TestWhatIsForbidden(t *testing.T) {
	g := newGuarded(t, &strict{forbidden: status.Error(codes.PermissionDenied, "forbidden")})
	about := func(name string, m *access.Method, d protoreflect.MethodDescriptor, fields map[string]protoreflect.Value, want access.Scope) {
		t.Helper()
		g.permitted = nil
		if err := g.call(name, d, requestWith(t, d, fields)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(g.permitted, []permitted{{somebody, m, want}}) {
			t.Errorf("%s: the guard was asked %v, want once about %v", name, g.permitted, want)
		}
	}
	scoped := 0
	g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
		if m.Namespace == "" {
			about(name, m, d, nil, access.Scope{})
			return
		}
		scoped++
		about(name, m, d, map[string]protoreflect.Value{m.Namespace: protoreflect.ValueOfString("theirs")}, access.Scope{Namespace: "theirs"})
		about(name, m, d, nil, access.Scope{Namespace: "default"})
		if m.ScopedBy != "" {
			for scope, all := range map[transcriptv1.Scope]bool{
				transcriptv1.Scope_SCOPE_STORE: true, transcriptv1.Scope_SCOPE_NAMESPACE: false, 77: true,
			} {
				want := access.Scope{All: all}
				if !all {
					want.Namespace = "default"
				}
				about(name, m, d, map[string]protoreflect.Value{m.ScopedBy: protoreflect.ValueOfEnum(scope.Number())}, want)
			}
		}
	})
	if scoped != 29 {
		t.Errorf("%d methods have a namespace, not 29", scoped)
	}
}

// A name that no namespace has is refused as such, and a guard is not asked.
func TestNamesOfNoNamespace(t *testing.T) {
	g := newGuarded(t, &strict{})
	g.methods(func(name string, m *access.Method, d protoreflect.MethodDescriptor) {
		if m.Namespace == "" {
			return
		}
		req := requestWith(t, d, map[string]protoreflect.Value{m.Namespace: protoreflect.ValueOfString("No Name")})
		if err := g.call(name, d, req); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "namespace") {
			t.Errorf("%s: %v", name, err)
		}
	})
	if len(g.permitted) > 0 {
		t.Errorf("the guard was asked about %v", g.permitted)
	}
}

// A guard that panics ends the call that it was asked about as a fault of the server, and nothing else; room comes back.
func TestGuardsThatPanic(t *testing.T) {
	for _, where := range []string{"Identify", "Permit"} {
		g := newGuarded(t, &strict{panics: where})
		g.methods(func(name string, _ *access.Method, d protoreflect.MethodDescriptor) {
			if err := g.call(name, d, requestWith(t, d, nil)); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "guard") {
				t.Errorf("%s panics, %s: %v", where, name, err)
			}
		})
		g.grpc.GracefulStop()
		i := g.server.transport.Requests
		for r, n := range map[*receive.ByteQuota]int64{i.Writes: receive.WritesBytes, i.Reads: receive.ReadsBytes} {
			if !r.Free.TryAcquire(n) {
				t.Errorf("%s panics: room was not given back", where)
			}
		}
	}
}

// A service that a program registers beside, after GRPC, has no gate, and is served only if it is named; what is unknown never is.
func TestServicesWithoutAGate(t *testing.T) {
	t.Run("not named", func(t *testing.T) { testWithoutAGate(t, codes.Unimplemented) })
	t.Run("named", func(t *testing.T) { testWithoutAGate(t, codes.OK, "later.Service") })
}

func testWithoutAGate(t *testing.T, want codes.Code, named ...string) {
	handled := 0
	stream := func(_ any, ss grpc.ServerStream) error { handled++; return ss.SendMsg(&emptypb.Empty{}) }
	later := &grpc.ServiceDesc{
		ServiceName: "later.Service", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			req := &emptypb.Empty{}
			if err := decode(req); err != nil {
				return nil, err
			}
			return interceptor(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/later.Service/Call"}, func(context.Context, any) (any, error) {
				handled++
				return req, nil
			})
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, Handler: stream}},
	}
	var untouched struct{ chainstore.Store }
	server, err := New(untouched, Config{Ungated: named}).GRPC(grpc.UnknownServiceHandler(stream))
	if err != nil {
		t.Fatal(err)
	}
	server.RegisterService(later, nil)
	conn := serve(t, server)
	for method, want := range map[string]codes.Code{"/later.Service/Stream": want, "/unknown.Service/Stream": codes.Unimplemented} {
		s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, method)
		if err == nil {
			err = s.RecvMsg(&emptypb.Empty{})
		}
		if status.Code(err) != want {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := conn.Invoke(t.Context(), "/later.Service/Call", &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != want {
		t.Errorf("a call: %v", err)
	}
	if n := 2 * len(named); handled != n {
		t.Errorf("%d calls were handled, want %d", handled, n)
	}
}

// gRPC's streams have the method that hangUp needs, which it promises nobody.
func TestCallsCanBeEnded(t *testing.T) {
	g := newGuarded(t, &strict{forbidden: status.Error(codes.PermissionDenied, "forbidden")})
	_ = g.conn.Invoke(t.Context(), transcriptv1.TranscriptService_PutNode_FullMethodName, &emptypb.Empty{}, &emptypb.Empty{})
	stream, err := g.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, transcriptv1.AdminService_Verify_FullMethodName)
	if err == nil {
		err = errors.Join(stream.SendMsg(&emptypb.Empty{}), stream.CloseSend())
	}
	if err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("%v", err)
	}
	if !slices.Equal(g.canHangUp, []bool{true, true}) {
		t.Errorf("a call and a stream can be ended: %v", g.canHangUp)
	}
}
