package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

// refusals refuse requests that do not get as far as the gRPC server.
type refusals struct {
	status  func(context.Context, error) error
	counted *prometheus.CounterVec
}

func newRefusals(registerer prometheus.Registerer, status func(context.Context, error) error) *refusals {
	counted := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "transcriptd_http_refused_total",
		Help: "Requests over HTTP that were refused before they became calls, by HTTP status; they are in no metric of calls.",
	}, []string{"status"})
	if registerer != nil {
		var there prometheus.AlreadyRegisteredError
		if err := registerer.Register(counted); errors.As(err, &there) {
			if earlier, ok := there.ExistingCollector.(*prometheus.CounterVec); ok {
				counted = earlier
			}
		}
	}
	return &refusals{status: status, counted: counted}
}

// refuse answers a request that becomes no call with an error, under an HTTP status, and counts it.
func (r *refusals) refuse(w http.ResponseWriter, httpStatus int, err error) {
	r.counted.WithLabelValues(strconv.Itoa(httpStatus)).Inc()
	answer(w, httpStatus, err)
}

// answer answers a request with an error, as JSON in the form of Connect.
func answer(w http.ResponseWriter, httpStatus int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus)
	_, _ = w.Write(append(errorJSON(status.Convert(err)), '\n')) // who is gone is told nothing
}

// refuseText is refuse with an error that has a code and a text alone.
func (r *refusals) refuseText(w http.ResponseWriter, httpStatus int, c codes.Code, text string) {
	r.refuse(w, httpStatus, status.Error(c, text))
}

// connectError is an error of the gateway's own as Connect tells it.
func (r *refusals) connectError(ctx context.Context, err error) error {
	st := status.Convert(r.status(ctx, err))
	told := connect.NewError(connect.Code(st.Code()), errors.New(st.Message()))
	for _, detail := range st.Proto().GetDetails() {
		if d, err := connect.NewErrorDetail(detail); err == nil {
			told.AddDetail(d)
		}
	}
	return told
}

// httpStatus is that of a code, as Connect has it.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return 499 // the client closed the request
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// wireError is an error as Connect writes it.
type wireError struct {
	Code    string       `json:"code"`
	Message string       `json:"message,omitempty"`
	Details []wireDetail `json:"details,omitempty"`
}

type wireDetail struct {
	Type  string          `json:"type"`
	Value string          `json:"value"`
	Debug json.RawMessage `json:"debug,omitempty"`
}

// errorJSON is a status as Connect writes it.
func errorJSON(st *status.Status) []byte {
	e := wireError{Code: strings.ToLower(code.Code_name[int32(st.Code())]), Message: st.Message()} //nolint:gosec // there are 17
	if st.Code() == codes.Canceled {
		e.Code = connect.CodeCanceled.String() // which gRPC writes with another letter
	}
	for _, detail := range st.Proto().GetDetails() {
		e.Details = append(e.Details, wireDetail{
			Type: string(detail.MessageName()), Value: base64.RawStdEncoding.EncodeToString(detail.GetValue()), Debug: readable(detail),
		})
	}
	text, err := json.Marshal(e)
	if err != nil {
		return []byte(`{"code":"internal"}`)
	}
	return text
}

// readable is a detail as JSON; nil where its type is not known.
func readable(detail *anypb.Any) json.RawMessage {
	m, err := detail.UnmarshalNew()
	if err != nil {
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	return text
}

// connectionEnded tells of a call whose reply was lost.
const connectionEnded = "the connection to the server ended: repeat the call, but for a write whose outcome matters look first"

// unreachable answers, as gRPC does, a request that the gRPC server did not answer: it takes no more, it closed the connection, or the client has gone.
func (r *refusals) unreachable(w http.ResponseWriter, q *http.Request, err error) {
	st := status.New(codes.Unavailable, connectionEnded)
	switch {
	case errors.Is(err, receive.ErrDraining):
		st = status.Convert(r.status(q.Context(), err))
	case errors.Is(err, context.DeadlineExceeded):
		st = status.New(codes.DeadlineExceeded, "the deadline has passed")
	case q.Context().Err() != nil:
		st = status.New(codes.Canceled, "the caller gave up")
	}
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.FormatUint(uint64(st.Code()), 10))
	h.Set("Grpc-Message", st.Message())
	if details, err := proto.Marshal(st.Proto()); err == nil {
		h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
	w.WriteHeader(http.StatusOK)
}
