package conformance

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// rawCodec sends bytes as they are, and reads replies as protobuf.
type rawCodec struct{}

// Name implements encoding.Codec.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (rawCodec) Marshal(v any) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("%T is not bytes", v)
	}
	return b, nil
}

// Unmarshal implements encoding.Codec.
func (rawCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", v)
	}
	return proto.Unmarshal(data, m)
}

const (
	transcriptService = "/transcript.v1.TranscriptService/"
	adminService      = "/transcript.v1.AdminService/"
)

// raw calls a method with bytes as the request.
func (p *probe) raw(method string, request []byte, reply proto.Message) error {
	return p.calls.Invoke(p.ctx, method, request, reply, grpc.ForceCodec(rawCodec{}))
}

// encode is a message on the wire.
func (p *probe) encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		p.failf("the kit cannot encode its request: %v", err)
	}
	return b
}

// unknownField is a field that no message of the contract has.
var unknownField = protowire.AppendVarint(protowire.AppendTag(nil, 5000, protowire.VarintType), 1)
