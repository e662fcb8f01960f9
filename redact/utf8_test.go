package redact_test

import (
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/redact"
)

// Wherever a rule cuts, a code point goes as a whole or stays as a whole.
func TestCodePointsStayWhole(t *testing.T) {
	const body = "MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF"
	var r redact.Redactor
	for in, want := range map[string]string{
		"-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END密 a":    "[redacted]密 a",
		"-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END 密":     "[redacted]密",
		"-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVÉ": "[redacted]É",
		"密-----BEGIN PRIVATE KEY-----\n" + body + "é":               "密[redacted]é",
	} {
		if got := redact.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		for _, text := range []string{in, encode(t, in), encode(t, map[string]any{"a": []string{in}}), "x " + encode(t, []string{in})} {
			promises(t, text)
			if got := r.Value("note", text); !utf8.ValidString(got) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}
