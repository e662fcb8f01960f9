// Package overhttp makes calls over HTTP as though they were made over gRPC, in each form that the server takes, so that tests of the
// service are tests of that too.
package overhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
)

// Form is a way to make calls.
type Form string

// The forms: Connect and gRPC-Web, as the library connect-go speaks them, and what curl sends: JSON, with streams as lines or as events.
const (
	ConnectJSON  Form = "Connect with JSON"
	ConnectProto Form = "Connect in binary"
	Web          Form = "gRPC-Web"
	WebJSON      Form = "gRPC-Web with JSON"
	Curl         Form = "JSON and lines"
	Events       Form = "JSON and events"
)

// Forms are all.
func Forms() []Form { return []Form{ConnectJSON, ConnectProto, Web, WebJSON, Curl, Events} }

// Conn makes calls to a server at a URL. It has no calls with streams of requests.
type Conn struct {
	URL    string
	Form   Form
	Client *http.Client
}

var _ grpc.ClientConnInterface = (*Conn)(nil)

// method is what is known of one.
type method struct {
	path    string
	streams bool
	reply   protoreflect.MessageType
}

func find(path string) (*method, error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")))
	if err != nil {
		return nil, err
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok || m.IsStreamingClient() {
		return nil, fmt.Errorf("%s is no method that takes one request", path)
	}
	reply, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	return &method{path: path, streams: m.IsStreamingServer(), reply: reply}, err
}

// Invoke makes a call with one reply.
func (c *Conn) Invoke(ctx context.Context, path string, request, reply any, _ ...grpc.CallOption) error {
	m, err := find(path)
	if err != nil {
		return err
	}
	stream := c.begin(ctx, m, request)
	defer stream.close()
	if err := stream.next(reply); err != nil {
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Internal, "no reply")
		}
		return err
	}
	return nil
}

// NewStream makes a call whose request is the first that is sent.
func (c *Conn) NewStream(ctx context.Context, _ *grpc.StreamDesc, path string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	m, err := find(path)
	if err != nil {
		return nil, err
	}
	return &stream{conn: c, ctx: ctx, method: m}, nil
}

// stream is a call with one request, sent when it is.
type stream struct {
	conn    *Conn
	ctx     context.Context
	method  *method
	replies replies
}

func (s *stream) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (s *stream) Trailer() metadata.MD         { return metadata.MD{} }
func (s *stream) Context() context.Context     { return s.ctx }
func (s *stream) CloseSend() error             { return nil }

func (s *stream) SendMsg(request any) error {
	s.replies = s.conn.begin(s.ctx, s.method, request)
	return nil
}

func (s *stream) RecvMsg(reply any) error {
	err := s.replies.next(reply)
	if err != nil {
		s.replies.close()
	}
	return err
}

// replies are those of a call; next gives io.EOF after the last.
type replies interface {
	next(into any) error
	close()
}

// failed is a call that came to an error before any reply.
type failed struct{ err error }

func (f failed) next(any) error { return f.err }
func (failed) close()           {}

func (c *Conn) begin(ctx context.Context, m *method, request any) replies {
	ask, ok := request.(proto.Message)
	if !ok {
		return failed{errors.New("a request is no message")}
	}
	switch c.Form {
	case Curl, Events:
		return c.plain(ctx, m, ask)
	default:
		return c.connect(ctx, m, ask)
	}
}

// box is a message of any type, for clients of connect-go, which are of one each.
type box struct {
	out proto.Message
	in  []byte
}

// boxes is the codec of boxes.
type boxes struct{ name string }

func (c boxes) Name() string { return c.name }

func (c boxes) Marshal(m any) ([]byte, error) {
	if c.name == "json" {
		return protojson.Marshal(m.(*box).out)
	}
	return proto.Marshal(m.(*box).out)
}

func (c boxes) Unmarshal(b []byte, m any) error {
	switch m := m.(type) {
	case *box:
		m.in = append([]byte{}, b...)
		return nil
	case proto.Message: // the status of gRPC-Web
		return proto.Unmarshal(b, m)
	default:
		return fmt.Errorf("nothing is read into a %T", m)
	}
}

func (c *Conn) connect(ctx context.Context, m *method, ask proto.Message) replies {
	codec := boxes{"proto"}
	var options []connect.ClientOption
	if c.Form == ConnectJSON || c.Form == WebJSON {
		codec.name = "json"
	}
	if c.Form == Web || c.Form == WebJSON {
		options = append(options, connect.WithGRPCWeb())
	}
	client := connect.NewClient[box, box](c.Client, c.URL+m.path, append(options, connect.WithCodec(codec))...)
	req := connect.NewRequest(&box{out: ask})
	head(ctx, req.Header())
	if m.streams {
		s, err := client.CallServerStream(ctx, req)
		if err != nil {
			return failed{statusOf(err)}
		}
		return &many{s, m, codec.name}
	}
	reply, err := client.CallUnary(ctx, req)
	if err != nil {
		return failed{statusOf(err)}
	}
	return &one{reply.Msg.in, m, codec.name, false}
}

// head gives a request the metadata of its context.
func head(ctx context.Context, h http.Header) {
	md, _ := metadata.FromOutgoingContext(ctx)
	for name, values := range md {
		for _, v := range values {
			h.Add(name, v)
		}
	}
}

// one is a single reply.
type one struct {
	body   []byte
	method *method
	codec  string
	given  bool
}

func (o *one) next(into any) error {
	if o.given {
		return io.EOF
	}
	o.given = true
	return o.method.decode(o.codec, o.body, into)
}

func (*one) close() {}

// many are the replies of a stream.
type many struct {
	stream *connect.ServerStreamForClient[box]
	method *method
	codec  string
}

func (s *many) next(into any) error {
	if s.stream.Receive() {
		return s.method.decode(s.codec, s.stream.Msg().in, into)
	}
	if err := s.stream.Err(); err != nil {
		return statusOf(err)
	}
	return io.EOF
}

func (s *many) close() { _ = s.stream.Close() }

// decode reads a reply, into a message that may be of another type, which keeps it as fields that it does not know.
func (m *method) decode(codec string, body []byte, into any) error {
	if codec == "json" {
		reply := m.reply.New().Interface()
		if err := protojson.Unmarshal(body, reply); err != nil {
			return fmt.Errorf("a reply is not what it should be: %w", err)
		}
		var err error
		if body, err = proto.Marshal(reply); err != nil {
			return err
		}
	}
	return proto.Unmarshal(body, into.(proto.Message))
}

// statusOf is an error of connect-go as gRPC has it.
func statusOf(err error) error {
	var told *connect.Error
	switch {
	case errors.As(err, &told):
	case errors.Is(err, context.Canceled):
		return status.FromContextError(err).Err()
	default:
		return status.Error(codes.Unavailable, err.Error())
	}
	s := &spb.Status{Code: int32(told.Code()), Message: told.Message()} //nolint:gosec // there are 17
	for _, d := range told.Details() {
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	return status.FromProto(s).Err()
}
