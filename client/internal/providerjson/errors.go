package providerjson

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrInvalid is in every error about input: errors.Is(err, ErrInvalid).
var ErrInvalid = errors.New("not a provider's message")

// Error is an error about one member. It names the member and the rule, never the value.
type Error struct {
	// Path is the member's: "messages[3].tool_calls[0].function.arguments". Empty for the whole document.
	Path string
	// Rule is what does not hold of it: "is not a string".
	Rule string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return "the document " + e.Rule
	}
	return e.Path + " " + e.Rule
}

// Is tells that the error is an ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Errorf makes an *Error.
func Errorf(path, rule string, args ...any) error {
	return &Error{Path: path, Rule: fmt.Sprintf(rule, args...)}
}

// Index is the path of an item of the list at path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Join is the path of a member of the object at path. A name that is not a short identifier is not shown.
func Join(path, name string) string {
	if !identifier(name) {
		name = "?"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func identifier(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// ErrNoMessages says that no message is left to send.
var ErrNoMessages = errors.New("no message to send")
