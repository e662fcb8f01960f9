package gateway

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/server/internal/access"
)

// method is one that is served.
type method struct {
	row     *access.Method
	streams bool
}

// methodsOf are the methods of services, by the path of their calls. None takes a stream of requests.
func methodsOf(services []protoreflect.ServiceDescriptor) map[string]*method {
	all := map[string]*method{}
	for _, s := range services {
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i)
			path := fmt.Sprintf("/%s/%s", s.FullName(), m.Name())
			all[path] = &method{row: access.Find(path), streams: m.IsStreamingServer()}
		}
	}
	return all
}

// forms are the types of bodies, and whether they are of streams; those of gRPC-Web are of both.
const (
	formJSON, formProto                = "application/json", "application/proto"
	formStreamJSON, formStreamProto    = "application/connect+json", "application/connect+proto"
	formWeb, formWebProto, formWebJSON = "application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"
)

func isWeb(form string) bool { return form == formWeb || form == formWebProto || form == formWebJSON }

// headBytes is how many bytes the gRPC server will count for the headers of a request, but for those that come on the way.
func headBytes(r *http.Request) int {
	bytes := 0
	for name, values := range r.Header {
		for _, v := range values {
			bytes += len(name) + len(v) + 32 // RFC 9113, 6.5.2
		}
	}
	return bytes
}

// formOf is the form of a request; the fault says why it cannot be served.
func formOf(r *http.Request, m *method) (form, fault string) {
	form, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, told := params["charset"]
	switch {
	case len(r.Header.Values("Content-Type")) != 1 || err != nil:
		return "", "say what the body is with one header Content-Type: application/json (with curl: --json)"
	case told && !strings.EqualFold(charset, "utf-8"):
		return "", "the body must be in UTF-8"
	case form == "application/grpc" || strings.HasPrefix(form, "application/grpc+"):
		return "", "gRPC is served on another address: that of --listen"
	case form == formProto && m.streams:
		return "", "a stream is asked for as application/json, application/connect+json, application/connect+proto or application/grpc-web+proto"
	case (form == formStreamJSON || form == formStreamProto) && !m.streams:
		return "", "this method has one reply: ask for it as application/json or application/proto"
	case form != formJSON && form != formProto && form != formStreamJSON && form != formStreamProto && !isWeb(form):
		return "", "the body must be application/json (with curl: --json), or in another form of Connect or gRPC-Web"
	}
	for _, name := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		for _, e := range r.Header.Values(name) {
			if e != "" && e != "identity" {
				return "", "the body must not be compressed"
			}
		}
	}
	return form, ""
}

// deadline is the context of a request with the time that Connect, or gRPC-Web, gives it.
func deadline(r *http.Request, form string) (context.Context, context.CancelFunc, error) {
	name, parse, rule := "Connect-Timeout-Ms", milliseconds, "must be one number of milliseconds, of at most 10 digits"
	if isWeb(form) {
		name, parse, rule = "Grpc-Timeout", grpcTimeout, "must be one number of at most 8 digits and its unit, such as 5S"
	}
	switch values := r.Header.Values(name); len(values) {
	case 0:
		ctx, cancel := context.WithCancel(r.Context())
		return ctx, cancel, nil
	case 1:
		if d, ok := parse(values[0]); ok {
			if d > longestTimeout {
				r.Header.Del(name) // of its forms Vanguard does not take all
			}
			ctx, cancel := context.WithTimeout(r.Context(), d)
			return ctx, cancel, nil
		}
	}
	return nil, nil, &canonical.FieldError{Field: name, Rule: rule, Kind: canonical.ErrMalformed}
}

// milliseconds is a time as Connect writes it.
func milliseconds(text string) (time.Duration, bool) {
	ms, err := strconv.ParseUint(text, 10, 34)
	return time.Duration(ms) * time.Millisecond, err == nil && len(text) <= 10 //nolint:gosec // 34 bits
}

// grpcTimeout is a time as gRPC writes it.
func grpcTimeout(text string) (time.Duration, bool) {
	units := map[string]time.Duration{"H": time.Hour, "M": time.Minute, "S": time.Second, "m": time.Millisecond, "u": time.Microsecond, "n": time.Nanosecond}
	number := strings.TrimRight(text, "HMSmun")
	unit, known := units[text[len(number):]]
	n, err := strconv.ParseUint(number, 10, 27) // 8 digits
	if !known || err != nil || len(number) > 8 {
		return 0, false
	}
	return time.Duration(min(n, uint64(math.MaxInt64/unit))) * unit, true //nolint:gosec // at most the most
}

// longestTimeout is what the gRPC server is told of at most; a call with more time it does not end by itself.
const longestTimeout = 8 * time.Hour

// prepare gives a request the headers that it goes on with: without those that are about the client's connection, and those that gRPC takes for its own.
// Error: gRPC would not take one.
func prepare(r *http.Request, form string) error {
	for name, values := range r.Header {
		switch {
		case strings.HasPrefix(name, "Grpc-") && !(name == "Grpc-Timeout" && isWeb(form)), ofConnection(name):
			r.Header.Del(name)
		case strings.HasSuffix(name, "-Bin"):
			for _, v := range values {
				if !isBinary(v) {
					return &canonical.FieldError{Field: fmt.Sprintf("%.100s", name), Rule: "must be base64, as the end of its name says", Kind: canonical.ErrMalformed}
				}
			}
		}
	}
	r.Header.Set("Content-Type", form)
	if form == formJSON || form == formProto {
		r.Header.Set("Connect-Protocol-Version", "1")
	}
	return nil
}

// ofConnection tells whether a header is about the client's connection, about how bodies are compressed, which none is here, or nothing to a call.
func ofConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Expect", "Cookie",
		"Content-Encoding", "Connect-Content-Encoding", "Accept-Encoding", "Connect-Accept-Encoding":
		return true
	default:
		return false
	}
}

// isBinary tells whether gRPC reads a value as base64.
func isBinary(value string) bool {
	encoding := base64.RawStdEncoding
	if len(value)%4 == 0 {
		encoding = base64.StdEncoding
	}
	_, err := encoding.DecodeString(value)
	return err == nil
}
