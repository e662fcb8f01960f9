package server

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// slowly runs a test of a server with room for n requests of each kind, over the wire, in time that passes when all wait.
func slowly(t *testing.T, n int64, test func(c *crowd)) {
	t.Helper()
	slowlyOver(t, linePlain, n, test)
}

func slowlyOver(t *testing.T, over line, n int64, test func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowdOver(t, 100, over)
		close(c.store.gate)
		rooms := []*receive.ByteQuota{c.server.transport.Requests.Writes, c.server.transport.Requests.Reads, c.server.transport.Requests.Health, c.server.transport.Requests.Reflection}
		for _, r := range rooms {
			r.Free = fair.NewSemaphore(n * receive.MaxRequest)
		}
		test(c)
		synctest.Wait()
		for _, r := range rooms {
			if !r.Free.TryAcquire(n * receive.MaxRequest) {
				t.Error("room was not given back")
			}
		}
		if n := c.server.transport.Admission.UnderWay.Load(); n != 0 {
			t.Errorf("%d writes are under way", n)
		}
	})
}

// slow is a call whose request comes when the test sends it.
type slow struct {
	grpc.ClientStream
	*crowd
	ended chan error
	leave func()
}

// begin begins a call with messages, and does not end the request. How the call ends follows.
func (c *crowd) begin(method string, messages ...proto.Message) *slow {
	c.Helper()
	ctx, leave := context.WithCancel(c.Context())
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		c.Fatal(err)
	}
	s := &slow{stream, c, make(chan error, 1), leave}
	for _, m := range messages {
		s.send(m)
	}
	c.running.Go(func() { s.ended <- s.RecvMsg(&emptypb.Empty{}) })
	synctest.Wait()
	return s
}

func (s *slow) send(m proto.Message) {
	s.Helper()
	if err := s.SendMsg(m); err != nil {
		s.Error(err)
	}
}

// goesOn asserts that the call has not ended.
func (s *slow) goesOn() {
	s.Helper()
	synctest.Wait()
	select {
	case err := <-s.ended:
		s.Errorf("ended with %v", err)
	default:
	}
}

// slowCall is a method with a request that is as large as can be, and its room.
type slowCall struct {
	method string
	req    proto.Message
	room   func(c *crowd) *receive.ByteQuota
}

func slowCalls() map[string]slowCall {
	large := strings.Repeat("x", 4000<<10)
	reads := func(c *crowd) *receive.ByteQuota { return c.server.transport.Requests.Reads }
	return map[string]slowCall{
		"PutNode": {transcriptv1.TranscriptService_PutNode_FullMethodName, text(4000 << 10),
			func(c *crowd) *receive.ByteQuota { return c.server.transport.Requests.Writes }},
		"ResolveAlias": {transcriptv1.TranscriptService_ResolveAlias_FullMethodName,
			&transcriptv1.ResolveAliasRequest{Namespace: large}, reads},
		"StreamAssemble": {transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: aliasRef("nobody"), IfNoneMatch: large}, reads},
		"Check": {healthv1.Health_Check_FullMethodName, &healthv1.HealthCheckRequest{Service: large},
			func(c *crowd) *receive.ByteQuota { return c.server.transport.Requests.Health }},
		"Watch": {healthv1.Health_Watch_FullMethodName, &healthv1.HealthCheckRequest{Service: large},
			func(c *crowd) *receive.ByteQuota { return c.server.transport.Requests.Health }},
	}
}

// waiting takes room for a request, and tells how long it waited.
func (c *crowd) waiting(r *receive.ByteQuota) <-chan time.Duration {
	began, waited := time.Now(), make(chan time.Duration, 1)
	c.running.Go(func() {
		p := &receive.Reservation{Quota: r}
		defer p.Release()
		if err := p.Receive(c.Context(), &emptypb.Empty{}, func(any) error { waited <- time.Since(began); return nil }); err != nil {
			c.Error(err)
		}
	})
	return waited
}

