package server

import (
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// spliced is a reply with the messages of a frame: the codec sends them from where they lie, behind what else the reply has.
type spliced struct {
	proto.Message
	frame *chainview.Frame
	// held is the room that the reply has, which is the codec's to hand on; nil: none.
	held *held
}

// splice closes the frame here, since a panic is a call's own fault in a handler, and the process's end in the codec.
func splice(m proto.Message, f *chainview.Frame, h *held) *spliced {
	f.Close()
	return &spliced{m, f, h}
}

// size is that of the whole reply.
func (s *spliced) size() int { return proto.Size(s.Message) + s.frame.Bytes }

// Encode is the whole reply, encoded, for interceptors outside of the server's that look at replies.
func (s *spliced) Encode() ([]byte, error) {
	front, err := proto.Marshal(s.Message)
	return append(front, s.frame.Laid.Materialize()...), err
}

// frame makes a frame in the room of a reply, or of a part of one; nil: it has none.
func (o *outgoing) frame(h *held, most int, exactly bool) *chainview.Frame {
	if h == nil {
		return &chainview.Frame{Memory: o.buffers, Most: most, Exactly: exactly}
	}
	return &chainview.Frame{Memory: h, Most: most, Exactly: exactly}
}

// heldBy is the room of a frame; nil: it has none.
func heldBy(f *chainview.Frame) *held {
	h, _ := f.Memory.(*held)
	return h
}
