package canonical

import "errors"

// Why something is refused. A FieldError wraps one of the first three.
var (
	// ErrMalformed says that there are fields that this version does not know, or invalid UTF-8 in a string.
	ErrMalformed = errors.New("malformed")
	// ErrInvalid says that a field breaks a rule.
	ErrInvalid = errors.New("invalid field")
	// ErrLimit says that something is over a limit of size or number.
	ErrLimit = errors.New("limit exceeded")
	// ErrNotCanonical says that stored bytes do not parse or are not the canonical encoding of what they hold.
	ErrNotCanonical = errors.New("not in canonical form")
)

// FieldError says which field breaks which rule; never its value.
type FieldError struct {
	// Field is the path of the field, such as "messages[3].parts[0].tool_call.id".
	Field string
	// Rule is what must hold, in words, such as "must be at most 1024 bytes".
	Rule string
	// Kind is ErrMalformed, ErrInvalid or ErrLimit.
	Kind error
}

// Error names field and rule.
func (e *FieldError) Error() string { return e.Field + ": " + e.Rule }

// Unwrap gives the kind to errors.Is.
func (e *FieldError) Unwrap() error { return e.Kind }

// Under is the same error seen from the outside of a field: "nodes[2]" makes "messages" "nodes[2].messages". It changes
// e and returns it.
func (e *FieldError) Under(path string) *FieldError {
	switch {
	case e == nil:
		return nil
	case e.Field == "":
		e.Field = path
	default:
		e.Field = path + "." + e.Field
	}
	return e
}

func malformed(field, rule string) *FieldError {
	return &FieldError{Field: field, Rule: rule, Kind: ErrMalformed}
}

func invalid(field, rule string) *FieldError {
	return &FieldError{Field: field, Rule: rule, Kind: ErrInvalid}
}

func overLimit(field, rule string) *FieldError {
	return &FieldError{Field: field, Rule: rule, Kind: ErrLimit}
}
