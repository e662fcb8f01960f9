package client

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A reply with messages has them in field 1, as Payload does, so the records of that field as they were received, laid
// end to end, are a payload: what is hashed. rawReply receives such a reply without decoding it. It is the twin of the
// generated type with bytes for messages, made by a codec rather than by a second contract.

// messagesField is the number of `repeated Message messages` in Payload and in every reply.
const messagesField = 1

// rawReply is a reply as it was received.
type rawReply struct{ bytes []byte }

// rawCall makes a call whose reply is a *rawReply.
func rawCall() grpc.CallOption {
	return grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)})
}

// rawCodec is protobuf's codec, but leaves a *rawReply undecoded.
type rawCodec struct{ encoding.CodecV2 }

// Unmarshal copies data, which gRPC takes back, into a *rawReply, and decodes into anything else.
func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*rawReply); ok {
		raw.bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// split parts a reply into the records of its messages, laid end to end, and those of everything else. Both may be
// parts of the reply's memory. The error is an ErrBadReply.
func (r *rawReply) split() (payload, rest []byte, err error) {
	first, last, size := 0, 0, 0 // where messages begin and end, and their bytes
	for at := 0; at < len(r.bytes); {
		n, number, err := record(r.bytes[at:])
		if err != nil {
			return nil, nil, err
		}
		if number == messagesField {
			if size == 0 {
				first = at
			}
			last, size = at+n, size+n
		}
		at += n
	}
	if size != last-first { // other fields between them: our server does not send that
		payload, rest = r.gather()
		return payload, rest, nil
	}
	return r.bytes[first:last:last], without(r.bytes, first, last), nil
}

// without is b less b[first:last], part of b itself where that is possible.
func without(b []byte, first, last int) []byte {
	switch {
	case first == 0:
		return b[last:]
	case last == len(b):
		return b[:first:first]
	default:
		return append(b[:first:first], b[last:]...)
	}
}

// gather is split for records in any order; record has found no fault in them.
func (r *rawReply) gather() (payload, rest []byte) {
	for b := r.bytes; len(b) > 0; {
		n, number, err := record(b)
		if err != nil {
			break
		}
		if number == messagesField {
			payload = append(payload, b[:n]...)
		} else {
			rest = append(rest, b[:n]...)
		}
		b = b[n:]
	}
	return payload, rest
}

// record measures the first field of b, tag included.
func record(b []byte) (size int, number protowire.Number, err error) {
	number, _, size = protowire.ConsumeField(b)
	if size < 0 {
		return 0, 0, badReply(protowire.ParseError(size))
	}
	return size, number, nil
}

// cut parts a payload after count messages. The error is an ErrBadReply where it has fewer.
func cut(payload []byte, count int) (head, tail []byte, err error) {
	at := 0
	for range count {
		if at == len(payload) {
			return nil, nil, fault(ErrBadReply, "fewer messages than its nodes say")
		}
		n, _, err := record(payload[at:])
		if err != nil {
			return nil, nil, err
		}
		at += n
	}
	return payload[:at], payload[at:], nil
}

// decodeMessages reads the messages of a payload. The error is an ErrBadReply.
func decodeMessages(payload []byte) ([]*transcriptv1.Message, error) {
	var p transcriptv1.Payload
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	return p.Messages, nil
}

func badReply(err error) error { return fault(ErrBadReply, err.Error()) }
