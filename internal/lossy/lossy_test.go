package lossy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/lossy"
)

// service is a server that tells what came to it.
type service struct {
	transcriptv1.UnimplementedTranscriptServiceServer
	puts chan string // texts that were put
}

func (s *service) PutNode(ctx context.Context, req *transcriptv1.PutNodeRequest) (*transcriptv1.PutNodeResponse, error) {
	text := req.Messages[0].Parts[0].GetText()
	s.puts <- text
	md, _ := metadata.FromIncomingContext(ctx)
	err := errors.Join(
		grpc.SetHeader(ctx, metadata.Pairs("x-header", "h", "x-raw-bin", "\x00\xff")),
		grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", strings.Join(md.Get("x-asked"), ","))),
	)
	if err != nil {
		return nil, err
	}
	switch text {
	case "refuse":
		refused, err := status.New(codes.Aborted, "moved").WithDetails(&errdetails.ErrorInfo{Domain: "transcript.v1", Reason: "ALIAS_MOVED"})
		if err != nil {
			return nil, err
		}
		return nil, refused.Err()
	case "wait":
		<-ctx.Done()
		s.puts <- "ended"
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &transcriptv1.PutNodeResponse{NodeId: text}, nil
}

func (s *service) StreamAssemble(_ *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	for _, id := range []string{"1", "2", "3"} {
		if err := out.Send(&transcriptv1.StreamAssembleResponse{HeadId: id}); err != nil {
			return err
		}
	}
	return nil
}

// started is a server behind a proxy, and a client of it.
func started(t *testing.T) (*service, *lossy.Proxy, transcriptv1.TranscriptServiceClient) {
	t.Helper()
	s := &service{puts: make(chan string, 10)}
	g := grpc.NewServer()
	transcriptv1.RegisterTranscriptServiceServer(g, s)
	p, err := lossy.New(serve(t, g.Serve))
	ok(t, err)
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient(serve(t, p.Serve), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	ok(t, err)
	t.Cleanup(func() { ok(t, errors.Join(conn.Close(), p.Close())) })
	return s, p, transcriptv1.NewTranscriptServiceClient(conn)
}

// serve serves at a port of loopback and gives its address.
func serve(t *testing.T, by func(net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	go func() { _ = by(l) }() // it ends with the test
	return l.Addr().String()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within is a context that ends before a test hangs.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func put(text string) *transcriptv1.PutNodeRequest {
	return &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}}}}}
}

// gone holds an error to be what a client sees where a reply was lost.
func gone(t *testing.T, err error) {
	t.Helper()
	if s := status.Convert(err); s.Code() != codes.Unavailable || len(s.Details()) > 0 {
		t.Fatalf("got %v, want UNAVAILABLE without details", err)
	}
}

// came holds what was put last to a text; empty: nothing was.
func came(t *testing.T, s *service, want string) {
	t.Helper()
	select {
	case got := <-s.puts:
		if got != want {
			t.Errorf("%q was put, want %q", got, want)
		}
	default:
		if want != "" {
			t.Errorf("%q was not put", want)
		}
	}
}

func TestWhatNoRuleTakesPassesAsItCame(t *testing.T) {
	s, p, c := started(t)
	ctx := metadata.AppendToOutgoingContext(within(t), "x-asked", "a", "x-asked", "b")
	var header, trailer metadata.MD
	res, err := c.PutNode(ctx, put("x"), grpc.Header(&header), grpc.Trailer(&trailer), grpc.UseCompressor(gzip.Name))
	ok(t, err)
	if res.NodeId != "x" || header.Get("x-header")[0] != "h" || header.Get("x-raw-bin")[0] != "\x00\xff" || trailer.Get("x-trailer")[0] != "a,b" {
		t.Errorf("got %v, header %v, trailer %v", res, header, trailer)
	}
	came(t, s, "x")
	_, err = c.PutNode(ctx, put("refuse"), grpc.Trailer(&trailer))
	if st := status.Convert(err); st.Code() != codes.Aborted || st.Message() != "moved" || len(st.Details()) != 1 || trailer.Get("x-trailer")[0] != "a,b" {
		t.Errorf("got %v, trailer %v", err, trailer)
	}
	came(t, s, "refuse")
	large := strings.Repeat("x", 3<<20)
	res, err = c.PutNode(ctx, put(large), grpc.MaxCallRecvMsgSize(4<<20))
	ok(t, err)
	if res.NodeId != large {
		t.Errorf("of %d bytes %d came back", len(large), len(res.NodeId))
	}
	came(t, s, large)
	if _, err = c.Alias(ctx, &transcriptv1.AliasRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v", err)
	}
	if got := streamed(t, c, nil); got != "123" {
		t.Errorf("frames %q", got)
	}
	if state := p.State(); state.Calls["PutNode"] != 3 || state.Calls["Alias"] != 1 || state.Calls["StreamAssemble"] != 1 {
		t.Errorf("state %+v", state)
	}
}

