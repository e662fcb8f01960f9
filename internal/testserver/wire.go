package testserver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// errNotOnWire: the API has no call for what was asked. The suite must skip that category.
var errNotOnWire = errors.New("the API has no such call")

// wire is a chainstore.Store whose every method is one or more calls of the generated client.
type wire struct {
	transcripts transcriptv1.TranscriptServiceClient
	admin       transcriptv1.AdminServiceClient
	close       func() error

	mu sync.Mutex
	// tokens are the page tokens seen, by the page that they ended.
	tokens map[string]string
	// nodes are the nodes seen since the last collection: they never change.
	nodes map[string]*transcriptv1.GetNodeResponse
}

// Wire is the store behind conn, as its clients see it. Close calls closer.
func Wire(conn grpc.ClientConnInterface, closer func() error) chainstore.Store {
	return &wire{
		transcripts: transcriptv1.NewTranscriptServiceClient(conn), admin: transcriptv1.NewAdminServiceClient(conn),
		close: closer, tokens: map[string]string{}, nodes: map[string]*transcriptv1.GetNodeResponse{},
	}
}

func (w *wire) Close() error { return w.close() }

func (w *wire) remember(key, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[key] = token
}

func (w *wire) recall(key string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	token, ok := w.tokens[key]
	return token, ok
}

// reasons are the domain's errors by the reason that the wire gives for them.
func reasons() map[string]error {
	return map[string]error{
		"NODE_NOT_FOUND": chainstore.ErrNodeNotFound, "ALIAS_NOT_FOUND": chainstore.ErrAliasNotFound,
		"PARENT_NOT_FOUND": chainstore.ErrParentNotFound, "ALIAS_EXISTS": chainstore.ErrAliasExists,
		"ALIAS_MOVED": chainstore.ErrAliasMoved, "SETTINGS_CHANGED": chainstore.ErrSettingsChanged, "PAYLOAD_ERASED": chainstore.ErrErased, "ERASED_MEANWHILE": chainstore.ErrErasedMeanwhile, "NOT_AN_ANCESTOR": chainstore.ErrNotAncestor,
		"TOO_MANY_OPEN_CALLS": chainstore.ErrGroupTooLarge, "LIMIT_EXCEEDED": chainstore.ErrTooLarge,
		"NODE_CORRUPT": chainstore.ErrCorrupt, "DISK_FULL": chainstore.ErrDiskFull,
		"TOO_MANY_FILES": chainstore.ErrTooManyFiles,
		"OVERLOADED":     chainstore.ErrOverloaded, "STORE_FAILED": chainstore.ErrFailed, "DRAINING": chainstore.ErrClosed,
		"CANCELLED": context.Canceled, "DEADLINE_EXCEEDED": context.DeadlineExceeded,
	}
}

// domain is the domain's error for a status.
func domain(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	if quota := quotaError(st); quota != nil {
		return quota
	}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			if known := reasons()[info.Reason]; known != nil {
				if info.Reason == "NODE_NOT_FOUND" && violated(st) == "after_id" {
					known = chainstore.ErrAfterNotFound
				}
				return fmt.Errorf("%w: %w", known, err)
			}
		}
	}
	switch st.Code() {
	case codes.Canceled:
		return fmt.Errorf("%w: %w", context.Canceled, err)
	case codes.DeadlineExceeded:
		return fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return err
}

// violated is the first field that a status tells of; empty if it tells of none.
func violated(st *status.Status) string {
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			return bad.FieldViolations[0].Field
		}
	}
	return ""
}

// missingError is the domain's error with the place in the change of what names what is not there; err where nothing is missing.
func missingError(err error, field string, change *chainstore.Change, fields []string) error {
	switch {
	case errors.Is(err, chainstore.ErrParentNotFound):
		for i := range change.Nodes {
			if field == fmt.Sprintf("nodes[%d].parent", i) || len(change.Nodes) == 1 && field == "parent" {
				return &chainstore.MissingError{Err: err, Index: i}
			}
		}
	case errors.Is(err, chainstore.ErrNodeNotFound), errors.Is(err, chainstore.ErrAliasNotFound):
		for i := range fields {
			if field == fields[i]+".target" {
				return &chainstore.MissingError{Err: err, Index: i}
			}
		}
	}
	return err
}

