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
without tokens has one line, with how many certificates it may show, and so has each rule for JWTs. Neither tokens nor their hashes are shown. Examples:

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
	// Certificates are how many the principal has; JWT says that it is a rule for them.
	Certificates int  `json:"certificates,omitempty"`
	JWT          bool `json:"jwt,omitempty"`
}

// how is what a line without a token says instead of its state: what else its principal may show.
func (k *heldToken) how() string {
	switch {
	case k.JWT:
		return "by JWT"
	case k.Certificates > 0:
		return k.State + ", " + count(int64(k.Certificates), "certificate")
	default:
		return k.State
	}
}

// Run lists tokens.
func (c *tokenListCommand) Run(s *session) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	lines := allHeld(f, time.Now())
	for _, k := range lines {
		switch {
		case s.json:
			err = s.printJSON(k)
		case k.ID == "":
			err = s.printLine("-  %s  %s  %s", k.Principal, grantText(k.Grants), k.how())
		default:
			err = s.printLine("%s  %s  %s  made %s  expires %s  %s", k.ID, k.Principal, grantText(k.Grants), dateOr(k.Created, "-"), dateOr(k.Expires, "never"), k.State)
		}
		if err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		s.remark("%s has no principals", c.Principals)
	}
	return nil
}

// allHeld are the lines of a file: of its principals, then of its rules for JWTs.
func allHeld(f *identity.File, now time.Time) (lines []heldToken) {
	for i := range f.Principals {
		lines = append(lines, held(&f.Principals[i], now)...)
	}
	if f.JWT != nil {
		for _, r := range f.JWT.Principals {
			lines = append(lines, heldToken{Principal: r.Name, Grants: r.Grants, State: "no token", JWT: true})
		}
	}
	return lines
}

// held are the lines of a principal.
func held(p *identity.FilePrincipal, now time.Time) (lines []heldToken) {
	for _, k := range p.Tokens {
		line := heldToken{ID: k.ID, Principal: p.Name, Grants: p.Grants, Created: k.Created, Expires: k.Expires, State: "good", Certificates: len(p.Certificates)}
		if !k.Expires.IsZero() && !now.Before(k.Expires) {
			line.State = "expired"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []heldToken{{Principal: p.Name, Grants: p.Grants, State: "no token", Certificates: len(p.Certificates)}}
	}
	return lines
}