// streamed reads a stream to its end, which must be as want says; nil: its end.
func streamed(t *testing.T, c transcriptv1.TranscriptServiceClient, want func(*testing.T, error)) (frames string) {
	t.Helper()
	stream, err := c.StreamAssemble(within(t), &transcriptv1.StreamAssembleRequest{})
	ok(t, err)
	for {
		frame, err := stream.Recv()
		switch {
		case err == nil:
			frames += frame.HeadId
		case want != nil:
			want(t, err)
			return frames
		case !errors.Is(err, io.EOF):
			t.Fatal(err)
		default:
			return frames
		}
	}
}

func TestWhatIsLost(t *testing.T) {
	s, p, c := started(t)
	ctx := within(t)
	ok(t, p.Add(lossy.Rule{Methods: []string{"PutNode"}, At: lossy.Request, Skip: 1, Times: 2}))
	_, err := c.PutNode(ctx, put("skipped"))
	ok(t, err)
	came(t, s, "skipped")
	for range 2 {
		_, err = c.PutNode(ctx, put("lost"))
		gone(t, err)
		came(t, s, "")
	}
	ok(t, p.Add(lossy.Rule{At: lossy.Reply}))
	_, err = c.PutNode(ctx, put("done"))
	gone(t, err)
	came(t, s, "done")
	ok(t, p.Add(lossy.Rule{At: lossy.Reply, Then: lossy.Break}))
	_, err = c.PutNode(ctx, put("broken"))
	gone(t, err)
	came(t, s, "broken")
	ok(t, p.Add(lossy.Rule{At: lossy.Request, Code: "RESOURCE_EXHAUSTED", Reason: "OVERLOADED"}))
	_, err = c.PutNode(ctx, put("refused"), grpc.WaitForReady(true))
	st := status.Convert(err)
	if info, isInfo := detail(st).(*errdetails.ErrorInfo); st.Code() != codes.ResourceExhausted || !isInfo || info.Reason != "OVERLOADED" || info.Domain != "transcript.v1" {
		t.Errorf("got %v %v", st, st.Details())
	}
	came(t, s, "")
	if state := p.State(); len(state.Rules) > 0 {
		t.Errorf("left %v", state.Rules)
	}
	for frames, want := range []string{"", "1", "12", "123"} {
		ok(t, p.Add(lossy.Rule{Methods: []string{"PutNode", "StreamAssemble"}, At: lossy.Reply, Frames: frames}))
		if got := streamed(t, c, gone); got != want {
			t.Errorf("%q came, want %q", got, want)
		}
	}
	ok(t, p.Add(lossy.Rule{Methods: []string{"Alias"}, At: lossy.Reply}))
	if got := streamed(t, c, nil); got != "123" || len(p.State().Rules) != 1 {
		t.Errorf("%q came, left %v", got, p.State().Rules)
	}
}

func detail(s *status.Status) any {
	if len(s.Details()) == 0 {
		return nil
	}
	return s.Details()[0]
}

