package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Reason is why a call failed, as an error: errors.Is(err, ErrAliasMoved). It is an ErrorReason of the contract where the
// server refused, or one of this package.
type Reason int32

// The reasons of this package.
const (
	// ErrVerification: what the server sent does not hash to the ids that it should have, or does not lead to the head.
	ErrVerification Reason = -1 - iota
	// ErrBadReply: what the server sent is not what the contract says, for example a stream that ends early.
	ErrBadReply
	// ErrClosed: the Client was closed before the call, or while it was under way, and then it may have taken place.
	ErrClosed
	// ErrInsecure: Dial would send transcripts in plain text to another machine.
	ErrInsecure
	// ErrBadTarget: Dial was given an address or options that gRPC refuses, or files that cannot be used.
	ErrBadTarget
	// ErrNoName: a Turn, Reply or Sent without the id, or a Chat without the name, that its alias needs.
	ErrNoName
	// ErrNotAResult: AppendResults was given a message that is no tool result.
	ErrNotAResult
	// ErrParentGiven: a node for a Thread that names a parent of its own.
	ErrParentGiven
	// ErrUnsupported: the server is older, and lacks a feature that the call needs; the message names it. Nothing was done.
	ErrUnsupported
)

// own is what is said of a reason of this package.
type own struct {
	name string
	code codes.Code
	text string
}

func (r Reason) own() own {
	switch r {
	case ErrVerification:
		return own{"VERIFICATION", codes.DataLoss, "verification failed"}
	case ErrBadReply:
		return own{"BAD_REPLY", codes.Internal, "malformed reply"}
	case ErrClosed:
		return own{"CLOSED", codes.Canceled, "the Client is closed"}
	case ErrInsecure:
		return own{"INSECURE", codes.InvalidArgument, "the target is not loopback: give WithTLS, WithCA or WithInsecure"}
	case ErrBadTarget:
		return own{"BAD_TARGET", codes.InvalidArgument, "the target or an option of Dial cannot be used"}
	case ErrNoName:
		return own{"NO_NAME", codes.InvalidArgument, "a message id or chat name is needed"}
	case ErrNotAResult:
		return own{"NOT_A_RESULT", codes.InvalidArgument, "not a tool result"}
	case ErrParentGiven:
		return own{"PARENT_GIVEN", codes.InvalidArgument, "a thread's node has the thread's head as parent"}
	case ErrUnsupported:
		return own{"UNSUPPORTED", codes.Unimplemented, "the server lacks what the call needs"}
	default:
		return own{}
	}
}

// fault is an *Error that this side found; what may add to it, or be empty.
func fault(r Reason, what string) error {
	own := r.own()
	text := own.text
	if what != "" {
		text += ": " + what
	}
	return &Error{Code: own.code, Reason: r, Message: text}
}

// domain is the domain of the service's ErrorInfo; reasonPrefix is what its reasons leave out of the enum's names.
const (
	domain       = "transcript.v1"
	reasonPrefix = "ERROR_REASON_"
)

