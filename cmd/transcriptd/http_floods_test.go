//go:build !race

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/overhttp"
)

// TestHTTPFloods: clients over HTTP that send no head, or no body, or take no reply, hold little memory, and others are served beside them.
func TestHTTPFloods(t *testing.T) {
	p := startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=off", "--http-listen=127.0.0.1:0")
	if p.anonymous(t) == 0 {
		t.Skip("the system does not tell a process's memory")
	}
	client := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	small, large := chainOf(t, client, 1, 1000), chainOf(t, client, 35, 100<<10)
	request := func(method, body string, length int) string {
		return fmt.Sprintf("POST /transcript.v1.TranscriptService/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, length, body)
	}
	asks := fmt.Sprintf(`{"head":{"nodeId":"%s"}}`, large)
	for what, c := range map[string]struct {
		sends string
		conns int
		drips byte // what is sent now and then; 0: nothing
	}{
		"heads that do not end":        {"POST /transcript.v1.TranscriptService/PutNode HTTP/1.1\r\nHost: localhost\r\nX: ", 300, 'x'},
		"bodies that do not come":      {request("PutNode", `{"messages":[{"parts":[{"text":"`, 8<<20), 100, 'x'},
		"replies that nobody takes":    {request("Assemble", asks, len(asks)), 100, 0},
		"streams that nobody takes":    {request("StreamAssemble", asks, len(asks)), 100, 0},
		"many requests on one another": {strings.Repeat(request("Assemble", asks, len(asks)), 50), 20, 0},
		"HTTP/2 without a window":      {inFrames(t, 250, "Assemble", asks, len(asks), false), 20, 0},
		"HTTP/2 without bodies":        {inFrames(t, 250, "PutNode", "", 64<<10, false), 40, 0},
		"HTTP/2 that takes calls back": {inFrames(t, 4000, "Assemble", asks, len(asks), true), 10, 0},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var running sync.WaitGroup
			for range c.conns {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.http, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() {
					defer func() { _ = conn.Close() }()
					_, err := io.WriteString(conn, c.sends)
					for ; ctx.Err() == nil; rest(ctx, time.Second) {
						if c.drips != 0 && err == nil {
							_, err = conn.Write([]byte{c.drips})
						}
					}
				})
			}
			took, most := bystander(t, p, over(p.http, overhttp.Curl, &http.Transport{}), small)
			cancel()
			running.Wait()
			t.Logf("%d calls of others; %d MiB of anonymous memory at most", len(took), most>>20)
			if most > maxUnreadMemory {
				t.Errorf("%d MiB of memory, at most %d", most>>20, maxUnreadMemory>>20)
			}
		})
	}
}

// inFrames are the frames of a connection of HTTP/2 that makes calls, and opens no window for replies.
func inFrames(t *testing.T, calls uint32, method, body string, length int, reset bool) string {
	t.Helper()
	var frames, head bytes.Buffer
	frames.WriteString(http2.ClientPreface)
	to, encoder := http2.NewFramer(&frames, nil), hpack.NewEncoder(&head)
	err := to.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	for id := uint32(1); id < 2*calls; id += 2 {
		head.Reset()
		for _, h := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":authority", "localhost"}, {":path", "/transcript.v1.TranscriptService/" + method},
			{"content-type", "application/json"}, {"content-length", fmt.Sprint(length)},
		} {
			err = errors.Join(err, encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
		}
		err = errors.Join(err, to.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}))
		if body != "" {
			err = errors.Join(err, to.WriteData(id, true, []byte(body)))
		}
		if reset {
			err = errors.Join(err, to.WriteRSTStream(id, http2.ErrCodeCancel))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return frames.String()
}
