package conformance

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// reach asks the server something that it can answer, so that one that is not there is told of once, and what it can do.
func (k *kit) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.options.Deadline)
	defer cancel()
	service := transcriptv1.NewTranscriptServiceClient(k.conn)
	_, err := service.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Namespace: k.namespace, Name: "nothing"})
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unauthenticated, codes.PermissionDenied:
		return err
	default: // it answers
	}
	if info, err := service.ServerInfo(ctx, &transcriptv1.ServerInfoRequest{}); err == nil {
		k.info = info
	}
	return nil
}

// cleanUp deletes the aliases of the kit's namespaces. What cannot be deleted stays: a server that does not list or delete aliases has
// failed checks for it.
func (k *kit) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	service := transcriptv1.NewTranscriptServiceClient(k.conn)
	for _, namespace := range []string{k.namespace, k.other} {
		for range 100 { // pages, of a server that deletes nothing too
			page, err := service.ListAliases(ctx, &transcriptv1.ListAliasesRequest{Namespace: namespace, PageSize: 1000})
			if err != nil || len(page.GetAliases()) == 0 {
				break
			}
			r := &transcriptv1.AliasRequest{Namespace: namespace}
			for _, a := range page.GetAliases() {
				r.Aliases = append(r.Aliases, &transcriptv1.AliasMove{Name: a.GetName(), Delete: true})
			}
			if _, err := service.Alias(ctx, r); err != nil {
				break
			}
		}
	}
}
