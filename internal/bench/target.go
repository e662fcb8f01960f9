package bench

import (
	"context"
	"net"
	"strings"
)

// dialTarget connects to a target of gRPC: HOST:PORT, bare or behind dns: or passthrough:, or a unix socket.
func dialTarget(ctx context.Context, target string) (net.Conn, error) {
	network, address := networkOf(target)
	return new(net.Dialer).DialContext(ctx, network, address)
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
