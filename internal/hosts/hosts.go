// Package hosts tells which names a server on HTTP may be asked by, and which of them are of this machine alone. A browser that a page has made to ask a name which leads to this machine says
// another one, and is refused: such a page could else read and write as though it were served from here.
package hosts

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Names are those by which a server may be asked, in small letters, beside localhost and IP addresses.
type Names []string

// Of are the name in the address that a server listens on, and those that are given.
func Of(listen string, given []string) Names {
	names := Names{nameIn(listen)}
	for _, n := range given {
		names = append(names, nameIn(n))
	}
	return names
}

// Has tells whether a Host header names one of them. A request without one is no browser's.
func (n Names) Has(header string) bool {
	name := nameIn(header)
	return name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(name) != nil || slices.Contains(n, name)
}

// nameIn is the name in HOST:PORT or HOST, in small letters and without the dot of the root.
func nameIn(header string) string {
	name, _, err := net.SplitHostPort(header)
	if err != nil {
		name = header
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
}

// Local tells whether a host to listen on is of this machine alone: other machines cannot reach it.
func Local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
