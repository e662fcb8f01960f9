package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

const (
	// MaxBody is the most bytes that a body may have, in any form.
	MaxBody = 8 << 20
	// smallBody is what a body may have without waiting for those of other connections.
	smallBody = 64 << 10
	// maxMessage is the most bytes of a message, either way: replies are smaller.
	maxMessage = 64 << 20
)

// calls makes calls of requests: it judges their heads, and receives their bodies as there is room. next sees whole bodies.
type calls struct {
	methods     map[string]*method
	guard       access.Guard
	certificate func(*tls.ConnectionState) *x509.Certificate
	requests    *receive.ByteQuota
	refusals    *refusals
	maxHead     int
	next        http.Handler
}

func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := c.methods[r.URL.EscapedPath()]
	switch {
	case m == nil || m.row == nil:
		c.refusals.refuseText(w, http.StatusNotFound, codes.Unimplemented,
			"no method has this path: a call is POST "+c.meant(r.URL.Path)+", and GET /openapi.json lists the methods")
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		c.refusals.refuseText(w, http.StatusMethodNotAllowed, codes.Unimplemented, "a call is a POST, with its request as the body")
		return
	}
	if headBytes(r) > c.maxHead {
		c.refusals.refuseText(w, http.StatusRequestHeaderFieldsTooLarge, codes.InvalidArgument, fmt.Sprintf("the headers are over %d bytes, 32 for each counted in", c.maxHead))
		return
	}
	form, fault := formOf(r, m)
	if fault != "" {
		w.Header().Set("Accept-Post", "application/json")
		c.refusals.refuseText(w, http.StatusUnsupportedMediaType, codes.InvalidArgument, fault)
		return
	}
	if err := prepare(r, form); err != nil {
		c.refuse(r.Context(), w, err)
		return
	}
	ctx, cancel, err := deadline(r, form)
	if err != nil {
		c.refuse(r.Context(), w, err)
		return
	}
	defer cancel()
	l := linkOf(ctx)
	if l == nil {
		c.refusals.refuseText(w, http.StatusInternalServerError, codes.Internal, "the request has no connection")
		return
	}
	l.shows(r.TLS, c.certificate)
	held := &hold{own: l.own}
	defer held.release()
	ctx = context.WithValue(context.WithValue(ctx, holdKey{}, held), fair.Party{}, any(l))
	who, err := c.guard.Identify(m.row, identity.Credentials{Authorization: r.Header.Values("Authorization"), Certificate: l.caller().Certificate()})
	if err != nil {
		// The gRPC server refuses it, as it does all calls of those that are not known, by the head alone.
		if errors.Is(err, identity.ErrUnauthenticated) {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		c.serve(w, r.WithContext(ctx), m, empty(form))
		return
	}
	if who != nil {
		ctx = context.WithValue(ctx, fair.Party{}, who.Party())
	}
	reserved := receive.Reservation{Quota: c.requests}
	defer reserved.Release()
	body, err := c.receive(ctx, w, r, m, l, &reserved)
	if err == nil {
		err = whole(form, body)
	}
	if err != nil {
		c.refuse(ctx, w, err)
		return
	}
	c.serve(w, r.WithContext(ctx), m, body)
}

// meant is the path of the method whose name ends a path, in any case of its letters; else one for any method.
func (c *calls) meant(wrong string) string {
	for right := range c.methods {
		if strings.EqualFold(path.Base(right), path.Base(wrong)) {
			return right
		}
	}
	return "/transcript.v1.TranscriptService/METHOD"
}

