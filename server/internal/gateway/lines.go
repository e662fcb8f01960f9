package gateway

import (
	"encoding/binary"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
)

const typeLines, typeEvents = "application/x-ndjson", "text/event-stream"

// accepts tells whether a request names a type in its header Accept.
func accepts(r *http.Request, wanted string) bool {
	for _, part := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if t, _, err := mime.ParseMediaType(part); err == nil && t == wanted {
			return true
		}
	}
	return false
}

// lineWriter writes the messages of a stream of Connect as lines, or events, and its end, where that is an error, as the last one.
type lineWriter struct {
	http.ResponseWriter
	events bool
	// part is what came of a message that has yet to come whole.
	part []byte
	// begun says that the head is out.
	begun bool
}

// WriteHeader waits for what the first message is.
func (w *lineWriter) WriteHeader(status int) {
	if status != http.StatusOK {
		w.begin(status)
	}
}

func (w *lineWriter) begin(status int) {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	for name := range h {
		if strings.HasPrefix(name, "Connect-") {
			h.Del(name)
		}
	}
	h.Del("Content-Length")
	h.Set("Content-Type", typeLines)
	if w.events {
		h.Set("Content-Type", typeEvents)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	for {
		if len(w.part) < prefixBytes {
			return len(b), nil
		}
		size := prefixBytes + int(binary.BigEndian.Uint32(w.part[1:]))
		if len(w.part) < size {
			return len(b), nil
		}
		flags, message := w.part[0], w.part[prefixBytes:size]
		if err := w.line(flags, message); err != nil {
			return 0, err
		}
		w.part = append(w.part[:0], w.part[size:]...)
	}
}

// endFlag is set in the last message of a stream of Connect.
const endFlag = 2

// line writes one message.
func (w *lineWriter) line(flags byte, message []byte) error {
	if flags&endFlag == 0 {
		w.begin(http.StatusOK)
		return w.write("", message)
	}
	var end struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(message, &end); err != nil {
		return err
	}
	switch {
	case end.Error != nil:
		w.begin(statusOf(end.Error))
		return w.write("error", append(append([]byte(`{"error":`), end.Error...), '}'))
	case w.events:
		w.begin(http.StatusOK)
		return w.write("end", []byte("{}"))
	default:
		w.begin(http.StatusOK)
		return nil
	}
}

// write writes a line, or an event with a name, none for a message.
func (w *lineWriter) write(event string, message []byte) error {
	before, behind := "", "\n"
	if w.events {
		before, behind = "data: ", "\n\n"
		if event != "" {
			before = "event: " + event + "\n" + before
		}
	}
	for _, part := range [][]byte{[]byte(before), message, []byte(behind)} { // the message is large, so that it is not copied
		if len(part) == 0 {
			continue
		}
		if _, err := w.ResponseWriter.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Flush sends what was written, once the head is out.
func (w *lineWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok && w.begun {
		f.Flush()
	}
}

func (w *lineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// statusOf is the HTTP status of an error of Connect, where it is all that there is to tell.
func statusOf(err json.RawMessage) int {
	var e struct {
		Code connect.Code `json:"code"`
	}
	if json.Unmarshal(err, &e) != nil {
		return http.StatusInternalServerError
	}
	return httpStatus(codes.Code(e.Code))
}
