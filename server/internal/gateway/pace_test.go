package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framed is a client of HTTP/2 that sends frames as a test likes.
type framed struct {
	*http2.Framer
	d *door
}

// frames begins HTTP/2, with a window for replies.
func (d *door) frames(window uint32) *framed {
	d.Helper()
	conn := d.raw(http2.ClientPreface)
	f := &framed{http2.NewFramer(conn, conn), d}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.must(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
	return f
}

func (f *framed) must(err error) {
	f.d.Helper()
	if err != nil {
		f.d.Fatal(err)
	}
}

// asks begins a request; without a body it is whole.
func (f *framed) asks(stream uint32, path string, body []byte, more ...string) {
	f.d.Helper()
	var head strings.Builder
	encoder := hpack.NewEncoder(&head)
	all := append([]string{":method", "POST", ":scheme", "http", ":authority", "localhost", ":path", path, "content-type", "application/json"}, more...)
	for i := 0; i < len(all); i += 2 {
		f.must(encoder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}))
	}
	f.must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte(head.String()), EndHeaders: true, EndStream: body == nil}))
	if body != nil {
		f.must(f.WriteData(stream, true, body))
	}
}

// until reads until a frame that is wanted, and answers pings and settings.
func (f *framed) until(wanted func(http2.Frame) bool) (http2.Frame, error) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.must(f.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				f.must(f.WritePing(true, frame.Data))
			}
		}
		if wanted(frame) {
			return frame, nil
		}
	}
}

// TestRepliesThatAreNotTaken: a client that opens no window for a reply loses its stream in time, whatever the reply is.
func TestRepliesThatAreNotTaken(t *testing.T) {
	for _, path := range []string{"/x", openAPIPath} { // what is in a proxy waits with a lock, which no bubble sees
		inBubble(t, func(d *door) {
			f := d.frames(0)
			f.asks(1, path, []byte("{}"))
			began := time.Now()
			frame, err := f.until(func(f http2.Frame) bool { return f.Header().Type == http2.FrameRSTStream })
			if err != nil || frame.Header().StreamID != 1 || time.Since(began) > 2*takenWithin {
				d.Errorf("%s: %v, %v after %v", path, frame, err, time.Since(began))
			}
			if err := d.shutdown(time.Minute); err != nil {
				d.Error(err)
			}
		})
	}
}

// TestPanicsAreErrors: a panic is an error of one call, and so is a reply from within that is cut off; a reply that has begun ends in its midst.
func TestPanicsAreErrors(t *testing.T) {
	for value, want := range map[any]struct{ status, faults int }{"SECRET": {500, 1}, http.ErrAbortHandler: {503, 0}} {
		for _, begun := range []bool{false, true} {
			d := &door{T: t}
			handler, err := around(func(string) bool { return true }, nil, newRefusals(nil, d.told), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1")
				if begun {
					_, _ = w.Write([]byte("{"))
				}
				panic(value)
			}))
			if err != nil {
				t.Fatal(err)
			}
			answer := &recorded{header: http.Header{}}
			func() {
				defer func() {
					if p := recover(); (p == http.ErrAbortHandler) != begun {
						t.Errorf("%v, begun %v: panics with %v", value, begun, p)
					}
				}()
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/x", http.NoBody)
				handler.ServeHTTP(answer, r)
			}()
			text := answer.String()
			if strings.Contains(text, "SECRET") || int(d.faults.Load()) != want.faults {
				t.Errorf("%v, begun %v: %s, %d faults", value, begun, text, d.faults.Load())
			}
			if !begun && (answer.status != want.status || !strings.Contains(text, `"code"`) || answer.header.Get("Content-Length") != "") {
				t.Errorf("%v: %d %v %s", value, answer.status, answer.header, text)
			}
		}
	}
}

// recorded is an answer.
type recorded struct {
	strings.Builder
	header http.Header
	status int
}

func (r *recorded) Header() http.Header    { return r.header }
func (r *recorded) WriteHeader(status int) { r.status = status }

var _ io.Writer = (*recorded)(nil)
