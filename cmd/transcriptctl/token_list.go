package main

import (
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
)

type tokenListCommand struct {
	principalsFlag
}

func (c *tokenListCommand) Help() string {
	return `A line for each token: its id, its principal, what that may do and where, when it was made and expires, and whether it is good. A principal
without tokens has one line. Neither tokens nor their hashes are shown. Examples:

    transcriptctl token list --principals principals.json
    transcriptctl token list --principals principals.json --output json | jq -r 'select(.state == "expired") | .id'`
}

// heldToken is a line of the list.
type heldToken struct {
	ID        string               `json:"id,omitempty"`
	Principal string               `json:"principal"`
	Grants    []identity.FileGrant `json:"grants,omitempty"`
	Created   time.Time            `json:"created,omitzero"`
	Expires   time.Time            `json:"expires,omitzero"`
	State     string               `json:"state"`
}

// Run lists tokens.
func (c *tokenListCommand) Run(s *session) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	for _, p := range f.Principals {
		for _, k := range held(&p, time.Now()) {
			if s.json {
				err = s.printJSON(k)
			} else {
				err = s.printLine("%s  %s  %s  made %s  expires %s  %s", orDash(k.ID), k.Principal, grantText(k.Grants), dateOr(k.Created, "-"), dateOr(k.Expires, "never"), k.State)
			}
			if err != nil {
				return err
			}
		}
	}
	if len(f.Principals) == 0 {
		s.remark("%s has no principals", c.Principals)
	}
	return nil
}

// held are the lines of a principal.
func held(p *identity.FilePrincipal, now time.Time) (lines []heldToken) {
	for _, k := range p.Tokens {
		line := heldToken{ID: k.ID, Principal: p.Name, Grants: p.Grants, Created: k.Created, Expires: k.Expires, State: "good"}
		if !k.Expires.IsZero() && !now.Before(k.Expires) {
			line.State = "expired"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []heldToken{{Principal: p.Name, Grants: p.Grants, State: "no token"}}
	}
	return lines
}
