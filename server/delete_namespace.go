package server

import (
	"context"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// DeleteNamespace deletes a namespace, whose name is confirmed, unless it has a hold.
func (a *admin) DeleteNamespace(ctx context.Context, req *transcriptv1.DeleteNamespaceRequest) (*transcriptv1.DeleteNamespaceResponse, error) {
	namespace := wire.Namespace(req.Namespace)
	if req.Confirm != namespace {
		return nil, wire.InvalidField("confirm", "must be the name of the namespace, which is default where none is named")
	}
	reply := &transcriptv1.DeleteNamespaceResponse{}
	may := func(ctx context.Context) error { return a.keeper.MayCollect(ctx, namespace) }
	err := may(ctx) // before it waits for anybody
	if err == nil {
		reply.Deleted, err = a.store.DeleteNamespace(ctx, namespace, may)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}
