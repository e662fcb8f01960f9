package flood

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

// wire is a connection that calls PutNode with a fraction of the work of a gRPC client: requests are laid together from bytes
// that were made before, and many are written at once. It keeps what HTTP/2 and gRPC ask of a client: windows, the server's bound
// on streams, deadlines told and kept, and a reset for what nobody waits for any more.
type wire struct {
	conn net.Conn
	// heads are the fields of each call's head, but for the time that it has.
	heads []hpack.HeaderField
	// read is the reader's alone, and so are details, those of the last status that had some, and reason, what they say.
	read            *http2.Framer
	details, reason string
	wake            chan struct{}
	ended           context.Context
	// end ends the connection, for a cause.
	end context.CancelCauseFunc

	mu sync.Mutex
	// write appends to out, which is what is to be sent.
	write   *http2.Framer
	out     []byte
	encoder *hpack.Encoder
	header  bytes.Buffer // the encoder's
	// waiting are calls that were not sent, order all that may still have an answer, by deadline, sent those under way by stream.
	waiting, order []*call
	sent           map[uint32]*call
	// window is how much may be sent, streams how many calls may be under way, next the number of the next.
	window  int64
	streams int
	next    uint32
}

// call is a put.
type call struct {
	put
	deadline time.Time
	stream   uint32
	over     bool
	// head is the node that was put, if the reply has come.
	head string
	// done is called once with what became of the put. It may begin another.
	done func(ending)
}

// ending is what became of a put.
type ending struct {
	code codes.Code
	// head is the node, of a put that succeeded; reason what the server gave for one that it refused.
	head, reason string
	// silent says that there was no status of the server's by the deadline.
	silent bool
}

const (
	// firstStreams is how many streams there may be before the server has told its bound, firstWindow its window then.
	firstStreams, firstWindow = 100, 65535
	// maxFrame is how large a frame may be: a put is one.
	maxFrame = 16 << 10
	// writeBytes is about how much is written at once, readBytes how much is read: many answers come together.
	writeBytes, readBytes = 128 << 10, 64 << 10
	// slack is how far apart client and server may see a deadline, and so how long after it the client waits for the server's
	// DEADLINE_EXCEEDED. gRPC's clients show that status without one of the server's.
	slack = 20 * time.Millisecond
)

// dial connects to a server, whose calls show a token, if there is one; lost is told why the connection ended, unless it was closed.
func dial(ctx context.Context, addr, token string, lost func(error)) (*wire, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	w := &wire{
		conn: conn, heads: heads(token), wake: make(chan struct{}, 1), sent: map[uint32]*call{}, window: firstWindow, streams: firstStreams, next: 1,
		read: http2.NewFramer(nil, bufio.NewReaderSize(conn, readBytes)), out: []byte(http2.ClientPreface),
	}
	w.read.SetReuseFrames()
	w.read.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	w.write, w.encoder = http2.NewFramer(appending{&w.out}, nil), hpack.NewEncoder(&w.header)
	w.ended, w.end = context.WithCancelCause(context.Background())
	context.AfterFunc(w.ended, func() { w.fail(lost) })
	// Into memory, as all that is written by w.write.
	_ = w.write.WriteSettings(http2.Setting{ID: http2.SettingEnablePush})
	_ = w.write.WriteWindowUpdate(0, 1<<30)
	go w.send()
	go w.receive()
	return w, nil
}

type appending struct{ to *[]byte }

func (a appending) Write(b []byte) (int, error) {
	*a.to = append(*a.to, b...)
	return len(b), nil
}

// close ends the connection and all that is under way on it.
func (w *wire) close() { w.end(net.ErrClosed) }

// begin sends a call as soon as the server's bounds allow.
func (w *wire) begin(c *call) {
	w.mu.Lock()
	over := w.ended.Err() != nil
	if !over {
		w.waiting, w.order = append(w.waiting, c), append(w.order, c)
	}
	w.mu.Unlock()
	if over {
		c.done(ending{code: codes.Unavailable})
		return
	}
	w.kick()
}

func (w *wire) kick() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// send writes what waits until the connection ends.
func (w *wire) send() {
	var out []byte
	for {
		w.mu.Lock()
		w.gather()
		out, w.out = w.out, out[:0]
		w.mu.Unlock()
		if len(out) == 0 {
			select {
			case <-w.wake:
				continue
			case <-w.ended.Done():
				return
			}
		}
		if _, err := w.conn.Write(out); err != nil {
			w.end(err)
			return
		}
	}
}

