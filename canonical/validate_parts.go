package canonical

import (
	"errors"
	"fmt"
	"unicode/utf8"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (j *judge) parts(m *transcriptv1.Message) *FieldError {
	calls := 0
	for i, p := range m.Parts {
		if err := j.part(p); err != nil {
			return err.Under(fmt.Sprintf("parts[%d]", i))
		}
		if _, ok := p.Kind.(*transcriptv1.Part_ToolCall); !ok {
			continue
		}
		if m.Role != transcriptv1.Role_ROLE_ASSISTANT {
			return invalid(fmt.Sprintf("parts[%d].tool_call", i), "must be on ASSISTANT messages only")
		}
		if calls++; calls > MaxCalls {
			return overLimit("parts", fmt.Sprintf("must hold at most %d tool calls", MaxCalls))
		}
	}
	return nil
}

func (j *judge) part(p *transcriptv1.Part) *FieldError {
	if p == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(p),
		func() *FieldError { return j.kind(p) },
		func() *FieldError { return j.extras(p.Extras) },
	)
}

func (j *judge) kind(p *transcriptv1.Part) *FieldError {
	switch k := p.Kind.(type) {
	case *transcriptv1.Part_Text:
		if k != nil {
			return judgeText("text", k.Text)
		}
	case *transcriptv1.Part_Reasoning:
		if k != nil {
			return judgeReasoning(k.Reasoning).Under("reasoning")
		}
	case *transcriptv1.Part_Media:
		if k != nil {
			return j.media(k.Media).Under("media")
		}
	case *transcriptv1.Part_Json:
		if k != nil {
			return judgeText("json", k.Json)
		}
	case *transcriptv1.Part_ToolCall:
		if k != nil {
			return judgeToolCall(k.ToolCall).Under("tool_call")
		}
	case *transcriptv1.Part_Opaque:
		if k != nil {
			return judgeOpaque(k.Opaque).Under("opaque")
		}
	}
	return invalid("", "must have a kind")
}

func judgeReasoning(r *transcriptv1.Reasoning) *FieldError {
	if r == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(r),
		func() *FieldError { return judgeText("text", r.Text) },
		func() *FieldError { return judgeText("signature", r.Signature) },
	)
}

func (j *judge) media(m *transcriptv1.Media) *FieldError {
	if m == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(m),
		func() *FieldError { return judgeText("media_type", m.MediaType) },
		func() *FieldError { return j.source(m) },
	)
}

func (j *judge) source(m *transcriptv1.Media) *FieldError {
	switch s := m.Source.(type) {
	case nil:
		return nil
	case *transcriptv1.Media_Inline:
		if s != nil {
			return nil
		}
	case *transcriptv1.Media_Uri:
		if s != nil {
			return judgeText("uri", s.Uri)
		}
	case *transcriptv1.Media_BlobDigest:
		if s != nil {
			return j.blobDigest(s.BlobDigest)
		}
	}
	return invalid("source", "must not be null")
}

// blobDigest refuses what a client puts: no server keeps blobs yet. What is stored, here or elsewhere, may have a digest, from before that was refused.
func (j *judge) blobDigest(digest []byte) *FieldError {
	switch {
	case !j.blobs:
		return invalid("blob_digest", "must not be set where ServerInfo does not list the feature blobs: use inline or uri")
	case len(digest) != 32:
		return invalid("blob_digest", "must be 32 bytes")
	}
	return nil
}

func judgeToolCall(c *transcriptv1.ToolCall) *FieldError {
	if c == nil {
		return invalid("", "must not be null")
	}
	return first(
		judgeKnown(c),
		func() *FieldError { return judgeShort("id", c.Id, MaxCallIDBytes) },
		func() *FieldError { return judgeShort("name", c.Name, MaxNameBytes) },
		func() *FieldError { return judgeText("arguments", c.Arguments) },
	)
}

// judgeText judges text of any length.
func judgeText(field, s string) *FieldError {
	if !utf8.ValidString(s) {
		return malformed(field, "must be valid UTF-8")
	}
	return nil
}

// judgeShort judges an optional text of limited length.
func judgeShort(field string, s *string, limit int) *FieldError {
	if s == nil {
		return nil
	}
	if len(*s) > limit {
		return overLimit(field, fmt.Sprintf("must be at most %d bytes", limit))
	}
	return judgeText(field, *s)
}

// extras judges extras: empty, or an object with a member in the form of AppendJSON.
func (j *judge) extras(s string) *FieldError {
	if s == "" {
		return nil
	}
	if err := judgeText("extras", s); err != nil {
		return err
	}
	if s[0] != '{' {
		return invalid("extras", "must be a JSON object in compact form, or empty")
	}
	j.given = append(j.given[:0], s...)
	compact, _, err := AppendJSON(j.compact[:0], j.given)
	var broken *JSONError
	if errors.As(err, &broken) {
		return invalid("extras", "must be a JSON object in compact form: "+broken.Error())
	}
	switch j.compact = compact; {
	case string(compact) != s:
		return invalid("extras", "must be a JSON object in compact form, strings escaped as JSON.stringify does")
	case s == "{}":
		return invalid("extras", "must not be an empty object")
	}
	return nil
}
