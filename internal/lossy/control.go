package lossy

import (
	"encoding/json"
	"net/http"
)

// Control tells a proxy what to do, over HTTP:
//
//	POST /rules    a Rule in JSON is added
//	GET /held      answers once a call is held
//	POST /release  held calls go on
//	GET /state     the State in JSON
//	POST /reset    rules and counts are forgotten, held calls go on
//
// Answers are JSON: an empty object where nothing is to be told, and where a rule is refused {"error": why} with status 400.
func (p *Proxy) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rules", func(w http.ResponseWriter, r *http.Request) {
		var rule Rule
		read := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
		read.DisallowUnknownFields()
		err := read.Decode(&rule)
		if err == nil {
			err = p.Add(rule)
		}
		if err != nil {
			answer(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		done(w)
	})
	mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) {
		if p.AwaitHeld(r.Context()) == nil { // else nobody waits any more
			done(w)
		}
	})
	mux.HandleFunc("POST /release", func(w http.ResponseWriter, _ *http.Request) {
		p.Release()
		done(w)
	})
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.State()) })
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		p.Reset()
		done(w)
	})
	return mux
}

func done(w http.ResponseWriter) { answer(w, http.StatusOK, struct{}{}) }

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // an answer that cannot be written has nobody to read it
}
