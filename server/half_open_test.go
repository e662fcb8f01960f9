package server

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// Connections that were opened, and over which nothing comes, or not all that begins one, do not hold up the end for long.
func TestHalfOpenConnectionsDoNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := New(memstore.New(memstore.Options{}), Config{})
		g, err := server.GRPC()
		if err != nil {
			t.Fatal(err)
		}
		listener := bufconn.Listen(1 << 10)
		served := make(chan error, 1)
		go func() { served <- g.Serve(listener) }()
		for _, begun := range []string{"", "PRI * HTTP/2.0"} {
			conn, err := listener.DialContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(begun)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		server.Drain()
		g.GracefulStop()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
