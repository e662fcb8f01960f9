package gateway

import (
	_ "embed"
	"fmt"
	"net/http"

	"github.com/rs/cors"
	"google.golang.org/grpc/codes"
)

// openAPI describes what is served, in OpenAPI 3.1. It is generated from the contract.
//
//go:embed openapi.json
var openAPI []byte

// around has requests pass what is between them and their calls: whoever asks by another name, or for the page of another, is refused.
func around(hosts func(header string) bool, origins []string, refusals *refusals, calls http.Handler) (http.Handler, error) {
	routes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() == openAPIPath {
			describe(w, r, refusals)
			return
		}
		calls.ServeHTTP(w, r)
	})

	foreign := http.NewCrossOriginProtection()
	foreign.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refusals.refuseText(w, http.StatusForbidden, codes.PermissionDenied,
			"a page of another origin may not call: its origin can be given with --http-origin")
	}))
	for _, origin := range origins {
		if err := foreign.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("%q is no origin, such as https://app.example: %w", origin, err)
		}
	}
	handler := foreign.Handler(routes)
	if len(origins) > 0 { // else cors would let all in
		handler = cors.New(cors.Options{
			AllowedOrigins: origins, AllowedMethods: []string{http.MethodPost}, AllowedHeaders: []string{"*"}, MaxAge: 7200,
			ExposedHeaders: []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin", "Retry-After"},
		}).Handler(handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, r := newPaced(w, r)
		defer p.end(r.Context(), refusals)
		p.Header().Set("Cache-Control", "no-store")
		p.Header().Set("X-Content-Type-Options", "nosniff")
		if !hosts(r.Host) {
			refusals.refuseText(p, http.StatusMisdirectedRequest, codes.InvalidArgument,
				"the Host header is neither localhost nor an IP address: ask one of these, or give the name with --http-host")
			return
		}
		handler.ServeHTTP(p, r)
	}), nil
}

const openAPIPath = "/openapi.json"

// describe answers with the description of the calls.
func describe(w http.ResponseWriter, r *http.Request, refusals *refusals) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refusals.refuseText(w, http.StatusMethodNotAllowed, codes.Unimplemented, "the description of the calls is read with GET")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // who is gone is told nothing
}
