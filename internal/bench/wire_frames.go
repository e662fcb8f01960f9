package bench

import (
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
)

// appendFrame appends the head of a frame whose length is set once it is known.
func appendFrame(out []byte, kind http2.FrameType, flags http2.Flags, stream uint32) []byte {
	return binary.BigEndian.AppendUint32(append(out, 0, 0, 0, byte(kind), byte(flags)), stream)
}

// frameHead is what each frame begins with.
const frameHead = 9

// setLength sets the length of the frame that begins at from and ends with out.
func setLength(out []byte, from int) {
	n := len(out) - from - frameHead
	out[from], out[from+1], out[from+2] = byte(n>>16), byte(n>>8), byte(n)
}

// appendHeader appends the frame that opens a call.
func (w *wire) appendHeader(out []byte, call *wireCall) []byte {
	left := max(0, time.Until(call.deadline).Milliseconds()) + 1
	w.header.Reset()
	for _, f := range [...]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: transcriptv1.TranscriptService_PutNode_FullMethodName},
		{Name: ":authority", Value: "bench"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "grpc-timeout", Value: strconv.FormatInt(left, 10) + "m"},
	} {
		_ = w.encoder.WriteField(f) // into memory
	}
	from := len(out)
	out = appendFrame(out, http2.FrameHeaders, http2.FlagHeadersEndHeaders, call.stream)
	out = append(out, w.header.Bytes()...)
	setLength(out, from)
	return out
}

// appendPut appends the frame with the request: a PutNodeRequest, marked by gRPC as not compressed and with its length.
func appendPut(out []byte, call *wireCall) []byte {
	from := len(out)
	out = appendFrame(out, http2.FrameData, http2.FlagDataEndStream, call.stream)
	out = append(out, 0, 0, 0, 0, 0)
	message := len(out)
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendString(out, call.namespace)
	if call.parent != "" {
		out = protowire.AppendTag(out, 2, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(call.parent))))
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendString(out, call.parent)
	}
	out = call.turn.append(out, call.call)
	out = protowire.AppendTag(out, 6, protowire.BytesType)
	out = protowire.AppendBytes(out, call.salt)
	binary.BigEndian.PutUint32(out[message-4:], uint32(len(out)-message))
	setLength(out, from)
	return out
}

// reply keeps the id of the node that was put: the first field of the reply, which comes in one frame.
func (w *wire) reply(stream uint32, data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	call := w.sent[stream]
	if call == nil || len(data) < 5 {
		return
	}
	if number, _, n := protowire.ConsumeTag(data[5:]); number == 1 && n > 0 {
		if id, size := protowire.ConsumeString(data[5+n:]); size > 0 {
			call.head = id
		}
	}
}

// outcome is how a call ended. Refusals are mostly alike, so what the last one's details say is kept.
func (w *wire) outcome(f *http2.MetaHeadersFrame) ending {
	code, details := outcomeOf(f)
	if details == "" {
		return ending{code: code}
	}
	if details != w.details {
		w.details, w.reason = details, reasonIn(details)
	}
	return ending{code: code, reason: w.reason}
}

// outcomeOf is the status in a call's trailers, its details as they came.
func outcomeOf(f *http2.MetaHeadersFrame) (code codes.Code, details string) {
	code = codes.Unknown
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			if n, err := strconv.ParseUint(field.Value, 10, 32); err == nil {
				code = codes.Code(n)
			}
		case "grpc-status-details-bin":
			details = field.Value
		}
	}
	return code, details
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
