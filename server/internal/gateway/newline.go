package gateway

import (
	"net/http"
	"strconv"
)

// lineEnd ends a reply in JSON with the end of its line, as a terminal wants it.
type lineEnd struct {
	http.ResponseWriter
	json, begun bool
}

// WriteHeader counts the end of the line in.
func (w *lineEnd) WriteHeader(status int) {
	if !w.begun {
		h := w.Header()
		w.begun, w.json = true, h.Get("Content-Type") == formJSON
		if bytes, err := strconv.Atoi(h.Get("Content-Length")); err == nil && w.json {
			h.Set("Content-Length", strconv.Itoa(bytes+1))
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *lineEnd) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// end is called once the reply is there.
func (w *lineEnd) end() {
	if w.json {
		_, _ = w.ResponseWriter.Write([]byte("\n")) // who is gone is told nothing
	}
}

// Flush sends what was written.
func (w *lineEnd) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // what fails here fails the next write

func (w *lineEnd) Unwrap() http.ResponseWriter { return w.ResponseWriter }
