package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// door is a gateway before a gRPC server, and what came through to that.
type door struct {
	*testing.T
	*Gateway
	transcriptv1.UnimplementedTranscriptServiceServer
	healthv1.UnimplementedHealthServer

	outside *pipes
	// conns are the connections to the gRPC server so far, faults the errors that no caller could have caused.
	conns  atomic.Int64
	faults atomic.Int64
	drain  context.CancelFunc
	// next lets each Watch send its next message.
	next chan struct{}

	mu sync.Mutex
	// head is the metadata of the last call of ServerInfo.
	head metadata.MD
}

// newDoor is made in a bubble of synctest, in which time passes where everything waits.
func newDoor(t *testing.T, guard access.Guard) *door {
	t.Helper()
	d := &door{T: t, outside: &pipes{newListener()}, next: make(chan struct{})}
	draining, drain := context.WithCancel(context.Background())
	d.drain = drain
	log := slog.New(slog.DiscardHandler)
	gateway, err := New(Config{
		Services: []protoreflect.ServiceDescriptor{
			transcriptv1.File_transcript_v1_transcript_service_proto.Services().Get(0), healthv1.File_grpc_health_v1_health_proto.Services().Get(0),
		},
		Guard: guard, Requests: receive.NewLimiter(draining, metrics.NewRequests(prometheus.NewRegistry(), log), d.told).HTTP, Status: d.told,
		Hosts: func(host string) bool { return host != "elsewhere" }, MaxHead: 16 << 10, MaxStreams: 256, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Gateway = gateway
	within := grpc.NewServer(grpc.MaxConcurrentStreams(256), grpc.WaitForHandlers(true), grpc.MaxHeaderListSize(16<<10),
		grpc.StaticStreamWindowSize(64<<10)) // as the transport has it: calls that wait for the connection within look again when they are told of a window
	transcriptv1.RegisterTranscriptServiceServer(within, d)
	healthv1.RegisterHealthServer(within, d)
	var serving sync.WaitGroup
	serving.Go(func() { _ = within.Serve(&counting{gateway.Listener(), &d.conns}) })
	serving.Go(func() {
		if err := gateway.Serve(d.outside, nil); err != nil {
			t.Errorf("serving ended: %v", err)
		}
	})
	t.Cleanup(func() {
		within.Stop()
		if err := d.shutdown(0); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return d
}

// inBubble runs a test against a door in a bubble, at whose end nothing may be left.
func inBubble(t *testing.T, test func(d *door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newDoor(t, access.Anybody{})) })
}

func (d *door) shutdown(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return d.Shutdown(ctx)
}

// told is a table of errors.
func (d *door) told(_ context.Context, err error) error {
	var field *canonical.FieldError
	code := codes.Internal
	switch {
	case errors.As(err, &field):
		code = codes.InvalidArgument
	case errors.Is(err, receive.ErrDraining), errors.Is(err, receive.ErrSlow), errors.Is(err, receive.ErrNoRoom):
		code = codes.Unavailable
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code = status.FromContextError(err).Code()
	default:
		d.faults.Add(1)
	}
	return status.Error(code, err.Error())
}

func (d *door) ServerInfo(ctx context.Context, _ *transcriptv1.ServerInfoRequest) (*transcriptv1.ServerInfoResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.head, _ = metadata.FromIncomingContext(ctx)
	return &transcriptv1.ServerInfoResponse{ServerVersion: "v"}, nil
}

// ResolveAlias waits for the end of the call.
func (d *door) ResolveAlias(ctx context.Context, _ *transcriptv1.ResolveAliasRequest) (*transcriptv1.ResolveAliasResponse, error) {
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

func (d *door) Watch(_ *healthv1.HealthCheckRequest, to healthv1.Health_WatchServer) error {
	for {
		if err := to.Send(&healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}); err != nil {
			return err
		}
		select {
		case <-d.next:
		case <-to.Context().Done():
			return nil
		}
	}
}

// counting counts the connections that it accepts.
type counting struct {
	net.Listener
	n *atomic.Int64
}

func (c *counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// client is one of HTTP/1.1 or HTTP/2, with one connection in the second case.
func (d *door) client(two bool) *http.Client {
	by := &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return d.outside.dial(), nil }, Protocols: new(http.Protocols),
	}
	by.Protocols.SetHTTP1(!two)
	by.Protocols.SetUnencryptedHTTP2(two)
	if two {
		by.MaxConnsPerHost, by.HTTP2 = 1, &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	}
	d.Cleanup(by.CloseIdleConnections)
	return &http.Client{Transport: by}
}

const (
	serverInfo   = "/transcript.v1.TranscriptService/ServerInfo"
	resolveAlias = "/transcript.v1.TranscriptService/ResolveAlias"
	watch        = "/grpc.health.v1.Health/Watch"
)

// asks is a request with a body in JSON.
func (d *door) asks(ctx context.Context, path string, body io.Reader, head ...string) *http.Request {
	d.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, body)
	if err != nil {
		d.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Add(head[i], head[i+1])
	}
	return r
}

