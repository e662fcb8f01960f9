package conforms

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// broken stands between the kit and a server that keeps its promises, and breaks one.
type broken struct {
	conn   grpc.ClientConnInterface
	breaks breaks
}

// breaks is how: by what it does with a call, with the frames of StreamAssemble, and with the requests and the reports of CollectGarbage and Erase.
type breaks struct {
	call     func(c *call) error
	frames   func(f *transcriptv1.StreamAssembleResponse) []*transcriptv1.StreamAssembleResponse
	collect  func(q *transcriptv1.CollectGarbageRequest)
	reported func(r *transcriptv1.CollectGarbageResponse)
	erase    func(q *transcriptv1.EraseRequest)
	erased   func(r *transcriptv1.EraseResponse)
}

// call is one that came.
type call struct {
	// method is the rpc's name; request is the kit's, a message or bytes: change a copy.
	method  string
	request any
	reply   proto.Message
	// send sends a request to the server.
	send func(request any) error
}

// pass sends the request as it came.
func (c *call) pass() error { return c.send(c.request) }

// Invoke implements grpc.ClientConnInterface.
func (b *broken) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	c := &call{method: path.Base(method), request: args, reply: reply.(proto.Message), send: func(request any) error {
		return b.conn.Invoke(ctx, method, request, reply, opts...)
	}}
	if b.breaks.call == nil {
		return c.pass()
	}
	return b.breaks.call(c)
}

// NewStream implements grpc.ClientConnInterface.
func (b *broken) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := b.conn.NewStream(ctx, desc, method, opts...)
	if err == nil && path.Base(method) == "CollectGarbage" {
		return &brokenCollection{s, b.breaks}, nil
	}
	if err == nil && path.Base(method) == "Erase" {
		return &brokenErasure{s, b.breaks}, nil
	}
	if err != nil || b.breaks.frames == nil || path.Base(method) != "StreamAssemble" {
		return s, err
	}
	return &brokenStream{ClientStream: s, breaks: b.breaks}, nil
}

// brokenCollection asks for another collection than the kit does, and gives other reports than the server's.
type brokenCollection struct {
	grpc.ClientStream
	breaks breaks
}

// SendMsg implements grpc.ClientStream.
func (s *brokenCollection) SendMsg(m any) error {
	q := proto.CloneOf(m.(*transcriptv1.CollectGarbageRequest))
	if s.breaks.collect != nil {
		s.breaks.collect(q)
	}
	return s.ClientStream.SendMsg(q)
}

// RecvMsg implements grpc.ClientStream.
func (s *brokenCollection) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil && s.breaks.reported != nil {
		s.breaks.reported(m.(*transcriptv1.CollectGarbageResponse))
	}
	return err
}

// brokenErasure asks for another erasure than the kit does, and gives other reports than the server's.
type brokenErasure struct {
	grpc.ClientStream
	breaks breaks
}

// SendMsg implements grpc.ClientStream.
func (s *brokenErasure) SendMsg(m any) error {
	q := proto.CloneOf(m.(*transcriptv1.EraseRequest))
	if s.breaks.erase != nil {
		s.breaks.erase(q)
	}
	return s.ClientStream.SendMsg(q)
}

// RecvMsg implements grpc.ClientStream.
func (s *brokenErasure) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil && s.breaks.erased != nil {
		s.breaks.erased(m.(*transcriptv1.EraseResponse))
	}
	return err
}

// brokenStream gives other frames than the server's.
type brokenStream struct {
	grpc.ClientStream
	breaks breaks
	ready  []*transcriptv1.StreamAssembleResponse
}

// RecvMsg implements grpc.ClientStream.
func (s *brokenStream) RecvMsg(m any) error {
	for len(s.ready) == 0 {
		f := &transcriptv1.StreamAssembleResponse{}
		if err := s.ClientStream.RecvMsg(f); err != nil {
			return err
		}
		s.ready = s.breaks.frames(f)
	}
	proto.Merge(m.(proto.Message), s.ready[0])
	s.ready = s.ready[1:]
	return nil
}
