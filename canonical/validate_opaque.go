package canonical

import (
	"fmt"
	"slices"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const onlyOpaque = "must not be set on an opaque message"

// judgeAlone judges a message with an opaque part: it has a role other than TOOL, that part, and nothing else.
func judgeAlone(m *transcriptv1.Message) *FieldError {
	at := slices.IndexFunc(m.Parts, isOpaque)
	field := fmt.Sprintf("parts[%d].opaque", at)
	switch {
	case at < 0:
		return nil
	case len(m.Parts) > 1:
		return invalid(field, "must be the only part of its message")
	case m.Role == transcriptv1.Role_ROLE_TOOL:
		return invalid(field, "must not be on TOOL messages")
	case m.Parts[0].Extras != "":
		return invalid("parts[0].extras", onlyOpaque)
	case m.Name != nil:
		return invalid("name", onlyOpaque)
	case m.State != transcriptv1.MessageState_MESSAGE_STATE_UNSPECIFIED:
		return invalid("state", onlyOpaque)
	case m.ContentForm != transcriptv1.ContentForm_CONTENT_FORM_UNSPECIFIED:
		return invalid("content_form", onlyOpaque)
	case m.Joined:
		return invalid("joined", onlyOpaque)
	case m.Origin != transcriptv1.Origin_ORIGIN_UNSPECIFIED:
		return invalid("origin", onlyOpaque)
	case m.Extras != "":
		return invalid("extras", onlyOpaque)
	}
	return nil
}

// judgeOpaque judges an opaque part by itself.
func judgeOpaque(o *transcriptv1.Opaque) *FieldError {
	if o == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(o),
		func() *FieldError { return judgeOpaqueType(o.Type) },
		func() *FieldError {
			if len(o.Data) > MaxOpaqueBytes {
				return overLimit("data", fmt.Sprintf("must be at most %d bytes", MaxOpaqueBytes))
			}
			return nil
		},
	)
}

func judgeOpaqueType(s string) *FieldError {
	if s == "" {
		return invalid("type", "must not be empty")
	}
	return judgeShort("type", &s, MaxOpaqueTypeBytes)
}
