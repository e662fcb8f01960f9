package reply

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// Held is the room that a reply has, or a part of one. It is given back when all of its memory is sent, and nobody makes more
// of it: it is the pool of that memory, and lends what lies in other memory. A nil held is none.
type Held struct {
	limiter    *Limiter
	connection *connection
	ended      <-chan struct{} // the call's
	// from is what bytes are taken of, of each as many.
	from []*fair.Semaphore
	// refs counts the buffers that are not sent yet, and one who makes them.
	refs atomic.Int64

	mu    sync.Mutex
	bytes int64
	given bool
	// late looks whether replies are taken; nil before this one is handed over. written is what the connection had taken when it
	// looked last.
	late    *time.Timer
	written int64
	// swept says that garbage was collected since the reply was late. It is isLate's.
	swept bool
	// last is the buffer that was made last; nil once it is handed over.
	last *[]byte
}

// Get returns a buffer that keeps the room until it is put back. One maker at a time.
func (h *Held) Get(length int) *[]byte {
	own := *h.limiter.Buffers.Get(length) // a pointer for this use only, so that handOver can ask when nobody has it any more
	if !mem.IsBelowBufferPoolingThreshold(cap(own)) {
		h.refs.Add(1)
		h.last = &own
	}
	return &own
}

// front is the pool for what is sent in front of other memory of the reply.
func (h *Held) front(other mem.BufferPool) mem.BufferPool {
	if h == nil {
		return other
	}
	return front{h}
}

type front struct{ *Held }

// Get is held.Get, but for last: frames are sent while others are made.
func (f front) Get(length int) *[]byte {
	b := f.limiter.Buffers.Get(length)
	if !mem.IsBelowBufferPoolingThreshold(cap(*b)) {
		f.refs.Add(1)
	}
	return b
}

// Put takes a buffer back.
func (h *Held) Put(b *[]byte) {
	again := *b
	h.limiter.Buffers.Put(&again)
	h.unref()
}

// Borrow makes a buffer of memory that is another's, more than gRPC's threshold.
func (h *Held) Borrow(b []byte) mem.Buffer {
	h.refs.Add(1)
	h.last = &b
	return mem.NewBuffer(&b, borrowed{h})
}

// borrowed takes back what is borrowed.
type borrowed struct{ held *Held }

func (borrowed) Get(length int) *[]byte { b := make([]byte, length); return &b }

func (b borrowed) Put(*[]byte) { b.held.unref() }

// Share has one more maker, or buffer, keep the room, until it is done.
func (h *Held) Share() { h.refs.Add(1) }

func (h *Held) unref() {
	if h.refs.Add(-1) == 0 {
		h.Release()
	}
}

// has tells whether it is room for so many bytes.
func (h *Held) has(bytes int64) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes <= h.bytes
}

// shrink gives back what a reply that is made does not need.
func (h *Held) shrink(to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given && to < h.bytes {
		h.give(h.bytes - to)
	}
}

// give gives back some of the room. The caller has the lock.
func (h *Held) give(bytes int64) {
	h.bytes -= bytes
	h.connection.bytes.Add(-bytes)
	h.limiter.metrics.Bytes.Sub(float64(bytes))
	fair.Release(bytes, h.from...)
}

// Release gives the room back, whatever was sent.
func (h *Held) Release() {
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
	if h.late != nil {
		h.late.Stop()
	}
	h.mu.Unlock()
	h.connection.remove(h)
}

// stalls tells whether the connection is to be closed, and if not, has isLate called again.
func (h *Held) stalls() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		return false
	}
	written := h.connection.written.Load()
	switch {
	case written-h.written >= max(leastTaken, h.connection.bytes.Load()/leastPart):
		h.written = written
		h.late.Reset(TakenWithin)
	case !h.wanted():
		h.late.Reset(receive.EndEvery)
	default:
		return true
	}
	return false
}

// wanted tells whether calls wait for some of what it is taken of, or for room for small replies.
func (h *Held) wanted() bool {
	return h.limiter.Small.Wanted() || slices.ContainsFunc(h.from, func(s *fair.Semaphore) bool { return s != nil && s.Wanted() })
}

// handOver says that what was made goes to gRPC, and that no more is made. From then on the room is given back, too, when the garbage
// collector finds that nobody has the last buffer any more: gRPC may forget a reply.
func (h *Held) handOver() {
	if h == nil {
		return
	}
	if h.last != nil {
		runtime.AddCleanup(h.last, (*Held).Release, h)
		h.last = nil
	}
	h.GoesOut()
	h.UnlessEnded()
	h.Done()
}

// UnlessEnded gives the room back where the call has ended before gRPC took the reply, since the caller gave up: gRPC then forgets what
// it takes, without giving it back. Where that happens just between the two, the garbage collector finds the reply's last buffer.
func (h *Held) UnlessEnded() {
	if h == nil {
		return
	}
	select {
	case <-h.ended:
		h.Release()
	default:
	}
}

// LetGo gives up the part that a frame has in it.
func (h *Held) LetGo() { h.Done() }

// Done says that no more is made.
func (h *Held) Done() {
	if h != nil {
		h.unref()
	}
}

// GoesOut begins the time within which the reply is to be taken.
func (h *Held) GoesOut() {
	if h == nil || h.connection.Conn == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given && h.late == nil {
		h.written = h.connection.written.Load()
		h.late = time.AfterFunc(TakenWithin, h.isLate)
	}
}

// isLate closes a connection that takes next to nothing where calls wait for room, and else looks again.
func (h *Held) isLate() {
	if !h.stalls() {
		return
	}
	if !h.swept { // it may be a reply that gRPC forgot: see UnlessEnded
		h.swept = true
		h.limiter.sweep()
		h.late.Reset(receive.EndEvery)
		return
	}
	if h.connection.cut() {
		h.limiter.metrics.Closed.Inc()
		h.limiter.log.Warn("a connection is closed: it took next to nothing of its replies, and calls wait for room",
			"peer.address", h.connection.RemoteAddr().String(), "within", TakenWithin.String())
	}
}
