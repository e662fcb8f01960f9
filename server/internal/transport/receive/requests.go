package receive

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// MaxRequest is the most bytes of a request. One of nodes that were put elsewhere may have archivedMore: what could just be put as a new node is as
// an archived one larger, by its envelope, its time, and where its messages were copied from.
const (
	MaxRequest   = 4 << 20
	archivedMore = 64 << 10
)

// Requests reads requests, and keeps what is wrong with the bytes of one from when the codec finds it until who receives it asks:
// between the two lies gRPC, which makes a text of every error.
type Requests struct {
	shapes shapes

	mu sync.Mutex
	// faults has the requests that are being received; nil: nothing is wrong so far.
	faults map[any]*canonical.FieldError
}

func NewRequests() *Requests {
	return &Requests{shapes: requestShapes(), faults: map[any]*canonical.FieldError{}}
}

// receive has receive fill a request. fault is what is wrong with its bytes; it is empty then.
func (r *Requests) receive(req any, receive func(any) error) (fault *canonical.FieldError, err error) {
	r.expect(req)
	defer func() { fault = r.forget(req) }() // also where receive panics
	return nil, receive(req)
}

func (r *Requests) expect(req any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[req] = nil
}

// tell says what is wrong with a request; false: nobody receives it.
func (r *Requests) tell(req any, fault *canonical.FieldError) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, expected := r.faults[req]
	if expected {
		r.faults[req] = fault
	}
	return expected
}

func (r *Requests) forget(req any) *canonical.FieldError {
	r.mu.Lock()
	defer r.mu.Unlock()
	fault := r.faults[req]
	delete(r.faults, req)
	return fault
}

// Unmarshal gives an empty request where its bytes are none, if somebody receives it, who is told why. The error of a message that
// nobody receives, of a service without a gate, says it.
func (r *Requests) Unmarshal(data mem.BufferSlice, m proto.Message) error {
	fault := r.Read(data, m)
	if fault == nil {
		return nil
	}
	proto.Reset(m)
	if !r.tell(m, fault) {
		return fault
	}
	return nil
}

// Read decodes a request, or tells what is wrong with its bytes.
func (r *Requests) Read(data mem.BufferSlice, m proto.Message) *canonical.FieldError {
	most := MaxRequest
	if _, archived := m.(*transcriptv1.PutArchivedNodesRequest); archived {
		most += archivedMore
	}
	if data.Len() > most {
		return &canonical.FieldError{Field: "request", Rule: "must be at most 4 MiB", Kind: canonical.ErrLimit}
	}
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	shape := r.shapes[m.ProtoReflect().Descriptor().FullName()]
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
