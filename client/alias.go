package client

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// AliasMove sets an alias to a node that is there, or deletes it.
type AliasMove struct {
	Name string
	// Target is the node; an alias stands for the node it pointed to before the call.
	Target Ref
	If     Condition
	// Labels replace the alias's labels; nil leaves them as they are.
	Labels map[string]string
	// Delete deletes the alias instead; then Target is zero and Labels are nil.
	Delete bool
}

// SetAliases sets or deletes 1 to 1,000 aliases in one commit, all or nothing, and tells in their order what changed; after a
// repeat, changed and revised may be false although this call changed it. Where its reply is lost it is repeated only if each move is on
// RevisionIs or HeadAt, to a node by its id or to its own alias; or on MustNotExist or HeadIs, to a node by its id, and without labels;
// or deletes on HeadIs, RevisionIs or HeadAt: a repeat of any other could undo what others did since. Errors: ErrNodeNotFound,
// ErrAliasNotFound, ErrAliasExists, ErrAliasMoved and others.
func (c *Client) SetAliases(ctx context.Context, moves ...AliasMove) ([]*transcriptv1.AliasResult, error) {
	set, _, err := c.setAliases(ctx, moves...)
	return set, err
}

// setAliases is SetAliases, and tells whether an attempt that failed may have set them.
func (c *Client) setAliases(ctx context.Context, moves ...AliasMove) (set []*transcriptv1.AliasResult, unsure bool, err error) {
	req := &transcriptv1.AliasRequest{Namespace: c.options.namespace}
	for _, m := range moves {
		req.Aliases = append(req.Aliases, &transcriptv1.AliasMove{
			Name: m.Name, Target: m.Target.ref, Precondition: m.If.condition, Labels: labels(m.Labels), Delete: m.Delete,
		})
	}
	res, unsure, err := call(ctx, c, when(repeatableMoves(req.Aliases)), c.rpc.Alias, req)
	return res.GetAliases(), unsure, err
}

// DeleteAlias deletes an alias; its nodes and its history stay. It tells where the alias pointed, empty where there was
// none; after a repeat it may be empty although this call deleted it. Where its reply is lost it is repeated only with RevisionIs or
// HeadIs: otherwise the repeat could delete what others set since. Errors: ErrAliasNotFound with MustExist, ErrAliasMoved with HeadIs
// and RevisionIs.
func (c *Client) DeleteAlias(ctx context.Context, name string, condition Condition) (previous string, err error) {
	return c.deleteAlias(ctx, &transcriptv1.DeleteAliasRequest{Name: name, Precondition: condition.condition})
}

// ForgetAlias deletes an alias with its history, as DeleteAlias does without: then nothing of the name keeps a node from a collection
// (CollectGarbage). Also where the alias is deleted already. A server without the feature "collection" does not have it.
func (c *Client) ForgetAlias(ctx context.Context, name string, condition Condition) (previous string, err error) {
	return c.deleteAlias(ctx, &transcriptv1.DeleteAliasRequest{Name: name, Precondition: condition.condition, ForgetHistory: true})
}

func (c *Client) deleteAlias(ctx context.Context, req *transcriptv1.DeleteAliasRequest) (previous string, err error) {
	req.Namespace = c.options.namespace
	res, _, err := call(ctx, c, when(repeatableDelete(req.Precondition)), c.rpc.DeleteAlias, req)
	return res.GetPreviousId(), err
}

// AliasDeletion says which aliases to delete.
type AliasDeletion struct {
	// Prefix: those whose names begin so. All: every alias of the namespace; then Prefix is empty. One of them is required.
	Prefix string
	All    bool
	// MovedBefore: only those that were created or last moved before this time, by the server's clock. Zero: those that are there when
	// the deletion begins.
	MovedBefore time.Time
	// DryRun tells what would be deleted, and deletes nothing.
	DryRun bool
	// Forget deletes their histories, too, as ForgetAlias does.
	Forget bool
}

// DeleteAliases deletes aliases in the order of their names, page after page as it goes, and yields each as it was; what follows
// who stops stays. What others move meanwhile stays, too. Nodes and histories stay. ErrInvalidField where Prefix and All are set, or neither. A page whose reply is lost is asked for again: then what it
// deleted may not be yielded. An error ends it; to go on, delete again with the same MovedBefore.
func (c *Client) DeleteAliases(ctx context.Context, d AliasDeletion) iter.Seq2[*transcriptv1.AliasInfo, error] {
	req := &transcriptv1.DeleteAliasesRequest{Namespace: c.options.namespace, DryRun: d.DryRun, ForgetHistory: d.Forget, PageSize: pageSize}
	if req.Scope = (&transcriptv1.DeleteAliasesRequest_Prefix{Prefix: d.Prefix}); d.All {
		req.Scope = &transcriptv1.DeleteAliasesRequest_All{All: true}
	}
	if !d.MovedBefore.IsZero() {
		req.MovedBefore = timestamppb.New(d.MovedBefore)
	}
	return pages(func(token string) ([]*transcriptv1.AliasInfo, string, error) {
		if d.All && d.Prefix != "" {
			return nil, "", fault(ErrInvalidField, "a deletion of All has no Prefix")
		}
		if req.MovedBefore == nil {
			begun, err := c.beginsNow(ctx, req)
			if err != nil {
				return nil, "", err
			}
			req.MovedBefore = begun
		}
		req.PageToken = token
		res, _, err := call(ctx, c, when(repeatableDeletion(req)), c.rpc.DeleteAliases, req)
		return res.GetAliases(), res.GetNextPageToken(), err
	})
}

