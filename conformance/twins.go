package conformance

import (
	"encoding/hex"
	"fmt"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// twins are two roots whose ids begin with the same 6 digits. They are computed: of some 5,000 ids two do.
func (p *probe) twins() (a, b *transcriptv1.PutNodeRequest) {
	seen := map[string]*transcriptv1.PutNodeRequest{}
	for i := 0; ; i++ {
		r := &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{text(transcriptv1.Role_ROLE_USER, fmt.Sprint(p.kit.mark, " twin ", i))}}
		id := canonical.NodeID(canonical.Envelope{PayloadDigest: canonical.PayloadDigest(nil, canonical.EncodePayload(r.Messages))})
		digits := hex.EncodeToString(id[:3])
		if first := seen[digits]; first != nil {
			return first, r
		}
		seen[digits] = r
	}
}

// ambiguous are the candidates that an error lists.
func ambiguous(err error) []string {
	return detail[*transcriptv1.AmbiguousPrefix](status.Convert(err)).GetNodeIds()
}

// fill is a text of n bytes.
func fill(n int) string { return strings.Repeat("0123456789abcdef", n/16+1)[:n] }
