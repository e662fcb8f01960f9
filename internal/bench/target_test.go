package bench

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	transcriptd "github.com/transcriptd/transcriptd/server"
)

func TestNetworkOf(t *testing.T) {
	for target, want := range map[string][2]string{
		"127.0.0.1:7420":            {"tcp", "127.0.0.1:7420"},
		"localhost:7420":            {"tcp", "localhost:7420"},
		"[::1]:7420":                {"tcp", "[::1]:7420"},
		"dns:localhost:7420":        {"tcp", "localhost:7420"},
		"dns:///localhost:7420":     {"tcp", "localhost:7420"},
		"dns://1.1.1.1/host:7420":   {"tcp", "host:7420"},
		"passthrough:///[::1]:7420": {"tcp", "[::1]:7420"},
		"unix:some/socket":          {"unix", "some/socket"},
		"unix:///run/socket":        {"unix", "/run/socket"},
		"unix:/run/socket":          {"unix", "/run/socket"},
		"unix-abstract:name":        {"unix", "@name"},
		"unix:@name":                {"unix", "@name"}, // as gRPC hands an abstract one to a dialer
	} {
		if network, address := networkOf(target); network != want[0] || address != want[1] {
			t.Errorf("%s: %s %s", target, network, address)
		}
	}
}

// Each kind of connection of a row takes the targets that gRPC takes.
func TestConnectionsTakeTargets(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = store.Close() })
	g := transcriptd.New(store, transcriptd.Config{}).GRPC()
	t.Cleanup(g.Stop)
	port := listenOn(t, g, "tcp", "127.0.0.1:0").(*net.TCPAddr).Port
	listenOn(t, g, "unix", socket)
	for _, target := range []string{
		(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String(), "unix://" + socket, "unix:" + socket,
		"dns:///" + (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String(),
	} {
		s := &server{e: rowEnv(t), addr: target, namespace: "test"}
		if err := s.putsByAll(t.Context()); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// listenOn serves there too.
func listenOn(t *testing.T, g *grpc.Server, network, address string) net.Addr {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(listener) }()
	return listener.Addr()
}

// putsByAll calls by each kind of connection.
func (s *server) putsByAll(ctx context.Context) error {
	head, err := s.fill(ctx, "some", 1, 1)
	if err != nil {
		return err
	}
	lean, err := s.connectLean(1)
	if err != nil {
		return err
	}
	if all := callEach(ctx, lean.conns, &transcriptv1.GetNodeRequest{Namespace: s.namespace, Node: byID(head)}, patience); all.fault != nil {
		return all.fault
	}
	w, err := dialWire(ctx, s.addr, func(error) {})
	if err != nil {
		return err
	}
	return w.close()
}
