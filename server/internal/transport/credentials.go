package transport

import (
	"context"

	"google.golang.org/grpc/metadata"

	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// credentialsOf are those that a call shows with its head.
func credentialsOf(ctx context.Context, head metadata.MD) identity.Credentials {
	return identity.Credentials{Authorization: head.Get("authorization"), Certificate: reply.CertificateOf(ctx)}
}
