package transport

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// logUnary logs each call when it has ended. A line that nobody reads costs nothing.
func logUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		begin := time.Now()
		answer, err := next(ctx, req)
		if level := levelFor(info.FullMethod, status.Code(err)); log.Enabled(ctx, level) {
			line := append(ended(ctx, info.FullMethod, "unary", begin, err),
				slog.Int("request_bytes", reply.Size(req)), slog.Int("reply_bytes", reply.Size(answer)))
			log.LogAttrs(ctx, level, "finished call", line...)
		}
		return answer, err
	}
}

// logStream is logUnary for streams.
func logStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		begin, counted := time.Now(), &countedStream{ServerStream: ss}
		err := next(srv, counted)
		ctx := ss.Context()
		if level := levelFor(info.FullMethod, status.Code(err)); log.Enabled(ctx, level) {
			line := append(ended(ctx, info.FullMethod, streamKind(info), begin, err),
				slog.Int("request_bytes", counted.received), slog.Int("reply_bytes", counted.sent), slog.Int("frames", counted.frames))
			log.LogAttrs(ctx, level, "finished call", line...)
		}
		return err
	}
}

func streamKind(info *grpc.StreamServerInfo) string {
	switch {
	case !info.IsClientStream:
		return "server_stream"
	case !info.IsServerStream:
		return "client_stream"
	default:
		return "bidi_stream"
	}
}

// ended is what is told of every call.
func ended(ctx context.Context, method, kind string, begin time.Time, err error) []slog.Attr {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	line := append(make([]slog.Attr, 0, 16),
		slog.String("grpc.service", service), slog.String("grpc.method", name), slog.String("grpc.method_type", kind),
		slog.String("request_id", reply.RequestID(ctx)))
	if from, ok := peer.FromContext(ctx); ok {
		line = append(line, slog.String("peer.address", from.Addr.String()))
	}
	if who := access.Who(ctx); who != nil {
		line = append(line, slog.String("principal", who.Name))
	}
	line = append(line, slog.String("grpc.start_time", begin.Format(time.RFC3339)))
	if deadline, ok := ctx.Deadline(); ok {
		line = append(line, slog.String("grpc.request.deadline", deadline.Format(time.RFC3339)))
	}
	line = append(line, slog.String("grpc.code", status.Code(err).String()))
	if err != nil {
		line = append(line, slog.String("grpc.error", err.Error()))
	}
	return append(line, slog.Duration("grpc.duration", time.Since(begin)))
}

// levelFor is levelOf, but debug for what is no fault of the server in calls of health: anybody may make them, in any number.
func levelFor(method string, code codes.Code) slog.Level {
	level := levelOf(code)
	if access.IsHealth(method) && level < slog.LevelError {
		return slog.LevelDebug
	}
	return level
}

// levelOf is the level at which a finished call is logged: what belongs to normal use at debug, such as a put that lost
// a race or asked for what is not there yet; what a caller has to mend at info; what whoever runs the server has to look
// at higher.
func levelOf(code codes.Code) slog.Level {
	switch code {
	case codes.OK, codes.Canceled, codes.DeadlineExceeded, codes.NotFound, codes.AlreadyExists, codes.Aborted,
		codes.FailedPrecondition:
		return slog.LevelDebug
	case codes.Unavailable, codes.ResourceExhausted:
		return slog.LevelWarn
	case codes.Unknown, codes.Internal, codes.DataLoss:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// countedStream counts what goes through it. Each direction is used by one goroutine, as gRPC demands.
type countedStream struct {
	grpc.ServerStream
	received, sent, frames int
}

func (s *countedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.received += reply.Size(m)
	}
	return err
}

func (s *countedStream) SendMsg(m any) error {
	s.sent += reply.Size(m)
	s.frames++
	return s.ServerStream.SendMsg(m)
}
