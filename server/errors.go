package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/compact"
	"github.com/transcriptd/transcriptd/server/internal/erasure"
	"github.com/transcriptd/transcriptd/server/internal/recall"
	"github.com/transcriptd/transcriptd/server/internal/retention"
	"github.com/transcriptd/transcriptd/server/internal/search"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "transcript.v1"

// What the server refuses by itself.
var (
	// errAmbiguous: a prefix fits several nodes. Comes in an ambiguousError.
	errAmbiguous = errors.New("the prefix fits several nodes")
	// errUseStream: a reply would be over maxReply.
	errUseStream = errors.New("the reply is too large for one message")
	// errBusyVerifying: others verify, and none ended before the deadline.
	errBusyVerifying = errors.New("too many calls verify")
	// errUnread: the client took nothing of a call that has a place, and others waited for that, or might for what an erasure holds.
	errUnread = errors.New("the client takes nothing")
)

// row says how an error looks to a caller.
type row struct {
	err    error
	code   codes.Code
	reason transcriptv1.ErrorReason
	// text is the whole message for the caller, unless the error is a canonical.FieldError, whose field and rule are.
	text string
	// fault: the operator has to know, so the cause is logged.
	fault bool
}

// table has a row for every error that the store, canonical and this package name. The first row that fits counts.
func table() []row {
	const (
		invalid, notFound   = codes.InvalidArgument, codes.NotFound
		exhausted, lost     = codes.ResourceExhausted, codes.DataLoss
		unavailable, failed = codes.Unavailable, codes.FailedPrecondition
	)
	return []row{
		// First, since they hold whatever else they wrap.
		{chainstore.ErrFailed, unavailable, transcriptv1.ErrorReason_ERROR_REASON_STORE_FAILED, "the store has failed and takes no more writes", true},
		{chainstore.ErrCorrupt, lost, transcriptv1.ErrorReason_ERROR_REASON_NODE_CORRUPT, "stored bytes are corrupt: run AdminService.Verify", true},
		{canonical.ErrNotCanonical, lost, transcriptv1.ErrorReason_ERROR_REASON_NODE_CORRUPT, "stored bytes are corrupt: run AdminService.Verify", true},

		{identity.ErrUnauthenticated, codes.Unauthenticated, transcriptv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "who calls is not known: show a good token, as authorization: Bearer TOKEN, or a client certificate", false},
		{identity.ErrUnavailable, unavailable, transcriptv1.ErrorReason_ERROR_REASON_IDENTITY_UNAVAILABLE, "callers cannot be told apart now, the server's log says why: repeat the call later; nothing was done", false},
		{audit.ErrUnwritten, unavailable, transcriptv1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE, "what is done cannot be written down now, so nothing is: repeat the call later, and look at the disk of the server's audit; nothing was done", false},
		{access.ErrDenied, codes.PermissionDenied, transcriptv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "no grant of yours covers this method in the namespace that the request names (default where it names none)", false},

		{canonical.ErrInvalid, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_FIELD, "a field is malformed", false},
		{canonical.ErrMalformed, invalid, transcriptv1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, "the request is malformed", false},
		{canonical.ErrLimit, invalid, transcriptv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "over a limit", false},
		{change.ErrDuplicateAlias, invalid, transcriptv1.ErrorReason_ERROR_REASON_DUPLICATE_ALIAS, "one alias is named twice", false},
		{wire.ErrPageToken, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_PAGE_TOKEN, "not a page token of this call", false},
		{chainstore.ErrBadCursor, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_PAGE_TOKEN, "not a cursor of this check: begin it anew", false},
		{search.ErrPattern, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_PATTERN, "not a pattern that can be searched for", false},
		{compact.ErrTooLarge, invalid, transcriptv1.ErrorReason_ERROR_REASON_COMPACTION_TOO_LARGE, "what the compaction would write is over a node's limits: use a tighter policy, or an earlier through_id", false},
		{errAmbiguous, invalid, transcriptv1.ErrorReason_ERROR_REASON_AMBIGUOUS_PREFIX, "the prefix fits several nodes: give more digits", false},
		{chainstore.ErrGroupTooLarge, invalid, transcriptv1.ErrorReason_ERROR_REASON_TOO_MANY_OPEN_CALLS, "the chain would end in too many open tool calls: put their results first", false},
		{runloop.ErrGroupTooLarge, invalid, transcriptv1.ErrorReason_ERROR_REASON_TOO_MANY_OPEN_CALLS, "the chain would end in too many open tool calls: put their results first", false},
		{chainstore.ErrTooLarge, invalid, transcriptv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "what this call would store is too large for one commit: put fewer nodes, fewer aliases, or fewer unanswered calls a node at a time", false},

		{chainstore.ErrParentNotFound, notFound, transcriptv1.ErrorReason_ERROR_REASON_PARENT_NOT_FOUND, "the parent is not there", false},
		{chainstore.ErrNodeNotFound, notFound, transcriptv1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "no node of this namespace has that id", false},
		{chainstore.ErrAliasNotFound, notFound, transcriptv1.ErrorReason_ERROR_REASON_ALIAS_NOT_FOUND, "no alias of this namespace has that name", false},

		{recall.ErrToolCallNotFound, notFound, transcriptv1.ErrorReason_ERROR_REASON_TOOL_CALL_NOT_FOUND, "the chain has no such tool call", false},

		{chainstore.ErrAliasExists, codes.AlreadyExists, transcriptv1.ErrorReason_ERROR_REASON_ALIAS_EXISTS, "an alias that must not exist does", false},
		{chainstore.ErrAliasMoved, codes.Aborted, transcriptv1.ErrorReason_ERROR_REASON_ALIAS_MOVED, "an alias points elsewhere, or has another revision: read it again and decide again", false},
		{canonical.ErrReceipt, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_FIELD, "a receipt is not signed with the key that stands beside it", false},
		{chainstore.ErrBadExport, invalid, transcriptv1.ErrorReason_ERROR_REASON_INVALID_FIELD, "an alias is not as a store exports it", false},
		{chainstore.ErrSettingsChanged, codes.Aborted, transcriptv1.ErrorReason_ERROR_REASON_SETTINGS_CHANGED, "the settings have another revision: read them again and decide again", false},
		{chainstore.ErrErasedMeanwhile, codes.Aborted, transcriptv1.ErrorReason_ERROR_REASON_ERASED_MEANWHILE, "nodes were erased again and again while the compaction was planned: repeat this call", false},
		{chainstore.ErrErased, failed, transcriptv1.ErrorReason_ERROR_REASON_PAYLOAD_ERASED, "the node was erased, and cannot be put again as it was: put it with another salt", false},
		{erasure.ErrSharedRoot, failed, transcriptv1.ErrorReason_ERROR_REASON_SHARED_ROOT, "a root without a salt is selected: it would be erased for every chain that begins with the same words; set shared_roots to keep such roots or to erase them", false},
		{retention.ErrHeld, failed, transcriptv1.ErrorReason_ERROR_REASON_LEGAL_HOLD, "a legal hold keeps it: an admin of the namespace can lift the hold with SetNamespace", false},
		{chainstore.ErrNotErased, notFound, transcriptv1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "no node of this namespace that was erased has that id", false},
		{chainstore.ErrBadErasure, codes.Internal, transcriptv1.ErrorReason_ERROR_REASON_INTERNAL, "a fault of the server; its log has the cause under the request's id", true},
		{chainstore.ErrNotAncestor, failed, transcriptv1.ErrorReason_ERROR_REASON_NOT_AN_ANCESTOR, "the node named is neither the head nor an ancestor of it", false},
		{chainview.ErrNotInView, failed, transcriptv1.ErrorReason_ERROR_REASON_NOT_IN_VIEW, "the view does not show the message that before names: page back with the head of the first page, or begin again at the end", false},
		{chainstore.ErrAlreadyCovered, failed, transcriptv1.ErrorReason_ERROR_REASON_ALREADY_COVERED, "through_id lies before what an earlier compaction covers, or before the end of the preamble: name a later node", false},
		{chainstore.ErrOpenCalls, failed, transcriptv1.ErrorReason_ERROR_REASON_OPEN_TOOL_CALLS, "a tool call is unanswered there: put its result first, or name an earlier node as through_id", false},

		{errUseStream, exhausted, transcriptv1.ErrorReason_ERROR_REASON_USE_STREAM_ASSEMBLE, "the reply is too large for one message: call StreamAssemble", false},
		{chainstore.ErrDiskFull, exhausted, transcriptv1.ErrorReason_ERROR_REASON_DISK_FULL, "the server's disk is full: what is left of it is kept for the store's own work and for deletes; nothing was written", false},
		{chainstore.ErrTooManyFiles, exhausted, transcriptv1.ErrorReason_ERROR_REASON_TOO_MANY_FILES, "the server has too many files open, its log says which limit to raise; nothing was written", true},
		{chainstore.ErrOverloaded, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "too many writes wait: repeat this one later; nothing was written", false},
		{receive.ErrNoRoom, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "there was no room for the request, since those of other calls have it all: repeat it later; nothing was done", false},
		{reply.ErrNoRoom, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "there was no room for the reply, since replies that were not taken yet have it all: take them, and repeat this call later", false},
		{reply.ErrBusy, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "other calls read, and it was not this one's turn: repeat it later", false},
		{errBusyVerifying, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, fmt.Sprintf("%d calls of Verify, Backup, CollectGarbage and Erase run already: repeat this one later", maxVerifies), false},
		{erasure.ErrCopiesGoOn, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "compactions with copies of what is erased are put as fast as they are erased: what was erased stays so; make this call again once nobody puts archived nodes", false},
		{change.ErrPutMeanwhile, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, "others put nodes of this call as fast as it looks at what is there: repeat it later; nothing was written", false},
		{errUnread, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, fmt.Sprintf("nothing that was sent was taken for %s while others waited: take it, and go on where this call ended", unreadAfter), false},
		{archive.ErrSpool, exhausted, transcriptv1.ErrorReason_ERROR_REASON_DISK_FULL, "the server cannot write into its folder for temporary files, which TMPDIR names: it is full, or not there; nothing was changed", true},
		{receive.ErrSlow, exhausted, transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED, fmt.Sprintf("the request was on its way for over %s while others waited for room: repeat it later; nothing was done", receive.Timeout), false},

		{chainstore.ErrQuota, exhausted, transcriptv1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED, "the namespace would have more than its quota: who looks after it can raise that; nothing was written", false},
		{access.ErrRate, exhausted, transcriptv1.ErrorReason_ERROR_REASON_RATE_LIMITED, "more calls than your rate allows: repeat this one later; nothing was done", false},

		{receive.ErrDraining, unavailable, transcriptv1.ErrorReason_ERROR_REASON_DRAINING, "the server is shutting down", false},
		{chainstore.ErrClosed, unavailable, transcriptv1.ErrorReason_ERROR_REASON_DRAINING, "the server is shutting down", false},

		{context.DeadlineExceeded, codes.DeadlineExceeded, transcriptv1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the deadline has passed", false},
		{context.Canceled, codes.Canceled, transcriptv1.ErrorReason_ERROR_REASON_CANCELLED, "the caller gave up", false},
		{reply.ErrGone, codes.Canceled, transcriptv1.ErrorReason_ERROR_REASON_CANCELLED, "the caller has gone", false},
	}
}

// internal is how everything without a row looks.
func internal() row {
	return row{nil, codes.Internal, transcriptv1.ErrorReason_ERROR_REASON_INTERNAL, "a fault of the server; its log has the cause under the request's id", true}
}

// ambiguousError is errAmbiguous with candidates.
type ambiguousError struct{ ids []chainstore.ID }

func (e *ambiguousError) Error() string { return errAmbiguous.Error() }
func (e *ambiguousError) Unwrap() error { return errAmbiguous }

// mapper turns errors into statuses.
type mapper struct {
	rows []row
	log  *slog.Logger
}

// addCertificates says that a certificate, too, says who calls.
func (m *mapper) addCertificates() {
	for i := range m.rows {
		if errors.Is(m.rows[i].err, identity.ErrUnauthenticated) {
			m.rows[i].text += ", or a client certificate"
		}
	}
}

// status is err as the caller may see it: a status with ErrorInfo, the request's id, and what more there is to tell. A
// status stays as it is: gRPC's own services and inner layers make them. Causes go to the log.
func (m *mapper) status(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	r := m.find(err)
	if r.fault {
		m.log.ErrorContext(ctx, "call failed", "request_id", reply.RequestID(ctx), "reason", r.reason.String(), "cause", err.Error())
	}
	info := &errdetails.ErrorInfo{
		Domain:   errorDomain,
		Reason:   strings.TrimPrefix(r.reason.String(), "ERROR_REASON_"),
		Metadata: facts(access.Who(ctx), err),
	}
	details := []protoadapt.MessageV1{info, &errdetails.RequestInfo{RequestId: reply.RequestID(ctx)}}
	text, more := explain(err, &r)
	st, err := status.New(r.code, text).WithDetails(append(details, more...)...)
	if err != nil {
		return status.Error(r.code, text)
	}
	return st.Err()
}

func (m *mapper) find(err error) row {
	for _, r := range m.rows {
		if errors.Is(err, r.err) {
			return r
		}
	}
	return internal()
}

// maxToldReceipt is the most bytes of a receipt that an error tells: an error is sent in headers, which are small.
const maxToldReceipt = 1 << 10

// facts are what ErrorInfo tells of an error beside its reason.
func facts(who *identity.Principal, err error) map[string]string {
	var shared *erasure.SharedRootError
	var erased *chainstore.ErasedError
	var held *retention.HeldError
	switch {
	case errors.As(err, &shared):
		return map[string]string{"node_id": shared.ID.String()}
	case errors.As(err, &erased) && len(erased.Receipt) <= maxToldReceipt:
		return map[string]string{"receipt": base64.StdEncoding.EncodeToString(erased.Receipt)}
	case errors.As(err, &held):
		return holdFacts(who, held)
	}
	return nil
}

// holdFacts are what is held and by which rule, as far as who calls may read that elsewhere: names of aliases with the role read, and settings with
// operate beside it; both with backup. They are not in the text, which is logged.
func holdFacts(who *identity.Principal, held *retention.HeldError) map[string]string {
	may := func(role identity.Role) bool { return who == nil || who.May(role, held.Namespace) }
	all, told := may(identity.Backup), map[string]string{}
	if !all && !may(identity.Read) {
		return nil
	}
	if held.Alias != "" {
		told["alias"] = held.Alias
	}
	if all || may(identity.Operate) {
		told["alias_prefix"] = held.Prefix
	}
	return told
}

// explain is the text of an error and the details that the kind of error brings.
func explain(err error, r *row) (text string, more []protoadapt.MessageV1) {
	var field *canonical.FieldError
	var conflict *change.Conflicts
	var ambiguous *ambiguousError
	var none *wire.NoneSet
	var absent *wire.Missing
	var deleted *chainstore.DeletedError
	var rate *access.RateError
	var quota *chainstore.QuotaError
	var erased *change.Erased
	var shared *erasure.SharedRootError
	var held *retention.HeldError
	switch {
	case errors.As(err, &rate):
		return r.text, []protoadapt.MessageV1{&errdetails.RetryInfo{RetryDelay: durationpb.New(rate.After)}}
	case errors.As(err, &quota):
		return r.text, quotaFailure(quota)
	case r.code == codes.InvalidArgument && errors.As(err, &field):
		return field.Error(), violations(field.Rule, field.Field)
	case r.code == codes.InvalidArgument && errors.As(err, &none):
		return none.Error(), violations(none.Error(), none.Members...)
	case r.code == codes.NotFound && errors.As(err, &absent):
		more := violations(r.text, absent.Field)
		if errors.As(err, &deleted) {
			more = append(more, protoadapt.MessageV1Of(deletedAlias(deleted)))
		}
		return r.text, more
	case errors.As(err, &erased):
		return r.text, violations(r.text, erased.Field)
	case errors.As(err, &shared):
		return shared.ID.String() + ": " + r.text, violations(r.text, "shared_roots")
	case errors.As(err, &held):
		return r.text, violations(r.text, held.Field)
	case errors.As(err, &conflict):
		return r.text, []protoadapt.MessageV1{protoadapt.MessageV1Of(conflict.Detail())}
	case errors.As(err, &ambiguous):
		detail := &transcriptv1.AmbiguousPrefix{}
		for _, id := range ambiguous.ids {
			detail.NodeIds = append(detail.NodeIds, id.String())
		}
		return r.text, []protoadapt.MessageV1{protoadapt.MessageV1Of(detail)}
	}
	return r.text, nil
}

// quotaFailure says which quotas of a namespace a change would be over. It does not say what the namespace has.
func quotaFailure(e *chainstore.QuotaError) []protoadapt.MessageV1 {
	detail := &errdetails.QuotaFailure{}
	for _, q := range e.Over {
		detail.Violations = append(detail.Violations, &errdetails.QuotaFailure_Violation{
			Subject: "namespace:" + e.Namespace, Description: fmt.Sprintf("at most %d %s", q.Limit, q.What),
			QuotaId: "max_" + strings.ReplaceAll(q.What, " ", "_"), QuotaValue: q.Limit,
		})
	}
	return []protoadapt.MessageV1{detail}
}

// deletedAlias tells of an alias that was deleted.
func deletedAlias(e *chainstore.DeletedError) *transcriptv1.DeletedAlias {
	return &transcriptv1.DeletedAlias{Revision: e.Revision, DeletedAt: wire.Timestamp(e.At), PreviousId: e.Head.String()}
}

// violations says of fields that they break a rule.
func violations(rule string, fields ...string) []protoadapt.MessageV1 {
	detail := &errdetails.BadRequest{}
	for _, field := range fields {
		detail.FieldViolations = append(detail.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: field, Description: rule})
	}
	return []protoadapt.MessageV1{detail}
}
