package server

import (
	"context"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// text is a put of so many bytes of text.
func text(n int) *transcriptv1.PutNodeRequest {
	return &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
		Role:  transcriptv1.Role_ROLE_USER,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat("x", n)}}},
	}}}
}

// fillRoom takes all of a room, and returns what gives it back.
func (c *crowd) fillRoom(r *receive.ByteQuota, bytes int64) (empty func()) {
	c.Helper()
	if !r.Free.TryAcquire(bytes) {
		c.Fatal("the room is in use")
	}
	return func() { r.Free.Release(bytes) }
}

// all calls every method of a kind with an empty request, each in a goroutine of its own, whose outcomes follow.
func (c *crowd) all(writing bool) (n int, outcomes <-chan error) {
	ended := make(chan error, 100)
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	c.Cleanup(cancel)
	for _, desc := range []grpc.ServiceDesc{transcriptv1.TranscriptService_ServiceDesc, transcriptv1.AdminService_ServiceDesc} {
		for i := range desc.Methods {
			if method := "/" + desc.ServiceName + "/" + desc.Methods[i].MethodName; access.IsWrite(method) == writing {
				n++
				c.running.Go(func() { ended <- c.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}) })
			}
		}
		for i := range desc.Streams {
			if method := "/" + desc.ServiceName + "/" + desc.Streams[i].StreamName; access.IsWrite(method) == writing {
				n++
				c.running.Go(func() { ended <- c.stream(ctx, method, &emptypb.Empty{}) })
			}
		}
	}
	return n, ended
}

// stream calls a method that streams replies, and returns how the stream ends.
func (c *crowd) stream(ctx context.Context, method string, req any) error {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	_ = s.SendMsg(req) // RecvMsg tells why not
	_ = s.CloseSend()
	for {
		if err := s.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
	}
}

// A server that drains says so at once, whether or not there is room; also to those who wait for some.
func TestDrainingWinsOverRoom(t *testing.T) {
	c := newCrowd(t, 100)
	defer c.fillRoom(c.server.transport.Requests.Writes, receive.WritesBytes)()
	defer c.fillRoom(c.server.transport.Requests.Reads, receive.ReadsBytes)()
	drained := func(what string, n int, outcomes <-chan error) {
		t.Helper()
		for range n {
			if err := <-outcomes; status.Code(err) != codes.Unavailable || requestOf(err) == "" {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	writers, written := c.all(true)
	readers, read := c.all(false)
	c.until("all wait", func() bool {
		return c.metric("transcriptd_server_requests_waiting") == float64(writers+readers)
	})
	c.server.Drain()
	drained("writes that waited", writers, written)
	drained("reads that waited", readers, read)
	for _, writing := range []bool{true, false} {
		n, outcomes := c.all(writing)
		drained("without room", n, outcomes)
	}
}

// requestOf is the id of the request that an error carries.
func requestOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RequestInfo); ok {
			return info.RequestId
		}
	}
	return ""
}

