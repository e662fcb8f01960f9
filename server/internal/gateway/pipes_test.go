package gateway

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipes is a listener whose connections are in memory, with some room in each direction, and deadlines as those of a network.
type pipes struct{ *listener }

func (p *pipes) dial() net.Conn {
	to, from := newHalf(), newHalf()
	near, far := &end{read: from, write: to}, &end{read: to, write: from}
	go func() {
		select {
		case p.conns <- far:
		case <-p.closed:
			_ = far.Close()
		}
	}()
	return near
}

// half is one direction of a connection.
type half struct {
	mu      sync.Mutex
	changed *sync.Cond
	bytes   []byte
	closed  bool
	// until are the deadlines of who reads and who writes.
	until [2]time.Time
}

const reads, writes, halfBytes = 0, 1, 64 << 10

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

// wait waits until something may be done, which is told under the lock.
func (h *half) wait(who int, ready func() bool) error {
	for !ready() {
		if at := h.until[who]; !at.IsZero() && !time.Now().Before(at) {
			return os.ErrDeadlineExceeded
		}
		h.changed.Wait()
	}
	return nil
}

func (h *half) setDeadline(who int, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until[who] = at
	if !at.IsZero() {
		time.AfterFunc(time.Until(at), h.changed.Broadcast)
	}
	h.changed.Broadcast()
}

func (h *half) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.changed.Broadcast()
}

// end is an end of a connection.
type end struct{ read, write *half }

func (e *end) Read(b []byte) (int, error) {
	h := e.read
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.wait(reads, func() bool { return len(h.bytes) > 0 || h.closed }); err != nil {
		return 0, err
	}
	if len(h.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(b, h.bytes)
	h.bytes = append(h.bytes[:0], h.bytes[n:]...)
	h.changed.Broadcast()
	return n, nil
}

func (e *end) Write(b []byte) (n int, err error) {
	h := e.write
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(b) > 0 {
		if err := h.wait(writes, func() bool { return len(h.bytes) < halfBytes || h.closed }); err != nil {
			return n, err
		}
		if h.closed {
			return n, net.ErrClosed
		}
		part := b[:min(len(b), halfBytes-len(h.bytes))]
		h.bytes, b, n = append(h.bytes, part...), b[len(part):], n+len(part)
		h.changed.Broadcast()
	}
	return n, nil
}

func (e *end) Close() error {
	e.read.close()
	e.write.close()
	return nil
}

func (e *end) SetReadDeadline(at time.Time) error {
	e.read.setDeadline(reads, at)
	return nil
}

func (e *end) SetWriteDeadline(at time.Time) error {
	e.write.setDeadline(writes, at)
	return nil
}

func (e *end) SetDeadline(at time.Time) error {
	e.read.setDeadline(reads, at)
	e.write.setDeadline(writes, at)
	return nil
}

func (e *end) LocalAddr() net.Addr  { return memory{} }
func (e *end) RemoteAddr() net.Addr { return memory{} }
