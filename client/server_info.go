package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client/internal/features"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// ServerInfo tells what the server is, what it can do, and its limits. It is asked once: the Client keeps the answer, as it was then, and
// the caller must not change it. Of a server that does not know the call, since it is older, everything is empty, and it has no features.
func (c *Client) ServerInfo(ctx context.Context) (*transcriptv1.ServerInfoResponse, error) {
	if info := c.info.Load(); info != nil {
		return info, nil
	}
	info, err := read(ctx, c, c.rpc.ServerInfo, &transcriptv1.ServerInfoRequest{})
	if status.Code(err) == codes.Unimplemented {
		info, err = &transcriptv1.ServerInfoResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	c.info.CompareAndSwap(nil, info)
	return c.info.Load(), nil
}

// Supports tells whether the server has a feature: a name of the list in docs/api.md. A request with a field of a feature that a server
// has not is refused, and an rpc is UNIMPLEMENTED: ErrUnsupported, which names the feature. The Client itself sends such fields only where its
// caller asks for what they do.
func (c *Client) Supports(ctx context.Context, feature string) (bool, error) {
	info, err := c.ServerInfo(ctx)
	if err != nil {
		return false, err
	}
	return slices.Contains(info.Features, feature), nil
}

// explained is the error of a call, and ErrUnsupported where it is that of a server that lacks a feature which the request needs.
func (c *Client) explained(ctx context.Context, err error, req any) error {
	var refused *Error
	request, ok := req.(proto.Message)
	if !ok || !errors.As(err, &refused) || refused.Code != codes.Unimplemented && refused.Reason != ErrMalformedRequest {
		return err
	}
	needed := features.Needed(request)
	if len(needed) == 0 {
		return err
	}
	info, infoErr := c.ServerInfo(ctx)
	if infoErr != nil {
		return err
	}
	missing := slices.DeleteFunc(needed, func(feature string) bool { return slices.Contains(info.Features, feature) })
	if len(missing) == 0 {
		return err
	}
	return &Error{
		Code: codes.Unimplemented, Reason: ErrUnsupported, Message: ErrUnsupported.own().text + ": " + strings.Join(missing, ", "),
		RequestID: refused.RequestID, Retried: refused.Retried,
	}
}
