package main

import (
	"fmt"
	"net/http"

	"github.com/transcriptd/transcriptd/internal/hosts"
)

// onlyOf hands on requests that name a host of the admin side: a page that leads a browser here could else read metrics and profiles.
func onlyOf(names hosts.Names, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !names.Has(r.Host) {
			http.Error(w, fmt.Sprintf("the Host header %q is neither localhost nor an IP address: ask one of these, or give the name with --admin-host", r.Host),
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// adminHosts are the names that the command line gives: those of --admin-host, and that of --admin-listen.
func (c *config) adminHosts() hosts.Names { return hosts.Of(c.AdminListen, c.AdminHost) }
