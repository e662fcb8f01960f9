package transport

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/server/internal/access"
)

// What the contract says of each reason, that the call changed nothing, holds for what the audit sums up.
func TestWhatChangedNothingIsAsTheContractSays(t *testing.T) {
	content, err := os.ReadFile("../../../proto/testdata/retries.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct {
		Reasons []struct{ Reason, Code, Write string }
	}
	if err := json.Unmarshal(content, &contract); err != nil || len(contract.Reasons) < 20 {
		t.Fatal(err, len(contract.Reasons))
	}
	for _, r := range contract.Reasons {
		st, err := status.New(codes.Code(code.Code_value[r.Code]), "").WithDetails(&errdetails.ErrorInfo{Reason: r.Reason})
		if err != nil {
			t.Fatal(err)
		}
		if got := changedNothing(st.Err()); got != (r.Write == "nothing") {
			t.Errorf("%s: %t, the contract says that a write changed %s", r.Reason, got, r.Write)
		}
	}
}

// A flood of calls that change nothing, be they well or refused, is summed up; each call that changed something has its line.
func TestFloodsOfCallsThatChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &auditor{log: log}
	const put, stats = transcriptv1.TranscriptService_PutNode_FullMethodName, transcriptv1.AdminService_NamespaceStats_FullMethodName
	exists := status.Error(codes.AlreadyExists, "")
	const each = 500
	for range each {
		for _, c := range []struct {
			method string
			dry    bool
			err    error
		}{{put, false, nil}, {put, true, nil}, {put, false, exists}, {stats, false, nil}, {put, false, status.Error(codes.Internal, "")}} {
			r := a.record(t.Context(), c.method, c.err)
			r.DryRun = c.dry
			if err := a.tell(t.Context(), access.Find(c.method), r, c.err); status.Code(err) != status.Code(c.err) {
				t.Fatal(err)
			}
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(words ...string) (n int) {
		for text := range strings.Lines(string(content)) {
			all := true
			for _, word := range words {
				all = all && strings.Contains(text, word)
			}
			if all {
				n++
			}
		}
		return n
	}
	if n := lines(`"call":`, "PutNode", `"code":"OK"`) - lines(`"dry_run"`); n != each {
		t.Errorf("%d of %d puts have a line", n, each)
	}
	if n := lines(`"call":`, `"code":"INTERNAL"`); n != each {
		t.Errorf("%d of %d puts whose outcome is unknown have a line", n, each)
	}
	if few := lines("ALREADY_EXISTS") + lines("NamespaceStats") + lines("dry_run"); few > 400 || few < 200 {
		t.Errorf("%d lines tell of calls that changed nothing", few)
	}
}