// The reasons of the server; the contract tells what each means.
const (
	ErrInvalidField        = Reason(transcriptv1.ErrorReason_ERROR_REASON_INVALID_FIELD)
	ErrMalformedRequest    = Reason(transcriptv1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST)
	ErrLimitExceeded       = Reason(transcriptv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED)
	ErrDuplicateAlias      = Reason(transcriptv1.ErrorReason_ERROR_REASON_DUPLICATE_ALIAS)
	ErrAmbiguousPrefix     = Reason(transcriptv1.ErrorReason_ERROR_REASON_AMBIGUOUS_PREFIX)
	ErrInvalidPageToken    = Reason(transcriptv1.ErrorReason_ERROR_REASON_INVALID_PAGE_TOKEN)
	ErrTooManyOpenCalls    = Reason(transcriptv1.ErrorReason_ERROR_REASON_TOO_MANY_OPEN_CALLS)
	ErrCompactionTooLarge  = Reason(transcriptv1.ErrorReason_ERROR_REASON_COMPACTION_TOO_LARGE)
	ErrInvalidPattern      = Reason(transcriptv1.ErrorReason_ERROR_REASON_INVALID_PATTERN)
	ErrNodeNotFound        = Reason(transcriptv1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND)
	ErrAliasNotFound       = Reason(transcriptv1.ErrorReason_ERROR_REASON_ALIAS_NOT_FOUND)
	ErrParentNotFound      = Reason(transcriptv1.ErrorReason_ERROR_REASON_PARENT_NOT_FOUND)
	ErrToolCallNotFound    = Reason(transcriptv1.ErrorReason_ERROR_REASON_TOOL_CALL_NOT_FOUND)
	ErrAliasExists         = Reason(transcriptv1.ErrorReason_ERROR_REASON_ALIAS_EXISTS)
	ErrAliasMoved          = Reason(transcriptv1.ErrorReason_ERROR_REASON_ALIAS_MOVED)
	ErrSettingsChanged     = Reason(transcriptv1.ErrorReason_ERROR_REASON_SETTINGS_CHANGED)
	ErrErasedMeanwhile     = Reason(transcriptv1.ErrorReason_ERROR_REASON_ERASED_MEANWHILE)
	ErrNotAnAncestor       = Reason(transcriptv1.ErrorReason_ERROR_REASON_NOT_AN_ANCESTOR)
	ErrOpenToolCalls       = Reason(transcriptv1.ErrorReason_ERROR_REASON_OPEN_TOOL_CALLS)
	ErrNotInView           = Reason(transcriptv1.ErrorReason_ERROR_REASON_NOT_IN_VIEW)
	ErrAlreadyCovered      = Reason(transcriptv1.ErrorReason_ERROR_REASON_ALREADY_COVERED)
	ErrUseStreamAssemble   = Reason(transcriptv1.ErrorReason_ERROR_REASON_USE_STREAM_ASSEMBLE)
	ErrDiskFull            = Reason(transcriptv1.ErrorReason_ERROR_REASON_DISK_FULL)
	ErrTooManyFiles        = Reason(transcriptv1.ErrorReason_ERROR_REASON_TOO_MANY_FILES)
	ErrOverloaded          = Reason(transcriptv1.ErrorReason_ERROR_REASON_OVERLOADED)
	ErrNodeCorrupt         = Reason(transcriptv1.ErrorReason_ERROR_REASON_NODE_CORRUPT)
	ErrDraining            = Reason(transcriptv1.ErrorReason_ERROR_REASON_DRAINING)
	ErrStoreFailed         = Reason(transcriptv1.ErrorReason_ERROR_REASON_STORE_FAILED)
	ErrCancelled           = Reason(transcriptv1.ErrorReason_ERROR_REASON_CANCELLED)
	ErrDeadlineExceeded    = Reason(transcriptv1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED)
	ErrInternal            = Reason(transcriptv1.ErrorReason_ERROR_REASON_INTERNAL)
	ErrUnauthenticated     = Reason(transcriptv1.ErrorReason_ERROR_REASON_UNAUTHENTICATED)
	ErrPermissionDenied    = Reason(transcriptv1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
	ErrIdentityUnavailable = Reason(transcriptv1.ErrorReason_ERROR_REASON_IDENTITY_UNAVAILABLE)
	ErrAuditUnavailable    = Reason(transcriptv1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE)
	ErrQuotaExceeded       = Reason(transcriptv1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED)
	ErrRateLimited         = Reason(transcriptv1.ErrorReason_ERROR_REASON_RATE_LIMITED)
	ErrPayloadErased       = Reason(transcriptv1.ErrorReason_ERROR_REASON_PAYLOAD_ERASED)
	ErrLegalHold           = Reason(transcriptv1.ErrorReason_ERROR_REASON_LEGAL_HOLD)
	ErrSharedRoot          = Reason(transcriptv1.ErrorReason_ERROR_REASON_SHARED_ROOT)
)

// Error is the reason's name, such as ALIAS_MOVED.
func (r Reason) Error() string {
	if r < 0 {
		return r.own().name
	}
	return strings.TrimPrefix(transcriptv1.ErrorReason(r).String(), reasonPrefix)
}

// Error is a call that failed.
type Error struct {
	Code codes.Code
	// Reason is 0 where none was given: the call did not reach the server, or its reply was lost. It is 0, too, where the server is
	// newer and gave one that is not known here: UnknownReason has its name then, and Code tells what to do.
	Reason        Reason
	UnknownReason string
	Message       string
	// RequestID is how the server's log names the call; empty where the call did not reach it.
	RequestID string
	// Retried tells that the call was made or sent more than once, and that an earlier attempt, of which no reply came, may have taken
	// place although this one was refused. MayHaveHappened looks at it.
	Retried bool
	undone  bool // the attempt was not sent
	// cause is the error of a connection that is not gRPC's; nil for others.
	cause error
	// Violations are the fields of the request that were refused, or, of ErrNodeNotFound, ErrAliasNotFound and ErrParentNotFound, the
	// one that names what is not there.
	Violations []Violation
	// Conflicts are, of ErrAliasExists, ErrAliasMoved and ErrAliasNotFound, the preconditions that failed, in the order
	// of the request, at most 32.
	Conflicts []Conflict
	// Deleted is, of ErrAliasNotFound from Resolve, what is known of the name's deletion; nil where it never was set, or was deleted
	// more than 90 days ago.
	Deleted *transcriptv1.DeletedAlias
	// Receipt is, of ErrPayloadErased, the SignedReceipt of the node's erasure, serialised; nil where it is larger than 1 KiB.
	Receipt []byte
	// HeldAlias is, of ErrLegalHold, the alias that is held where aliases were to go, and HoldPrefix the alias_prefix of the rule that holds, of several the shortest; "" is that of
	// every alias. Empty and nil where the caller may not read them (docs/security.md); HeldAlias is empty, too, where nodes or a namespace
	// were to go, and for a name that is forgotten.
	HeldAlias  string
	HoldPrefix *string
	// RetryAfter is, of ErrRateLimited, how long it takes until a call is allowed; 0: nothing was said.
	RetryAfter time.Duration
	// Quotas are, of ErrQuotaExceeded, those that the call would go over.
	Quotas []Quota
	// Candidates are, of ErrAmbiguousPrefix, node ids that fit, in order, at most 10.
	Candidates []string
}

// Violation is a field that was refused and the rule that it breaks; it never repeats the value.
type Violation struct{ Field, Rule string }

// Quota is a bound of a namespace.
type Quota struct {
	// Setting is the field of NamespaceSettings that has it, such as "max_nodes", and Limit its value.
	Setting string
	Limit   int64
	// Rule says it in words, such as "at most 100 nodes".
	Rule string
}

// Conflict is a precondition that failed.
type Conflict struct {
	// Field is the alias's place in the request, such as "aliases[0]"; NodeID the node that it points to, empty if it does
	// not exist.
	Field, NodeID string
	// Revision is the alias's, or that of its deletion; 0 for a name that never was set, or is forgotten.
	Revision int64
	// OnlyCompacted tells that only compaction nodes lie between the head that was expected and NodeID.
	OnlyCompacted bool
}

// Error tells code, reason and what the server says of it; never content.
func (e *Error) Error() string {
	switch {
	case e.Reason < 0:
		return "client: " + e.Message
	case e.Reason == 0 && e.UnknownReason != "":
		return fmt.Sprintf("transcriptd: %s: %s", e.UnknownReason, e.Message)
	case e.Reason == 0:
		return fmt.Sprintf("transcriptd: %v: %s", e.Code, e.Message)
	default:
		return fmt.Sprintf("transcriptd: %v: %s", e.Reason, e.Message)
	}
}

// Is matches the reason, and context.Canceled and context.DeadlineExceeded with their codes; so it does ErrUnauthenticated and
// ErrPermissionDenied where no reason was given, as by a proxy, or of a call that was not sent since there was no token to show.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == codes.Canceled
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case ErrUnauthenticated:
		return e.Reason == ErrUnauthenticated || e.Reason == 0 && e.Code == codes.Unauthenticated
	case ErrPermissionDenied:
		return e.Reason == ErrPermissionDenied || e.Reason == 0 && e.Code == codes.PermissionDenied
	}
	reason, ok := target.(Reason)
	return ok && reason != 0 && reason == e.Reason
}

