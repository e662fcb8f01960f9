package main

import (
	"time"

	"github.com/transcriptd/transcriptd/internal/identity"
)

type tokenRevokeCommand struct {
	principalsFlag
	ID        string `arg:"" optional:"" help:"The token's id, as 'token list' tells it."`
	Principal string `placeholder:"NAME" help:"All tokens of this principal, instead of ID."`
	Force     bool   `help:"Also the last token of an admin of every namespace."`
}

func (c *tokenRevokeCommand) Help() string {
	return `A running transcriptd refuses the token within a second. The principal stays, with its grants. Examples:

    transcriptctl token revoke 0k3v9x2 --principals principals.json
    transcriptctl token revoke --principal acme-agents --principals principals.json`
}

// Run revokes a token, or all of a principal.
func (c *tokenRevokeCommand) Run(s *session) error {
	if (c.ID == "") == (c.Principal == "") {
		return usagef("give either ID or --principal")
	}
	if _, err := c.read(); err != nil {
		return err // a file that is not there is not to be made
	}
	revoked, of := 1, c.Principal
	err := c.edit(func(f *identity.File) (err error) {
		if c.ID != "" {
			of, err = f.Revoke(c.ID, time.Now(), c.Force)
			return err
		}
		revoked, err = f.RevokeAll(c.Principal, time.Now(), c.Force)
		return err
	})
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(struct {
			Revoked   int64  `json:"revoked,string"`
			Principal string `json:"principal"`
		}{int64(revoked), of})
	}
	return s.printRows([][2]string{{"revoked", count(int64(revoked), "token") + " of " + of}})
}
