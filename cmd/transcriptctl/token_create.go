package main

import (
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
)

type tokenCreateCommand struct {
	principalsFlag
	Name       string   `arg:"" help:"The principal whose token it is."`
	Role       []string `placeholder:"ROLE" help:"Of a principal that is new: what it may do (read, append, erase, operate, backup, admin); may be repeated."`
	Namespaces []string `placeholder:"PATTERN" help:"Of a principal that is new: where. A namespace, a prefix with * behind it, or * for all and the store itself; may be repeated."`
	Expires    string   `default:"90d" placeholder:"DURATION" help:"How long the token is good: a duration such as 90d or 12h, a time, or never. Default: ${default}."`
}

func (c *tokenCreateCommand) Help() string {
	return `The token is printed alone, this once: only its hash is kept. A running transcriptd takes it within a second. Examples:

    umask 077
    transcriptctl token create acme-agents --role read,append --namespaces 'acme*' --principals principals.json > acme.token
    transcriptctl token create acme-agents --expires 12h --principals principals.json > acme-today.token
    transcriptctl token create root --role admin --namespaces '*' --principals principals.json > root.token`
}

// Run makes a token, and a principal where it is new.
func (c *tokenCreateCommand) Run(s *session) error {
	now := time.Now()
	expires, err := expiry(c.Expires, now)
	if err != nil {
		return err
	}
	var token string
	var kept identity.FileToken
	var of *identity.FilePrincipal
	err = c.edit(func(f *identity.File) error {
		if err := c.principal(f); err != nil {
			return err
		}
		of = f.Principal(c.Name)
		token, kept, err = f.AddToken(c.Name, now, expires)
		return err
	})
	if err != nil {
		return err
	}
	s.remark("token %s of %s expires %s; its principal has %s", kept.ID, c.Name, dateOr(kept.Expires, "never"), grantText(of.Grants))
	return s.printJSONOr(struct {
		ID        string    `json:"id"`
		Principal string    `json:"principal"`
		Token     string    `json:"token"`
		Expires   time.Time `json:"expiresAt,omitzero"`
	}{kept.ID, c.Name, token, kept.Expires}, token)
}

// principal makes the principal where it is new; what it may do must be given then, and only then.
func (c *tokenCreateCommand) principal(f *identity.File) error {
	given := len(c.Role) > 0 || len(c.Namespaces) > 0
	switch p := f.Principal(c.Name); {
	case p != nil && given:
		return usagef("%s is there, and has %s: leave out --role and --namespaces, or change its grants in %s", name(c.Name), grantText(p.Grants), c.Principals)
	case p != nil:
		return nil
	case len(c.Role) == 0 || len(c.Namespaces) == 0:
		return usagef("%s is not in %s yet: say with --role and --namespaces what it may do, and where", name(c.Name), c.Principals)
	}
	made := identity.FilePrincipal{Name: c.Name}
	for _, role := range c.Role {
		if _, err := identity.ParseRole(role); err != nil {
			return usagef("--role %w", err)
		}
	}
	for _, pattern := range c.Namespaces {
		if _, err := identity.ParsePattern(pattern); err != nil {
			return usagef("--namespaces %w", err)
		}
		made.Grants = append(made.Grants, identity.FileGrant{Roles: c.Role, Namespaces: pattern})
	}
	if err := identity.CheckName(c.Name); err != nil {
		return usagef("NAME %w", err)
	}
	f.Principals = append(f.Principals, made)
	return nil
}