// A request that does not come, or does not end, has its room as long as nobody wants it, and is ended where others wait: as
// OVERLOADED, in the log and the metrics of calls like any other.
func TestSlowRequestsAreEndedForOthers(t *testing.T) {
	for name, call := range slowCalls() {
		for what, messages := range map[string][]proto.Message{"nothing": nil, "no end": {call.req}} {
			eachLine(t, name+" with "+what, func(t *testing.T, over line) {
				slowlyOver(t, over, 1, func(c *crowd) {
					s, r := c.begin(call.method, messages...), call.room(c)
					<-time.After(10 * receive.Timeout)
					s.goesOn()
					if n := c.metric("transcriptd_server_requests_bytes"); n != receive.MaxRequest {
						c.Errorf("%v bytes are taken", n)
					}
					if got := <-c.waiting(r); got > receive.EndEvery {
						c.Errorf("waited for %s", got)
					}
					err := <-s.ended
					c.refused(err)
					synctest.Wait()                         // for the line in the log
					logged := !access.IsHealth(call.method) // at debug
					if id := requestOf(err); id == "" || strings.Contains(c.logs.String(), "request_id="+id) != logged {
						c.Errorf("the log has request %q: %v", id, !logged)
					}
					if n := c.metric("grpc_server_handled_total", name, "ResourceExhausted"); n != 1 {
						c.Errorf("%v calls count as refused", n)
					}
					if len(c.store.came) > 0 {
						c.Error("the store was asked")
					}
				})
			})
		}
	}
}

// A slow request is served, however long it takes, where nobody waits; and others are while there is room.
func TestSlowRequestsAreServed(t *testing.T) {
	slowly(t, 2, func(c *crowd) {
		s := c.begin(transcriptv1.TranscriptService_PutNode_FullMethodName)
		<-time.After(100 * receive.Timeout)
		if err := c.put(c.Context(), 1); err != nil {
			c.Error(err)
		}
		s.send(text(2900 << 10))
		<-time.After(100 * receive.Timeout)
		s.goesOn()
		if err := s.CloseSend(); err != nil {
			c.Error(err)
		}
		if err := <-s.ended; err != nil {
			c.Error(err)
		}
	})
}

// However many callers send large requests at once, no more come than there is room for, until those before have ended; then all
// are answered.
func TestLargeRequestsShareTheRoom(t *testing.T) {
	const callers, fit = 10, 3
	for name, call := range slowCalls() {
		t.Run(name, func(t *testing.T) {
			slowly(t, fit, func(c *crowd) {
				var calls []*slow
				for range callers {
					calls = append(calls, c.begin(call.method, call.req))
				}
				if n := c.metric("transcriptd_server_requests_waiting"); n != callers-fit {
					c.Errorf("%v wait", n)
				}
				if n := c.metric("transcriptd_server_requests_bytes"); n != fit*receive.MaxRequest {
					c.Errorf("%v bytes are taken", n)
				}
				if n := c.received.Load(); n > fit*receive.MaxRequest+(callers-fit)*transport.StreamWindow+64<<10 {
					c.Errorf("%d bytes came, with room for %d requests", n, fit)
				}
				for _, s := range calls {
					if err := s.CloseSend(); err != nil {
						c.Error(err)
					}
				}
				for _, s := range calls {
					if name == "Watch" { // which answers, and goes on
						s.leave()
						continue
					}
					if err := <-s.ended; requestOf(err) == "" && err != nil && name != "Check" || status.Code(err) == codes.ResourceExhausted {
						c.Error(err)
					}
				}
			})
		})
	}
}

// A stream of several requests has room for one at a time, as reflection's do, and is not ended between them while nobody waits.
func TestRequestsOfAStreamFollowEachOther(t *testing.T) {
	slowly(t, 1, func(c *crowd) {
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		stream, err := reflectionv1.NewServerReflectionClient(c.conn).ServerReflectionInfo(ctx)
		if err != nil {
			c.Fatal(err)
		}
		for range 3 {
			<-time.After(10 * receive.Timeout)
			list := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
			if err := stream.Send(list); err != nil {
				c.Fatal(err)
			}
			reply, err := stream.Recv()
			if err != nil || len(reply.GetListServicesResponse().GetService()) < 4 {
				c.Fatalf("%v, %v", reply, err)
			}
			synctest.Wait()
			if n := c.metric("transcriptd_server_requests_bytes", "reflection"); n != receive.MaxRequest {
				c.Errorf("%v bytes are taken for what may come next", n)
			}
		}
		if _, err := healthv1.NewHealthClient(c.conn).Check(ctx, &healthv1.HealthCheckRequest{}); err != nil {
			c.Errorf("beside it, health: %v", err)
		}
		if waited := <-c.waiting(c.server.transport.Requests.Reflection); waited > receive.Timeout+receive.EndEvery {
			c.Errorf("who needs its room waits for %s", waited)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
			c.Errorf("ended with %v", err)
		}
	})
}

