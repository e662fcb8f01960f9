package chainview

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// SharedBytes is from how many bytes on what the store keeps goes out from where it lies; to copy less costs less than to send it
	// by itself. It is above gRPC's threshold
	// (mem.IsBelowBufferPoolingThreshold), at or below which nobody is told once a buffer is sent.
	SharedBytes = 1<<10 + 1
	// firstPiece is the memory that a frame of a size that is not known before begins with.
	firstPiece = 4 << 10
)

// Memory is where the bytes of frames lie.
type Memory interface {
	mem.BufferPool
	// Borrow makes a buffer of memory that never changes and is another's, of SharedBytes at least.
	Borrow([]byte) mem.Buffer
}

// Frame is the part of a reply that comes from nodes: the encoded field `repeated Message messages = 1`, which payloads laid
// end to end are, and what is told of the nodes.
type Frame struct {
	Memory Memory
	// Hold, if not nil, is let go once the memory is handed on or given back: what is shared, or only told, is no buffer before.
	Hold interface{ LetGo() }
	// Most is how many bytes of messages there will be at most; exactly says that there will be as many.
	Most    int
	Exactly bool
	// Laid are the messages, in order, but for those from begun on in open.
	Laid mem.BufferSlice
	// open is memory from the pool, which piece gives back once all that is cut from it is sent.
	open  []byte
	piece mem.Buffer
	begun int
	// shared are the payloads behind all others, if any, which lie end to end where the store keeps them.
	shared keptBytes
	// wasted is what stays in memory for what is borrowed, beside that; at most as much as the frame has, and wire.FrameBytes.
	wasted int
	// Bytes is how many bytes of messages there are.
	Bytes int
	Nodes []*transcriptv1.NodeInfo
	// infoBytes is the encoded size of nodes.
	infoBytes int
}

// keptBytes are the bytes of memory that never changes from one through the one before another.
type keptBytes struct {
	kept          []byte
	from, through int
}

// Size is what the frame takes in a reply.
func (f *Frame) Size() int { return f.Bytes + f.infoBytes }

// HasRoom tells whether a report fits into a reply beside what the frame has.
func (f *Frame) HasRoom(report *transcriptv1.Report) bool {
	return f.Size()+proto.Size(report) <= wire.MaxReply
}

// add lays an encoded payload.
func (f *Frame) add(payload []byte) {
	f.extend(len(payload), func(b []byte) []byte { return append(b, payload...) })
}

// Share lays an encoded payload of so many bytes, which lies in memory that nobody will ever change.
func (f *Frame) Share(kept []byte, from, bytes int) {
	s := &f.shared
	if bytes == 0 {
		return
	}
	if s.through != from || len(s.kept) == 0 || &s.kept[0] != &kept[0] {
		f.settle()
		s.from = from
	}
	s.kept, s.through = kept, from+bytes
	f.Bytes += bytes
}

// settle lays what is shared, or copies it if it is small.
func (f *Frame) settle() {
	kept := f.shared.kept
	b := kept[f.shared.from:f.shared.through:f.shared.through]
	f.shared = keptBytes{}
	switch {
	case len(b) >= SharedBytes && f.wasted+len(kept)-len(b) <= f.Bytes+wire.FrameBytes:
		f.wasted += len(kept) - len(b)
		f.cut()
		f.lay(f.Memory.Borrow(b))
	case len(b) > 0:
		f.Bytes -= len(b)
		f.add(b)
	}
}

// extend lays what made appends to the memory it is given, which has room for need bytes.
func (f *Frame) extend(need int, made func([]byte) []byte) {
	f.settle()
	if len(f.open)+need > cap(f.open) {
		f.renew(need)
	}
	before := len(f.open)
	f.open = made(f.open)
	f.Bytes += len(f.open) - before
}

// cut lays what is in open.
func (f *Frame) cut() {
	if len(f.open) > f.begun {
		f.lay(f.piece.Slice(f.begun, len(f.open)))
		f.begun = len(f.open)
	}
}

// usualParts is how many buffers a frame of a stream usually has.
const usualParts = 24

func (f *Frame) lay(b mem.Buffer) {
	if f.Laid == nil {
		f.Laid = make(mem.BufferSlice, 0, usualParts)
	}
	f.Laid = append(f.Laid, b)
}

// renew takes more memory, for need bytes and what else may come.
func (f *Frame) renew(need int) {
	f.free()
	size := f.Most - f.Bytes
	if !f.Exactly {
		size = min(size, max(firstPiece, 4*f.Bytes))
	}
	whole := f.Memory.Get(max(need, min(wire.FrameBytes, size)))
	*whole = (*whole)[:cap(*whole)]
	f.piece, f.open, f.begun = mem.NewBuffer(whole, f.Memory), (*whole)[:0], 0
}

// Close lays all that is not laid yet; the frame takes no more.
func (f *Frame) Close() {
	f.settle()
	f.free()
}

// free lays what is in open, and takes no more of that memory.
func (f *Frame) free() {
	f.cut()
	if f.piece != nil {
		f.piece.Free()
		f.piece, f.open, f.begun = nil, nil, 0
	}
}

// Messages are all that was laid in a frame that is closed. They are the caller's, to be freed once they are sent, and the frame
// is empty.
func (f *Frame) Messages() mem.BufferSlice {
	laid := f.Laid
	f.Laid = nil
	return laid
}

// LetGo lets go of Hold.
func (f *Frame) LetGo() {
	if f.Hold != nil {
		f.Hold.LetGo()
		f.Hold = nil
	}
}

// Drop gives back the memory of a frame that is not sent; of one that was there is none, nor of a nil one.
func (f *Frame) Drop() {
	if f == nil {
		return
	}
	f.shared = keptBytes{}
	f.free()
	f.Messages().Free()
	f.LetGo()
}