// Unwrap is the error that a connection of the caller's own made, if one did.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus is code and message, for callers that speak gRPC themselves.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// Head is the node that the first conflicting alias points to: the winning head where a Thread lost; empty if there is
// no conflict or no such alias.
func (e *Error) Head() string {
	if len(e.Conflicts) == 0 {
		return ""
	}
	return e.Conflicts[0].NodeID
}

// Typed is what gRPC or a context returned, to who calls with the generated code, as the *Error that a Client returns; other
// errors pass.
func Typed(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		if s = status.FromContextError(err); s.Code() == codes.Unknown {
			return err
		}
	}
	if s.Code() == codes.Internal && len(s.Details()) == 0 && strings.Contains(s.Message(), "while marshaling") {
		return &Error{Code: codes.InvalidArgument, Reason: ErrMalformedRequest, Message: "a string of the request is not UTF-8"}
	}
	e := &Error{Code: s.Code(), Message: s.Message()}
	for _, detail := range s.Details() {
		e.read(detail)
	}
	if e.Reason == 0 && e.UnknownReason == "" {
		e.Reason = reasonOf(e.Code)
	}
	return e
}

// of is any error of a connection as an *Error: one that is not gRPC's has code UNKNOWN.
func of(err error) error {
	err = Typed(err)
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &Error{Code: codes.Unknown, Message: err.Error(), cause: err}
}

