package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// hosts are the names by which the admin side may be asked, beside localhost and IP addresses. A browser that a page has made to
// ask a name which leads to this machine says another one, and is refused: such a page could else read metrics and profiles.
type hosts []string

// only hands on requests that name one of them.
func (h hosts) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.has(r.Host) {
			http.Error(w, fmt.Sprintf("the Host header %q is neither localhost nor an IP address: ask one of these, or give the name with --admin-host", r.Host),
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// has tells whether a Host header names one of them. A request without one is no browser's.
func (h hosts) has(header string) bool {
	name, _, err := net.SplitHostPort(header)
	if err != nil {
		name = header
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name) != nil ||
		slices.Contains(h, name)
}

// adminHosts are the names that the command line gives: those of --admin-host, and that of --admin-listen.
func (c *config) adminHosts() hosts {
	name, _, _ := net.SplitHostPort(c.AdminListen)
	names := hosts{strings.ToLower(name)}
	for _, n := range c.AdminHost {
		names = append(names, strings.ToLower(n))
	}
	return names
}
