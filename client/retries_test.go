package client

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// retryRow is a row of proto/testdata/retries.json.
type retryRow struct {
	Reason string     `json:"reason"`
	Code   codes.Code `json:"code"`
	Write  string     `json:"write"`
	Repeat string     `json:"repeat"`
}

type retryTable struct {
	Reasons       []retryRow `json:"reasons"`
	UnknownReason []retryRow `json:"unknown_reason"`
	NoReason      []retryRow `json:"no_reason"`
}

func retries(t *testing.T) (table retryTable) {
	t.Helper()
	b, err := os.ReadFile("../proto/testdata/retries.json")
	if err == nil {
		err = json.Unmarshal(b, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// refusal is what a server answers for a row; the reason is empty where gRPC or a proxy answers.
func (r *retryRow) refusal(t *testing.T, reason string) error {
	t.Helper()
	s := status.New(r.Code, "refused")
	if reason != "" {
		var err error
		if s, err = s.WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	return s.Err()
}

// TestRetryTable: the Client does what the table says of every error that a server or what lies before it can answer.
func TestRetryTable(t *testing.T) {
	table, known := retries(t), map[string]bool{}
	for _, r := range table.Reasons {
		known[r.Reason] = true
		if transcriptv1.ErrorReason_value[reasonPrefix+r.Reason] == 0 {
			t.Errorf("%s is no reason", r.Reason)
		}
		t.Run(r.Reason, func(t *testing.T) { holdsRetry(t, &r, r.Reason) })
	}
	for name := range transcriptv1.ErrorReason_value {
		if name = strings.TrimPrefix(name, reasonPrefix); name != "UNSPECIFIED" && !known[name] {
			t.Errorf("%s has no row", name)
		}
	}
	everyCode(t, table.UnknownReason)
	for _, r := range table.UnknownReason {
		t.Run("unknown reason/"+r.Code.String(), func(t *testing.T) { holdsRetry(t, &r, "OF_A_LATER_VERSION") })
	}
	everyCode(t, table.NoReason)
	for _, r := range table.NoReason {
		t.Run("no reason/"+r.Code.String(), func(t *testing.T) { holdsRetry(t, &r, "") })
	}
}

// everyCode: the rows are one for each code but OK.
func everyCode(t *testing.T, rows []retryRow) {
	t.Helper()
	seen := map[codes.Code]bool{codes.OK: true}
	for _, r := range rows {
		seen[r.Code] = true
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if !seen[c] || len(rows) != int(codes.Unauthenticated) {
			t.Errorf("%v has no row, or another two", c)
		}
	}
}

// holdsRetry: calls that are refused so are sent again as the row says, and told of so.
func holdsRetry(t *testing.T, r *retryRow, reason string) {
	unknown, later := r.Write == "unknown", r.Repeat == "later"
	if !unknown && r.Write != "nothing" || !later && r.Repeat != "never" && r.Repeat != "anew" && r.Repeat != "operator" {
		t.Fatalf("no row: %+v", r)
	}
	for what, again := range map[string]bool{"read": later, "repeatable": later, "append": later && !unknown} {
		sent, err := refusedSo(t, what, r.refusal(t, reason))
		if (sent > 1) != again {
			t.Errorf("the %s was sent %d times", what, sent)
		}
		if got := MayHaveHappened(err); got != unknown {
			t.Errorf("%s: MayHaveHappened says %v", what, got)
		}
		var e *Error
		if !errors.As(err, &e) || reason != "" && e.Reason.Error() != reason && e.UnknownReason != reason || e.Code != r.Code {
			t.Errorf("the reason is not told: %v", err)
		}
	}
}

// refusedSo makes a call of a kind against a server that refuses it, and tells how often it was sent.
func refusedSo(t *testing.T, what string, refusal error) (sent int, err error) {
	t.Helper()
	conn := &fakeConn{invoke: func(context.Context, string, any) (proto.Message, error) { return nil, refusal }}
	c := New(conn, WithRetry(Retry{Attempts: 3, First: time.Nanosecond, Max: time.Nanosecond}))
	hello := []*transcriptv1.Message{User("hello")}
	switch what {
	case "read":
		_, err = c.Describe(t.Context(), ByAlias("a"), nil)
	case "repeatable":
		_, err = c.Put(t.Context(), Node{Messages: hello})
	default:
		_, err = c.Put(t.Context(), Node{Parent: ByAlias("a"), Messages: hello})
	}
	return conn.invoked, err
}

// TestRetryTableInDocs: docs/api.md has the table.
func TestRetryTableInDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	table := retries(t)
	for _, want := range []string{inRows(table.Reasons), inRows(table.UnknownReason), inRows(table.NoReason)} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("docs/api.md lacks, or has otherwise:\n%s", want)
		}
	}
}

// inRows is a table as docs/api.md has it: what has the same write and repeat shares a row.
func inRows(rows []retryRow) string {
	var order [][2]string
	names := map[[2]string][]string{}
	for _, r := range rows {
		name, what := r.Reason, [2]string{r.Write, r.Repeat}
		if name == "" {
			name = statusName(r.Code)
		}
		if names[what] == nil {
			order = append(order, what)
		}
		names[what] = append(names[what], name)
	}
	var b strings.Builder
	for _, what := range order {
		b.WriteString("| " + strings.Join(names[what], ", ") + " | " + what[0] + " | " + what[1] + " |\n")
	}
	return b.String()
}

// statusName is a code's name as the table spells it.
func statusName(code codes.Code) string {
	for _, name := range []string{
		"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	} {
		var c codes.Code
		if c.UnmarshalJSON([]byte(`"`+name+`"`)) == nil && c == code {
			return name
		}
	}
	return code.String()
}