// raw is a connection that bytes are written to.
func (d *door) raw(sends string) net.Conn {
	d.Helper()
	conn := d.outside.dial()
	d.Cleanup(func() { _ = conn.Close() })
	d.sends(conn, sends)
	return conn
}

func (d *door) sends(conn net.Conn, text string) {
	d.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		d.Fatal(err)
	}
}

// answered is how long the answer on a connection takes, and its HTTP status.
func (d *door) answered(conn net.Conn) (status int, after time.Duration) {
	d.Helper()
	began := time.Now()
	if err := conn.SetReadDeadline(began.Add(10 * time.Minute)); err != nil {
		d.Fatal(err)
	}
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		d.Errorf("no answer within %v: %v", time.Since(began), err)
		return 0, time.Since(began)
	}
	defer func() { _ = reply.Body.Close() }()
	_, _ = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, time.Since(began)
}

func post(path string, length int, body string, head ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", path, length, strings.Join(head, ""), body)
}

// TestStreamsMayPause: a stream may be silent for as long as it likes, between messages that the client takes.
func TestStreamsMayPause(t *testing.T) {
	for _, two := range []bool{false, true} {
		inBubble(t, func(d *door) {
			ctx, cancel := context.WithCancel(d.Context())
			defer cancel()
			reply, err := d.client(two).Do(d.asks(ctx, watch, strings.NewReader("{}")))
			if err != nil {
				d.Fatal(err)
			}
			defer func() { _ = reply.Body.Close() }()
			lines := bufio.NewReader(reply.Body)
			for range 3 {
				if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "SERVING") {
					d.Fatalf("HTTP/2 %v: %q, %v", two, line, err)
				}
				<-time.After(3 * takenWithin)
				d.next <- struct{}{}
			}
		})
	}
}

// unknown knows nobody.
type unknown struct{ access.Anybody }

func (unknown) Identify(*access.Method, identity.Credentials) (*identity.Principal, error) {
	return nil, identity.ErrUnauthenticated
}

