package reply

import (
	"log/slog"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// Codec is gRPC's codec for protobuf with other buffers and one more difference: what is wrong with the bytes of a request is told
// to who receives it, who knows which field that is; gRPC would make it INTERNAL. A reply that cannot be encoded is in the log:
// gRPC encodes it when the interceptors have ended, and they have logged that the call is well.
type Codec struct {
	encoding.CodecV2
	requests *receive.Requests
	pool     mem.BufferPool
	log      *slog.Logger
}

func NewCodec(requests *receive.Requests, pool mem.BufferPool, log *slog.Logger) *Codec {
	return &Codec{CodecV2: encoding.GetCodecV2(grpcproto.Name), requests: requests, pool: pool, log: log}
}

// Marshal is that of gRPC's codec with buffers of our own, and takes the messages out of a spliced reply.
func (c *Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *Spliced:
		front, err := c.marshalFront(m)
		if err != nil {
			m.frame.Drop()
			m.held.Release()
			return nil, err
		}
		all := append(front, m.frame.Messages()...)
		m.frame.LetGo()
		m.held.handOver()
		return all, nil
	case proto.Message:
		return c.marshal(c.pool, m)
	default:
		return c.CodecV2.Marshal(v)
	}
}

// marshalFront encodes what a reply, or a frame of a stream, has in front of its messages.
func (c *Codec) marshalFront(m *Spliced) (mem.BufferSlice, error) {
	if m.held == nil {
		return c.marshal(HeldBy(m.frame).front(c.pool), m.Message)
	}
	if m.held.last != nil { // that of the messages, which are sent behind the front
		return c.marshal(m.held.front(c.pool), m.Message)
	}
	return c.marshal(m.held, m.Message)
}

func (c *Codec) marshal(pool mem.BufferPool, m proto.Message) (mem.BufferSlice, error) {
	size := proto.Size(m)
	if size == 0 {
		return nil, nil
	}
	b := pool.Get(size)
	if _, err := (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend((*b)[:0], m); err != nil {
		pool.Put(b)
		c.log.Error("a reply cannot be encoded, its call ends as INTERNAL",
			slog.String("message", string(m.ProtoReflect().Descriptor().FullName())), slog.Any("error", err))
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(b, pool)}, nil
}

// Unmarshal decodes a request: see requests.unmarshal.
func (c *Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(proto.Message); ok {
		return c.requests.Unmarshal(data, m)
	}
	return c.CodecV2.Unmarshal(data, v)
}
