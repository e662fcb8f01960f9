// Package wire has what every rpc needs of requests and replies: limits, references, page tokens, policies, the errors that name a
// field, and the parts that many replies share. It reads no rows.
package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
)

// ExactlyOne refuses a request that sets no member of a oneof.
func ExactlyOne(members ...string) error { return &NoneSet{members} }

// NoneSet names the members of a oneof of which none is set: the oneof itself nobody can set.
type NoneSet struct{ Members []string }

func (e *NoneSet) Error() string {
	return "exactly one of " + strings.Join(e.Members, " and ") + " must be set"
}

func (e *NoneSet) Unwrap() error { return canonical.ErrInvalid }

// Missing says which field of the request names what is not there.
type Missing struct {
	Field string
	Err   error
}

func (e *Missing) Error() string { return e.Err.Error() }

func (e *Missing) Unwrap() error { return e.Err }

// MissingFrom is err with the field that names what is not there; other errors stay as they are.
func MissingFrom(field string, err error) error {
	if errors.Is(err, chainstore.ErrNodeNotFound) || errors.Is(err, chainstore.ErrAliasNotFound) {
		return &Missing{field, err}
	}
	return err
}

// MissingFromChain is MissingFrom where a chain was asked for, of a head and of a node that must be an ancestor of it.
func MissingFromChain(head, after string, err error) error {
	if errors.Is(err, chainstore.ErrAfterNotFound) {
		return &Missing{after, err}
	}
	return MissingFrom(head, err)
}

// InvalidField refuses a field that breaks a rule.
func InvalidField(field, rule string) error {
	return &canonical.FieldError{Field: field, Rule: rule, Kind: canonical.ErrInvalid}
}

// OverLimit refuses a field that is larger than a limit.
func OverLimit(field, format string, args ...any) error {
	return &canonical.FieldError{Field: field, Rule: fmt.Sprintf(format, args...), Kind: canonical.ErrLimit}
}
