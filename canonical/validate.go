package canonical

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Validate judges what a client puts in one node: the messages (1 to MaxMessages, or none where there is metadata), the
// metadata in any order, and the salt. The error is a *FieldError whose path begins with messages, metadata or salt.
func Validate(messages []*transcriptv1.Message, metadata []*transcriptv1.MetadataEntry, salt []byte) error {
	if len(messages) == 0 && len(metadata) == 0 {
		return invalid("messages", "must not be empty without metadata")
	}
	j := judge{}
	if err := j.messages(messages); err != nil {
		return err
	}
	for _, judge := range []func([]*transcriptv1.MetadataEntry) *FieldError{judgeMetadata, judgeReserved, judgeOutcome, judgeInherits, judgeVariables} {
		if err := judge(metadata); err != nil {
			return err
		}
	}
	if err := judgeSalt(salt); err != nil {
		return err
	}
	return nil
}

// ValidateSalt judges a salt by itself, as Validate does.
func ValidateSalt(salt []byte) error {
	if err := judgeSalt(salt); err != nil {
		return err
	}
	return nil
}

// judge holds what the judging of many messages shares.
type judge struct {
	// stored says that the messages may be the server's, with an origin.
	stored bool
	// blobs says that they may have digests of blobs, from before these were refused.
	blobs bool
	// given and compact are room for the JSON at hand.
	given, compact []byte
}

func (j *judge) messages(messages []*transcriptv1.Message) *FieldError {
	if len(messages) > MaxMessages {
		return overLimit("messages", fmt.Sprintf("must be at most %d", MaxMessages))
	}
	total := 0
	for i, m := range messages {
		if err := j.message(m); err != nil {
			return err.Under(fmt.Sprintf("messages[%d]", i))
		}
		size := messageSize(m)
		if size > MaxMessageBytes {
			return overLimit(fmt.Sprintf("messages[%d]", i),
				fmt.Sprintf("must be at most %d bytes in canonical encoding", MaxMessageBytes))
		}
		total += bytesSize(size)
	}
	if total > MaxPayloadBytes {
		return overLimit("messages", fmt.Sprintf("must together be at most %d bytes in canonical encoding", MaxPayloadBytes))
	}
	return nil
}

func (j *judge) message(m *transcriptv1.Message) *FieldError {
	if m == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(m),
		func() *FieldError { return j.enums(m) },
		func() *FieldError { return judgeResult(m) },
		func() *FieldError { return judgeShort("name", m.Name, MaxNameBytes) },
		func() *FieldError { return j.parts(m) },
		func() *FieldError { return judgeAlone(m) },
		func() *FieldError { return judgeContentForm(m) },
		func() *FieldError { return j.extras(m.Extras) },
	)
}

// first is the first error of checks that are made in order.
func first(err *FieldError, checks ...func() *FieldError) *FieldError {
	for _, check := range checks {
		if err != nil {
			return err
		}
		err = check()
	}
	return err
}

// judgeKnown refuses fields that this version does not know.
func judgeKnown(m proto.Message) *FieldError {
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return malformed("", "must not have fields that are not known")
	}
	return nil
}

func (j *judge) enums(m *transcriptv1.Message) *FieldError {
	switch {
	case m.Role == transcriptv1.Role_ROLE_UNSPECIFIED:
		return invalid("role", "must be set")
	case m.Role < 0 || m.Role > transcriptv1.Role_ROLE_TOOL:
		return undeclared("role")
	case m.State < 0 || m.State > transcriptv1.MessageState_MESSAGE_STATE_ABORTED:
		return undeclared("state")
	case m.ContentForm < 0 || m.ContentForm > transcriptv1.ContentForm_CONTENT_FORM_ABSENT:
		return undeclared("content_form")
	case m.Origin < 0 || m.Origin > transcriptv1.Origin_ORIGIN_LEFT_OUT:
		return undeclared("origin")
	case m.Origin != transcriptv1.Origin_ORIGIN_UNSPECIFIED && !j.stored:
		return invalid("origin", "must not be set: it is the server's")
	}
	return nil
}

func undeclared(field string) *FieldError { return invalid(field, "must be a declared value") }

// judgeResult judges what only results may have.
func judgeResult(m *transcriptv1.Message) *FieldError {
	if m.Role != transcriptv1.Role_ROLE_TOOL {
		switch {
		case m.ToolCallId != nil:
			return invalid("tool_call_id", "must be set on TOOL messages only")
		case m.IsError:
			return invalid("is_error", "must be set on TOOL messages only")
		}
	}
	return judgeShort("tool_call_id", m.ToolCallId, MaxCallIDBytes)
}

// judgeContentForm refuses a form that the parts imply. Calls and reasoning aside, no part implies null, exactly one
// text part without extras a string, anything else a list.
func judgeContentForm(m *transcriptv1.Message) *FieldError {
	content, single := 0, false
	for _, p := range m.Parts {
		switch p.Kind.(type) {
		case *transcriptv1.Part_ToolCall, *transcriptv1.Part_Reasoning:
		case *transcriptv1.Part_Text:
			content++
			single = p.Extras == ""
		default:
			content, single = content+1, false
		}
	}
	switch m.ContentForm {
	case transcriptv1.ContentForm_CONTENT_FORM_PARTS:
		if content > 1 || content == 1 && !single {
			return invalid("content_form", "must not be PARTS where the parts imply a list")
		}
	case transcriptv1.ContentForm_CONTENT_FORM_ABSENT:
		if content > 0 {
			return invalid("content_form", "must not be ABSENT where there is content")
		}
	default:
	}
	return nil
}
