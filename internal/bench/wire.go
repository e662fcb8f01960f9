package bench

import (
	"bufio"
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
)

// wire is a connection that calls PutNode with a fraction of the work of a gRPC client: requests are laid together from
// bytes that were made before, and many are written at once. It keeps what HTTP/2 and gRPC ask of a client: windows, the
// server's bound on streams, deadlines told and kept, and a reset for what nobody waits for any more.
//
// What it does not do as gRPC's clients do: it waits for deadlineSlack longer than the deadline, for a server that says
// DEADLINE_EXCEEDED says so at about that moment, and tells such a status from a call that it ended itself. gRPC's clients
// show DEADLINE_EXCEEDED for either. Any other answer that late is worth nothing to their callers, nor is it here.
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
	// waiting are calls that were not sent, order all that may still have an answer, sent those under way by stream.
	waiting, order []*wireCall
	sent           map[uint32]*wireCall
	// control are frames to write before any call.
	control []byte
	// window is how much may be sent, streams how many calls may be under way, next the number of the next.
	window  int64
	streams int
	next    uint32
	fault   error
	// expiry looks at deadlines; it is set while order has calls, whose deadlines come in that order.
	expiry *time.Timer
	// lost is told once why the connection ended, unless it was closed.
	lost func(error)

	// details are those of the last status that had some, and reason what they say; only the reader has them.
	details, reason string
}

// wireCall is a put.
type wireCall struct {
	namespace, parent string
	salt              []byte
	turn              *encodedTurn
	call              uint64
	deadline          time.Time
	stream            uint32
	over              bool
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
	// unanswered says why there was no status of the server's by the deadline; empty where there was one, and where the
	// connection ended before.
	unanswered string
}

// Why a put has no status by its deadline.
const (
	neverSent    = "not sent in time" // the server reads no more of the connection, or this process is late
	noAnswer     = "no answer"
	resetLate    = "reset without a status" // which gRPC's server does by itself at a deadline, whatever the handler does
	answeredLate = "answered too late"
)

func unanswered(why string) ending { return ending{code: codes.DeadlineExceeded, unanswered: why} }

const (
	// firstStreams is how many streams there may be before the server has told its bound, firstWindow its window then.
	firstStreams, firstWindow = 100, 65535
	// maxFrame is how large a frame may be: a put is one.
	maxFrame = 16 << 10
	// writeBytes is about how much is written at once.
	writeBytes = 128 << 10
	// readBytes is how much is read at once: many answers come together.
	readBytes = 64 << 10
	// deadlineSlack is how far apart client and server may see a deadline, and so how long after it the client waits for the
	// server's DEADLINE_EXCEEDED.
	deadlineSlack = 20 * time.Millisecond
	// expiryStep is how often deadlines are looked at, at most.
	expiryStep = 5 * time.Millisecond
)

// dialWire connects to a server; lost is told once why the connection ended, unless it was closed. Errors are the SDK's.
func dialWire(ctx context.Context, addr string, lost func(error)) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := dialTarget(ctx, addr)
	if err != nil {
		return nil, unavailable(err)
	}
	return newWire(conn, lost)
}

// newWire speaks on a connection to a server, which it closes where it cannot.
func newWire(conn net.Conn, lost func(error)) (*wire, error) {
	w := &wire{
		conn: conn, wake: make(chan struct{}, 1), sent: map[uint32]*wireCall{},
		window: firstWindow, streams: firstStreams, next: 1, lost: lost,
	}
	w.ended, w.end = context.WithCancel(context.Background())
	w.encoder = hpack.NewEncoder(&w.header)
	var first bytes.Buffer
	first.WriteString(http2.ClientPreface)
	opening := http2.NewFramer(&first, nil)
	err := errors.Join(opening.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}), opening.WriteWindowUpdate(0, 1<<30))
	if _, failed := conn.Write(first.Bytes()); err != nil || failed != nil {
		return nil, unavailable(errors.Join(err, failed, conn.Close()))
	}
	w.framer = http2.NewFramer(nil, bufio.NewReaderSize(conn, readBytes))
	w.framer.SetReuseFrames()
	w.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	w.expiry = time.AfterFunc(time.Hour, w.expire)
	w.expiry.Stop()
	go w.write()
	go w.read()
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
		if len(w.order) == 0 {
			w.expiry.Reset(time.Until(call.deadline) + deadlineSlack)
		}
		w.waiting, w.order = append(w.waiting, call), append(w.order, call)
	}
	w.mu.Unlock()
	if fault != nil {
		call.done(ending{code: codes.Unavailable})
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
	n, now := 0, time.Now()
	for ; n < len(w.waiting) && len(out) < writeBytes; n++ {
		call := w.waiting[n]
		if call.over || !call.deadline.After(now) {
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
				w.finish(f.StreamID, w.outcome(f))
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

// reset ends a call that the server reset. A cancel at the deadline says that it has passed, and is no status.
func (w *wire) reset(stream uint32, why http2.ErrCode) {
	w.mu.Lock()
	call := w.sent[stream]
	w.mu.Unlock()
	if why == http2.ErrCodeCancel && call != nil && time.Until(call.deadline) < deadlineSlack {
		w.finish(stream, unanswered(resetLate))
		return
	}
	w.finish(stream, ending{code: codes.Unavailable})
}

// finish ends a call under way.
func (w *wire) finish(stream uint32, e ending) {
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
	switch {
	case e.code != codes.DeadlineExceeded && !time.Now().Before(call.deadline):
		e = unanswered(answeredLate)
	case e.code == codes.OK && call.head == "":
		e.code = codes.Internal
	case e.code == codes.OK:
		e.head = call.head
	}
	call.done(e)
	w.kick()
}

// expire ends calls that have had no answer, and looks again when the next may have none.
func (w *wire) expire() {
	sent, waiting := w.expired(time.Now().Add(-deadlineSlack))
	for _, call := range sent {
		call.done(unanswered(noAnswer))
	}
	for _, call := range waiting {
		call.done(unanswered(neverSent))
	}
	if len(sent) > 0 {
		w.kick()
	}
}

// expired takes the calls whose deadline was before a time, and tells the server of those that it has.
func (w *wire) expired(before time.Time) (sent, waiting []*wireCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for ; n < len(w.order) && (w.order[n].over || w.order[n].deadline.Before(before)); n++ {
		call := w.order[n]
		if call.over {
			continue
		}
		call.over = true
		if w.sent[call.stream] != call {
			waiting = append(waiting, call)
			continue
		}
		sent = append(sent, call)
		delete(w.sent, call.stream)
		w.control = binary.BigEndian.AppendUint32(
			appendFrame(w.control, http2.FrameRSTStream, 0, call.stream), uint32(http2.ErrCodeCancel))
		setLength(w.control, len(w.control)-frameHead-4)
	}
	if w.order = w.order[n:]; len(w.order) > 0 {
		w.expiry.Reset(max(expiryStep, time.Until(w.order[0].deadline)+deadlineSlack))
	}
	return sent, waiting
}

// fail ends the connection, and all its calls with a status that gives no reason.
func (w *wire) fail(err error) {
	w.mu.Lock()
	var open []*wireCall
	first := w.fault == nil
	if first {
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
	w.expiry.Stop()
	_ = w.conn.Close() // why it ended is known
	if first && !errors.Is(err, net.ErrClosed) {
		w.lost(unavailable(fmt.Errorf("a connection under load ended: %w", err)))
	}
	for _, call := range open {
		call.done(ending{code: codes.Unavailable})
	}
}