// beginsNow asks the server for the time with which a deletion may be repeated.
func (c *Client) beginsNow(ctx context.Context, req *transcriptv1.DeleteAliasesRequest) (*timestamppb.Timestamp, error) {
	ask := proto.CloneOf(req)
	ask.DryRun, ask.PageSize = true, 1
	res, err := read(ctx, c, c.rpc.DeleteAliases, ask)
	if err == nil && res.MovedBefore == nil {
		err = fault(ErrBadReply, "a dry run without its moved_before")
	}
	return res.GetMovedBefore(), err
}

// Resolve tells which node an alias points to, its revision, and the totals of the chain that ends there. Errors: ErrAliasNotFound, of
// which Error.Deleted tells whether the name was deleted.
func (c *Client) Resolve(ctx context.Context, name string) (*transcriptv1.ResolveAliasResponse, error) {
	req := &transcriptv1.ResolveAliasRequest{Namespace: c.options.namespace, Name: name}
	res, err := read(ctx, c, c.rpc.ResolveAlias, req)
	if err == nil && res.Alias == nil {
		return nil, fault(ErrBadReply, "")
	}
	return res, err
}

// AliasScope is a choice of aliases. The zero scope is all of them, in the order of the names' bytes.
type AliasScope struct {
	prefix, folder *string
	order          transcriptv1.SortOrder
}

// AliasesWithPrefix are those whose names begin so, in the order of the names' bytes.
func AliasesWithPrefix(prefix string) AliasScope { return AliasScope{prefix: &prefix} }

// AliasesUnder are those under a folder, directly or deeper, last moved first: under "chat" lie "chat/42" and "chat/42/x", under ""
// lies every name. A folder is at most eight levels deep; "" is the first.
func AliasesUnder(folder string) AliasScope { return AliasScope{folder: &folder} }

// Reversed is the scope in the reverse order: the last name first, or what was moved first.
func (s AliasScope) Reversed() AliasScope {
	reversed := transcriptv1.SortOrder_SORT_ORDER_DESCENDING
	if s.folder != nil {
		reversed = transcriptv1.SortOrder_SORT_ORDER_ASCENDING
	}
	if s.order == reversed {
		reversed = transcriptv1.SortOrder_SORT_ORDER_UNSPECIFIED
	}
	s.order = reversed
	return s
}

// Aliases lists aliases, asking for page after page as it goes. An error ends it.
func (c *Client) Aliases(ctx context.Context, scope AliasScope) iter.Seq2[*transcriptv1.AliasInfo, error] {
	return pages(func(token string) ([]*transcriptv1.AliasInfo, string, error) {
		res, err := read(ctx, c, c.rpc.ListAliases, c.aliasPage(scope, token))
		return res.GetAliases(), res.GetNextPageToken(), err
	})
}

// aliasPage asks for a page of aliases.
func (c *Client) aliasPage(scope AliasScope, token string) *transcriptv1.ListAliasesRequest {
	req := &transcriptv1.ListAliasesRequest{Namespace: c.options.namespace, PageSize: pageSize, PageToken: token, Order: scope.order}
	switch {
	case scope.prefix != nil:
		req.Scope = &transcriptv1.ListAliasesRequest_Prefix{Prefix: *scope.prefix}
	case scope.folder != nil:
		req.Scope = &transcriptv1.ListAliasesRequest_Folder{Folder: *scope.folder}
	}
	return req
}

// History lists the states of an alias, newest first: at most the last 100, at most 90 days back, also after its
// deletion. An error ends it: ErrAliasNotFound for a name never set, or deleted more than 90 days ago.
func (c *Client) History(ctx context.Context, name string) iter.Seq2[*transcriptv1.AliasHistoryEntry, error] {
	return pages(func(token string) ([]*transcriptv1.AliasHistoryEntry, string, error) {
		req := &transcriptv1.ListAliasHistoryRequest{
			Namespace: c.options.namespace, Name: name, PageSize: pageSize, PageToken: token,
		}
		res, err := read(ctx, c, c.rpc.ListAliasHistory, req)
		return res.GetEntries(), res.GetNextPageToken(), err
	})
}

// pageSize is how many entries a page is asked for: the most that the server gives.
const pageSize = 1000

// pages yields the entries of page after page; an error is yielded last, with the zero entry.
func pages[T any](fetch func(token string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token, more := "", true; more; more = token != "" {
			entries, next, err := fetch(token)
			if err == nil && next != "" && next == token {
				err = fault(ErrBadReply, "a page leads to itself")
			}
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			token = next
		}
	}
}
