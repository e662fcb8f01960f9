package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/server/internal/panics"
)

const (
	// headWithin is how long a client may take to send the head of a request.
	headWithin = 5 * time.Second
	// takenWithin is how long a client may take for each part of a reply, of pieceBytes; then its connection is closed, or over HTTP/2 its stream.
	takenWithin, pieceBytes = 10 * time.Second, 64 << 10
	// leftWithin is how long the rest of a body may take to come that nobody reads: net/http waits for some of it before it sends a reply.
	leftWithin = 5 * time.Second
)

// paced answers a request: in pieces, each of which the client has to take in time.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	// body is that of the request.
	body *incoming
	// two says that the request came over HTTP/2.
	two bool
	// begun says that the head of the reply is written.
	begun bool
}

// incoming is the body of a request, which knows whether it has ended, or cannot be read.
type incoming struct {
	io.ReadCloser
	ended bool
}

func (b *incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// newPaced is where a request is answered, and the request with such a body.
func newPaced(w http.ResponseWriter, r *http.Request) (*paced, *http.Request) {
	p := &paced{ResponseWriter: w, control: http.NewResponseController(w), two: r.ProtoMajor > 1}
	p.body = &incoming{ReadCloser: r.Body, ended: r.Body == http.NoBody}
	r = r.WithContext(r.Context()) // net/http looks at the body of its own
	r.Body = p.body
	return p, r
}

// soon has what is written next fail unless the client takes it in time. A connection without deadlines is not a client's.
func (p *paced) soon() { _ = p.control.SetWriteDeadline(time.Now().Add(takenWithin)) }

// written takes that back: over HTTP/2 a deadline that passes ends the stream, also where nothing is being written.
func (p *paced) written() {
	if p.two {
		_ = p.control.SetWriteDeadline(time.Time{})
	}
}

// WriteHeader gives a body that nobody has read a little time to come: over HTTP/1 the reply waits for it.
func (p *paced) WriteHeader(status int) {
	if !p.begun && !p.two && !p.body.ended {
		_ = p.control.SetReadDeadline(time.Now().Add(leftWithin))
	}
	p.begun = true
	p.ResponseWriter.WriteHeader(status)
}

func (p *paced) Write(b []byte) (written int, err error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	defer p.written()
	for {
		piece := b[:min(len(b), pieceBytes)]
		p.soon()
		n, err := p.ResponseWriter.Write(piece)
		written += n
		if b = b[n:]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// Flush sends what was written.
func (p *paced) Flush() {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	p.soon()
	_ = p.control.Flush() // what fails here fails the next write
	p.written()
}

func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// end has net/http write the last of a reply. What panicked is told to the log, and answered where the reply has not begun.
func (p *paced) end(ctx context.Context, refusals *refusals) {
	v := recover()
	p.soon()
	if v == nil {
		return
	}
	told := status.Error(codes.Unavailable, connectionEnded)
	if err, _ := v.(error); !errors.Is(err, http.ErrAbortHandler) { // with which a proxy says that the reply to it was cut off
		told = refusals.status(ctx, panics.Error(v))
	}
	if p.begun {
		panic(http.ErrAbortHandler) //nolint:forbidigo // so net/http is told to end a reply before its end, as the client can tell
	}
	for _, name := range []string{"Content-Length", "Content-Encoding", "Trailer"} {
		p.Header().Del(name)
	}
	answer(p, httpStatus(status.Code(told)), told)
}
