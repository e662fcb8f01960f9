package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestEveryReasonHasASentinel(t *testing.T) {
	sentinels := []Reason{
		ErrInvalidField, ErrMalformedRequest, ErrLimitExceeded, ErrDuplicateAlias, ErrAmbiguousPrefix, ErrInvalidPageToken,
		ErrTooManyOpenCalls, ErrNodeNotFound, ErrAliasNotFound, ErrParentNotFound, ErrAliasExists, ErrAliasMoved, ErrSettingsChanged,
		ErrNotAnAncestor, ErrUseStreamAssemble, ErrDiskFull, ErrTooManyFiles, ErrOverloaded, ErrNodeCorrupt, ErrDraining, ErrStoreFailed,
		ErrCancelled, ErrDeadlineExceeded, ErrInternal, ErrInvalidPattern, ErrOpenToolCalls, ErrToolCallNotFound,
		ErrCompactionTooLarge, ErrNotInView, ErrAlreadyCovered, ErrUnauthenticated, ErrPermissionDenied,
		ErrIdentityUnavailable, ErrAuditUnavailable, ErrQuotaExceeded, ErrRateLimited, ErrErasedMeanwhile, ErrPayloadErased, ErrLegalHold, ErrSharedRoot,
	}
	have := map[Reason]bool{0: true}
	for _, s := range sentinels {
		have[s] = true
		err := Typed(refusal(t, codes.Unknown, s))
		for _, other := range sentinels {
			if errors.Is(err, other) != (other == s) {
				t.Errorf("errors.Is(%v, %v) = %v", s, other, !errors.Is(err, other))
			}
		}
	}
	for number, name := range transcriptv1.ErrorReason_name {
		if !have[Reason(number)] {
			t.Errorf("%s has no sentinel", name)
		}
	}
	if len(have) != len(transcriptv1.ErrorReason_name) {
		t.Errorf("%d sentinels for %d reasons", len(have)-1, len(transcriptv1.ErrorReason_name)-1)
	}
}

func TestTypedReadsDetails(t *testing.T) {
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
		{Field: "messages[0].role", Description: "must be set"},
	}}
	conflicts := &transcriptv1.AliasConflicts{Conflicts: []*transcriptv1.AliasConflict{
		{Field: "aliases[0]", NodeId: "aa"}, {Field: "aliases[2]"},
	}}
	prefix := &transcriptv1.AmbiguousPrefix{NodeIds: []string{"aa1", "aa2"}}
	quotas := &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
		{Subject: "namespace:x", Description: "at most 3 nodes", QuotaId: "max_nodes", QuotaValue: 3},
	}}
	request := &errdetails.RequestInfo{RequestId: "r-1"}
	status := refusal(t, codes.Aborted, ErrAliasMoved,
		bad, protoadapt.MessageV1Of(conflicts), protoadapt.MessageV1Of(prefix), quotas, request)
	want := &Error{
		Code: codes.Aborted, Reason: ErrAliasMoved, Message: "why", RequestID: "r-1",
		Violations: []Violation{{"messages[0].role", "must be set"}},
		Conflicts:  []Conflict{{Field: "aliases[0]", NodeID: "aa"}, {Field: "aliases[2]"}},
		Quotas:     []Quota{{"max_nodes", 3, "at most 3 nodes"}},
		Candidates: []string{"aa1", "aa2"},
	}
	got := Typed(status)
	if e, ok := errors.AsType[*Error](got); !ok || fmt.Sprintf("%+v", *e) != fmt.Sprintf("%+v", *want) {
		t.Fatalf("got %#v, want %#v", got, want)
	}
	if want.Head() != "aa" || (&Error{}).Head() != "" {
		t.Error("Head is not the node of the first conflict")
	}
}

// TestTypedReadsHolds: of LEGAL_HOLD an error has the alias that is held and the prefix of the rule, and "" of that is not nil; its text has neither.
func TestTypedReadsHolds(t *testing.T) {
	prefix, every := "case/", ""
	both := map[string]string{"alias": "case/1", "alias_prefix": prefix}
	for _, c := range []struct {
		reason, domain string
		facts          map[string]string
		alias          string
		prefix         *string
	}{
		{"LEGAL_HOLD", domain, both, "case/1", &prefix},
		{"LEGAL_HOLD", domain, map[string]string{"alias": "case/1"}, "case/1", nil},
		{"LEGAL_HOLD", domain, map[string]string{"alias_prefix": every}, "", &every},
		{"LEGAL_HOLD", domain, nil, "", nil},
		{"LEGAL_HOLD", "elsewhere", both, "", nil},
		{"ALIAS_MOVED", domain, both, "", nil},
	} {
		st, err := status.New(codes.FailedPrecondition, "why").WithDetails(&errdetails.ErrorInfo{Domain: c.domain, Reason: c.reason, Metadata: c.facts})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := errors.AsType[*Error](Typed(st.Err()))
		if !ok || e.HeldAlias != c.alias || (e.HoldPrefix == nil) != (c.prefix == nil) || c.prefix != nil && *e.HoldPrefix != *c.prefix {
			t.Errorf("%s of %s with %v: %+v", c.reason, c.domain, c.facts, e)
		}
		if strings.Contains(e.Error(), "case/") {
			t.Errorf("its text is %q", e)
		}
	}
}

func TestTypedOfOtherErrors(t *testing.T) {
	foreign, err := status.New(codes.NotFound, "x").WithDetails(&errdetails.ErrorInfo{Domain: "other", Reason: "NODE_NOT_FOUND"})
	if err != nil {
		t.Fatal(err)
	}
	newer, err := status.New(codes.NotFound, "x").WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: "SOMETHING_NEW"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in     error
		code   codes.Code
		reason Reason
		is     error
	}{
		{foreign.Err(), codes.NotFound, 0, nil},
		{newer.Err(), codes.NotFound, 0, nil},
		{context.Canceled, codes.Canceled, ErrCancelled, context.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded, ErrDeadlineExceeded, context.DeadlineExceeded},
		{status.Error(codes.DeadlineExceeded, "x"), codes.DeadlineExceeded, ErrDeadlineExceeded, context.DeadlineExceeded},
		{status.Error(codes.Unavailable, "x"), codes.Unavailable, 0, nil},
	} {
		e, ok := errors.AsType[*Error](Typed(c.in))
		if !ok || e.Code != c.code || e.Reason != c.reason || c.is != nil && !errors.Is(e, c.is) {
			t.Errorf("Typed(%v) = %#v", c.in, e)
		}
		if errors.Is(e, Reason(0)) {
			t.Errorf("%v is the unspecified reason", e)
		}
		if status.Code(e) != c.code {
			t.Errorf("%v: status code %v", e, status.Code(e))
		}
	}
	if Typed(nil) != nil || Typed(ErrVerification) != ErrVerification {
		t.Error("nil and this package's errors must pass")
	}
}
