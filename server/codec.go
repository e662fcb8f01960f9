package server

import (
	"errors"
	"log/slog"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
)

const (
	// maxRequest is the most bytes of a request.
	maxRequest = 4 << 20
	// maxReceived is the most that is received at all: between the two a request is refused as LIMIT_EXCEEDED, above it
	// gRPC refuses it by itself, as RESOURCE_EXHAUSTED and without a reason.
	maxReceived = 8 << 20
	// maxHead is the most bytes of a call's head, as HTTP/2 counts them (RFC 9113, 6.5.2); gRPC clients are told, and refuse a
	// call with a larger one themselves.
	maxHead = 16 << 10
	// maxStreams is the most calls of one connection that are under way at once; further ones wait at the client.
	maxStreams = 256
	// streamWindow is how much of a request comes before a handler receives it, gRPC's least; then all of it may come, a round
	// trip later. connectionWindow is how much of all of a connection's requests may be on their way.
	streamWindow, connectionWindow = 64 << 10, 4 << 20
)

// codec is gRPC's codec for protobuf with other buffers and one more difference: bytes that are no request do not fail the
// call within gRPC, which would call that INTERNAL before any interceptor has run, but give an empty request with a mark on
// it, which the validation interceptor finds (refused). A reply that cannot be encoded is in the log: gRPC encodes it
// when the interceptors have ended, and they have logged that the call is well.
type codec struct {
	encoding.CodecV2
	shapes shapes
	pool   mem.BufferPool
	log    *slog.Logger
}

func newCodec(pool mem.BufferPool, log *slog.Logger) *codec {
	return &codec{CodecV2: encoding.GetCodecV2(grpcproto.Name), shapes: requestShapes(), pool: pool, log: log}
}

// Marshal is that of gRPC's codec with buffers of our own, and takes the messages out of a spliced reply.
func (c *codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *spliced:
		front, err := c.marshalFront(m)
		if err != nil {
			m.frame.Drop()
			m.held.release()
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
func (c *codec) marshalFront(m *spliced) (mem.BufferSlice, error) {
	if m.held == nil {
		return c.marshal(heldBy(m.frame).front(c.pool), m.Message)
	}
	if m.held.last != nil { // that of the messages, which are sent behind the front
		return c.marshal(m.held.front(c.pool), m.Message)
	}
	return c.marshal(m.held, m.Message)
}

func (c *codec) marshal(pool mem.BufferPool, m proto.Message) (mem.BufferSlice, error) {
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

// Unmarshal fails only for what is no protobuf message of Go.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if err := c.read(data, m); err != nil {
		proto.Reset(m)
		mark(m, err)
	}
	return nil
}

func (c *codec) read(data mem.BufferSlice, m proto.Message) *canonical.FieldError {
	if data.Len() > maxRequest {
		return &canonical.FieldError{Field: "request", Rule: "must be at most 4 MiB", Kind: canonical.ErrLimit}
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	shape := c.shapes[m.ProtoReflect().Descriptor().FullName()]
	if fault := new(pass).check(shape, b.ReadOnlyData()); fault != nil {
		return fault
	}
	if err := proto.Unmarshal(b.ReadOnlyData(), m); err != nil {
		if fault := (&pass{text: true}).check(shape, b.ReadOnlyData()); fault != nil {
			return fault
		}
		return &canonical.FieldError{Field: "request", Rule: "does not parse", Kind: canonical.ErrMalformed}
	}
	return nil
}

// markNumber is the highest number that a field can have; no message of ours has it. A request on which the codec left
// it holds nothing else.
const markNumber = protowire.Number(1<<29 - 1)

// mark leaves err on an empty m: an unknown field with kind, field and rule.
func mark(m proto.Message, err *canonical.FieldError) {
	kind := byte('m')
	if errors.Is(err, canonical.ErrLimit) {
		kind = 'l'
	}
	b := protowire.AppendTag(nil, markNumber, protowire.BytesType)
	b = protowire.AppendBytes(b, []byte{kind})
	b = protowire.AppendTag(b, markNumber, protowire.BytesType)
	b = protowire.AppendString(b, err.Field)
	b = protowire.AppendTag(b, markNumber, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(b, err.Rule))
}

// refused gives back what the codec found wrong with a request; nil if nothing.
func refused(m proto.Message) *canonical.FieldError {
	b := m.ProtoReflect().GetUnknown()
	var parts [3]string
	for i := range parts {
		number, _, n := protowire.ConsumeTag(b)
		if n < 0 || number != markNumber {
			return nil
		}
		v, size := protowire.ConsumeString(b[n:])
		if size < 0 {
			return nil
		}
		parts[i], b = v, b[n+size:]
	}
	kind := canonical.ErrMalformed
	if parts[0] == "l" {
		kind = canonical.ErrLimit
	}
	return &canonical.FieldError{Field: parts[1], Rule: parts[2], Kind: kind}
}
