package mcpserver

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Lines is a transport with a message in each line. Where the input ends, what was asked until then is answered first, so that a file of
// requests can be piped in.
func Lines(in io.Reader, out io.Writer) mcp.Transport {
	return &lines{mcp.IOTransport{Reader: io.NopCloser(in), Writer: openWriter{out}}}
}

// openWriter is not this package's to close.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }

type lines struct{ mcp.IOTransport }

// Connect makes the only connection.
func (l *lines) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := l.IOTransport.Connect(ctx)
	return &answering{Connection: conn, asked: map[jsonrpc.ID]bool{}, changed: make(chan struct{}, 1)}, err
}

// answering is a connection that ends once what it has read is answered.
type answering struct {
	mcp.Connection
	changed chan struct{}

	mu sync.Mutex
	// asked are the requests without an answer; deaf says that nobody can be answered any more.
	asked map[jsonrpc.ID]bool
	deaf  bool
}

// Read waits at the end of the input, or where it is no message, for answers.
func (a *answering) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := a.Connection.Read(ctx)
	if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
		a.change(func() { a.asked[request.ID] = true })
	}
	for err != nil && !a.answered() {
		select {
		case <-a.changed:
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

// Write writes a message. Who did not get one gets no more.
func (a *answering) Write(ctx context.Context, m jsonrpc.Message) error {
	err := a.Connection.Write(ctx, m)
	a.change(func() {
		if answer, ok := m.(*jsonrpc.Response); ok {
			delete(a.asked, answer.ID)
		}
		a.deaf = a.deaf || err != nil
	})
	return err
}

// Close ends the connection, answered or not.
func (a *answering) Close() error {
	a.change(func() { a.deaf = true })
	return a.Connection.Close()
}

func (a *answering) change(what func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *answering) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deaf || len(a.asked) == 0
}
