package tokens

import (
	"bytes"
	"encoding/base64"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/lines"
)

// minLine is the least that a line of base64 has before it goes on in another.
const minLine = 60

// pemInBase64 gives the end of base64 of a private key in PEM at i, which may go on over lines; 0 if it is none.
func pemInBase64(s string, i int) int {
	front := lines.Front(s, i)
	line, end := i, chars.Base64End(s, i, chars.MaxWord)
	head, _ := base64.RawStdEncoding.DecodeString(s[i : i+min(end-i, 64)/4*4]) // as far as it decodes
	if !bytes.Contains(head, []byte("PRIVATE KEY-----")) {
		return 0
	}
	for {
		if end = chars.Base64End(s, end, len(s)); end-line < minLine {
			return end
		}
		if line = lines.Next(s, end, front); line == end {
			return end
		}
		next := chars.Base64End(s, line, len(s))
		if next == line || next < len(s) && !chars.IsSpace(s[next]) && !chars.IsQuote(s[next]) {
			return end
		}
		end = next
	}
}
