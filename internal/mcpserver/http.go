package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/hosts"
)

const (
	// Path is where the protocol is served over HTTP.
	Path = "/mcp"
	// maxBody is the most bytes of a request, maxRequests the most requests at once, maxToken the most bytes of a token.
	maxBody, maxRequests, maxToken = 256 << 10, 64, 16 << 10
	// probeTime is how long it is believed that transcriptd tells callers apart.
	probeTime = 10 * time.Second
)

// HTTPConfig is who may call a Server over HTTP.
type HTTPConfig struct {
	// Hosts are names, besides localhost and addresses, by which this server may be called.
	Hosts []string
	// RequireTokens refuses requests without a token, and all of them while transcriptd serves callers without one, since it would then
	// not look at tokens. Without it a request needs a token if transcriptd wants one.
	RequireTokens bool
}

// Handler serves a Server over HTTP, without sessions. Each request is done with the token that it brings, by transcriptd's rules:
// Config.Client must have no credentials of its own.
func (s *Server) Handler(c HTTPConfig) http.Handler {
	s.mcp.AddReceivingMiddleware(withToken)
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // ours also refuses foreign names that come in on other addresses
	})
	d := &door{server: s, cfg: c, next: protocol, places: make(chan struct{}, maxRequests)}
	mux := http.NewServeMux()
	mux.Handle(Path, d)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is here: the protocol is served under "+Path, http.StatusNotFound)
	})
	return own(c.Hosts, mux)
}

// withToken passes the token of an HTTP request on to transcriptd, where the request was let in with it.
func withToken(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if extra := req.GetExtra(); extra != nil {
			ctx = showing(ctx, extra.Header.Get("Authorization"))
		}
		return next(ctx, method, req)
	}
}

func showing(ctx context.Context, header string) context.Context {
	if header == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", header)
}

// own refuses requests to a name that is not this server's: a page of another site can have its own name lead here. Addresses are
// not names, so no site has them. An Origin that is not the host's is another site's, whatever the method.
func own(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hosts.Of("", names).Has(r.Host):
			http.Error(w, "Host: not a name of this server; add it with --http-host", http.StatusForbidden)
		case len(r.Header.Values("Origin")) > 0 && !sameOrigin(r):
			http.Error(w, "Origin: another site may not call this server", http.StatusForbidden)
		default:
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			next.ServeHTTP(w, r)
		}
	})
}

// sameOrigin tells whether the only Origin is that of a page that this server would have served. Browsers send one with each request
// that is not GET or HEAD, which do nothing here.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// door lets requests in: so many at once, of bounded length, and of callers that transcriptd knows.
type door struct {
	server *Server
	cfg    HTTPConfig
	next   http.Handler
	places chan struct{}

	mu      sync.Mutex
	refused time.Time // when transcriptd last refused a call without credentials
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this server has no sessions: POST is the only method", http.StatusMethodNotAllowed)
		return
	}
	if !d.admits(w, r) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the body may have 256 KiB", http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
	case bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")):
		// One request could be thousands of calls. Only one old version of the protocol has them.
		http.Error(w, "batches are not served: send one message in a request", http.StatusBadRequest)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.serve(w, r)
	}
}

// serve does a request that is there as a whole, and holds its reply until that is, too: who sends or reads slowly takes no place.
func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case d.places <- struct{}{}:
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests at once: try again", http.StatusServiceUnavailable)
		return
	}
	reply := &heldReply{ResponseWriter: w}
	func() {
		defer func() { <-d.places }()
		d.next.ServeHTTP(reply, r)
	}()
	w.WriteHeader(cmp.Or(reply.status, http.StatusOK))
	_, _ = w.Write(reply.body.Bytes()) // who is gone is told nothing
}

// heldReply keeps what a handler writes. Replies are bounded.
type heldReply struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader keeps the first status, which counts.
func (h *heldReply) WriteHeader(status int) { h.status = cmp.Or(h.status, status) }

// Write keeps more of the reply.
func (h *heldReply) Write(b []byte) (int, error) { return h.body.Write(b) }

// Flush has nothing to send yet.
func (h *heldReply) Flush() {}

// admits tells whether transcriptd knows the caller, and answers those that it does not. Where transcriptd cannot be asked, tools say so.
func (d *door) admits(w http.ResponseWriter, r *http.Request) bool {
	header, wellFormed := bearer(r.Header.Values("Authorization"))
	switch {
	case !wellFormed:
		unauthorized(w, `, error="invalid_request"`, "Authorization: must be Bearer and a token, once")
		return false
	case header == "" && d.cfg.RequireTokens:
		unauthorized(w, "", "a token is needed: send Authorization: Bearer TOKEN")
		return false
	case d.cfg.RequireTokens && !d.guarded(r.Context()):
		http.Error(w, "transcriptd cannot be reached, or tells no callers apart: it needs principals to be served on another address", http.StatusServiceUnavailable)
		return false
	}
	err := d.server.greet(r.Context(), header)
	switch {
	case status.Code(err) != codes.Unauthenticated:
		return true
	case header == "":
		unauthorized(w, "", "a token is needed: send Authorization: Bearer TOKEN")
	default:
		unauthorized(w, `, error="invalid_token"`, "the token is not known, or has expired")
	}
	return false
}

func unauthorized(w http.ResponseWriter, more, text string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="transcriptd"`+more)
	http.Error(w, text, http.StatusUnauthorized)
}

// bearer is the header that shows a token, in the one form in which it is passed on; "": there is none.
func bearer(headers []string) (header string, ok bool) {
	if len(headers) == 0 {
		return "", true
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > maxToken {
		return "", false
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' { // gRPC would refuse it with words of its own
			return "", false
		}
	}
	return headers[0], true
}

// greet asks transcriptd for what any caller that it knows may ask.
func (s *Server) greet(ctx context.Context, header string) error {
	ctx, cancel := s.call(showing(ctx, header))
	defer cancel()
	_, err := s.cfg.Client.ServerInfo(ctx, &transcriptv1.ServerInfoRequest{})
	return err
}

// Guarded tells whether transcriptd refuses callers without credentials. Where it does not, it looks at no tokens either. Error: it
// cannot be asked.
func (s *Server) Guarded(ctx context.Context) (bool, error) {
	err := s.greet(ctx, "")
	if status.Code(err) == codes.Unauthenticated {
		return true, nil
	}
	return false, err
}

// guarded tells whether transcriptd refuses callers without credentials, as of some seconds ago.
func (d *door) guarded(ctx context.Context) bool {
	d.mu.Lock()
	fresh := !d.refused.IsZero() && time.Since(d.refused) < probeTime
	d.mu.Unlock()
	if fresh {
		return true
	}
	if guarded, err := d.server.Guarded(ctx); !guarded || err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused = time.Now()
	return true
}
