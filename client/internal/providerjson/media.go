package providerjson

import (
	"encoding/base64"
	"strings"
)

// Base64 decodes standard base64 with padding; ok only where encoding the result gives the same text again.
func Base64(text string) (data []byte, ok bool) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil && base64.StdEncoding.EncodedLen(len(data)) == len(text)
}

// EncodeBase64 is the text that Base64 decodes to data.
func EncodeBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// DataURL takes apart "data:TYPE;base64,DATA"; ok only where TYPE is a plain lower-case media type and MakeDataURL
// gives the same URL again.
func DataURL(url string) (mediaType string, data []byte, ok bool) {
	rest, found := strings.CutPrefix(url, "data:")
	if !found {
		return "", nil, false
	}
	mediaType, text, found := strings.Cut(rest, ";base64,")
	if !found || !IsMediaType(mediaType) {
		return "", nil, false
	}
	data, ok = Base64(text)
	return mediaType, data, ok
}

// MakeDataURL is the data: URL of some content.
func MakeDataURL(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + EncodeBase64(data)
}

// IsMediaType tells whether s is "type/subtype" of lower-case letters, digits and ".+-_", without parameters.
func IsMediaType(s string) bool {
	major, minor, found := strings.Cut(s, "/")
	return found && mediaToken(major) && mediaToken(minor)
}

func mediaToken(s string) bool {
	for _, c := range []byte(s) {
		if !strings.ContainsRune(".+-_", rune(c)) && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

// Placeholder is the text that stands for a piece of content that could not be written.
func Placeholder(kind string) string {
	if kind == "" || len(kind) > 64 || !IsMediaType("x/"+strings.ReplaceAll(kind, "/", "-")) {
		kind = "a part"
	}
	return "[left out: " + kind + "]"
}
