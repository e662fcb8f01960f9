package client

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A server is asked once what it is; an error is not kept.
func TestServerInfoIsAskedOnce(t *testing.T) {
	fail := status.Error(codes.PermissionDenied, "not now")
	conn := &fakeConn{invoke: func(_ context.Context, method string, _ any) (proto.Message, error) {
		if method != transcriptv1.TranscriptService_ServerInfo_FullMethodName {
			t.Errorf("%s was called", method)
		}
		return &transcriptv1.ServerInfoResponse{ServerVersion: "v2", Features: []string{"blobs", "presets"}}, fail
	}}
	c := New(conn)
	if _, err := c.Supports(t.Context(), "presets"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("got %v", err)
	}
	fail = nil
	for name, want := range map[string]bool{"presets": true, "blobs": true, "blob": false, "": false} {
		if has, err := c.Supports(t.Context(), name); err != nil || has != want {
			t.Errorf("%q: %v, %v", name, has, err)
		}
	}
	if info, err := c.ServerInfo(t.Context()); err != nil || info.ServerVersion != "v2" || conn.invoked != 2 {
		t.Errorf("%v, %v after %d calls", info, err, conn.invoked)
	}
}

// A server that is older than ServerInfo has no features, tells no limits, and is asked once, too.
func TestServersOlderThanServerInfo(t *testing.T) {
	conn := &fakeConn{invoke: func(context.Context, string, any) (proto.Message, error) {
		return nil, status.Error(codes.Unimplemented, "unknown method ServerInfo for service transcript.v1.TranscriptService")
	}}
	c := New(conn)
	for range 2 {
		has, err := c.Supports(t.Context(), "alias_revisions")
		info, infoErr := c.ServerInfo(t.Context())
		if has || err != nil || infoErr != nil || info.ServerVersion != "" || info.GetLimits().GetRequestBytes() != 0 {
			t.Errorf("%v, %v; %v, %v", has, err, info, infoErr)
		}
	}
	if conn.invoked != 1 {
		t.Errorf("it was asked %d times", conn.invoked)
	}
}
