package receive

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// statusWriter is what gRPC's own streams have, beside what it promises of them, and hangUp needs.
type statusWriter interface {
	WriteStatus(*status.Status) error
}

// HangUp tells the caller a status and makes a receive that waits for more, or a send that waits for the caller, fail, which gRPC does when a call ends. The handler
// cannot end it, since it waits, and were only its context cancelled, gRPC would tell the caller CANCELLED by itself: where
// receiving fails, it sends that as the status at once. If the call has ended already, nothing happens.
func HangUp(ctx context.Context, told error) {
	if s, ok := grpc.ServerTransportStreamFromContext(ctx).(statusWriter); ok {
		_ = s.WriteStatus(status.Convert(told)) // fails where the caller has gone
	}
}

// CanHangUp tells whether hangUp ends a call.
func CanHangUp(ctx context.Context) bool {
	_, ok := grpc.ServerTransportStreamFromContext(ctx).(statusWriter)
	return ok
}
