package reply

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/server/internal/chainview"
)

// replyStream is a stream whose replies have room until they are sent, also those of which no frame was made: of Verify and of reflection.
type replyStream struct {
	grpc.ServerStream
	limiter *Limiter
}

func (s *replyStream) SendMsg(m any) error {
	reply, ok := m.(proto.Message)
	if _, has := m.(*Spliced); has || !ok {
		return s.ServerStream.SendMsg(m)
	}
	h, err := s.room(int64(proto.Size(reply)))
	if h == nil || err != nil {
		if err == nil {
			err = s.ServerStream.SendMsg(m)
		}
		return err
	}
	if err = s.ServerStream.SendMsg(Splice(reply, &chainview.Frame{}, h)); err != nil {
		h.Release()
	}
	h.UnlessEnded()
	return err
}

// room is that of a reply of so many bytes; nil for a tiny one.
func (s *replyStream) room(bytes int64) (h *Held, err error) {
	switch {
	case bytes <= tinyReply:
		return nil, nil
	case bytes <= SmallReply:
		h, err = s.limiter.TakeSmall(s.Context())
	default:
		h, err = s.limiter.Take(s.Context(), bytes)
	}
	if err == nil {
		h.shrink(bytes)
	}
	return h, err
}

// SendError makes of a failure to send what it is: the caller's deadline, its giving up, or its going away.
func SendError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return ErrGone
	}
}
