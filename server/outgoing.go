package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
)

const (
	// repliesBytes is how much replies may hold that their callers have not taken yet, and connectionBytes those of one connection.
	repliesBytes, connectionBytes = 64 << 20, 8 << 20
	// builtBytes is how much replies may hold that were made before it was known how large they are, and wait for room.
	builtBytes = 32 << 20
	// freeReply is the bytes of a reply, and of what a stream has read but not sent, up to which none needs room.
	freeReply = 64 << 10
	// takenWithin is how long a reply may take to be taken where others wait for room: 8 MiB, all that a connection has, over 7 Mbit/s.
	takenWithin = 2 * promptly
)

// outgoing bounds what replies hold in memory. gRPC takes a reply whole and the handler returns, however slowly the caller reads:
// so a large one takes room before it is made, and has it until gRPC has sent the last of it. Who finds no room waits. Where
// calls wait, the connection of a reply that is not taken within takenWithin is closed. A stream reads on without room,
// a frame at a time, where its nodes are small: so it goes on however others are read.
type outgoing struct {
	free, built *semaphore.Weighted
	// ahead is what streams may take of it for what they read ahead: while they hold that, they may wait for more, and some must be
	// left for those who then go on.
	ahead *semaphore.Weighted
	// waiters are how many calls wait for room.
	waiters atomic.Int64
	within  time.Duration // takenWithin, outside tests
	buffers mem.BufferPool
	metrics *replyMetrics
	log     *slog.Logger
}

func newOutgoing(buffers mem.BufferPool, m *replyMetrics, log *slog.Logger) *outgoing {
	m.limit.Set(repliesBytes)
	return &outgoing{
		free: semaphore.NewWeighted(repliesBytes), built: semaphore.NewWeighted(builtBytes), ahead: semaphore.NewWeighted(repliesBytes / 2),
		within: takenWithin, buffers: buffers, metrics: m, log: log,
	}
}

// unary sends what a handler that may only return a message left beside it (see leave), and takes room for a large reply that has
// none. Where the call fails in the end, its room is given back by who called all layers.
func (o *outgoing) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c := callOf(ctx)
	if c == nil {
		return nil, fmt.Errorf("%s has no call", info.FullMethod)
	}
	reply, err := next(ctx, req)
	if err == nil {
		err = o.settle(ctx, c, info.FullMethod, reply)
	}
	if err != nil || c.frame == nil && c.held == nil {
		return reply, err
	}
	m, ok := reply.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("a reply is a %T", reply)
	}
	if c.frame == nil {
		c.frame = &frame{}
	}
	return splice(m, c.frame, c.held), nil
}

// settle gives a reply that is made the room that it needs. That of a write is not waited for, since the write took place.
func (o *outgoing) settle(ctx context.Context, c *call, method string, reply any) (err error) {
	bytes := int64(size(reply))
	if c.frame != nil {
		bytes += int64(c.frame.bytes)
	}
	switch {
	case c.held != nil:
		c.held.shrink(bytes)
	case bytes <= freeReply:
		return nil
	case writes(method):
		c.held = o.try(ctx, bytes)
	default:
		c.held, err = o.takeBuilt(ctx, bytes)
	}
	if c.held != nil {
		o.uncompressed(ctx)
	}
	return err
}

// uncompressed has gRPC send replies as they are: what it compresses is in memory of its own, and nobody is told when that is sent.
func (o *outgoing) uncompressed(ctx context.Context) {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // fails where the caller has gone
}

func (o *outgoing) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if info.FullMethod == transcriptv1.TranscriptService_StreamAssemble_FullMethodName {
		o.uncompressed(ss.Context())
	}
	return next(srv, ss)
}

// expect takes room for the reply of a unary call that will have so many bytes at most; nil: it is small. Errors are those of take.
func (o *outgoing) expect(ctx context.Context, bytes int64) (h *held, err error) {
	c := callOf(ctx)
	if c == nil || bytes <= freeReply {
		return nil, nil
	}
	c.held, err = o.take(ctx, bytes)
	return c.held, err
}

// try takes room; nil: there is none at once.
func (o *outgoing) try(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	if !tryAll(bytes, c.room(), o.free) {
		return nil
	}
	return o.hold(ctx, c, bytes)
}

// tryAhead is try for what a stream reads ahead, until readAhead is called.
func (o *outgoing) tryAhead(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	if !tryAll(bytes, c.room(), o.free, c.roomAhead(), o.ahead) {
		return nil
	}
	h := o.hold(ctx, c, bytes)
	h.ahead = bytes
	return h
}

// tryAll takes some of each room, or of none. A nil room has any.
func tryAll(bytes int64, rooms ...*semaphore.Weighted) bool {
	for n, r := range rooms {
		if r == nil || r.TryAcquire(bytes) {
			continue
		}
		for _, taken := range rooms[:n] {
			if taken != nil {
				taken.Release(bytes)
			}
		}
		return false
	}
	return true
}

// take takes room, and waits for it: first for some of the connection's, so that one connection does not keep all others waiting.
// Errors are errNoRoomToReply shortly before the deadline, and that of the context. Who waits must hold no other room.
func (o *outgoing) take(ctx context.Context, bytes int64) (*held, error) {
	if h := o.try(ctx, bytes); h != nil {
		return h, nil
	}
	o.metrics.waiting.Inc()
	defer o.metrics.waiting.Dec()
	early, cancel := deadline.Early(ctx)
	defer cancel()
	c := connectionOf(ctx)
	if c != nil {
		if err := waitFor(early, c.share, &c.waiters, bytes); err != nil {
			return nil, noRoom(ctx)
		}
	}
	if err := waitFor(early, o.free, &o.waiters, bytes); err != nil {
		if c != nil {
			c.share.Release(bytes)
		}
		return nil, noRoom(ctx)
	}
	return o.hold(ctx, c, bytes), nil
}

