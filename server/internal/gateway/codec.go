package gateway

import (
	"context"

	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// jsonCodec is JSON as protobuf maps it, read strictly: a member that is not known is refused, as is a body that would take far more memory
// than it has bytes.
type jsonCodec struct {
	vanguard.JSONCodec
	refusals *refusals
	faults   faults
}

func newJSON(types vanguard.TypeResolver, refusals *refusals) jsonCodec {
	return jsonCodec{vanguard.JSONCodec{
		MarshalOptions: protojson.MarshalOptions{Resolver: types}, UnmarshalOptions: protojson.UnmarshalOptions{Resolver: types, RecursionLimit: maxDepth},
	}, refusals, newFaults()}
}

// maxDepth is how deep objects may lie in one another: requests have fewer levels.
const maxDepth = 64

func (c jsonCodec) Unmarshal(body []byte, into proto.Message) error {
	err := bounded(body)
	if err == nil {
		if e := c.JSONCodec.Unmarshal(body, into); e != nil {
			err = c.faults.of(body, into.ProtoReflect().Descriptor(), e)
		}
	}
	if err == nil {
		return nil
	}
	return c.refusals.connectError(context.Background(), err)
}

// Values of a body: an object or list takes some 150 bytes when it is parsed, another value 16.
const maxObjects, maxValues = receive.MaxNested, 1 << 20

// bounded refuses a body with too many values, which no request within the limits has.
func bounded(body []byte) error {
	objects, values, text := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			objects++
		case c == ',':
			values++
		}
	}
	if objects > maxObjects || values > maxValues {
		return &canonical.FieldError{Field: "request", Rule: "has too many objects, lists or values: put fewer messages a call", Kind: canonical.ErrLimit}
	}
	return nil
}
