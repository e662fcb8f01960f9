package server

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/transport"
)

// A head is bounded: clients are told, and refuse a call with a larger one themselves.
func TestHeadsAreBounded(t *testing.T) {
	c := newCrowd(t, 100)
	close(c.store.gate)
	for size, want := range map[int]codes.Code{transport.MaxHead / 2: codes.OK, transport.MaxHead: codes.Internal} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", size))
		if err := c.put(ctx, size); status.Code(err) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if n := len(c.store.came); n != 1 {
		t.Errorf("%d puts came", n)
	}
}

// Calls whose request gRPC cannot receive stand in the log and the metrics as the caller's mistake, with a request's id of their
// own, though gRPC tells the caller INTERNAL, by itself and without a reason (docs/api.md). Those of health, which anybody may make, fill no log.
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
					log := c.logs.String()
					if access.IsHealth(call.method) && log != "" { // anybody may call
						c.Errorf("the log: %s", log)
					} else if !access.IsHealth(call.method) && (!strings.Contains(log, "level=INFO") || !strings.Contains(log, "grpc.code=InvalidArgument") ||
						!strings.Contains(log, "cardinality") || strings.Contains(log, "ERROR")) {
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

// Part of a message behind a whole one stands in the log as the caller's mistake, whatever gRPC tells the caller.
func TestMoreThanARequest(t *testing.T) {
	for name, more := range map[string][]byte{"part of a head": {0, 0, 0}, "a head": {0, 0, 0, 0, 9}} {
		for _, method := range []string{transcriptv1.TranscriptService_PutNode_FullMethodName, transcriptv1.TranscriptService_StreamAssemble_FullMethodName} {
			t.Run(name+" to "+method, func(t *testing.T) {
				slowly(t, 1, func(c *crowd) {
					body, err := proto.Marshal(text(3))
					if err != nil {
						c.Fatal(err)
					}
					body = append([]byte{0, 0, 0, 0, byte(len(body))}, body...)
					if got := c.raw(method, append(body, more...)); got != codes.Internal {
						c.Errorf("ended with %v", got)
					}
					synctest.Wait()
					if log := c.logs.String(); !strings.Contains(log, "grpc.code=InvalidArgument") || strings.Contains(log, "ERROR") {
						c.Errorf("the log: %s", log)
					}
				})
			})
		}
	}
}

// raw calls a method with a body as it is, and returns how the call ends.
func (c *crowd) raw(method string, body []byte) codes.Code {
	c.Helper()
	conn, err := c.dial(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close()
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			c.Fatal(err)
		}
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_, err = io.WriteString(conn, http2.ClientPreface)
	err = errors.Join(err, framer.WriteSettings(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true}), framer.WriteData(1, true, body))
	for err == nil {
		var frame http2.Frame
		if frame, err = framer.ReadFrame(); err != nil {
			break
		}
		if meta, ok := frame.(*http2.MetaHeadersFrame); ok && meta.StreamEnded() {
			for _, f := range meta.Fields {
				if code, err := strconv.Atoi(f.Value); f.Name == "grpc-status" && err == nil {
					return codes.Code(code)
				}
			}
		}
	}
	c.Error(err)
	return codes.Unknown
}