// conflictError is domain for a change, with the conflicts that the status lists. fields are the places of the change's
// aliases in the request.
func conflictError(err error, change *chainstore.Change, fields []string) error {
	for _, d := range status.Convert(err).Details() {
		list, ok := d.(*transcriptv1.AliasConflicts)
		if !ok {
			continue
		}
		conflict := &chainstore.ConflictError{}
		for _, c := range list.Conflicts {
			one := chainstore.Conflict{Index: -1, Exists: c.NodeId != "", Revision: c.Revision}
			for i, field := range fields {
				if field == c.Field {
					one.Index, one.Kind = i, change.Aliases[i].Condition.Kind
				}
			}
			if one.Exists {
				one.Node, err = chainstore.ParseID(c.NodeId)
				if err != nil {
					return err
				}
			}
			conflict.Conflicts = append(conflict.Conflicts, one)
		}
		// The request names aliases by their nodes, which is not always the change's order.
		slices.SortFunc(conflict.Conflicts, func(a, b chainstore.Conflict) int { return a.Index - b.Index })
		return conflict
	}
	return missingError(domain(err), violated(status.Convert(err)), change, fields)
}

func (w *wire) Info() chainstore.Info {
	s, err := w.transcripts.ServerInfo(context.Background(), &transcriptv1.ServerInfoRequest{})
	if err != nil {
		return chainstore.Info{Engine: err.Error()}
	}
	info := chainstore.Info{Engine: s.Engine, Format: int(s.StoreFormat)}
	if _, err := hex.Decode(info.ID[:], []byte(s.StoreId)); err != nil {
		return chainstore.Info{Engine: err.Error()}
	}
	return info
}

func (w *wire) Stats(ctx context.Context, namespace string) (chainstore.Stats, error) {
	s, err := w.admin.NamespaceStats(ctx, &transcriptv1.NamespaceStatsRequest{Namespace: spelled(namespace)})
	if err != nil {
		return chainstore.Stats{}, domain(err)
	}
	return chainstore.Stats{
		Nodes: s.Nodes, Messages: s.Messages, MessageBytes: s.MessageBytes, Aliases: s.Aliases, Roots: s.Roots, Forks: s.Forks,
	}, nil
}

// TokenKeys are never on the wire.
func (w *wire) TokenKeys(context.Context) (chainstore.TokenKeys, error) {
	return chainstore.TokenKeys{}, errNotOnWire
}

// Verify lets the server verify, with its own judge.
func (w *wire) Verify(ctx context.Context, check chainstore.Check, _ chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	req := &transcriptv1.VerifyRequest{Cursor: string(check.Cursor), MaxBytesPerSecond: check.BytesPerSecond}
	if check.WholeStore {
		req.Scope = transcriptv1.Scope_SCOPE_STORE
	} else {
		req.Namespace = spelled(check.Namespace)
	}
	stream, err := w.admin.Verify(ctx, req)
	if err != nil {
		return domain(err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return domain(err)
		}
		r := chainstore.VerifyReport{
			Namespace: m.Namespace, Files: m.FilesChecked, Namespaces: m.NamespacesChecked, Nodes: m.NodesChecked, Entries: m.EntriesChecked,
		}
		if m.Cursor != "" {
			r.Cursor = []byte(m.Cursor)
		}
		for _, p := range m.Problems {
			problem := chainstore.Problem{Namespace: p.Namespace, What: p.Problem, HasNode: p.NodeId != ""}
			if problem.HasNode {
				if problem.Node, err = chainstore.ParseID(p.NodeId); err != nil {
					return err
				}
			}
			r.Problems = append(r.Problems, problem)
		}
		if err := report(r); err != nil {
			return err
		}
	}
}

// spelled is a namespace as the wire allows it: the suite's names that are none travel as their hex digits.
func spelled(namespace string) string {
	for _, c := range namespace {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c) {
			return fmt.Sprintf("%x", namespace)
		}
	}
	return namespace
}

func refOf(r chainstore.Ref) *transcriptv1.NodeRef {
	if r.Alias != "" {
		return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: r.Alias}}
	}
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: r.ID.String()}}
}

func totalsOf(c *transcriptv1.Counters) runloop.Totals {
	return runloop.Totals{
		Nodes: int64(c.GetNodes()), Messages: int64(c.GetMessages()), Depth: int64(c.GetDepth()), Loops: int64(c.GetRunLoops()),
		Bytes: c.GetBytes(), Tokens: c.GetTokens(), Estimated: c.GetTokensEstimated(),
	}
}

// key is a key for remember.
func key(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strconv.Quote(fmt.Sprint(p)))
	}
	return b.String()
}
