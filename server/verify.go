package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/verify"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// Verify lets the store check a namespace, or all of itself, and passes its reports on.
func (a *admin) Verify(req *transcriptv1.VerifyRequest, out grpc.ServerStreamingServer[transcriptv1.VerifyResponse]) error {
	if req.WholeStore && req.Namespace != "" {
		return wire.InvalidField("namespace", "must be empty with whole_store, which checks every namespace")
	}
	leave, err := a.enterVerify(out.Context())
	if err != nil {
		return err
	}
	defer leave()
	return verify.Run(out, func(ctx context.Context, report func(chainstore.VerifyReport) error) error {
		if req.WholeStore {
			return a.store.VerifyStore(ctx, verify.Judge, report)
		}
		return a.store.Verify(ctx, wire.Namespace(req.Namespace), verify.Judge, report)
	})
}

// maxVerifies run at once; each has some nodes in memory, stored and decoded, and takes a processor.
const maxVerifies = 8

// enterVerify waits for a place to verify. Error: errBusyVerifying shortly before the deadline, that of the context.
func (a *admin) enterVerify(ctx context.Context) (leave func(), err error) {
	early, cancel := deadline.Early(ctx)
	defer cancel()
	switch err := a.verifies.Acquire(early, 1); {
	case err == nil:
		return func() { a.verifies.Release(1) }, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, errBusyVerifying
	}
}
