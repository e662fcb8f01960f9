package reply

import (
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// Spliced is a reply with the messages of a frame: the codec sends them from where they lie, behind what else the reply has.
type Spliced struct {
	proto.Message
	frame *chainview.Frame
	// held is the room that the reply has, which is the codec's to hand on; nil: none.
	held *Held
}

// Splice closes the frame here, since a panic is a call's own fault in a handler, and the process's end in the codec.
func Splice(m proto.Message, f *chainview.Frame, h *Held) *Spliced {
	f.Close()
	return &Spliced{m, f, h}
}

// size is that of the whole reply.
func (s *Spliced) size() int { return proto.Size(s.Message) + s.frame.Bytes }

// Encode is the whole reply, encoded, for interceptors outside of the server's that look at replies.
func (s *Spliced) Encode() ([]byte, error) {
	front, err := proto.Marshal(s.Message)
	return append(front, s.frame.Laid.Materialize()...), err
}

// Frame makes a frame in the room of a reply, or of a part of one; nil: it has none.
func (o *Limiter) Frame(h *Held, most int, exactly bool) *chainview.Frame {
	if h == nil {
		return &chainview.Frame{Memory: o.Buffers, Most: most, Exactly: exactly}
	}
	return &chainview.Frame{Memory: h, Most: most, Exactly: exactly}
}

// HeldBy is the room of a frame; nil: it has none.
func HeldBy(f *chainview.Frame) *Held {
	h, _ := f.Memory.(*Held)
	return h
}

// Size is the encoded size of a message; 0 for none.
func Size(v any) int {
	switch m := v.(type) {
	case *Spliced:
		return m.size()
	case proto.Message:
		return proto.Size(m)
	default:
		return 0
	}
}