// TestRefusalsWaitForNoBody: a request that is refused by its head is answered in little time, also where its body does not come.
func TestRefusalsWaitForNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, strange := newDoor(t, access.Anybody{}), newDoor(t, unknown{})
		for what, c := range map[string]struct {
			d      *door
			sends  string
			status int
		}{
			"no method":            {d, post("/x", 10, ""), 404},
			"another host":         {d, strings.Replace(post(serverInfo, 10, ""), "localhost", "elsewhere", 1), 421},
			"another page":         {d, post(serverInfo, 10, "", "Origin: https://attacker.example\r\n"), 403},
			"no POST":              {d, strings.Replace(post(serverInfo, 10, ""), "POST", "PUT", 1), 405},
			"a description":        {d, strings.Replace(post("/openapi.json", 10, ""), "POST", "GET", 1), 200},
			"a wrong timeout":      {d, post(serverInfo, 10, "", "Connect-Timeout-Ms: x\r\n"), 400},
			"a stranger":           {strange, post(serverInfo, 10, ""), 200}, // the server within knows everybody
			"chunks":               {d, "POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 404},
			"a body of health":     {d, post("/grpc.health.v1.Health/Check", 10, "{}"), 400},
			"a body of half a GiB": {d, post(serverInfo, 512<<20, "{}"), 413},
		} {
			if code, after := c.d.answered(c.d.raw(c.sends)); code != c.status || after > 2*leftWithin {
				t.Errorf("%s: %d after %v, want %d", what, code, after, c.status)
			}
		}
		if err := d.shutdown(time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// TestDrainingEndsBodies: calls whose bodies do not come hold up no server that ends.
func TestDrainingEndsBodies(t *testing.T) {
	inBubble(t, func(d *door) {
		conns := []net.Conn{d.raw(post(serverInfo, 10, "{")), d.raw(post(serverInfo, 1<<20, "{")), d.raw(post(watch, 10, "{"))}
		for _, length := range []int64{10, 1 << 20} {
			body, r := io.Pipe()
			defer func() { _ = r.Close() }()
			go func() {
				req := d.asks(context.Background(), serverInfo, body)
				req.ContentLength = length
				if reply, err := d.client(true).Do(req); err == nil {
					_ = reply.Body.Close()
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		d.drain()
		if err := d.shutdown(10 * time.Minute); err != nil || time.Since(began) > 2*receive.Timeout {
			d.Errorf("shutdown took %v: %v", time.Since(began), err)
		}
		for _, conn := range conns[:2] {
			if code, _ := d.answered(conn); code != http.StatusServiceUnavailable {
				d.Errorf("status %d", code)
			}
		}
	})
}

// TestDeadlinesEndBodies: a call ends with its deadline, also where its body has not come.
func TestDeadlinesEndBodies(t *testing.T) {
	inBubble(t, func(d *door) {
		for _, two := range []bool{false, true} {
			for _, length := range []int64{10, 1 << 20, -1} {
				for _, head := range [][2]string{{"Connect-Timeout-Ms", "300"}, {"Grpc-Timeout", "300m"}} {
					body, end := io.Pipe()
					req := d.asks(d.Context(), serverInfo, body, head[0], head[1])
					req.ContentLength = length
					if head[0] == "Grpc-Timeout" {
						req.Header.Set("Content-Type", formWebProto)
					}
					began := time.Now()
					reply, err := d.client(two).Do(req)
					if err != nil || reply.StatusCode != http.StatusGatewayTimeout || time.Since(began) != 300*time.Millisecond {
						d.Fatalf("HTTP/2 %v, %d bytes, %s: %v, %v after %v", two, length, head, reply, err, time.Since(began))
					}
					_, _ = reply.Body.Close(), end.Close()
				}
			}
		}
	})
}

// TestBrokenBodies: who does not send a whole body is told so, and no error of the server is.
func TestBrokenBodies(t *testing.T) {
	inBubble(t, func(d *door) {
		chunked := "POST " + serverInfo + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
		for what, sends := range map[string]string{
			"no chunk":          chunked + "zz\r\n",
			"a chunk too long":  chunked + "fffffffffffffffff\r\n{}",
			"a wrong end":       chunked + "2\r\n{}xx",
			"a bare line feed":  chunked + "2\n{}\n0\n\n",
			"an extension":      chunked + "2;" + strings.Repeat("x", 1<<14) + "\r\n{}\r\n0\r\n\r\n",
			"many small chunks": chunked + strings.Repeat("1;xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n \r\n", 1<<10) + "0\r\n\r\n",
		} {
			if code, _ := d.answered(d.raw(sends)); code != http.StatusBadRequest {
				d.Errorf("%s: %d", what, code)
			}
		}
		half := d.raw(post(serverInfo, 10, "{")).(*end)
		half.write.close() // as who says that no more comes, and reads on
		if code, _ := d.answered(half); code != http.StatusBadRequest {
			d.Errorf("half a body: %d", code)
		}
		ctx, cancel := context.WithCancel(d.Context())
		body, rest := io.Pipe()
		defer func() { _ = rest.Close() }()
		gone := make(chan error)
		go func() {
			reply, err := d.client(true).Do(d.asks(ctx, serverInfo, body))
			if err == nil {
				_ = reply.Body.Close()
			}
			gone <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; err == nil {
			d.Error("a call that was cancelled has a reply")
		}
		synctest.Wait()
		if n := d.faults.Load(); n != 0 {
			d.Errorf("%d errors are the server's own", n)
		}
	})
}

// TestOneConnectionWithin: however many calls a client makes over one connection, they go over one in there, whose bounds are theirs.
func TestOneConnectionWithin(t *testing.T) {
	inBubble(t, func(d *door) {
		const most = 256
		ctx, cancel := context.WithCancel(d.Context())
		client := d.client(true)
		var calls sync.WaitGroup
		var answered atomic.Int64
		for range most {
			calls.Go(func() {
				reply, err := client.Do(d.asks(ctx, watch, strings.NewReader("{}")))
				if err == nil {
					answered.Add(1)
					_, _ = io.Copy(io.Discard, reply.Body)
					_ = reply.Body.Close()
				}
			})
		}
		<-time.After(time.Second)
		if n := d.conns.Load(); n != 1 || answered.Load() != most {
			d.Errorf("%d connections for %d calls", n, answered.Load())
		}
		cancel()
		calls.Wait()
		reply, err := client.Do(d.asks(d.Context(), serverInfo, strings.NewReader("{}")))
		if err != nil || reply.StatusCode != http.StatusOK {
			d.Errorf("a call after them: %v, %v", reply, err)
		}
	})
}

// TestSmallBodiesHaveARoom: what small bodies take that do not come is bounded for each connection, and others do not wait for them.
func TestSmallBodiesHaveARoom(t *testing.T) {
	inBubble(t, func(d *door) {
		slow, end := d.client(true), make([]io.Closer, 0)
		for range 2 * ownBodies / smallBody {
			body, w := io.Pipe()
			end = append(end, w)
			req := d.asks(d.Context(), serverInfo, body)
			req.ContentLength = smallBody
			go func() {
				if reply, err := slow.Do(req); err == nil {
					_ = reply.Body.Close()
				}
			}()
		}
		synctest.Wait()
		asks := func(client *http.Client) time.Duration {
			began := time.Now()
			reply, err := client.Do(d.asks(d.Context(), serverInfo, strings.NewReader("{}")))
			if err != nil || reply.StatusCode != http.StatusOK {
				d.Fatal(reply, err)
			}
			_ = reply.Body.Close()
			return time.Since(began)
		}
		if waited := asks(d.client(true)); waited != 0 {
			d.Errorf("another connection waited for %v", waited)
		}
		if waited := asks(slow); waited < receive.Timeout || waited > 4*receive.Timeout {
			d.Errorf("the same connection waited for %v", waited)
		}
		for _, w := range end {
			_ = w.Close()
		}
	})
}

// TestHeadersThatGoOn: a call has those of its caller, but for those of the connection, and those that gRPC takes for its own.
func TestHeadersThatGoOn(t *testing.T) {
	inBubble(t, func(d *door) {
		for what, c := range map[string]struct {
			head   []string
			status int
		}{
			"an upgrade":                 {[]string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "Http2-Settings", "AAMAAABk"}, 200},
			"a websocket":                {[]string{"Connection", "Upgrade", "Upgrade", "websocket"}, 200},
			"names of others":            {[]string{"Connection", "content-type, te, x-kept, authorization", "Authorization", "kept"}, 200},
			"a timeout of gRPC":          {[]string{"Grpc-Timeout", "1n"}, 200},
			"a wrong one":                {[]string{"Grpc-Timeout", "soon"}, 200},
			"gRPC's own":                 {[]string{"Grpc-Status", "0", "Grpc-Message", "x", "Grpc-Accept-Encoding", "gzip", "Grpc-Previous-Rpc-Attempts", "x"}, 200},
			"crumbs":                     {[]string{"Cookie", strings.Repeat("a; ", 4000)}, 200},
			"binary":                     {[]string{"X-Bin", "AAEC", "X-Bin", "AAE", "X-Bin", ""}, 200},
			"binary that is none":        {[]string{"X-Kept-Bin", "!SECRET!"}, 400},
			"binary of gRPC":             {[]string{"Grpc-Trace-Bin", "!"}, 200},
			"a forwarded address":        {[]string{"X-Forwarded-For", "192.0.2.1", "Forwarded", "for=192.0.2.1"}, 200},
			"encodings":                  {[]string{"Content-Encoding", "identity", "Content-Encoding", "gzip"}, 415},
			"two timeouts":               {[]string{"Connect-Timeout-Ms", "5000", "Connect-Timeout-Ms", "5000"}, 400},
			"a trailer":                  {[]string{"Trailer", "X-Last"}, 200},
			"an expectation":             {[]string{"Expect", "100-continue"}, 200},
			"bytes that are no letters":  {[]string{"X-Odd", "\xff\xfe"}, 200},
			"transfer that is trailered": {[]string{"Te", "trailers"}, 200},
		} {
			for _, two := range []bool{false, true} {
				if two && what == "crumbs" {
					continue // each is a header there, and they are too many
				}
				req := d.asks(d.Context(), serverInfo, strings.NewReader("{}"), append(c.head, "X-Kept", "kept")...)
				if two {
					for _, name := range []string{"Connection", "Upgrade"} { // which its client refuses to send
						req.Header.Del(name)
					}
				}
				reply, err := d.client(two).Do(req)
				if err != nil {
					d.Fatalf("%s: %v", what, err)
				}
				text, _ := io.ReadAll(reply.Body)
				_ = reply.Body.Close()
				if reply.StatusCode != c.status || strings.Contains(string(text), "SECRET") {
					d.Errorf("%s, HTTP/2 %v: %d %s, want %d", what, two, reply.StatusCode, text, c.status)
				}
				if c.status != 200 {
					continue
				}
				if got := d.head.Get("x-kept"); len(got) != 1 || got[0] != "kept" {
					d.Errorf("%s: x-kept is %q", what, got)
				}
				for name := range d.head {
					switch name {
					case ":authority", "content-type", "x-kept", "user-agent", "x-bin", "x-odd", "authorization":
					default:
						d.Errorf("%s: gRPC is told %s: %q", what, name, d.head[name])
					}
				}
			}
		}
	})
}

// TestTrailersGoNowhere: HTTP/1.1 and HTTP/2 have headers behind a body, which gRPC has not.
func TestTrailersGoNowhere(t *testing.T) {
	inBubble(t, func(d *door) {
		for _, two := range []bool{false, true} {
			client := d.client(two)
			for range 2 {
				req := d.asks(d.Context(), serverInfo, io.MultiReader(strings.NewReader("{}")))
				req.Trailer = http.Header{"Grpc-Timeout": {"1n"}, "X-Kept": {"x"}}
				reply, err := client.Do(req)
				if err != nil || reply.StatusCode != 200 {
					d.Fatalf("HTTP/2 %v: %v, %v", two, reply, err)
				}
				_, _ = io.Copy(io.Discard, reply.Body)
				_ = reply.Body.Close()
			}
		}
		if n := d.conns.Load(); n != 2 {
			d.Errorf("%d connections within, for two clients", n)
		}
	})
}

// TestPathsAreAsTheyAre: a path is a method's, letter by letter, or none's.
func TestPathsAreAsTheyAre(t *testing.T) {
	inBubble(t, func(d *door) {
		for path, want := range map[string]int{
			serverInfo: 200, serverInfo + "?a=b": 200, "http://localhost" + serverInfo: 200, "/" + serverInfo: 404, "/x/.." + serverInfo: 404, "/." + serverInfo: 404, serverInfo + "/": 404,
			strings.Replace(serverInfo, "/Server", "%2fServer", 1): 404, strings.Replace(serverInfo, "/t", "/%74", 1): 404, "*": 404, "localhost:80": 404,
			serverInfo + "%00": 404, "http://elsewhere" + serverInfo: 421,
		} {
			if code, _ := d.answered(d.raw(post(path, 2, "{}"))); code != want {
				d.Errorf("%s: %d, want %d", path, code, want)
			}
		}
		for _, sends := range []string{"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n"} {
			if code, _ := d.answered(d.raw(sends)); code != 404 {
				d.Errorf("%.20s: %d", sends, code)
			}
		}
	})
}

// TestCallsBehindTheEnd: once the server within takes no more connections, calls are told that, in each form.
func TestCallsBehindTheEnd(t *testing.T) {
	inBubble(t, func(d *door) {
		if err := d.Listener().Close(); err != nil {
			d.Fatal(err)
		}
		for _, form := range []string{formJSON, formProto, formWebProto} {
			body := map[string]string{formJSON: "{}", formWebProto: "\x00\x00\x00\x00\x00"}[form]
			req := d.asks(d.Context(), serverInfo, strings.NewReader(body))
			req.Header.Set("Content-Type", form)
			reply, err := d.client(true).Do(req)
			if err != nil {
				d.Fatal(err)
			}
			text, _ := io.ReadAll(reply.Body)
			_ = reply.Body.Close()
			if told := string(text) + reply.Header.Get("Grpc-Message"); !strings.Contains(told, receive.ErrDraining.Error()) {
				d.Errorf("%s: %d %s", form, reply.StatusCode, told)
			}
		}
	})
}

// TestShutdownAmidCalls: a gateway that ends amid calls and streams ends them and leaves nothing, whether it waits for them or not.
func TestShutdownAmidCalls(t *testing.T) {
	for _, within := range []time.Duration{0, time.Millisecond, time.Minute} {
		inBubble(t, func(d *door) {
			var calls sync.WaitGroup
			for i := range 12 {
				client := d.client(i%2 == 0)
				calls.Go(func() {
					path := []string{serverInfo, watch, resolveAlias}[i%3]
					for n := 0; ; n++ {
						ctx, cancel := context.WithTimeout(d.Context(), time.Duration(n%3+1)*time.Second)
						reply, err := client.Do(d.asks(ctx, path, strings.NewReader("{}")))
						if err == nil {
							_, err = io.Copy(io.Discard, reply.Body)
							_ = reply.Body.Close()
						}
						over := err != nil && ctx.Err() == nil
						cancel()
						if over {
							return // the server takes no more
						}
						<-time.After(300 * time.Millisecond)
					}
				})
			}
			<-time.After(5 * time.Second)
			d.drain()
			if err := d.shutdown(within); err != nil {
				d.Error(err)
			}
			calls.Wait()
		})
	}
}

// TestCancelledCalls: calls that a client cancels end, and harm none of its others.
func TestCancelledCalls(t *testing.T) {
	inBubble(t, func(d *door) {
		client := d.client(true)
		stays, err := client.Do(d.asks(d.Context(), watch, strings.NewReader("{}")))
		if err != nil {
			d.Fatal(err)
		}
		defer func() { _ = stays.Body.Close() }()
		lines := bufio.NewReader(stays.Body)
		for i := range 200 {
			if _, err := lines.ReadString('\n'); err != nil {
				d.Fatalf("the other call ended after %d: %v", i, err)
			}
			ctx, cancel := context.WithCancel(d.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if reply, err := client.Do(d.asks(ctx, resolveAlias, strings.NewReader("{}"))); err == nil {
					_ = reply.Body.Close()
				}
			}()
			synctest.Wait()
			cancel()
			<-gone
			d.next <- struct{}{}
		}
		if n := d.conns.Load(); n != 1 {
			d.Errorf("%d connections", n)
		}
	})
}

// TestLinksEnd: a connection within is left for a while, and ends with its client's.
func TestLinksEnd(t *testing.T) {
	inBubble(t, func(d *door) {
		for _, wait := range []time.Duration{0, linkIdleFor + time.Second} {
			before := d.conns.Load()
			conn := d.raw("")
			for range 2 {
				d.sends(conn, post(serverInfo, 2, "{}"))
				if code, _ := d.answered(conn); code != 200 {
					d.Fatalf("%d", code)
				}
				<-time.After(wait)
			}
			if n := d.conns.Load() - before; (n == 1) != (wait == 0) {
				d.Errorf("%d connections after %v", n, wait)
			}
		}
	})
}
