package main

import (
	"log/slog"

	"github.com/transcriptd/transcriptd/internal/hosts"
)

// What whoever reaches the server may do that should not be, and what to give against it.
const (
	everybody = "there is no access control: whoever reaches it reads and writes everything"
	plainText = "tokens would cross the network in plain text"
)

// open is what is open to whoever reaches the server over a network, and what to give against it; empty: nothing is.
func (c *config) open() (what, give string) {
	switch {
	case c.Principals == "":
		return everybody, "--principals, --tls-cert and --tls-key"
	case c.TLS.Cert == "":
		return plainText, "--tls-cert and --tls-key"
	default:
		return "", ""
	}
}

// checkReach refuses an address that other machines reach while something is open there, unless that is wanted.
func (c *config) checkReach(flag, address string) error {
	reached, err := reachable(flag, address)
	what, give := c.open()
	if err != nil || !reached || c.Insecure || what == "" {
		return err
	}
	return usagef("%s %s can be reached from other machines, and %s; give %s, use 127.0.0.1, or give --insecure if only trusted machines can reach it",
		flag, address, what, give)
}

// reachable tells whether other machines may reach an address: it is none of this one alone.
func reachable(flag, address string) (bool, error) {
	host, _, err := hostPort(flag, address)
	return err == nil && !hosts.Local(host), err
}

// warn tells the log at every start what --insecure leaves open.
func (c *config) warn(log *slog.Logger) {
	var exposed []string
	for flag, address := range map[string]string{"--listen": c.Listen, "--admin-listen": c.AdminListen, "--http-listen": c.HTTPListen} {
		if _, socket := socketPath(address); socket || address == "" || address == off {
			continue
		}
		if reached, _ := reachable(flag, address); reached { // its address was checked
			exposed = append(exposed, flag+" "+address)
		}
	}
	if what, give := c.open(); what != "" && len(exposed) > 0 {
		log.Warn("--insecure: other machines can reach this server", "open", what, "addresses", exposed, "give", give)
	}
}
