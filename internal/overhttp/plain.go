package overhttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// plain makes a call as curl does.
func (c *Conn) plain(ctx context.Context, m *method, ask proto.Message) replies {
	body, err := protojson.Marshal(ask)
	if err != nil {
		return failed{err}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+m.path, bytes.NewReader(body))
	if err != nil {
		return failed{err}
	}
	head(ctx, r.Header)
	r.Header.Set("Content-Type", "application/json")
	if deadline, ok := ctx.Deadline(); ok {
		r.Header.Set("Connect-Timeout-Ms", strconv.FormatInt(time.Until(deadline).Milliseconds(), 10))
	}
	if c.Form == Events {
		r.Header.Set("Accept", "text/event-stream")
	}
	reply, err := c.Client.Do(r)
	if err != nil {
		return failed{gone(ctx, err)}
	}
	if m.streams && reply.Header.Get("Content-Type") != "application/json" {
		return &lines{ctx: ctx, method: m, body: reply.Body, read: bufio.NewReader(reply.Body), events: c.Form == Events}
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	switch {
	case err != nil:
		return failed{gone(ctx, err)}
	case reply.StatusCode != http.StatusOK:
		return failed{errorOf(text, reply.StatusCode)}
	default:
		return &one{text, m, "json", false}
	}
}

// gone is how a call ends whose connection does.
func gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}

// lines are the replies of a stream, a line or an event each.
type lines struct {
	ctx    context.Context
	method *method
	body   io.Closer
	read   *bufio.Reader
	events bool
}

func (l *lines) close() { _ = l.body.Close() }

func (l *lines) next(into any) error {
	event, text, err := l.line()
	if err != nil {
		return err
	}
	told, failed := bytes.CutPrefix(text, []byte(`{"error":`)) // no reply has a member of that name
	switch {
	case failed && (!l.events || event == "error"):
		return errorOf(bytes.TrimSuffix(told, []byte("}")), 0)
	case event == "end":
		return io.EOF
	default:
		return l.method.decode("json", text, into)
	}
}

// line reads a line, or an event and its name. io.EOF is the end of lines; events have one that says so.
func (l *lines) line() (event string, text []byte, err error) {
	for {
		line, err := l.read.ReadString('\n')
		switch line = strings.TrimSuffix(line, "\n"); {
		case errors.Is(err, io.EOF) && line == "" && !l.events:
			return "", nil, io.EOF
		case err != nil:
			return "", nil, gone(l.ctx, err)
		case !l.events:
			return "", []byte(line), nil
		case line == "":
			return event, text, nil
		case strings.HasPrefix(line, "event: "):
			event = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			text = []byte(strings.TrimPrefix(line, "data: "))
		}
	}
}

// errorOf is the status that an error in JSON tells.
func errorOf(text []byte, httpStatus int) error {
	var told struct {
		Code    connect.Code `json:"code"`
		Message string       `json:"message"`
		Details []struct{ Type, Value string }
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return fmt.Errorf("HTTP status %d, and the error is none: %w", httpStatus, err)
	}
	s := &spb.Status{Code: int32(told.Code), Message: told.Message} //nolint:gosec // there are 17
	for _, d := range told.Details {
		value, err := base64.RawStdEncoding.DecodeString(d.Value)
		if err != nil {
			return fmt.Errorf("a detail is no base64: %w", err)
		}
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: value})
	}
	return status.FromProto(s).Err()
}
