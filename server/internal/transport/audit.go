package transport

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// auditor tells the audit of calls: of those of every role but read, whatever becomes of them, and of those of any method that were refused for
// who calls, or for how much or how often. What is not served for want of room or time, before anything was done, it is not told of.
type auditor struct {
	log    *audit.Log
	status func(context.Context, error) error
}

// acting are the roles whose calls are not made where they cannot be told of.
const acting = identity.Append | identity.Erase | identity.Backup | identity.Admin

// unary tells of a call before its reply goes out. Where lines are required, one that cannot be told of is refused before it does anything,
// and what became of one whose line could not be written behind it is unknown to its caller: the line is written first when lines can be again.
func (a *auditor) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	m := access.Find(info.FullMethod)
	refusal := a.refusal(ctx, m)
	if refusal != nil {
		return nil, a.tell(ctx, m, a.record(ctx, info.FullMethod, refusal), refusal)
	}
	made, err := next(ctx, req)
	if !tellsOf(m, err) {
		return made, err
	}
	r := a.record(ctx, info.FullMethod, err)
	describe(r, req, made)
	if err = a.tell(ctx, m, r, err); err != nil {
		return nil, err
	}
	return made, nil
}

// stream is unary for streams.
func (a *auditor) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, m := ss.Context(), access.Find(info.FullMethod)
	err := a.refusal(ctx, m)
	if err == nil {
		err = next(srv, ss)
	}
	if !tellsOf(m, err) {
		return err
	}
	r := a.record(ctx, info.FullMethod, err)
	did := reply.CallOf(ctx).Done()
	r.Selector, r.DryRun, r.Nodes, r.NodeCount = did.Selector, did.DryRun, did.Nodes, did.NodeCount
	return a.tell(ctx, m, r, err)
}

// refusal is that of a call that cannot be told of.
func (a *auditor) refusal(ctx context.Context, m *access.Method) error {
	if m != nil && m.Role&acting != 0 && a.log.Required() && turnedAway(ctx) == nil {
		return a.status(ctx, a.log.Ready())
	}
	return nil
}

// refused tells of a call that was refused when its head had come.
func (a *auditor) refused(ctx context.Context, method string, err error) {
	if a != nil {
		_ = a.log.Add(a.record(ctx, method, err)) // changed nothing; the log of the audit tells
	}
}

// tellsOf tells whether the audit is told of a call. Those that exceed a rate are refused by their heads, and those that exceed a quota write.
func tellsOf(m *access.Method, err error) bool {
	if m == nil {
		return false
	}
	code := status.Code(err)
	return m.Role&^identity.Read != 0 || code == codes.Unauthenticated || code == codes.PermissionDenied
}

// tell tells of a call, and gives what it comes to.
func (a *auditor) tell(ctx context.Context, m *access.Method, r *audit.Record, err error) error {
	r.Unchanged = m.Role&acting == 0 || r.DryRun || err != nil && r.NodeCount == 0 && (turnedAway(ctx) != nil || changedNothing(err))
	untold := a.log.Add(r)
	if untold == nil || err != nil || r.Unchanged || !a.log.Required() {
		return err
	}
	return a.status(ctx, fmt.Errorf("the call was made, and its line of the audit is not written: %v", untold)) //nolint:errorlint // not as one that did nothing
}

// changedNothing tells whether a call that came to an error changed nothing for sure.
func changedNothing(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.Internal:
		return false
	case codes.Unavailable:
		return reasonOf(err) != "STORE_FAILED"
	default:
		return true
	}
}

// record is what is known of every call.
func (a *auditor) record(ctx context.Context, method string, err error) *audit.Record {
	r := &audit.Record{
		Method: strings.TrimPrefix(method, "/"), Code: codeName(status.Code(err)), Reason: reasonOf(err), RequestID: reply.RequestID(ctx), Unchanged: true,
	}
	if who := access.Who(ctx); who != nil {
		r.Principal = who.Name
	}
	if c := reply.CallOf(ctx); c != nil {
		r.Namespace, r.Everything = c.About.Namespace, c.About.All
	}
	if from, ok := peer.FromContext(ctx); ok {
		r.Peer = from.Addr.String()
	}
	return r
}

// reasonOf is the reason that a status tells; empty: none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// codeName is a code as the contract writes it: "PERMISSION_DENIED".
func codeName(c codes.Code) string { return code.Code_name[int32(c)] } //nolint:gosec // there are 17