func TestWhatIsHeld(t *testing.T) {
	s, p, c := started(t)
	ctx := within(t)
	ended := make(chan error, 1)
	call := func(ctx context.Context, text string) {
		_, err := c.PutNode(ctx, put(text))
		ended <- err
	}
	ok(t, p.Add(lossy.Rule{At: lossy.Reply, Hold: true}))
	go call(ctx, "first")
	ok(t, p.AwaitHeld(ctx))
	came(t, s, "first")
	_, err := c.PutNode(ctx, put("meanwhile"))
	ok(t, err)
	came(t, s, "meanwhile")
	p.Release()
	gone(t, <-ended)
	ok(t, p.Add(lossy.Rule{At: lossy.Request, Hold: true, Then: lossy.Pass}))
	go call(ctx, "late")
	ok(t, p.AwaitHeld(ctx))
	came(t, s, "")
	p.Reset()
	ok(t, <-ended)
	came(t, s, "late")
	brief, cancel := context.WithCancel(ctx)
	ok(t, p.Add(lossy.Rule{At: lossy.Request, Hold: true}))
	go call(brief, "given up")
	ok(t, p.AwaitHeld(ctx))
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	came(t, s, "")
	if err := p.AwaitHeld(brief); p.State().Held == 0 && !errors.Is(err, context.Canceled) {
		t.Errorf("nothing is held: %v", err)
	}
}

func TestCancelsAndDeadlinesReachTheServer(t *testing.T) {
	s, _, c := started(t)
	brief, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	_, err := c.PutNode(brief, put("wait"))
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"wait", "ended"} {
		select {
		case got := <-s.puts:
			if got != want {
				t.Errorf("%q came, want %q", got, want)
			}
		case <-within(t).Done():
			t.Fatal("the server waits still")
		}
	}
}

func TestRulesThatSayNothing(t *testing.T) {
	_, p, _ := started(t)
	for says, rule := range map[string]lossy.Rule{
		"at:":              {},
		"then:":            {At: lossy.Reply, Then: "explode"},
		"below 0":          {At: lossy.Reply, Times: -1},
		"frames:":          {At: lossy.Request, Frames: 1},
		"pass without":     {At: lossy.Reply, Then: lossy.Pass},
		"code: \"OK\"":     {At: lossy.Reply, Code: "OK"},
		"code: \"GONE\"":   {At: lossy.Reply, Code: "GONE"},
		"code and reason:": {At: lossy.Reply, Then: lossy.Break, Reason: "OVERLOADED"},
	} {
		if err := p.Add(rule); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
	if len(p.State().Rules) > 0 {
		t.Error("a rule that was refused is there")
	}
}

func TestControl(t *testing.T) {
	s, p, c := started(t)
	control := httptest.NewServer(p.Control())
	t.Cleanup(control.Close)
	ctx := within(t)
	ask := func(method, path, body string, want int) string {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, control.URL+path, strings.NewReader(body))
		ok(t, err)
		res, err := http.DefaultClient.Do(req)
		ok(t, err)
		defer func() { ok(t, res.Body.Close()) }()
		answer, err := io.ReadAll(res.Body)
		ok(t, err)
		if res.StatusCode != want || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %s %s", method, path, res.Status, answer)
		}
		return string(answer)
	}
	ask("POST", "/rules", `{"methods": ["PutNode"], "at": "reply", "hold": true}`, http.StatusOK)
	for _, bad := range []string{`{"at": "never"}`, `{"at": "reply", "att": 1}`, ``} {
		if answer := ask("POST", "/rules", bad, http.StatusBadRequest); !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %s", bad, answer)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.PutNode(ctx, put("x"))
		ended <- err
	}()
	ask("GET", "/held", "", http.StatusOK)
	came(t, s, "x")
	var state lossy.State
	ok(t, json.Unmarshal([]byte(ask("GET", "/state", "", http.StatusOK)), &state))
	if state.Held != 1 || state.Calls["PutNode"] != 1 || len(state.Rules) != 0 {
		t.Errorf("state %+v", state)
	}
	ask("POST", "/release", "", http.StatusOK)
	gone(t, <-ended)
	ask("POST", "/rules", `{"at": "reply"}`, http.StatusOK)
	ask("POST", "/reset", "", http.StatusOK)
	_, err := c.PutNode(ctx, put("y"))
	ok(t, err)
	if state := p.State(); len(state.Calls) != 1 || state.Calls["PutNode"] != 1 {
		t.Errorf("state %+v", state)
	}
}
