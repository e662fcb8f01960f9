package tokens

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
)

// jwt: three parts of base64url (five, encrypted), the first a JSON object; the last may be empty or cut off.
func jwt(s string, i int) int {
	end, parts := i, 0
	for parts < 5 {
		from := end
		for end < len(s) && dashed(s[end]) && (parts > 0 || end-from < chars.MaxShape) {
			end++
		}
		if parts++; parts <= 2 && end-from < 8 {
			return 0
		}
		if end+1 >= len(s) || s[end] != '.' || !dashed(s[end+1]) && parts != 2 {
			break
		}
		end++
	}
	if parts < 2 && !(end-i >= 20 && isCutOff(s, end) && isHead(s[i:end])) {
		return 0
	}
	return end
}

// isHead says whether base64 of JSON is the first part of a JWT: its first member is alg, typ or kid.
func isHead(t string) bool {
	return strings.HasPrefix(t, "eyJhbGci") || strings.HasPrefix(t, "eyJ0eXAi") || strings.HasPrefix(t, "eyJraWQi")
}
