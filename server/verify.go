package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/verify"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Verify lets the store check a namespace, or all of itself, and passes its reports on.
func (a *admin) Verify(req *transcriptv1.VerifyRequest, out grpc.ServerStreamingServer[transcriptv1.VerifyResponse]) error {
	check, page, err := parseVerify(req)
	if err != nil {
		return err
	}
	stream := verify.Stream{Out: out, Tokens: a.tokens, Page: page}
	if check.Cursor, err = stream.Begin(req.Cursor); err != nil {
		return err
	}
	place, err := a.verifies.enter(out.Context())
	if err != nil {
		return err
	}
	defer place.leave()
	stream.Out = sending[transcriptv1.VerifyResponse]{out, place}
	return stream.Run(func(ctx context.Context, report func(chainstore.VerifyReport) error) error {
		return a.store.Verify(ctx, check, verify.Judge, report)
	})
}

// parseVerify reads what is to be checked, and what cursors are bound to.
func parseVerify(req *transcriptv1.VerifyRequest) (check chainstore.Check, page wire.Page, err error) {
	if req.MaxBytesPerSecond < 0 {
		return check, page, wire.InvalidField("max_bytes_per_second", "must not be negative")
	}
	check.BytesPerSecond = req.MaxBytesPerSecond
	page.RPC = "Verify"
	switch req.Scope {
	case transcriptv1.Scope_SCOPE_UNSPECIFIED, transcriptv1.Scope_SCOPE_NAMESPACE:
		check.Namespace = wire.Namespace(req.Namespace)
		page.Namespace, page.Scope = check.Namespace, "namespace"
	case transcriptv1.Scope_SCOPE_STORE:
		if req.Namespace != "" {
			return check, page, wire.InvalidField("namespace", "must be empty with SCOPE_STORE, which is every namespace")
		}
		check.WholeStore, page.Scope = true, "store"
	default:
		return check, page, wire.InvalidField("scope", "must be SCOPE_NAMESPACE or SCOPE_STORE")
	}
	return check, page, nil
}

// Verify checks the store for the program itself, as the rpc does for callers: a panic is its error. It takes no place of theirs.
func (s *Server) Verify(ctx context.Context, check chainstore.Check, report func(chainstore.VerifyReport) error) error {
	return panics.Guard(func() error { return s.store.Verify(ctx, check, verify.Judge, report) })
}

// Judge is the chainstore.Judge of what clients put: for who checks a store without a Server.
func Judge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	return verify.Judge(h, payload, metadata, parent, covers)
}
