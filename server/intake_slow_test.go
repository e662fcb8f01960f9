package server

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// slowly runs a test of a server with room for n requests of each kind, over the wire, in time that passes when all wait.
func slowly(t *testing.T, n int64, test func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 100)
		close(c.store.gate)
		rooms := []*room{c.server.intake.writes, c.server.intake.reads}
		for _, r := range rooms {
			r.free = semaphore.NewWeighted(n * maxRequest)
		}
		test(c)
		synctest.Wait()
		for _, r := range rooms {
			if !r.free.TryAcquire(n * maxRequest) {
				t.Error("room was not given back")
			}
		}
		if n := c.server.admission.underWay.Load(); n != 0 {
			t.Errorf("%d writes are under way", n)
		}
	})
}

// slow is a call whose request comes when the test sends it.
type slow struct {
	grpc.ClientStream
	*crowd
	ended chan error
}

// begin begins a call with messages, and does not end the request. How the call ends follows.
func (c *crowd) begin(method string, messages ...proto.Message) *slow {
	c.Helper()
	stream, err := c.conn.NewStream(c.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		c.Fatal(err)
	}
	s := &slow{stream, c, make(chan error, 1)}
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
	room   func(c *crowd) *room
}

func slowCalls() map[string]slowCall {
	large := strings.Repeat("x", 4000<<10)
	reads := func(c *crowd) *room { return c.server.intake.reads }
	return map[string]slowCall{
		"PutNode": {transcriptv1.TranscriptService_PutNode_FullMethodName, text(4000 << 10),
			func(c *crowd) *room { return c.server.intake.writes }},
		"ResolveAlias": {transcriptv1.TranscriptService_ResolveAlias_FullMethodName,
			&transcriptv1.ResolveAliasRequest{Namespace: large}, reads},
		"StreamAssemble": {transcriptv1.TranscriptService_StreamAssemble_FullMethodName,
			&transcriptv1.StreamAssembleRequest{Head: aliasRef("nobody"), IfNoneMatch: large}, reads},
	}
}

// waiting takes room for a request, and tells how long it waited.
func (c *crowd) waiting(r *room) <-chan time.Duration {
	began, waited := time.Now(), make(chan time.Duration, 1)
	c.running.Go(func() {
		p := enter(c.T, r)
		waited <- time.Since(began)
		p.leave()
	})
	return waited
}

// A request that does not come, or does not end, has its room as long as nobody wants it, and is ended where others wait: as
// OVERLOADED, in the log and the metrics of calls like any other.
func TestSlowRequestsAreEndedForOthers(t *testing.T) {
	for name, call := range slowCalls() {
		for what, messages := range map[string][]proto.Message{"nothing": nil, "no end": {call.req}} {
			t.Run(name+" with "+what, func(t *testing.T) {
				slowly(t, 1, func(c *crowd) {
					s, r := c.begin(call.method, messages...), call.room(c)
					<-time.After(10 * promptly)
					s.goesOn()
					if n := c.metric("transcriptd_server_requests_bytes"); n != maxRequest {
						c.Errorf("%v bytes are taken", n)
					}
					if got := <-c.waiting(r); got > endEvery {
						c.Errorf("waited for %s", got)
					}
					err := <-s.ended
					c.refused(err)
					synctest.Wait() // for the line in the log
					if id := requestOf(err); id == "" || !strings.Contains(c.logs.String(), "request_id="+id) {
						c.Errorf("the log does not have request %q", id)
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
		<-time.After(100 * promptly)
		if err := c.put(c.Context(), 1); err != nil {
			c.Error(err)
		}
		s.send(text(2900 << 10))
		<-time.After(100 * promptly)
		s.goesOn()
		if err := s.CloseSend(); err != nil {
			c.Error(err)
		}
		if err := <-s.ended; err != nil {
			c.Error(err)
		}
	})
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
		if n := c.server.intake.writes.waiters.Load(); n != stalled-places {
			c.Errorf("%d wait", n)
		}
		<-time.After(promptly + endEvery/2)
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
		if took := time.Since(began); took > stalled/places*(promptly+(places+1)*endEvery) {
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
			before := time.After(promptly) // comes before the end of the call at that time, and after the other way round
			s := c.begin(transcriptv1.TranscriptService_PutNode_FullMethodName, text(1+i))
			others := c.waiting(c.server.intake.writes)
			if i%2 == 0 {
				<-before
			} else {
				<-time.After(promptly)
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

// Calls whose request gRPC cannot receive stand in the log and the metrics as the caller's mistake, with a request's id of their
// own, though gRPC tells the caller INTERNAL, by itself and without a reason (docs/api.md).
func TestNoRequestOrSeveral(t *testing.T) {
	for name, call := range slowCalls() {
		for what, messages := range map[string][]proto.Message{"none": nil, "two": {&emptypb.Empty{}, &emptypb.Empty{}}} {
			t.Run(name+" with "+what, func(t *testing.T) {
				slowly(t, 1, func(c *crowd) {
					s := c.begin(call.method, messages...)
					if err := s.CloseSend(); err != nil {
						c.Error(err)
					}
					if err := <-s.ended; status.Code(err) != codes.Internal || requestOf(err) != "" {
						c.Errorf("ended with %v", err)
					}
					synctest.Wait()
					if log := c.logs.String(); !strings.Contains(log, "level=INFO") || !strings.Contains(log, "grpc.code=InvalidArgument") ||
						!strings.Contains(log, "cardinality") || strings.Contains(log, "ERROR") {
						c.Errorf("the log: %s", log)
					}
					if n := c.metric("grpc_server_handled_total", name, "InvalidArgument"); n != 1 {
						c.Errorf("%v calls count as malformed", n)
					}
				})
			})
		}
	}
}

// A client that is gone without a word keeps its connection, and so its calls, for no more than 80 seconds.
func TestSilentClientsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := bufconn.Listen(1 << 20)
		server := New(memstore.New(memstore.Options{}), Config{}).GRPC()
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
		if silent := time.Since(began); silent < time.Minute || silent > 81*time.Second {
			t.Errorf("closed after %s", silent)
		}
		server.Stop()
		if err := <-serving; err != nil {
			t.Error(err)
		}
	})
}
