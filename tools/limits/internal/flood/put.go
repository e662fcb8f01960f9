package flood

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statusv1 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/turns"
)

// put is a PutNode of a turn.
type put struct {
	namespace, parent string
	salt              []byte
	turn              *encoded
	call              uint64
}

// encoded is a turn as the field of a request, and where in it the id of its call is.
type encoded struct {
	messages []byte
	ids      [2]int
}

func encode(seed uint64) (*encoded, error) {
	b, err := proto.Marshal(&transcriptv1.PutNodeRequest{Messages: turns.Turn(seed)})
	if err != nil {
		return nil, err
	}
	id, at := []byte(turns.CallID(seed)), 0
	e := &encoded{messages: b}
	for i := range e.ids {
		at += bytes.Index(b[at:], id)
		e.ids[i] = at
		at += len(id)
	}
	return e, nil
}

// append appends the put as a gRPC message: its mark as not compressed, its length, a PutNodeRequest.
func (p *put) append(out []byte) []byte {
	out = append(out, 0, 0, 0, 0, 0)
	message := len(out)
	out = protowire.AppendString(protowire.AppendTag(out, 1, protowire.BytesType), p.namespace)
	if p.parent != "" {
		out = protowire.AppendTag(out, 2, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(p.parent))))
		out = protowire.AppendString(protowire.AppendTag(out, 1, protowire.BytesType), p.parent)
	}
	turn := len(out)
	out = append(out, p.turn.messages...)
	for _, at := range p.turn.ids {
		copy(out[turn+at:], turns.CallID(p.call))
	}
	out = protowire.AppendBytes(protowire.AppendTag(out, 6, protowire.BytesType), p.salt)
	binary.BigEndian.PutUint32(out[message-4:], uint32(len(out)-message))
	return out
}

// heads are the fields that the heads of all calls have.
func heads(token string) []hpack.HeaderField {
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: transcriptv1.TranscriptService_PutNode_FullMethodName},
		{Name: ":authority", Value: "limits"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}
	if token != "" {
		fields = append(fields, hpack.HeaderField{Name: "authorization", Value: "Bearer " + token})
	}
	return fields
}

// request lays out the frames of a call, and tells what they take of the window.
func (w *wire) request(c *call, left time.Duration) (bytes int) {
	w.header.Reset()
	for _, f := range w.heads {
		_ = w.encoder.WriteField(f) // into memory
	}
	_ = w.encoder.WriteField(hpack.HeaderField{Name: "grpc-timeout", Value: strconv.FormatInt(left.Milliseconds()+1, 10) + "m"})
	_ = w.write.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: w.header.Bytes(), EndHeaders: true})
	message := c.append(make([]byte, 0, 5<<10))
	_ = w.write.WriteData(c.stream, true, message)
	return len(message)
}

// headIn is the id of the node that was put: the first field of the reply, which comes in one frame.
func headIn(data []byte) string {
	if len(data) < 5 {
		return ""
	}
	if number, _, n := protowire.ConsumeTag(data[5:]); number == 1 && n > 0 {
		if id, size := protowire.ConsumeString(data[5+n:]); size > 0 {
			return id
		}
	}
	return ""
}

// status is the status in a call's trailers. Refusals are mostly alike, so what the last one's details say is kept.
func (w *wire) status(f *http2.MetaHeadersFrame) ending {
	e := ending{code: codes.Unknown}
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			if n, err := strconv.ParseUint(field.Value, 10, 32); err == nil {
				e.code = codes.Code(n)
			}
		case "grpc-status-details-bin":
			if field.Value != w.details {
				w.details, w.reason = field.Value, reasonIn(field.Value)
			}
			e.reason = w.reason
		}
	}
	return e
}

// reasonIn is the reason of the ErrorInfo among a status's details.
func reasonIn(details string) string {
	raw, err := base64.RawStdEncoding.DecodeString(details)
	status, info := new(statusv1.Status), new(errdetails.ErrorInfo)
	if err != nil || proto.Unmarshal(raw, status) != nil {
		return ""
	}
	for _, detail := range status.Details {
		if detail.MessageIs(info) && detail.UnmarshalTo(info) == nil {
			return info.Reason
		}
	}
	return ""
}
