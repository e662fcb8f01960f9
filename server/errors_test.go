package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/change"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// sentinels are the errors made by errors.New in the variables of a package, by name, with their texts.
func sentinels(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		source, err := fs.ReadFile(os.DirFS(dir), e.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(files, e.Name(), source, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				collect(g, found)
			}
		}
	}
	return found
}

func collect(g *ast.GenDecl, found map[string]string) {
	for _, spec := range g.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range v.Names {
			if i >= len(v.Values) {
				continue
			}
			call, ok := v.Values[i].(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				continue
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "New" {
				continue
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(text.Value); err == nil {
					found[name.Name] = s
				}
			}
		}
	}
}

// TestEverySentinelHasARow fails for an error that a package below names and the table does not know.
func TestEverySentinelHasARow(t *testing.T) {
	texts := map[string]bool{}
	for _, r := range table() {
		texts[r.err.Error()] = true
	}
	dirs := map[string]int{"../chainstore": 13, "../canonical": 4, "../compaction/runloop": 1, ".": 3}
	err := filepath.WalkDir("internal", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			dirs[path] = 0
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dirs["internal/transport/receive"], dirs["internal/transport/reply"] = 3, 3
	for dir, least := range dirs {
		found := sentinels(t, dir)
		if len(found) < least {
			t.Errorf("%s: found %d sentinels, there are at least %d: the search is broken", dir, len(found), least)
		}
		for name, text := range found {
			inner := name == "errBatch" || name == "errLargeSpan" || name == "ErrLarge" // they never leave the rpc
			if !inner && !texts[text] {
				t.Errorf("%s: %s has no row in the table of errors", dir, name)
			}
		}
	}
}

// TestReasonsAreAsDocumented compares the table with the comments of error_reason.proto, which begin with the code, and with
// the table in docs/api.md, whose rows have a code where it is not that of the row above.
func TestReasonsAreAsDocumented(t *testing.T) {
	source, err := os.ReadFile("../proto/transcript/v1/error_reason.proto")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  // ([A-Z_]+)\. (?:.*\n  //)*.*\n  (ERROR_REASON_\w+) =`).FindAllStringSubmatch(string(source), -1) {
		documented[m[2]] = m[1]
	}
	api, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, code := map[string]string{}, ""
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z_]*) ?\| ([A-Z_]+) \| `).FindAllStringSubmatch(string(api), -1) {
		code = cmp.Or(m[1], code)
		listed["ERROR_REASON_"+m[2]] = code
	}
	if !maps.Equal(listed, documented) {
		t.Errorf("docs/api.md lists %v, error_reason.proto %v", listed, documented)
	}
	used := map[string]bool{}
	for _, r := range append(table(), internal()) {
		reason := r.reason.String()
		used[reason] = true
		code := strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(r.code.String(), "${1}_${2}"))
		if code == "CANCELED" {
			code = "CANCELLED"
		}
		if documented[reason] != code {
			t.Errorf("%s is sent with %s and documented with %q", reason, code, documented[reason])
		}
	}
	for number, name := range transcriptv1.ErrorReason_name {
		if number != 0 && !used[name] {
			t.Errorf("%s is never sent", name)
		}
	}
}

func statusOf(t *testing.T, err error) (*status.Status, *errdetails.ErrorInfo) {
	t.Helper()
	m := &mapper{rows: table(), log: slog.New(slog.DiscardHandler)}
	st := status.Convert(m.status(context.Background(), err))
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return st, info
		}
	}
	t.Fatalf("no ErrorInfo in the status of %v", err)
	return nil, nil
}

func TestStatuses(t *testing.T) {
	id := chainstore.ID{1}
	conflict := func(kinds ...chainstore.ConditionKind) error {
		c := &chainstore.ConflictError{}
		for i, k := range kinds {
			c.Conflicts = append(c.Conflicts, chainstore.Conflict{Index: i, Kind: k, Exists: i == 0, Node: id})
		}
		return &change.Conflicts{ConflictError: c, Fields: []string{"aliases[0]", "nodes[2].aliases[0]"}}
	}
	for _, c := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{fmt.Errorf("engine: %w", chainstore.ErrNodeNotFound), codes.NotFound, "NODE_NOT_FOUND"},
		{conflict(chainstore.MustNotExist), codes.AlreadyExists, "ALIAS_EXISTS"},
		{conflict(chainstore.MustExist), codes.NotFound, "ALIAS_NOT_FOUND"},
		{conflict(chainstore.HeadIs), codes.Aborted, "ALIAS_MOVED"},
		{conflict(chainstore.MustExist, chainstore.MustNotExist), codes.Aborted, "ALIAS_MOVED"},
		{context.Canceled, codes.Canceled, "CANCELLED"},
		{fmt.Errorf("%w: later", context.DeadlineExceeded), codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
		{chainstore.ErrDiskFull, codes.ResourceExhausted, "DISK_FULL"},
		{chainstore.ErrTooManyFiles, codes.ResourceExhausted, "TOO_MANY_FILES"},
		{chainstore.ErrFailed, codes.Unavailable, "STORE_FAILED"},
		{chainstore.ErrClosed, codes.Unavailable, "DRAINING"},
		{&canonical.FieldError{Field: "f", Rule: "r", Kind: canonical.ErrLimit}, codes.InvalidArgument, "LIMIT_EXCEEDED"},
		{fmt.Errorf("%w: %w", chainstore.ErrCorrupt, chainstore.ErrNodeNotFound), codes.DataLoss, "NODE_CORRUPT"},
		{fmt.Errorf("%w: %w", chainstore.ErrDiskFull, chainstore.ErrFailed), codes.Unavailable, "STORE_FAILED"},
		{fmt.Errorf("%w: %w", canonical.ErrNotCanonical, receive.Malformed("f", "anything else")), codes.DataLoss, "NODE_CORRUPT"},
		{identity.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED"},
		{fmt.Errorf("engine: %w", identity.ErrUnavailable), codes.Unavailable, "IDENTITY_UNAVAILABLE"},
		{access.ErrDenied, codes.PermissionDenied, "PERMISSION_DENIED"},
		{fmt.Errorf("%w: %w", audit.ErrUnwritten, syscall.ENOSPC), codes.Unavailable, "AUDIT_UNAVAILABLE"},
		{errors.New("anything else"), codes.Internal, "INTERNAL"},
	} {
		st, info := statusOf(t, c.err)
		if st.Code() != c.code || info.Reason != c.reason || info.Domain != "transcript.v1" {
			t.Errorf("%v: %v, %v", c.err, st.Code(), info)
		}
		if strings.Contains(st.Message(), "engine") || strings.Contains(st.Message(), "anything else") {
			t.Errorf("the caller is told the cause: %q", st.Message())
		}
	}
	st, _ := statusOf(t, conflict(chainstore.HeadIs, chainstore.HeadIs))
	for _, d := range st.Details() {
		if list, ok := d.(*transcriptv1.AliasConflicts); ok {
			if len(list.Conflicts) != 2 || list.Conflicts[0].Field != "aliases[0]" || list.Conflicts[0].NodeId != id.String() ||
				list.Conflicts[1].Field != "nodes[2].aliases[0]" || list.Conflicts[1].NodeId != "" {
				t.Errorf("conflicts are %v", list)
			}
			return
		}
	}
	t.Error("no AliasConflicts")
}

// TestCausesAreLogged: the caller of a fault gets an id, under which the log has the cause.
func TestCausesAreLogged(t *testing.T) {
	var log bytes.Buffer
	m := &mapper{rows: table(), log: slog.New(slog.NewTextHandler(&log, nil))}
	ctx := reply.WithCall(context.Background(), nil)
	st := status.Convert(m.status(ctx, fmt.Errorf("sector 7: %w", chainstore.ErrCorrupt)))
	if st.Code() != codes.DataLoss {
		t.Errorf("code is %v", st.Code())
	}
	for _, d := range st.Details() {
		if r, ok := d.(*errdetails.RequestInfo); ok {
			if r.RequestId == "" || !strings.Contains(log.String(), r.RequestId) || !strings.Contains(log.String(), "sector 7") {
				t.Errorf("the log does not have the cause under id %q: %s", r.RequestId, log.String())
			}
			return
		}
	}
	t.Error("no RequestInfo")
}