// serve hands a request on with its whole body, to Vanguard. To clients that know nothing of Connect a stream is lines, or events.
func (c *calls) serve(w http.ResponseWriter, r *http.Request, m *method, body []byte) {
	out := &lineEnd{ResponseWriter: w}
	w = out
	if m.streams && r.Header.Get("Content-Type") == formJSON {
		w = &lineWriter{ResponseWriter: w, events: accepts(r, typeEvents)}
		r.Header.Set("Content-Type", formStreamJSON)
		body = envelope(0, body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.TransferEncoding, r.Trailer = nil, nil
	c.next.ServeHTTP(w, r)
	out.end()
}

// empty is an empty request in a form.
func empty(form string) []byte {
	switch form {
	case formJSON:
		return []byte("{}")
	case formProto:
		return nil
	case formStreamJSON, formWebJSON:
		return envelope(0, []byte("{}"))
	default:
		return envelope(0, nil)
	}
}

// whole refuses a body that is not one message in its form, so far as can be told without reading that.
func whole(form string, body []byte) error {
	rule := ""
	switch form {
	case formProto:
	case formJSON:
		if len(bytes.TrimSpace(body)) == 0 {
			rule = "the body is empty: an empty request is {}"
		}
	default:
		if len(body) < prefixBytes || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-prefixBytes) {
			rule = "the body must be one message, not compressed, with its prefix of 5 bytes before it"
		}
	}
	if rule == "" {
		return nil
	}
	return &canonical.FieldError{Field: "request", Rule: rule, Kind: canonical.ErrMalformed}
}

// receive receives a body: a small one in the room of its connection, a larger one in that for all. It ends with the call's deadline.
func (c *calls) receive(ctx context.Context, w http.ResponseWriter, r *http.Request, m *method, l *link, reserved *receive.Reservation) ([]byte, error) {
	most := int64(MaxBody)
	if m.row.Kind == access.Health {
		most = receive.MaxHealth
	}
	if r.ContentLength > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	if r.ContentLength >= 0 {
		most = r.ContentLength
	}
	client := http.NewResponseController(w)
	hangUp := func() { _ = client.SetReadDeadline(time.Now()) }
	defer onceDone(ctx, hangUp)()
	read := func() ([]byte, error) {
		if r.ProtoMajor == 1 {
			_ = client.SetWriteDeadline(time.Now().Add(takenWithin)) // the client may want to be told to continue
		}
		var b bytes.Buffer
		b.Grow(int(max(0, r.ContentLength)))
		_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, most))
		return b.Bytes(), cutOff(ctx, err)
	}
	switch {
	case most == 0:
		return nil, nil
	case m.row.Kind == access.Health: // is served to the end, and to anybody
		_ = client.SetReadDeadline(time.Now().Add(headWithin)) // net/http takes it back when the body has ended
		return read()
	case most <= smallBody:
		reserved.Quota = l.bodies
	}
	return reserved.Read(ctx, most, read, hangUp)
}

// onceDone runs f once a context ends, unless stop is called before. Once stop has returned f does not run.
func onceDone(ctx context.Context, f func()) (stop func()) {
	ran := make(chan struct{})
	notYet := context.AfterFunc(ctx, func() {
		defer close(ran)
		f()
	})
	return func() {
		if !notYet() {
			<-ran
		}
	}
}

// cutOff is the error of a body that cannot be read: the deadline's where that has passed, and else the client's. net/http cancels the context of a request
// whose body it cannot read.
func cutOff(ctx context.Context, err error) error {
	var large *http.MaxBytesError
	switch {
	case err == nil || errors.As(err, &large):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	default:
		return &canonical.FieldError{Field: "request", Rule: "the body was cut off, did not come in time, or its chunks are wrong", Kind: canonical.ErrMalformed}
	}
}

// refuse refuses a request whose body did not come.
func (c *calls) refuse(ctx context.Context, w http.ResponseWriter, err error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = &canonical.FieldError{Field: "request", Rule: fmt.Sprintf("must be at most %d bytes", large.Limit), Kind: canonical.ErrLimit}
		c.refusals.refuse(w, http.StatusRequestEntityTooLarge, c.refusals.status(ctx, err))
		return
	}
	err = c.refusals.status(ctx, err)
	c.refusals.refuse(w, httpStatus(status.Code(err)), err)
}
