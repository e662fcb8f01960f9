package lossy

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// HTTP is the proxy before the HTTP side of the server, at a URL: rules act on calls in the forms of Connect as they do over gRPC. Whoever serves it
// turns keep-alive off, since browsers send again by themselves what a connection lost that they had used before.
func (p *Proxy) HTTP(server *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Host = "localhost"
			r.Out.Header["Origin"] = r.In.Header["Origin"]
		},
		FlushInterval: -1,
		ModifyResponse: func(reply *http.Response) error {
			rule, _ := reply.Request.Context().Value(ruleKey{}).(*Rule)
			if rule == nil || rule.At != Reply {
				return nil
			}
			if rule.Frames == 0 {
				return p.lost(reply.Request.Context(), rule)
			}
			reply.Body = &counted{ReadCloser: reply.Body, proxy: p, ctx: reply.Request.Context(), rule: rule, frames: rule.Frames}
			return nil
		},
		ErrorHandler: fail,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // else it is no call
			rule := p.take(path.Base(r.URL.Path))
			if rule != nil && rule.At == Request {
				if err := p.lost(r.Context(), rule); err != nil {
					_, _ = io.Copy(io.Discard, r.Body) // a client may read no reply before its request is out
					fail(w, r, err)
					return
				}
			}
			r = r.WithContext(context.WithValue(r.Context(), ruleKey{}, rule))
		}
		proxy.ServeHTTP(w, r)
	})
}

// ruleKey is the key of a call's rule in its context.
type ruleKey struct{}

// errBroken ends a call with its connection.
var errBroken = errors.New("the connection breaks")

// lost is befall for a call over HTTP.
func (p *Proxy) lost(ctx context.Context, rule *Rule) error {
	if rule.Then != Break {
		return p.befall(ctx, rule)
	}
	if rule.Hold {
		if err := p.hold(ctx); err != nil {
			return err
		}
	}
	return errBroken
}

// fail ends a call with an error, as Connect has it.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBroken) || r.Context().Err() != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http is told to close a connection
	}
	text := errorJSON(err)
	h := w.Header()
	if origin := r.Header.Get("Origin"); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
	}
	if form := r.Header.Get("Content-Type"); strings.HasPrefix(form, "application/connect+") {
		h.Set("Content-Type", form)
		_, _ = w.Write(endOf(text))
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(text)
}

// errorJSON is a status as Connect writes it.
func errorJSON(err error) []byte {
	st := status.Convert(err)
	told := map[string]any{"code": strings.ToLower(code.Code_name[int32(st.Code())]), "message": st.Message()} //nolint:gosec // there are 17
	for i, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			value := st.Proto().GetDetails()[i].GetValue()
			told["details"] = []map[string]any{{"type": string(info.ProtoReflect().Descriptor().FullName()), "value": value}}
		}
	}
	text, err := json.Marshal(told)
	if err != nil {
		return []byte(`{"code":"internal"}`)
	}
	return text
}

// endOf is the last message of a stream of Connect, with its prefix.
func endOf(failure []byte) []byte {
	text := append(append([]byte(`{"error":`), failure...), '}')
	return append(binary.BigEndian.AppendUint32([]byte{2}, uint32(len(text))), text...) //nolint:gosec // it is short
}

// counted is the body of a stream of which so many messages pass before its rule acts.
type counted struct {
	io.ReadCloser
	proxy  *Proxy
	ctx    context.Context
	rule   *Rule
	frames int
	// left is what of a message has yet to be read, out what is to be handed on before.
	left int64
	out  []byte
	done bool
}

func (c *counted) Read(p []byte) (int, error) {
	for {
		if len(c.out) > 0 {
			n := copy(p, c.out)
			c.out = c.out[n:]
			return n, nil
		}
		if c.done {
			return 0, io.EOF
		}
		if c.left > 0 {
			n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
			c.left -= int64(n)
			return n, err
		}
		prefix := make([]byte, 5)
		if _, err := io.ReadFull(c.ReadCloser, prefix); err != nil {
			return 0, err
		}
		if c.frames == 0 {
			if err := c.proxy.lost(c.ctx, c.rule); err != nil {
				if errors.Is(err, errBroken) {
					return 0, err
				}
				c.out, c.done = endOf(errorJSON(err)), true
				continue
			}
		}
		c.frames--
		c.out, c.left = prefix, int64(binary.BigEndian.Uint32(prefix[1:]))
	}
}
