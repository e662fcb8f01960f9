package gateway

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"

	"github.com/transcriptd/transcriptd/server/internal/fair"
)

const (
	// repliesBytes is how much replies may take on their way to clients, shareBytes those of one party. A message counts several times: as it comes
	// from the gRPC server, decoded, and as it goes out.
	repliesBytes, shareBytes, copies = 96 << 20, 64 << 20, 4
	// smallBytes is what a message may take without waiting for that room, and ownBytes what all such messages of one connection may.
	smallBytes, ownBytes = 256 << 10, 1 << 20
)

// room bounds what replies take that clients have not taken yet. A message is read from the gRPC server when there is room for it.
type room struct {
	free   *fair.Semaphore
	shares *fair.Shares
}

func newRoom() *room {
	return &room{free: fair.NewSemaphore(repliesBytes), shares: fair.NewShares(shareBytes)}
}

// bound has the messages of a reply of the gRPC server read as there is room.
func (r *room) bound(reply *http.Response) error {
	ctx := reply.Request.Context()
	if held, ok := ctx.Value(holdKey{}).(*hold); ok {
		reply.Body = &frames{ReadCloser: reply.Body, ctx: ctx, room: r, held: held}
	}
	return nil
}

// hold is what a request has of the room, or of what its connection has alone: that of one message at a time. It is its handler's alone.
type hold struct {
	// own is its connection's.
	own   *fair.Semaphore
	from  []*fair.Semaphore
	bytes int64
}

// holdKey is the key of a request's hold in its context.
type holdKey struct{}

// take gives back what was held, and waits for room for a message.
func (h *hold) take(ctx context.Context, r *room, message int64) error {
	h.release()
	bytes, from := min(copies*message, shareBytes), []*fair.Semaphore{r.shares.Of(ctx), r.free}
	if bytes <= smallBytes {
		from = []*fair.Semaphore{h.own}
	}
	if err := fair.Acquire(ctx, bytes, from...); err != nil {
		return err
	}
	h.from, h.bytes = from, bytes
	return nil
}

func (h *hold) release() {
	if h.bytes > 0 {
		fair.Release(h.bytes, h.from...)
		h.bytes = 0
	}
}

// prefixBytes are before each message of gRPC, Connect's streams and gRPC-Web: flags, and its length.
const prefixBytes = 5

// envelope is a message with its prefix.
func envelope(flags byte, message []byte) []byte {
	b := make([]byte, prefixBytes, prefixBytes+len(message))
	b[0] = flags
	binary.BigEndian.PutUint32(b[1:], uint32(len(message))) //nolint:gosec // at most maxMessage
	return append(b, message...)
}

// frames reads a body of messages with their prefixes, each message once there is room for it.
type frames struct {
	io.ReadCloser
	ctx  context.Context
	room *room
	held *hold
	// head is the prefix of the message that is being read, prefix what of that is still to be handed on, left how many bytes of the message are to
	// be read.
	head   [prefixBytes]byte
	prefix []byte
	left   int64
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.prefix) == 0 && f.left == 0 {
		if _, err := io.ReadFull(f.ReadCloser, f.head[:]); err != nil {
			return 0, err
		}
		f.prefix, f.left = f.head[:], int64(binary.BigEndian.Uint32(f.head[1:]))
		if err := f.held.take(f.ctx, f.room, f.left); err != nil {
			return 0, err
		}
	}
	if len(f.prefix) > 0 {
		n := copy(p, f.prefix)
		f.prefix = f.prefix[n:]
		return n, nil
	}
	n, err := f.ReadCloser.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}