// A server that drains ends calls whose requests do not come promptly, and lets the others come.
func TestDrainingDoesNotWaitForSlowRequests(t *testing.T) {
	for name, call := range slowCalls() {
		t.Run(name, func(t *testing.T) {
			slowly(t, 2, func(c *crowd) {
				began := time.Now()
				stalled := c.begin(call.method)
				c.server.Drain()
				if name == "Check" || name == "Watch" { // health is told to the end
					<-time.After(10 * receive.Timeout)
					stalled.goesOn()
					stalled.leave()
					return
				}
				err := <-stalled.ended
				if took := time.Since(began); took > receive.Timeout+receive.EndEvery || status.Code(err) != codes.Unavailable || requestOf(err) == "" {
					c.Errorf("ended after %s with %v", took, err)
				}
			})
		})
	}
}

// Slow requests are ended one by one, when each was promptly on its way, and those that stall hold up others for as long as
// they have turns, whether or not they have deadlines.
func TestSlowRequestsAreEndedInTurn(t *testing.T) {
	const places, stalled = 4, 12
	slowly(t, places, func(c *crowd) {
		began := time.Now()
		var calls []*slow
		for range stalled {
			calls = append(calls, c.begin(transcriptv1.TranscriptService_PutNode_FullMethodName))
		}
		if n := c.metric("transcriptd_server_requests_waiting", "writes"); n != stalled-places {
			c.Errorf("%g wait", n)
		}
		<-time.After(receive.Timeout + receive.EndEvery/2)
		ended := 0
		for _, s := range calls {
			ended += len(s.ended)
		}
		if ended != 1 {
			c.Errorf("%d were ended at once", ended)
		}
		if err := c.put(c.Context(), 1); err != nil {
			c.Error(err)
		}
		if took := time.Since(began); took > stalled/places*(receive.Timeout+(places+1)*receive.EndEvery) {
			c.Errorf("took %s", took)
		}
		synctest.Wait()
		ended = 0
		for _, s := range calls {
			if len(s.ended) == 1 {
				ended++
				c.refused(<-s.ended)
				continue
			}
			s.send(text(1)) // nobody waits for its room
			if err := s.CloseSend(); err != nil {
				c.Error(err)
			}
			if err := <-s.ended; err != nil {
				c.Error(err)
			}
		}
		if want := stalled - places + 1; ended != want {
			c.Errorf("%d were ended, want %d", ended, want)
		}
	})
}

// A request whose end comes as it is ended is served, or refused with nothing done.
func TestRequestsEndAsTheyAreEnded(t *testing.T) {
	slowly(t, 1, func(c *crowd) {
		served := 0
		for i := range 200 {
			before := time.After(receive.Timeout) // comes before the end of the call at that time, and after the other way round
			s := c.begin(transcriptv1.TranscriptService_PutNode_FullMethodName, text(1+i))
			others := c.waiting(c.server.transport.Requests.Writes)
			if i%2 == 0 {
				<-before
			} else {
				<-time.After(receive.Timeout)
			}
			if err := s.CloseSend(); err != nil {
				c.Error(err)
			}
			if err := <-s.ended; err == nil {
				served++
			} else {
				c.refused(err)
			}
			<-others
			synctest.Wait()
		}
		if n := len(c.store.came); n != served {
			c.Errorf("%d were served, and %d were put", served, n)
		}
		c.Logf("%d of 200 were served", served)
	})
}

// A client that is gone without a word keeps its connection, and so its calls, for no more than 15 seconds.
func TestSilentClientsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.Listen(1 << 20)
		server, err := New(memstore.New(memstore.Options{}), Config{}).GRPC()
		if err != nil {
			t.Fatal(err)
		}
		serving := make(chan error, 1)
		go func() { serving <- server.Serve(listener) }()
		conn, err := listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Error(err)
		}
		if err := http2.NewFramer(conn, nil).WriteSettings(); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until it is closed
		if silent := time.Since(began); silent < 10*time.Second || silent > 16*time.Second {
			t.Errorf("closed after %s", silent)
		}
		server.Stop()
		if err := <-serving; err != nil {
			t.Error(err)
		}
	})
}
