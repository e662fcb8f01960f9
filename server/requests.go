package server

import (
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
)

// requests reads requests, and keeps what is wrong with the bytes of one from when the codec finds it until who receives it asks:
// between the two lies gRPC, which makes a text of every error.
type requests struct {
	shapes shapes

	mu sync.Mutex
	// faults has the requests that are being received; nil: nothing is wrong so far.
	faults map[any]*canonical.FieldError
}

func newRequests() *requests {
	return &requests{shapes: requestShapes(), faults: map[any]*canonical.FieldError{}}
}

// receive has receive fill a request. fault is what is wrong with its bytes; it is empty then.
func (r *requests) receive(req any, receive func(any) error) (fault *canonical.FieldError, err error) {
	r.expect(req)
	defer func() { fault = r.forget(req) }() // also where receive panics
	return nil, receive(req)
}

func (r *requests) expect(req any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[req] = nil
}

// tell says what is wrong with a request; false: nobody receives it.
func (r *requests) tell(req any, fault *canonical.FieldError) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, expected := r.faults[req]
	if expected {
		r.faults[req] = fault
	}
	return expected
}

func (r *requests) forget(req any) *canonical.FieldError {
	r.mu.Lock()
	defer r.mu.Unlock()
	fault := r.faults[req]
	delete(r.faults, req)
	return fault
}

// read decodes a request, or tells what is wrong with its bytes.
func (r *requests) read(data mem.BufferSlice, m proto.Message) *canonical.FieldError {
	if data.Len() > maxRequest {
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
