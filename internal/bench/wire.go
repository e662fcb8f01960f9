package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// wire is a connection that calls PutNode with a fraction of the work of a gRPC client: requests are laid together from
// bytes that were made before, and many are written at once. It keeps what HTTP/2 and gRPC ask of a client: windows, the
// server's bound on streams, deadlines told and kept, and a reset for what nobody waits for any more.
type wire struct {
	conn net.Conn
	// framer reads; only the reader has it.
	framer *http2.Framer
	wake   chan struct{}
	ended  context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	encoder *hpack.Encoder
	header  bytes.Buffer // the encoder's
	// waiting are calls that were not sent, order all whose deadline has not come, sent those under way by stream.
	waiting, order []*wireCall
	sent           map[uint32]*wireCall
	// control are frames to write before any call.
	control []byte
	// window is how much may be sent, streams how many calls may be under way, next the number of the next.
	window  int64
	streams int
	next    uint32
	fault   error
}

// wireCall is a put.
type wireCall struct {
	namespace, parent string
	salt, messages    []byte
	deadline          time.Time
	stream            uint32
	over              bool
	// head is the node that was put, if the reply has come.
	head string
	// done is called once with what became of the put. It may begin another.
	done func(head string, code codes.Code, reason string)
}

const (
	// firstStreams is how many streams there may be before the server has told its bound, firstWindow its window then.
	firstStreams, firstWindow = 100, 65535
	// maxFrame is how large a frame may be: a put is one.
	maxFrame = 16 << 10
	// writeBytes is about how much is written at once.
	writeBytes = 128 << 10
	// deadlineSlack is how far apart client and server may see a deadline.
	deadlineSlack = 20 * time.Millisecond
	// expiryStep is how often deadlines are looked at.
	expiryStep = 5 * time.Millisecond
)

// dialWire connects to a server.
func dialWire(ctx context.Context, addr string) (*wire, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	w := &wire{
		conn: conn, wake: make(chan struct{}, 1), sent: map[uint32]*wireCall{},
		window: firstWindow, streams: firstStreams, next: 1,
	}
	w.ended, w.end = context.WithCancel(context.Background())
	w.encoder = hpack.NewEncoder(&w.header)
	var first bytes.Buffer
	first.WriteString(http2.ClientPreface)
	opening := http2.NewFramer(&first, nil)
	err = errors.Join(opening.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}), opening.WriteWindowUpdate(0, 1<<30))
	if _, failed := conn.Write(first.Bytes()); err != nil || failed != nil {
		return nil, errors.Join(err, failed, conn.Close())
	}
	w.framer = http2.NewFramer(nil, conn)
	w.framer.SetReuseFrames()
	w.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go w.write()
	go w.read()
	go w.expire()
	return w, nil
}

// close ends the connection and all that is under way on it.
func (w *wire) close() error {
	w.fail(net.ErrClosed)
	return nil
}

// begin sends a call as soon as the server's bounds allow.
func (w *wire) begin(call *wireCall) {
	w.mu.Lock()
	fault := w.fault
	if fault == nil {
		w.waiting, w.order = append(w.waiting, call), append(w.order, call)
	}
	w.mu.Unlock()
	if fault != nil {
		call.done("", codes.Unavailable, "")
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

// write writes what waits until the connection ends.
func (w *wire) write() {
	var out []byte
	for {
		w.mu.Lock()
		out = w.gather(out[:0])
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
			w.fail(err)
			return
		}
	}
}

// gather appends what may be sent.
func (w *wire) gather(out []byte) []byte {
	out = append(out, w.control...)
	w.control = w.control[:0]
	n := 0
	for ; n < len(w.waiting) && len(out) < writeBytes; n++ {
		call := w.waiting[n]
		if call.over {
			continue
		}
		if len(w.sent) >= w.streams || w.window < maxFrame {
			break
		}
		call.stream = w.next
		w.next += 2
		w.sent[call.stream] = call
		out = w.appendHeader(out, call)
		before := len(out) + frameHead
		out = appendPut(out, call)
		w.window -= int64(len(out) - before)
	}
	w.waiting = w.waiting[n:]
	return out
}

// read takes what the server sends until the connection ends.
func (w *wire) read() {
	for {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			w.fail(err)
			return
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				code, reason := outcomeOf(f)
				w.finish(f.StreamID, code, reason)
			}
		case *http2.DataFrame:
			w.reply(f.StreamID, f.Data())
		case *http2.RSTStreamFrame:
			if f.ErrCode == http2.ErrCodeRefusedStream {
				w.again(f.StreamID)
			} else {
				w.reset(f.StreamID, f.ErrCode)
			}
		case *http2.GoAwayFrame:
			w.fail(fmt.Errorf("the server goes away: %v", f.ErrCode))
		default:
			w.manage(frame)
		}
	}
}

