package canonical

import transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"

// IsOpaque tells whether a valid message is opaque: a framework's own state, which only the full view shows.
func IsOpaque(m *transcriptv1.Message) bool {
	parts := m.GetParts()
	return len(parts) == 1 && isOpaque(parts[0])
}

func isOpaque(p *transcriptv1.Part) bool {
	_, ok := p.GetKind().(*transcriptv1.Part_Opaque)
	return ok
}
