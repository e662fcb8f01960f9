package main

import (
	"strings"
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
	ID        string      `json:"id,omitempty"`
	Principal string      `json:"principal"`
	Grants    []heldGrant `json:"grants,omitempty"`
	Created   time.Time   `json:"createdAt,omitzero"`
	Expires   time.Time   `json:"expiresAt,omitzero"`
	State     string      `json:"state"`
	// Certificates are how many the principal has; JWT says that it is a rule for them.
	Certificates int64 `json:"certificates,string,omitempty"`
	JWT          bool  `json:"jwt,omitempty"`
}

// heldGrant is a grant of a principal.
type heldGrant struct {
	Roles            []string `json:"roles"`
	NamespacePattern string   `json:"namespacePattern"`
}

func heldGrants(grants []identity.FileGrant) (held []heldGrant) {
	for _, g := range grants {
		held = append(held, heldGrant{g.Roles, g.Namespaces})
	}
	return held
}

// heldText is what grants give, on one line: "read,append on acme*; operate on *".
func heldText(grants []heldGrant) string {
	var words []string
	for _, g := range grants {
		words = append(words, strings.Join(g.Roles, ",")+" on "+g.NamespacePattern)
	}
	return orDash(strings.Join(words, "; "))
}

// how is what a line without a token says instead of its state: what else its principal may show.
func (k *heldToken) how() string {
	switch {
	case k.JWT:
		return "by JWT"
	case k.Certificates > 0:
		return k.State + ", " + count(k.Certificates, "certificate")
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
	t := s.table(left("TOKEN"), left("PRINCIPAL"), left("GRANTS"), left("CREATED"), left("EXPIRES"), left("STATE"))
	rows := make([][]string, len(lines))
	for i, k := range lines {
		rows[i] = []string{k.ID, k.Principal, heldText(k.Grants), dateOr(k.Created, "-"), dateOr(k.Expires, "never"), k.State}
		if k.ID == "" {
			rows[i] = []string{"-", k.Principal, heldText(k.Grants), "-", "-", k.how()}
		}
	}
	t.fit(rows)
	for i, k := range lines {
		if err := t.print(k, rows[i]...); err != nil {
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
			lines = append(lines, heldToken{Principal: r.Name, Grants: heldGrants(r.Grants), State: "no token", JWT: true})
		}
	}
	return lines
}

// held are the lines of a principal.
func held(p *identity.FilePrincipal, now time.Time) (lines []heldToken) {
	for _, k := range p.Tokens {
		line := heldToken{ID: k.ID, Principal: p.Name, Grants: heldGrants(p.Grants), Created: k.Created, Expires: k.Expires, State: "good", Certificates: int64(len(p.Certificates))}
		if !k.Expires.IsZero() && !now.Before(k.Expires) {
			line.State = "expired"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []heldToken{{Principal: p.Name, Grants: heldGrants(p.Grants), State: "no token", Certificates: int64(len(p.Certificates))}}
	}
	return lines
}
