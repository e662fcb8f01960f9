package canonical

import transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"

// IsOpaque tells whether a valid message is opaque: a framework's own state, which only the full view shows.
func IsOpaque(m *transcriptv1.Message) bool { return len(m.Parts) == 1 && isOpaque(m.Parts[0]) }

func isOpaque(p *transcriptv1.Part) bool {
	_, ok := p.GetKind().(*transcriptv1.Part_Opaque)
	return ok
}
