// Package lossy is a gRPC proxy that loses requests, replies and connections, as it is told: for tests of what a client makes of that. All else
// passes as it came, of whichever service: messages, metadata, deadlines, cancels, trailers and the details of a status.
package lossy

import (
	"context"
	"errors"
	"io"
	"net"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // what came compressed is read
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Proxy is a proxy before one server. All methods may run at once.
type Proxy struct {
	conn  *grpc.ClientConn
	grpc  *grpc.Server
	conns conns

	mu sync.Mutex
	// rules act in their order; those that took all their calls are gone.
	rules    []*Rule
	calls    map[string]int
	held     int
	released chan struct{} // closed, and made anew, when held calls go on
	changed  chan struct{} // closed, and made anew, when held changes
}

// New is a proxy before the server at an address, which is asked in plain text.
func New(server string) (*Proxy, error) {
	const unlimited = 1 << 30
	conn, err := grpc.NewClient(server,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		// A server that starts again is found at once.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: 100 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(unlimited)),
	)
	if err != nil {
		return nil, err
	}
	p := &Proxy{conn: conn, calls: map[string]int{}, released: make(chan struct{}), changed: make(chan struct{})}
	p.grpc = grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(unlimited), grpc.UnknownServiceHandler(p.handle))
	return p, nil
}

// Serve serves at a listener until Close.
func (p *Proxy) Serve(l net.Listener) error { return p.grpc.Serve(&listener{l, &p.conns}) }

// Close ends every call.
func (p *Proxy) Close() error {
	p.grpc.Stop()
	return p.conn.Close()
}

// handle passes a call on.
func (p *Proxy) handle(_ any, in grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(in)
	rule := p.take(path.Base(full))
	if rule != nil && rule.At == Request {
		if err := p.befall(in.Context(), rule); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md.Copy())
	}
	out, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, full)
	if err != nil {
		return err
	}
	go p.requests(in, out, cancel)
	return p.replies(in, out, rule)
}

// requests passes on what the client sends.
func (p *Proxy) requests(in grpc.ServerStream, out grpc.ClientStream, cancel context.CancelFunc) {
	for {
		var message frame
		err := in.RecvMsg(&message)
		switch {
		case errors.Is(err, io.EOF):
			err = out.CloseSend()
		case err == nil:
			if err = out.SendMsg(&message); errors.Is(err, io.EOF) { // the server has ended the call: its status is what counts
				return
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			cancel()
		}
		return
	}
}

// replies passes on what the server sends, as far as a rule lets it.
func (p *Proxy) replies(in grpc.ServerStream, out grpc.ClientStream, rule *Rule) error {
	acts := rule != nil && rule.At == Reply
	for n := 0; ; n++ {
		var message frame
		err := out.RecvMsg(&message)
		if acts && (err != nil || n == rule.Frames) {
			acts = false
			if befalls := p.befall(in.Context(), rule); befalls != nil {
				return befalls
			}
		}
		if n == 0 {
			if header, headerErr := out.Header(); headerErr == nil && len(header) > 0 {
				if err := in.SetHeader(header); err != nil {
					return err
				}
			}
		}
		if err != nil {
			in.SetTrailer(out.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return status.Convert(err).Err()
		}
		if err := in.SendMsg(&message); err != nil {
			return err
		}
	}
}

// befall does with a call what a rule says; the error is how it ends.
func (p *Proxy) befall(ctx context.Context, rule *Rule) error {
	if rule.Hold {
		if err := p.hold(ctx); err != nil {
			return err
		}
	}
	switch rule.Then {
	case Pass:
		return nil
	case Break:
		if from, ok := peer.FromContext(ctx); ok {
			p.conns.close(from.Addr)
		}
		return rule.status()
	default:
		return rule.status()
	}
}

// take counts a call and gives the rule that takes it, or nil.
func (p *Proxy) take(method string) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	for i, rule := range p.rules {
		if rule.takes(method) {
			if rule.Times == 0 {
				p.rules = append(p.rules[:i:i], p.rules[i+1:]...)
			}
			return rule
		}
	}
	return nil
}

// hold makes a call wait until Release.
func (p *Proxy) hold(ctx context.Context) error {
	p.mu.Lock()
	released := p.released
	p.count(1)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.count(-1)
	}()
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// count notes that more calls are held, or fewer; p.mu is held.
func (p *Proxy) count(more int) {
	p.held += more
	close(p.changed)
	p.changed = make(chan struct{})
}

// Add adds a rule, behind those that are there.
func (p *Proxy) Add(r Rule) error {
	if err := r.check(); err != nil {
		return err
	}
	r.Times = max(1, r.Times)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &r)
	return nil
}

// AwaitHeld waits until a call is held.
func (p *Proxy) AwaitHeld(ctx context.Context) error {
	for {
		p.mu.Lock()
		held, changed := p.held, p.changed
		p.mu.Unlock()
		if held > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Release lets all held calls go on.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.released)
	p.released = make(chan struct{})
}

// State is what a proxy has seen and what it is to do.
type State struct {
	// Calls are those that came since the last Reset, by the name of the rpc.
	Calls map[string]int `json:"calls"`
	// Rules are those that have calls to take still.
	Rules []Rule `json:"rules"`
	// Held is how many calls wait.
	Held int `json:"held"`
}

// State tells how things stand.
func (p *Proxy) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Calls: map[string]int{}, Rules: []Rule{}, Held: p.held}
	for method, n := range p.calls {
		s.Calls[method] = n
	}
	for _, rule := range p.rules {
		s.Rules = append(s.Rules, *rule)
	}
	return s
}

// Reset forgets rules and counts, and lets held calls go on.
func (p *Proxy) Reset() {
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.calls = nil, map[string]int{}
}
