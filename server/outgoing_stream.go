package server

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// replyStream is a stream whose replies have room until they are sent, also those of which no frame was made: of Verify and of reflection.
type replyStream struct {
	grpc.ServerStream
	outgoing *outgoing
}

func (s *replyStream) SendMsg(m any) error {
	reply, ok := m.(proto.Message)
	if _, has := m.(*spliced); has || !ok {
		return s.ServerStream.SendMsg(m)
	}
	h, err := s.room(int64(proto.Size(reply)))
	if h == nil || err != nil {
		if err == nil {
			err = s.ServerStream.SendMsg(m)
		}
		return err
	}
	if err = s.ServerStream.SendMsg(splice(reply, &chainview.Frame{}, h)); err != nil {
		h.release()
	}
	h.unlessEnded()
	return err
}

// room is that of a reply of so many bytes; nil for a tiny one.
func (s *replyStream) room(bytes int64) (h *held, err error) {
	switch {
	case bytes <= tinyReply:
		return nil, nil
	case bytes <= smallReply:
		h, err = s.outgoing.takeSmall(s.Context())
	default:
		h, err = s.outgoing.take(s.Context(), bytes)
	}
	if err == nil {
		h.shrink(bytes)
	}
	return h, err
}
