package bench

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
)

// dialTarget connects to a target of gRPC: HOST:PORT, bare or behind dns: or passthrough:, or a unix socket.
func dialTarget(ctx context.Context, target string) (net.Conn, error) {
	network, address := networkOf(target)
	return new(net.Dialer).DialContext(ctx, network, address)
}

// unavailable is a fault of a connection as the SDK's error. Its cause is told and not wrapped: a broken pipe is no reader of
// standard output that went away.
func unavailable(fault error) error {
	return &client.Error{Code: codes.Unavailable, Message: fault.Error()}
}

// networkOf is what net calls a target of gRPC. What names a DNS server, as dns://SERVER/HOST:PORT does, is asked of the
// system's.
func networkOf(target string) (network, address string) {
	scheme, rest, _ := strings.Cut(target, ":")
	switch scheme {
	case "unix": // unix:PATH, unix:///PATH
		return "unix", strings.TrimPrefix(rest, "//")
	case "unix-abstract":
		return "unix", "@" + strings.TrimPrefix(rest, "//")
	case "dns", "passthrough":
		return "tcp", rest[strings.LastIndexByte(rest, '/')+1:]
	default:
		return "tcp", target
	}
}