func waitFor(ctx context.Context, room *semaphore.Weighted, waiters *atomic.Int64, bytes int64) error {
	waiters.Add(1)
	defer waiters.Add(-1)
	return room.Acquire(ctx, bytes)
}

func noRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errNoRoomToReply
}

// takeBuilt is take for a reply that is in memory already. What may wait so is bounded, and more is refused.
func (o *outgoing) takeBuilt(ctx context.Context, bytes int64) (*held, error) {
	if h := o.try(ctx, bytes); h != nil {
		return h, nil
	}
	if !o.built.TryAcquire(bytes) {
		return nil, errNoRoomToReply
	}
	defer o.built.Release(bytes)
	return o.take(ctx, bytes)
}

func (o *outgoing) hold(ctx context.Context, c *connection, bytes int64) *held {
	h := &held{from: o, connection: c, bytes: bytes}
	if call := callOf(ctx); call != nil {
		h.ended = call.ended
	}
	h.refs.Store(1)
	o.metrics.bytes.Add(float64(bytes))
	if c != nil && !c.add(h) {
		h.release() // nobody is there to take the reply
	}
	return h
}

// held is the room that a reply has, or a part of one. It is given back when all of its memory is sent, and nobody makes more
// of it: it is the pool of that memory, and lends what lies in other memory. A nil held is none.
type held struct {
	from       *outgoing
	connection *connection
	ended      <-chan struct{} // the call's
	// refs counts the buffers that are not sent yet, and one who makes them.
	refs atomic.Int64

	mu    sync.Mutex
	bytes int64
	given bool
	// ahead is how much of the room for reading ahead it has.
	ahead int64
	// late looks whether the reply was taken; nil before it is handed over.
	late *time.Timer
}

// pool is where memory of the reply comes from; other where it has no room.
func (h *held) pool(other mem.BufferPool) mem.BufferPool {
	if h == nil {
		return other
	}
	return h
}

// Get returns a buffer that keeps the room until it is put back.
func (h *held) Get(length int) *[]byte {
	b := h.from.buffers.Get(length)
	if !mem.IsBelowBufferPoolingThreshold(cap(*b)) {
		h.refs.Add(1)
	}
	return b
}

// Put takes a buffer back.
func (h *held) Put(b *[]byte) {
	h.from.buffers.Put(b)
	h.unref()
}

// borrow makes a buffer of memory that is another's, more than gRPC's threshold.
func (h *held) borrow(b []byte) mem.Buffer {
	if h == nil {
		return mem.SliceBuffer(b)
	}
	h.refs.Add(1)
	return mem.NewBuffer(&b, borrowed{h})
}

// borrowed takes back what is borrowed.
type borrowed struct{ held *held }

func (borrowed) Get(length int) *[]byte { b := make([]byte, length); return &b }

func (b borrowed) Put(*[]byte) { b.held.unref() }

func (h *held) unref() {
	if h.refs.Add(-1) == 0 {
		h.release()
	}
}

// shrink gives back what a reply that is made does not need.
func (h *held) shrink(to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given && to < h.bytes {
		h.give(h.bytes - to)
	}
}

// give gives back some of the room. The caller has the lock.
func (h *held) give(bytes int64) {
	h.bytes -= bytes
	h.from.metrics.bytes.Sub(float64(bytes))
	h.from.free.Release(bytes)
	if h.connection != nil {
		h.connection.share.Release(bytes)
	}
}

// readAhead gives back the room for reading ahead: what was read is sent now.
func (h *held) readAhead() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveAhead()
}

// giveAhead is readAhead for who has the lock.
func (h *held) giveAhead() {
	if h.ahead == 0 {
		return
	}
	h.from.ahead.Release(h.ahead)
	if h.connection != nil {
		h.connection.ahead.Release(h.ahead)
	}
	h.ahead = 0
}

// release gives the room back, whatever was sent.
func (h *held) release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	if h.given {
		h.mu.Unlock()
		return
	}
	h.given = true
	h.give(h.bytes)
	h.giveAhead()
	if h.late != nil {
		h.late.Stop()
	}
	h.mu.Unlock()
	if h.connection != nil {
		h.connection.remove(h)
	}
}

// handOver says that what was made goes to gRPC, and that no more is made.
func (h *held) handOver() {
	h.goesOut()
	h.unlessEnded()
	h.done()
}

// unlessEnded gives the room back where the call has ended before gRPC took the reply, since the caller gave up: gRPC forgets then what
// it takes. Where that happens just between the two, the room is that of the connection until it is closed, by isLate at the latest.
func (h *held) unlessEnded() {
	if h == nil {
		return
	}
	select {
	case <-h.ended:
		h.release()
	default:
	}
}

// done says that no more is made.
func (h *held) done() {
	if h != nil {
		h.unref()
	}
}

// goesOut begins the time within which the reply is to be taken.
func (h *held) goesOut() {
	if h == nil || h.connection == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given && h.late == nil {
		h.late = time.AfterFunc(h.from.within, h.isLate)
	}
}

// isLate closes the connection where calls wait for room, and else looks again before long.
func (h *held) isLate() {
	h.mu.Lock()
	if h.given {
		h.mu.Unlock()
		return
	}
	if h.from.waiters.Load() == 0 && h.connection.waiters.Load() == 0 {
		h.late.Reset(endEvery)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	if h.connection.cut() {
		h.from.metrics.closed.Inc()
		h.from.log.Warn("a connection is closed: it did not take a reply in time, and calls wait for room",
			"peer.address", h.connection.RemoteAddr().String(), "within", h.from.within.String())
	}
}
