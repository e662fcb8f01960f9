package conformance

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// domain is that of every error.
const domain = "transcript.v1"

// codeOf is the code that each reason comes with: the table of docs/api.md, "Errors".
var codeOf = map[string]codes.Code{
	"INVALID_FIELD": codes.InvalidArgument, "MALFORMED_REQUEST": codes.InvalidArgument, "LIMIT_EXCEEDED": codes.InvalidArgument,
	"DUPLICATE_ALIAS": codes.InvalidArgument, "AMBIGUOUS_PREFIX": codes.InvalidArgument, "INVALID_PAGE_TOKEN": codes.InvalidArgument,
	"TOO_MANY_OPEN_CALLS": codes.InvalidArgument, "COMPACTION_TOO_LARGE": codes.InvalidArgument, "INVALID_PATTERN": codes.InvalidArgument,
	"NODE_NOT_FOUND": codes.NotFound, "ALIAS_NOT_FOUND": codes.NotFound, "PARENT_NOT_FOUND": codes.NotFound,
	"TOOL_CALL_NOT_FOUND": codes.NotFound, "ALIAS_EXISTS": codes.AlreadyExists, "ALIAS_MOVED": codes.Aborted, "SETTINGS_CHANGED": codes.Aborted, "ERASED_MEANWHILE": codes.Aborted,
	"NOT_AN_ANCESTOR": codes.FailedPrecondition, "NOT_IN_VIEW": codes.FailedPrecondition, "OPEN_TOOL_CALLS": codes.FailedPrecondition,
	"ALREADY_COVERED": codes.FailedPrecondition, "USE_STREAM_ASSEMBLE": codes.ResourceExhausted,
	"UNAUTHENTICATED": codes.Unauthenticated, "PERMISSION_DENIED": codes.PermissionDenied, "QUOTA_EXCEEDED": codes.ResourceExhausted,
	"RATE_LIMITED": codes.ResourceExhausted, "PAYLOAD_ERASED": codes.FailedPrecondition, "SHARED_ROOT": codes.FailedPrecondition, "LEGAL_HOLD": codes.FailedPrecondition,
}

// refused holds that a call was refused for a reason: with its code, with all that every error carries, and without content. With
// fields, google.rpc.BadRequest names just these.
func (p *probe) refused(err error, reason string, fields ...string) {
	if err == nil {
		p.failf("expected %s, got success", reason)
	}
	s := status.Convert(err)
	if s.Code() == codes.Unimplemented && reasonOf(s) == "" {
		p.skipf("the server does not have this rpc (UNIMPLEMENTED)")
	}
	if got := reasonOf(s); got != reason || s.Code() != codeOf[reason] {
		p.failf("expected %s with reason %s, got %s", codeOf[reason], reason, describe(err))
	}
	p.whole(s)
	if got := fieldsOf(s); len(fields) > 0 && !slices.Equal(got, fields) {
		p.failf("%s: expected a BadRequest that names %s, got %s", reason, strings.Join(fields, ", "), orNothing(got))
	}
}

// whole holds that an error has what every error has, and no content.
func (p *probe) whole(s *status.Status) {
	info := detail[*errdetails.ErrorInfo](s)
	if info == nil || info.Domain != domain {
		p.failf("expected an ErrorInfo of the domain %s, got %s", domain, p.show(info.GetDomain()))
	}
	if id := detail[*errdetails.RequestInfo](s); id == nil || id.RequestId == "" {
		p.failf("expected a RequestInfo with the request's id beside %s, got none", info.Reason)
	}
	if strings.Contains(s.Message(), p.kit.mark) || strings.Contains(s.Proto().String(), p.kit.mark) {
		p.failf("expected an error without content, values or names of aliases, got one that holds some (%s)", info.Reason)
	}
}

// reasonOf is why a call failed; empty where the error does not tell.
func reasonOf(s *status.Status) string { return detail[*errdetails.ErrorInfo](s).GetReason() }

// fieldsOf are the fields that an error names, sorted.
func fieldsOf(s *status.Status) []string {
	var fields []string
	for _, v := range detail[*errdetails.BadRequest](s).GetFieldViolations() {
		fields = append(fields, v.GetField())
	}
	slices.Sort(fields)
	return fields
}

// detail is the detail of a kind that an error carries; nil where it has none.
func detail[M proto.Message](s *status.Status) M {
	for _, d := range s.Details() {
		if m, ok := d.(M); ok {
			return m
		}
	}
	var none M
	return none
}

// describe is an error without its words, which another server may have written.
func describe(err error) string {
	s := status.Convert(err)
	text := s.Code().String()
	if reason := reasonOf(s); reason != "" {
		text += " with reason " + reason
	} else {
		text += " without a reason"
	}
	if fields := fieldsOf(s); len(fields) > 0 {
		text += fmt.Sprintf(", naming %s", strings.Join(fields, ", "))
	}
	return text
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func fieldsOfError(err error) []string { return fieldsOf(status.Convert(err)) }

func reasonOfError(err error) string { return reasonOf(status.Convert(err)) }
