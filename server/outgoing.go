package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
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
	// takenWithin is how long a connection may take next to nothing, while it has replies and calls wait for room; leastTaken is more
	// than what gRPC itself writes meanwhile.
	takenWithin, leastTaken = 2 * promptly, 16 << 10
)

// outgoing bounds what replies hold in memory. gRPC takes a reply whole and the handler returns, however slowly the caller reads:
// so a large one takes room before it is made, and has it until gRPC has sent the last of it. Who finds no room waits. Where
// calls wait, a connection that takes nothing of its replies for takenWithin is closed. A stream reads on without room,
// a frame at a time, where its nodes are small: so it goes on however others are read.
type outgoing struct {
	free, built *semaphore.Weighted
	// batches is what streams may take of it for their batches, which they hold for as long as their readers like, and while they wait for
	// the room of a large node. So some is left for other replies, and for those who wait.
	batches *semaphore.Weighted
	// waiters are how many calls wait for room.
	waiters atomic.Int64
	buffers mem.BufferPool
	metrics *replyMetrics
	log     *slog.Logger

	sweeping sync.Mutex
	// swept is when sweep collected garbage last.
	swept time.Time
}

func newOutgoing(buffers mem.BufferPool, m *replyMetrics, log *slog.Logger) *outgoing {
	m.limit.Set(repliesBytes)
	return &outgoing{
		free: semaphore.NewWeighted(repliesBytes), built: semaphore.NewWeighted(builtBytes), batches: semaphore.NewWeighted(repliesBytes / 2),
		buffers: buffers, metrics: m, log: log,
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
// Who calls it must not be reading rows.
func (o *outgoing) expect(ctx context.Context, bytes int64) (h *held, err error) {
	if bytes <= freeReply {
		return nil, nil
	}
	if h, err = o.take(ctx, bytes); err == nil && callOf(ctx) != nil {
		callOf(ctx).held = h
	}
	return h, err
}

// try takes room; nil: there is none at once.
func (o *outgoing) try(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	if !tryAll(bytes, c.room(), o.free) {
		return nil
	}
	return o.hold(ctx, c, bytes)
}

// tryBatch is try for a batch of a stream.
func (o *outgoing) tryBatch(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	if !tryAll(bytes, c.room(), o.free, c.roomForBatches(), o.batches) {
		return nil
	}
	h := o.hold(ctx, c, bytes)
	h.batch = bytes
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
// Errors are errNoRoomToReply shortly before the deadline, and that of the context. Who waits must hold no other room but for batches.
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

// sweep collects garbage, unless that was done lately: every reply that is late is older than that.
func (o *outgoing) sweep() {
	o.sweeping.Lock()
	defer o.sweeping.Unlock()
	if time.Since(o.swept) >= endEvery {
		runtime.GC()
		o.swept = time.Now()
	}
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
	// batch is how much of the room for batches it has.
	batch int64
	// late looks whether replies are taken; nil before this one is handed over. written is what the connection had taken when it
	// looked last.
	late    *time.Timer
	written int64
	// swept says that garbage was collected since the reply was late. It is isLate's.
	swept bool
	// last is the buffer that was made last; nil once it is handed over.
	last *[]byte
}

// pool is where memory of the reply comes from; other where it has no room.
func (h *held) pool(other mem.BufferPool) mem.BufferPool {
	if h == nil {
		return other
	}
	return h
}

// Get returns a buffer that keeps the room until it is put back. One maker at a time.
func (h *held) Get(length int) *[]byte {
	own := *h.from.buffers.Get(length) // a pointer for this use only, so that handOver can ask when nobody has it any more
	if !mem.IsBelowBufferPoolingThreshold(cap(own)) {
		h.refs.Add(1)
		h.last = &own
	}
	return &own
}

// Put takes a buffer back.
func (h *held) Put(b *[]byte) {
	again := *b
	h.from.buffers.Put(&again)
	h.unref()
}

// borrow makes a buffer of memory that is another's, more than gRPC's threshold.
func (h *held) borrow(b []byte) mem.Buffer {
	if h == nil {
		return mem.SliceBuffer(b)
	}
	h.refs.Add(1)
	h.last = &b
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
	if h.batch > 0 {
		h.from.batches.Release(h.batch)
		if h.connection != nil {
			h.connection.batches.Release(h.batch)
		}
	}
	if h.late != nil {
		h.late.Stop()
	}
	h.mu.Unlock()
	if h.connection != nil {
		h.connection.remove(h)
	}
}

// stalls tells whether the connection is to be closed, and if not, has isLate called again.
func (h *held) stalls() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		return false
	}
	written := h.connection.written.Load()
	switch {
	case written-h.written >= leastTaken:
		h.written = written
		h.late.Reset(takenWithin)
	case h.from.waiters.Load() == 0 && h.connection.waiters.Load() == 0:
		h.late.Reset(endEvery)
	default:
		return true
	}
	return false
}

// handOver says that what was made goes to gRPC, and that no more is made. From then on the room is given back, too, when the garbage
// collector finds that nobody has the last buffer any more: gRPC may forget a reply.
func (h *held) handOver() {
	if h == nil {
		return
	}
	if h.last != nil {
		runtime.AddCleanup(h.last, (*held).release, h)
		h.last = nil
	}
	h.goesOut()
	h.unlessEnded()
	h.done()
}

// unlessEnded gives the room back where the call has ended before gRPC took the reply, since the caller gave up: gRPC then forgets what
// it takes, without giving it back. Where that happens just between the two, the garbage collector finds the reply's last buffer.
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
		h.written = h.connection.written.Load()
		h.late = time.AfterFunc(takenWithin, h.isLate)
	}
}

// isLate closes a connection that takes nothing where calls wait for room, and else looks again.
func (h *held) isLate() {
	if !h.stalls() {
		return
	}
	if !h.swept { // it may be a reply that gRPC forgot: see unlessEnded
		h.swept = true
		h.from.sweep()
		h.late.Reset(endEvery)
		return
	}
	if h.connection.cut() {
		h.from.metrics.closed.Inc()
		h.from.log.Warn("a connection is closed: it took nothing of its replies, and calls wait for room",
			"peer.address", h.connection.RemoteAddr().String(), "within", takenWithin.String())
	}
}
