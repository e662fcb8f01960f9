package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// registrar registers services each of whose methods has a gate.
type registrar struct {
	*grpc.Server
	requests *receive.Limiter
	guard    access.Guard
	log      *slog.Logger
	// first looks at the first call.
	first sync.Once
	// gated are the methods that have a gate, by full name.
	gated map[string]bool
	// faults are of methods that have no row in the table of methods, or a wrong one, and of handlers without a method.
	faults error
}

// RegisterService relies on gRPC's receiving a request when the method's handler asks for it.
func (r *registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	d := *desc
	d.Methods, d.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	own := map[string]grpc.MethodHandler{}
	if s, ok := service.(Framing); ok {
		own = maps.Clone(s.Handlers())
	}
	for n := range d.Methods {
		m := &d.Methods[n]
		if handler, ok := own[m.MethodName]; ok {
			m.Handler = handler
			delete(own, m.MethodName)
		}
		m.Handler = r.gate(d.ServiceName, m.MethodName).unary(m.Handler)
	}
	for n := range d.Streams {
		s := &d.Streams[n]
		s.Handler = r.gate(d.ServiceName, s.StreamName).stream(s.Handler)
	}
	for name := range own {
		r.faults = errors.Join(r.faults, fmt.Errorf("service %s has no method %s to handle", d.ServiceName, name))
	}
	r.Server.RegisterService(&d, service)
}

// Framing is a service that handles some methods by itself, by name, since their replies are not those that are generated.
type Framing interface {
	Handlers() map[string]grpc.MethodHandler
}

// HandlerOf makes the handler of a method whose reply is any that the codec knows.
func HandlerOf[Request any](method string, handle func(context.Context, *Request) (any, error)) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		req := new(Request)
		if err := decode(req); err != nil {
			return nil, err
		}
		return interceptor(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, func(ctx context.Context, req any) (any, error) {
			return handle(ctx, req.(*Request))
		})
	}
}

// gate makes the gate of a method; of one that is at fault, which is never served, none.
func (r *registrar) gate(service, method string) *gate {
	m, err := access.Check(service, method)
	if err != nil {
		r.faults = errors.Join(r.faults, err)
		return nil
	}
	r.gated["/"+service+"/"+method] = true
	return &gate{method: m, guard: r.guard, room: r.requests.Of(m.Kind), look: r.look}
}

// check is the error where a method of a service has no gate.
func (r *registrar) check() error {
	err := r.faults
	for service, info := range r.GetServiceInfo() {
		for _, m := range info.Methods {
			if name := "/" + service + "/" + m.Name; !r.gated[name] && err == nil {
				err = fmt.Errorf("method %s has no gate", name)
			}
		}
	}
	return err
}

// look tells the log once where gRPC has lost what hangUp needs.
func (r *registrar) look(ctx context.Context) {
	r.first.Do(func() {
		if !receive.CanHangUp(ctx) {
			r.log.Error("this version of gRPC cannot end a call whose request does not come: slow senders keep others waiting")
		}
	})
}

// gate is what every call of a method passes, in this order: its head may have been refused, which also said who calls; there is room for its
// request; which is decoded; and the guard permits what it is about. Only then does anything else see the request.
type gate struct {
	method *access.Method
	guard  access.Guard
	room   *receive.ByteQuota
	look   func(context.Context)
}

// unary handles a call that passes. Of a call whose head was refused no interceptor hears; others that do not pass they see with an
// empty request, refused. The call's id is made here, so that it is the same in a status that is sent before the interceptors run.
func (g *gate) unary(next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		if refusal := turnedAway(ctx); refusal != nil {
			return nil, refusal
		}
		g.look(ctx)
		p := &passage{Call: g.call(ctx), Reservation: receive.Reservation{Quota: g.room}, gate: g}
		ctx = reply.InCall(ctx, &p.Call)
		defer p.Release()
		reply, err := next(srv, ctx, func(req any) error { return p.pass(ctx, req, decode) }, interceptor)
		if p.Call.Refusal != nil {
			reply, err = tell(srv, ctx, next, interceptor, p.Call.Refusal)
		}
		p.GiveBack(reply, err)
		return reply, err
	}
}

// call is a call of the method. Those of health, which anybody may make, are of the machine that they come from, since who likes has many
// connections.
func (g *gate) call(ctx context.Context) reply.Call {
	c := reply.NewCall(ctx)
	if g.method.Kind == access.Health {
		c.Party = machineOf(ctx)
	}
	return c
}

// machineOf is the address of the machine that a call comes from, without its port.
func machineOf(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	address := from.Addr.String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// passage is a unary call on its way through a gate.
type passage struct {
	reply.Call
	receive.Reservation
	gate *gate
}

// pass receives the request, and judges it. A panic is the call's refusal: no interceptor watches over a gate.
func (p *passage) pass(ctx context.Context, req any, decode func(any) error) error {
	p.Call.Refusal = panics.Guard(func() error {
		if err := p.Receive(ctx, req, decode); err != nil {
			return err
		}
		return p.gate.permit(ctx, req)
	})
	return p.Call.Refusal
}

// tell shows the interceptors a call whose request was refused, with an empty one, as though its handler refused it.
func tell(srv any, ctx context.Context, next grpc.MethodHandler, interceptor grpc.UnaryServerInterceptor, refusal error) (any, error) {
	refuse := func(context.Context, any) (any, error) { return nil, refusal } //nolint:unparam // gRPC's handlers have a reply
	return next(srv, ctx, func(any) error { return nil },
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			return interceptor(ctx, req, info, refuse)
		})
}

// permit judges a request that was decoded.
func (g *gate) permit(ctx context.Context, req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return errors.New("a request is no message")
	}
	if g.method.Kind == access.Health && proto.Size(m) > receive.MaxHealth {
		return &canonical.FieldError{Field: "service", Rule: "must be at most 1 KiB", Kind: canonical.ErrLimit}
	}
	scope := g.method.Scope(m)
	if err := wire.CheckNamespace(scope.Namespace); err != nil {
		return err
	}
	if g.method.Namespace != "" && !scope.All {
		scope.Namespace = wire.Namespace(scope.Namespace)
	}
	if c := reply.CallOf(ctx); c != nil {
		c.About = scope
	}
	return g.guard.Permit(ctx, access.Who(ctx), g.method, scope)
}

// stream is unary for streams, which pass within the interceptors; no write is one.
func (g *gate) stream(next grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, ss grpc.ServerStream) error {
		g.look(ss.Context())
		if c := reply.CallOf(ss.Context()); c != nil && g.method.Kind == access.Health {
			c.Party = machineOf(ss.Context())
		}
		s := &gatedStream{ServerStream: ss, gate: g}
		defer s.release()
		return next(srv, s)
	}
}

// gatedStream is a stream with one request, or with several of which each is handled before the next is received.
type gatedStream struct {
	grpc.ServerStream
	gate *gate
	// request is the room of the request that was received last; nil before the first.
	request *receive.Reservation
}

func (s *gatedStream) RecvMsg(m any) error {
	s.release()
	s.request = &receive.Reservation{Quota: s.gate.room}
	if err := s.request.Receive(s.Context(), m, s.ServerStream.RecvMsg); err != nil {
		return err
	}
	if s.gate.method.Kind == access.Health {
		s.release() // it is short, and the stream may last for ever
	}
	return s.gate.permit(s.Context(), m)
}

func (s *gatedStream) release() {
	if s.request != nil {
		s.request.Release()
	}
}
