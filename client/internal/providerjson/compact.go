package providerjson

import (
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Compact is a JSON text in the one form that extras have. An error (*Error with the path) where it is not JSON, or
// nested deeper than canonical.MaxJSONDepth.
func Compact(source []byte, path string) (string, error) {
	out, _, err := canonical.AppendJSON(nil, source)
	if err == nil {
		return string(out), nil
	}
	var broken *canonical.JSONError
	if errors.As(err, &broken) {
		return "", Errorf(path, "is refused: %s", broken.Rule)
	}
	return "", Errorf(path, "is refused")
}

// Check says why a server would refuse a message: an *Error that names the provider's message and the field and rule
// of the transcript message made of it.
func Check(m *transcriptv1.Message, path string) error {
	err := canonical.Validate([]*transcriptv1.Message{m}, nil, nil)
	var field *canonical.FieldError
	if errors.As(err, &field) {
		name := strings.TrimPrefix(strings.TrimPrefix(field.Field, "messages[0]"), ".")
		return Errorf(path, "is refused: %s", strings.TrimSpace(name+" "+field.Rule))
	}
	if err != nil {
		return Errorf(path, "is refused")
	}
	return nil
}
