package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// sharedBytes is from how many bytes on what the store keeps goes out from where it lies; to copy less costs less than to send it
	// by itself. It is above gRPC's threshold
	// (mem.IsBelowBufferPoolingThreshold), at or below which nobody is told once a buffer is sent.
	sharedBytes = 1<<10 + 1
	// firstPiece is the memory that a frame of a size that is not known before begins with.
	firstPiece = 4 << 10
)

// frame is the part of a reply that comes from nodes: the encoded field `repeated Message messages = 1`, which payloads laid
// end to end are, and what is told of the nodes.
type frame struct {
	pool mem.BufferPool
	// held is the room of what the frame has, which is its pool then; nil: it has none.
	held *held
	// keeps says that the frame itself has a part in held, until its memory is handed on: what is shared, or only told, is no buffer yet.
	keeps bool
	// most is how many bytes of messages there will be at most; exactly says that there will be as many.
	most    int
	exactly bool
	// laid are the messages, in order, but for those from begun on in open.
	laid mem.BufferSlice
	// open is memory from the pool, which piece gives back once all that is cut from it is sent.
	open  []byte
	piece mem.Buffer
	begun int
	// shared are the payloads behind all others, if any, which lie end to end where the store keeps them.
	shared keptBytes
	// wasted is what stays in memory for what is borrowed, beside that; at most as much as the frame has, and frameBytes.
	wasted int
	// bytes is how many bytes of messages there are.
	bytes int
	nodes []*transcriptv1.NodeInfo
	// told is the encoded size of nodes.
	told int
}

// keptBytes are the bytes of memory that never changes from one through the one before another.
type keptBytes struct {
	kept          []byte
	from, through int
}

// size is what the frame takes in a reply.
func (f *frame) size() int { return f.bytes + f.told }

// add lays an encoded payload.
func (f *frame) add(payload []byte) {
	f.extend(len(payload), func(b []byte) []byte { return append(b, payload...) })
}

// share lays an encoded payload of so many bytes, which lies in memory that nobody will ever change.
func (f *frame) share(kept []byte, from, bytes int) {
	s := &f.shared
	if bytes == 0 {
		return
	}
	if s.through != from || len(s.kept) == 0 || &s.kept[0] != &kept[0] {
		f.settle()
		s.from = from
	}
	s.kept, s.through = kept, from+bytes
	f.bytes += bytes
}

// settle lays what is shared, or copies it if it is small.
func (f *frame) settle() {
	kept := f.shared.kept
	b := kept[f.shared.from:f.shared.through:f.shared.through]
	f.shared = keptBytes{}
	switch {
	case len(b) >= sharedBytes && f.wasted+len(kept)-len(b) <= f.bytes+frameBytes:
		f.wasted += len(kept) - len(b)
		f.cut()
		f.lay(f.held.borrow(b))
	case len(b) > 0:
		f.bytes -= len(b)
		f.add(b)
	}
}

// extend lays what made appends to the memory it is given, which has room for need bytes.
func (f *frame) extend(need int, made func([]byte) []byte) {
	f.settle()
	if len(f.open)+need > cap(f.open) {
		f.renew(need)
	}
	before := len(f.open)
	f.open = made(f.open)
	f.bytes += len(f.open) - before
}

// cut lays what is in open.
func (f *frame) cut() {
	if len(f.open) > f.begun {
		f.lay(f.piece.Slice(f.begun, len(f.open)))
		f.begun = len(f.open)
	}
}

// usualParts is how many buffers a frame of a stream usually has.
const usualParts = 24

func (f *frame) lay(b mem.Buffer) {
	if f.laid == nil {
		f.laid = make(mem.BufferSlice, 0, usualParts)
	}
	f.laid = append(f.laid, b)
}

// renew takes more memory, for need bytes and what else may come.
func (f *frame) renew(need int) {
	f.free()
	size := f.most - f.bytes
	if !f.exactly {
		size = min(size, max(firstPiece, 4*f.bytes))
	}
	whole := f.pool.Get(max(need, min(frameBytes, size)))
	*whole = (*whole)[:cap(*whole)]
	f.piece, f.open, f.begun = mem.NewBuffer(whole, f.pool), (*whole)[:0], 0
}

// close lays all that is not laid yet; the frame takes no more.
func (f *frame) close() {
	f.settle()
	f.free()
}

// free lays what is in open, and takes no more of that memory.
func (f *frame) free() {
	f.cut()
	if f.piece != nil {
		f.piece.Free()
		f.piece, f.open, f.begun = nil, nil, 0
	}
}

// messages are all that was laid in a frame that is closed. They are the caller's, to be freed once they are sent, and the frame
// is empty.
func (f *frame) messages() mem.BufferSlice {
	laid := f.laid
	f.laid = nil
	return laid
}

// letGo gives up the part that the frame itself has in its room.
func (f *frame) letGo() {
	if f.keeps {
		f.keeps = false
		f.held.done()
	}
}

// drop gives back the memory of a frame that is not sent; of one that was there is none, nor of a nil one.
func (f *frame) drop() {
	if f == nil {
		return
	}
	f.shared = keptBytes{}
	f.free()
	f.messages().Free()
	f.letGo()
}

// spliced is a reply with the messages of a frame: the codec sends them from where they lie, behind what else the reply has.
type spliced struct {
	proto.Message
	frame *frame
	// held is the room that the reply has, which is the codec's to hand on; nil: none.
	held *held
}

// splice closes the frame here, since a panic is a call's own fault in a handler, and the process's end in the codec.
func splice(m proto.Message, f *frame, h *held) *spliced {
	f.close()
	return &spliced{m, f, h}
}

// size is that of the whole reply.
func (s *spliced) size() int { return proto.Size(s.Message) + s.frame.bytes }

// Encode is the whole reply, encoded, for interceptors outside of the server's that look at replies.
func (s *spliced) Encode() ([]byte, error) {
	front, err := proto.Marshal(s.Message)
	return append(front, s.frame.laid.Materialize()...), err
}

// leave leaves a frame to be sent with the reply that the handler returns.
func leave(ctx context.Context, f *frame) error {
	c := callOf(ctx)
	if c == nil {
		return errors.New("the call has no place for a frame")
	}
	c.frame = f
	return nil
}