// countingListener is a listener that counts the bytes that come.
type countingListener struct {
	net.Listener
	bytes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &countedConn{conn, &l.bytes}, err
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// Over the wire: of a write that waits for room no more comes than gRPC's window; reads do not wait; every kind of write
// does, is refused like any call that fails, and goes on once there is room.
func TestWritesAreReceivedAsThereIsRoom(t *testing.T) {
	c := newCrowd(t, 100)
	c.server.transport.Requests.Writes.Free = fair.NewSemaphore(receive.MaxRequest)
	outcomes := make(chan error, 1)
	c.running.Go(func() {
		_, err := c.PutNode(t.Context(), text(1<<20))
		outcomes <- err
	})
	<-c.store.came
	before, tries := c.received.Load(), 0
	calls := c.writes(func(ctx context.Context) error {
		_, err := c.PutNode(ctx, text(2<<20))
		return err
	})
	for name, call := range calls {
		if tries += c.refusedInTime(name, call); t.Failed() {
			t.Fatalf("%s was not refused", name)
		}
	}
	if n := c.received.Load() - before; n > int64(tries)*transport.StreamWindow+16<<10 {
		t.Errorf("%d bytes came of writes that had no room", n)
	}
	if _, err := c.ResolveAlias(t.Context(), &transcriptv1.ResolveAliasRequest{Name: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("a read ended with %v", err)
	}
	if n := c.counted(); n != 0 {
		t.Errorf("%v calls count as refused by their head", n)
	}
	waiting := make(chan error, 1)
	c.running.Go(func() { waiting <- calls["PutNode"](t.Context()) })
	close(c.store.gate)
	for _, outcome := range []<-chan error{outcomes, waiting} {
		if err := <-outcome; err != nil {
			t.Errorf("with room: %v", err)
		}
	}
	c.empties()
	if !c.server.transport.Requests.Writes.Free.TryAcquire(receive.MaxRequest) {
		t.Error("room was not given back")
	}
}

// refusedInTime asserts that a call that finds no room is refused before its deadline, and stands in the log under its id, and
// in the metrics of calls. On a busy machine the caller may see the deadline pass before the refusal comes, and calls again.
func (c *crowd) refusedInTime(method string, call func(context.Context) error) (tries int) {
	c.Helper()
	var err error
	for tries = 1; tries <= 10; tries++ {
		ctx, cancel := context.WithTimeout(c.Context(), 500*time.Millisecond)
		err = call(ctx)
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			break
		}
	}
	c.refused(err)
	if id := requestOf(err); id == "" || !strings.Contains(c.logs.String(), "request_id="+id) {
		c.Errorf("%s: the log does not have request %q", method, id)
	}
	if n := c.metric("grpc_server_handled_total", method, "ResourceExhausted"); n == 0 {
		c.Errorf("%s: no call counts as refused", method)
	}
	return tries
}

// Every kind of read waits where there is no room, and is refused like any call that fails; writes do not wait; once there is
// room reads go on, whatever becomes of them.
func TestReadsAreReceivedAsThereIsRoom(t *testing.T) {
	c := newCrowd(t, 100)
	close(c.store.gate)
	empty := c.fillRoom(c.server.transport.Requests.Reads, receive.ReadsBytes)
	n, outcomes := c.all(false)
	if n < 14 {
		t.Fatalf("there are only %d reads: the search is broken", n)
	}
	c.until("all wait", func() bool {
		return c.metric("transcriptd_server_requests_waiting", "reads") == float64(n)
	})
	if err := c.put(t.Context(), 1); err != nil {
		t.Errorf("a write ended with %v", err)
	}
	c.refusedInTime("NamespaceStats", func(ctx context.Context) error {
		return c.conn.Invoke(ctx, transcriptv1.AdminService_NamespaceStats_FullMethodName, &emptypb.Empty{}, &emptypb.Empty{})
	})
	c.refusedInTime("StreamAssemble", func(ctx context.Context) error {
		return c.stream(ctx, transcriptv1.TranscriptService_StreamAssemble_FullMethodName, &emptypb.Empty{})
	})
	empty()
	for range n {
		switch err := <-outcomes; status.Code(err) {
		case codes.ResourceExhausted, codes.Unavailable, codes.Internal:
			t.Errorf("with room: %v", err)
		}
	}
	c.until("all room was given back", func() bool { return c.metric("transcriptd_server_requests_bytes") == 0 })
	c.fillRoom(c.server.transport.Requests.Reads, receive.ReadsBytes)()
}

func aliasRef(name string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
}

// The metrics of rooms are there before the first call, and a second server's go to the same series.
func TestRoomMetrics(t *testing.T) {
	c := newCrowd(t, 5)
	another := New(memstore.New(memstore.Options{}), Config{Registerer: c.registry})
	for kind, r := range map[string][2]*receive.ByteQuota{
		"writes": {c.server.transport.Requests.Writes, another.transport.Requests.Writes}, "reads": {c.server.transport.Requests.Reads, another.transport.Requests.Reads},
		"health": {c.server.transport.Requests.Health, another.transport.Requests.Health}, "reflection": {c.server.transport.Requests.Reflection, another.transport.Requests.Reflection},
	} {
		for i, one := range r {
			if _, err := one.Acquire(t.Context(), 1000); err != nil {
				t.Fatal(err)
			}
			if n := c.metric("transcriptd_server_requests_bytes", kind); n != float64(1000*(i+1)) {
				t.Errorf("%s: %v bytes", kind, n)
			}
		}
		for _, name := range []string{"requests_waiting", "requests_wait_seconds"} {
			if n := c.metric("transcriptd_server_"+name, kind); n != 0 {
				t.Errorf("%s: %s is %v", kind, name, n)
			}
		}
	}
	if w, r := c.metric("transcriptd_server_requests_limit_bytes", "writes"), c.metric("transcriptd_server_requests_limit_bytes", "reads"); w != receive.WritesBytes || r != receive.ReadsBytes {
		t.Errorf("the rooms have %v and %v bytes", w, r)
	}
	families, err := c.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	operations, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name, ours := strings.CutPrefix(f.GetName(), "transcriptd_server_"); ours && !strings.Contains(string(operations), "`"+name+"`") {
			t.Errorf("docs/operations.md does not tell of %s", f.GetName())
		}
	}
	unseen := prometheus.NewRegistry()
	New(memstore.New(memstore.Options{}), Config{Registerer: unseen})
	if own, err := unseen.Gather(); err != nil || len(own) == 0 {
		t.Error("servers of different registerers share a metric")
	}
}