// reasonOf is the reason of a call that ended on this side.
func reasonOf(code codes.Code) Reason {
	switch code {
	case codes.Canceled:
		return ErrCancelled
	case codes.DeadlineExceeded:
		return ErrDeadlineExceeded
	default:
		return 0
	}
}

// read takes over a detail of the status.
func (e *Error) read(detail any) {
	switch d := detail.(type) {
	case *errdetails.ErrorInfo:
		if d.Domain == domain {
			if e.Reason = Reason(transcriptv1.ErrorReason_value[reasonPrefix+d.Reason]); e.Reason == 0 {
				e.UnknownReason = d.Reason
			}
			if receipt, err := base64.StdEncoding.DecodeString(d.Metadata["receipt"]); err == nil && len(receipt) > 0 {
				e.Receipt = receipt
			}
			if e.Reason == ErrLegalHold {
				e.hold(d.Metadata)
			}
		}
	case *errdetails.RequestInfo:
		e.RequestID = d.RequestId
	case *errdetails.BadRequest:
		for _, v := range d.FieldViolations {
			e.Violations = append(e.Violations, Violation{Field: v.Field, Rule: v.Description})
		}
	case *errdetails.RetryInfo:
		e.RetryAfter = d.RetryDelay.AsDuration()
	case *errdetails.QuotaFailure:
		for _, v := range d.Violations {
			e.Quotas = append(e.Quotas, Quota{Setting: v.QuotaId, Limit: v.QuotaValue, Rule: v.Description})
		}
	case *transcriptv1.AliasConflicts:
		for _, c := range d.Conflicts {
			e.Conflicts = append(e.Conflicts, Conflict{Field: c.Field, NodeID: c.NodeId, Revision: c.Revision, OnlyCompacted: c.OnlyCompacted})
		}
	case *transcriptv1.DeletedAlias:
		e.Deleted = d
	case *transcriptv1.AmbiguousPrefix:
		e.Candidates = d.NodeIds
	}
}

// hold takes over which alias is held, and by which rule.
func (e *Error) hold(facts map[string]string) {
	e.HeldAlias = facts["alias"]
	if prefix, told := facts["alias_prefix"]; told {
		e.HoldPrefix = &prefix
	}
}

// undone marks an error as that of an attempt that was not sent.
func undone(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.undone = true
	}
	return err
}

// MayHaveHappened tells whether a call that failed with this error may have taken place all the same: its reply was lost, the deadline
// passed, or the store does not know itself. False: it changed nothing and will not, so that it can be decided anew. Repeat an append
// for which it is true on the same Thread, a Start, Spawn or Compact on the same Client: each knows what it did. Of another call look
// first what is there. False for errors that are no *Error.
func MayHaveHappened(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	if e.Retried || e.undone {
		return e.Retried
	}
	switch e.Reason {
	case 0:
		return e.UnknownReason == "" || mayHaveHappened(e.Code)
	case ErrCancelled, ErrDeadlineExceeded, ErrStoreFailed, ErrInternal, ErrBadReply, ErrVerification, ErrClosed:
		return true
	default:
		return false
	}
}

// mayHaveHappened tells the same of a call that a newer server refused with this code, for a reason that is not known here.
func mayHaveHappened(code codes.Code) bool {
	switch code {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Unknown, codes.Internal:
		return true
	default:
		return false
	}
}

// happened marks an error as that of a call of which an attempt may have taken place, or of which it is known that none did.
func happened(err error, perhaps bool) error {
	var e *Error
	if errors.As(err, &e) {
		e.Retried = perhaps
	}
	return err
}
