package transport

import (
	"context"
	"path"
	"slices"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// layer is one interceptor in both its forms.
type layer struct {
	name string
	// why it stands where it stands.
	why    string
	unary  grpc.UnaryServerInterceptor
	stream grpc.StreamServerInterceptor
}

// layers are the interceptors in their order, outermost first.
func (t *Transport) layers() []layer {
	layers := []layer{
		{"metrics", "counts what every other layer does, refusals too", nil, nil},
		{"callers", "counts calls by who makes them, once these are told apart", nil, nil},
		{"request", "gives the call its id before anything can log it", identifyUnary, identifyStream},
		{"logging", "sees the final status; method, code, duration and sizes, never content", logUnary(t.log), logStream(t.log)},
		{"limits", "refuses what would not be served before any work is done for it", t.limitUnary, t.limitStream},
		{"audit", "tells of calls before their replies go out, and refuses those that it cannot tell of", nil, nil},
		{"refusals", "ends what did not pass its gate, so that the rest does no work for it", t.refuseUnary, refuseStream},
		{"errors", "turns what handlers and recovery return into statuses", t.mapUnary, t.mapStream},
		{"recovery", "turns a panic into an error like any other", nil, nil},
		{"replies", "sends what a handler read beside what it returns, and counts what is large", t.Replies.Unary, t.Replies.Stream},
	}
	if t.metrics != nil {
		layers[0].unary, layers[0].stream = t.metrics.UnaryServerInterceptor(), t.metrics.StreamServerInterceptor()
	}
	if _, anybody := t.Guard.(access.Anybody); !anybody {
		layers[1].unary, layers[1].stream = countCallers(t.callers)
	}
	if t.audit != nil {
		layers[5].unary, layers[5].stream = t.audit.unary, t.audit.stream
	}
	layers[8].unary, layers[8].stream = recoverCalls()
	return layers
}

// chains are the layers as gRPC takes them.
func (t *Transport) chains() (unary []grpc.UnaryServerInterceptor, stream []grpc.StreamServerInterceptor) {
	for _, l := range t.layers() {
		if l.unary != nil {
			unary, stream = append(unary, l.unary), append(stream, l.stream)
		}
	}
	stream[0] = turnAway(stream[0])
	return unary, stream
}

// countCallers counts calls that end, by who made them.
func countCallers(ended *prometheus.CounterVec) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	count := func(ctx context.Context, err error) {
		if who := access.Who(ctx); who != nil {
			ended.WithLabelValues(who.Party(), status.Code(err).String()).Inc()
		}
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		made, err := next(ctx, req)
		count(ctx, err)
		return made, err
	}
	return unary, func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		err := next(srv, ss)
		count(ss.Context(), err)
		return err
	}
}

func identifyUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if reply.CallOf(ctx) != nil { // made by its gate
		return next(ctx, req)
	}
	c := reply.NewCall(ctx)
	made, err := next(reply.InCall(ctx, &c), req)
	c.GiveBack(made, err)
	return made, err
}

func identifyStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, &stream{ServerStream: ss, ctx: reply.WithCall(ss.Context(), nil)})
}

// stream is a ServerStream with a context of its own.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// admit refuses new calls of a draining server, while health is told to the end; and those of a service that was registered beside, and
// has no gate, unless it is named as such.
func (t *Transport) admit(method string) error {
	switch {
	case access.Find(method) == nil && !slices.Contains(t.ungated, path.Dir(method)[1:]):
		return status.Error(codes.Unimplemented, method+" has no gate, and is not served")
	case t.draining.Err() != nil && !access.IsHealth(method):
		return receive.ErrDraining
	default:
		return nil
	}
}

func (t *Transport) limitUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := t.admit(info.FullMethod); err != nil {
		return nil, t.Status(ctx, err)
	}
	return next(ctx, req)
}

func (t *Transport) limitStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := t.admit(info.FullMethod); err != nil {
		return t.Status(ss.Context(), err)
	}
	if info.FullMethod == healthv1.Health_Watch_FullMethodName {
		return t.watchHealth(srv, ss, next)
	}
	return next(srv, ss)
}

// refuseUnary ends calls that did not pass their gate before anything is done for them.
func (t *Transport) refuseUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if refusal := turnedAway(ctx); refusal != nil {
		return nil, t.Status(ctx, refusal)
	}
	return next(ctx, req)
}

// refuseStream does nothing: streams pass their gates in their handlers.
func refuseStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, ss)
}

func (t *Transport) mapUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	made, err := next(ctx, req)
	if err != nil {
		return nil, t.Status(ctx, err)
	}
	return made, nil
}

func (t *Transport) mapStream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return t.Status(ss.Context(), next(srv, ss))
}

// recoverCalls makes errors of panics. The error tells what Go's runtime says, or else only the type of the value,
// which might hold content; and where it happened.
func recoverCalls() (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor) {
	handler := recovery.WithRecoveryHandler(panics.Error)
	return recovery.UnaryServerInterceptor(handler), recovery.StreamServerInterceptor(handler)
}