// manage takes what the server says of the connection.
func (w *wire) manage(frame http2.Frame) {
	w.mu.Lock()
	defer w.kick()
	defer w.mu.Unlock()
	switch f := frame.(type) {
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			w.window += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			w.control = append(appendFrame(w.control, http2.FramePing, http2.FlagPingAck, 0), f.Data[:]...)
			setLength(w.control, len(w.control)-frameHead-len(f.Data))
		}
	case *http2.SettingsFrame:
		if f.IsAck() {
			return
		}
		if v, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
			w.streams = int(v)
		}
		w.control = appendFrame(w.control, http2.FrameSettings, http2.FlagSettingsAck, 0)
	}
}

// reply keeps the id of the node that was put: the first field of the reply, which comes in one frame.
func (w *wire) reply(stream uint32, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call := w.sent[stream]
	if call == nil || len(data) < 5 {
		return
	}
	if number, _, n := protowire.ConsumeTag(data[5:]); number == 1 && n > 0 {
		if id, size := protowire.ConsumeString(data[5+n:]); size > 0 {
			call.head = id
		}
	}
}

// again lets a call wait that the server did not look at, for to it one that has ended was still under way: any client of
// gRPC sends such a call again by itself.
func (w *wire) again(stream uint32) {
	w.mu.Lock()
	defer w.kick()
	defer w.mu.Unlock()
	if call := w.sent[stream]; call != nil {
		delete(w.sent, stream)
		w.waiting = append(w.waiting, call)
	}
}

// reset ends a call that the server reset: as gRPC's clients take it, a server that cancels a call whose deadline has come
// says just that.
func (w *wire) reset(stream uint32, why http2.ErrCode) {
	w.mu.Lock()
	call := w.sent[stream]
	w.mu.Unlock()
	code := codes.Unavailable
	if why == http2.ErrCodeCancel && call != nil && time.Until(call.deadline) < deadlineSlack {
		code = codes.DeadlineExceeded
	}
	w.finish(stream, code, "")
}

// finish ends a call under way.
func (w *wire) finish(stream uint32, code codes.Code, reason string) {
	w.mu.Lock()
	call := w.sent[stream]
	if call != nil {
		delete(w.sent, stream)
		call.over = true
	}
	w.mu.Unlock()
	if call == nil {
		return
	}
	if code == codes.OK && call.head == "" {
		code = codes.Internal
	}
	call.done(call.head, code, reason)
	w.kick()
}

// expire ends calls whose deadline has come.
func (w *wire) expire() {
	tick := time.NewTicker(expiryStep)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			for _, call := range w.expired(now) {
				call.done("", codes.DeadlineExceeded, "")
			}
			w.kick()
		case <-w.ended.Done():
			return
		}
	}
}

// expired takes the calls whose deadline has come, and tells the server of those that it has.
func (w *wire) expired(now time.Time) (late []*wireCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for ; n < len(w.order) && (w.order[n].over || !w.order[n].deadline.After(now)); n++ {
		call := w.order[n]
		if call.over {
			continue
		}
		call.over = true
		late = append(late, call)
		if w.sent[call.stream] == call {
			delete(w.sent, call.stream)
			w.control = binary.BigEndian.AppendUint32(
				appendFrame(w.control, http2.FrameRSTStream, 0, call.stream), uint32(http2.ErrCodeCancel))
			setLength(w.control, len(w.control)-frameHead-4)
		}
	}
	w.order = w.order[n:]
	return late
}

// fail ends the connection, and all its calls with a status that gives no reason.
func (w *wire) fail(err error) {
	w.mu.Lock()
	var open []*wireCall
	if w.fault == nil {
		w.fault = err
		for _, call := range w.order {
			if !call.over {
				call.over = true
				open = append(open, call)
			}
		}
		w.waiting, w.order = nil, nil
	}
	w.mu.Unlock()
	w.end()
	_ = w.conn.Close() // why it ended is known
	for _, call := range open {
		call.done("", codes.Unavailable, "")
	}
}