// gather lays out the calls that may be sent.
func (w *wire) gather() {
	n, now := 0, time.Now()
	for ; n < len(w.waiting) && len(w.out) < writeBytes; n++ {
		c := w.waiting[n]
		if c.over || !c.deadline.After(now) {
			continue
		}
		if len(w.sent) >= w.streams || w.window < maxFrame {
			break
		}
		c.stream = w.next
		w.next += 2
		w.sent[c.stream] = c
		w.window -= int64(w.request(c, c.deadline.Sub(now)))
	}
	w.waiting = w.waiting[n:]
}

// receive takes what the server sends until the connection ends.
func (w *wire) receive() {
	for {
		frame, err := w.read.ReadFrame()
		if err != nil {
			w.end(err)
			return
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				w.finish(f.StreamID, w.status(f))
			}
		case *http2.RSTStreamFrame:
			if f.ErrCode != http2.ErrCodeRefusedStream {
				// gRPC's server cancels a call at its deadline by itself, whatever the handler does.
				w.finish(f.StreamID, ending{code: codes.Unavailable, silent: f.ErrCode == http2.ErrCodeCancel})
			} else {
				w.manage(frame)
			}
		case *http2.GoAwayFrame:
			w.end(fmt.Errorf("the server goes away: %v", f.ErrCode))
		default:
			w.manage(frame)
		}
	}
}

// manage takes the other frames.
func (w *wire) manage(frame http2.Frame) {
	w.mu.Lock()
	defer w.kick()
	defer w.mu.Unlock()
	switch f := frame.(type) {
	case *http2.DataFrame:
		if c := w.sent[f.StreamID]; c != nil {
			c.head = headIn(f.Data())
		}
	case *http2.RSTStreamFrame: // refused: to the server a call that has ended was still under way, and clients send it again
		if c := w.sent[f.StreamID]; c != nil {
			delete(w.sent, f.StreamID)
			w.waiting = append(w.waiting, c)
		}
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			w.window += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = w.write.WritePing(true, f.Data)
		}
	case *http2.SettingsFrame:
		if v, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
			w.streams = int(v)
		}
		if !f.IsAck() {
			_ = w.write.WriteSettingsAck()
		}
	}
}

// finish ends a call under way. What comes after the deadline is worth nothing to its caller, but for the server's word that it
// has passed.
func (w *wire) finish(stream uint32, e ending) {
	w.mu.Lock()
	c := w.sent[stream]
	delete(w.sent, stream)
	known := c != nil && !c.over
	if known {
		c.over = true
	}
	w.mu.Unlock()
	if !known {
		return
	}
	if e.code != codes.DeadlineExceeded && !time.Now().Before(c.deadline) {
		e = ending{code: codes.DeadlineExceeded, silent: true}
	}
	if e.code == codes.OK {
		e.head = c.head
	}
	c.done(e)
	w.kick()
}

// expire ends the calls that have had no answer by a time, and tells the server so.
func (w *wire) expire(now time.Time) {
	w.mu.Lock()
	n := 0
	var silent []*call
	for ; n < len(w.order) && (w.order[n].over || w.order[n].deadline.Add(slack).Before(now)); n++ {
		c := w.order[n]
		if c.over {
			continue
		}
		c.over = true
		silent = append(silent, c)
		if w.sent[c.stream] == c {
			delete(w.sent, c.stream)
			_ = w.write.WriteRSTStream(c.stream, http2.ErrCodeCancel)
		}
	}
	w.order = w.order[n:]
	w.mu.Unlock()
	for _, c := range silent {
		c.done(ending{code: codes.DeadlineExceeded, silent: true})
	}
	if len(silent) > 0 {
		w.kick()
	}
}

// fail ends all calls of a connection that has ended.
func (w *wire) fail(lost func(error)) {
	_ = w.conn.Close() // why it ended is known
	w.mu.Lock()
	open := w.order
	w.waiting, w.order = nil, nil
	w.mu.Unlock()
	if cause := context.Cause(w.ended); !errors.Is(cause, net.ErrClosed) {
		lost(fmt.Errorf("a connection under load ended: %w", cause))
	}
	for _, c := range open {
		w.mu.Lock()
		over := c.over
		c.over = true
		w.mu.Unlock()
		if !over {
			c.done(ending{code: codes.Unavailable})
		}
	}
}
