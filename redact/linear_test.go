package redact_test

import (
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/redact"
)

// nasty are pieces that a rule which looks ahead or starts again would go over many times when they are repeated.
var nasty = []string{
	"a", " ", "\n", "{", "[", `{"a":`, `[{"token":`, `"`, `\`, `\"`, "'", "password", "password=", "password: ", "password:", `password="`,
	`password='`, `password=\"`, "password=$(", "password={", "password=/", "token=f(", "token=a.", "token token ", "--token ",
	"--password=", "Authorization: ", "Authorization: Basic ", "Cookie: a", "Cookie:[", "Bearer ", "Basic aGVsbG86", "-----BEGIN RSA PRIVATE KEY-----",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF\n", "-----END", "eyJhbGci.", "eyJhbGciOiJIUzI1NiJ9.eyJ1", "sk-", "AKIA",
	"lnbc1", "lnbc2500u1pvjluez", "a://", "a://b:", "a://b:c@", "a:b@tcp(", "@tcp(", "xprv", "curl -u ", "curl -u a:b\n", "mysql -p", "K", "5", "c",
	"password: |\n ", "password: |\n", "private_key: >\n  ", "<password>", `<a key="password" value=`, "name: password\nvalue: ",
	"recovery phrase: abandon ", "abandon ", "hooks.slack.com/", "discord.com/api/webhooks/", "123456789:", "é", "\xff", "%3D", "token%3D",
	"token=é", "?sig=", "&key=a", ";Password=", "${TOKEN:-", "identified by '", "api key: ", "password is ", "x=1;password=a(", `{"a":"\"`,
	`"password":"`, `"pin":1234,`, "[redacted]", "password=[redacted]a", "token==\"", "a.b.c.d.", "_", "-", "--", "$",
}

// bound is for 256 KiB on a machine that is busy; what is quadratic takes minutes.
const bound = 5 * time.Second

func TestTimeGrowsWithTheLength(t *testing.T) {
	for _, piece := range nasty {
		s := strings.Repeat(piece, 1<<18/len(piece))
		start := time.Now()
		got := redact.Text(s)
		if took := time.Since(start); took > bound {
			t.Errorf("256 KiB of %q took %v", piece, took)
		}
		if len(got) > 4*len(s)+len(redact.Mark) {
			t.Errorf("256 KiB of %q became %d bytes", piece, len(got))
		}
	}
}

func TestNastyPiecesKeepThePromises(t *testing.T) {
	for _, a := range nasty {
		for _, b := range nasty {
			promises(t, a+b)
			promises(t, strings.Repeat(a+b, 3)+a)
		}
	}
}

func BenchmarkText(b *testing.B) {
	var text strings.Builder
	for _, e := range append(corpus(b, "harmless.txt"), corpus(b, "secrets.txt")...) {
		text.WriteString(e.text)
		text.WriteString("\n\n")
	}
	plain := strings.Repeat("The tokenizer splits a text into words; the password of the user is kept as a hash.\n", 1<<14)
	for _, c := range []struct{ name, text string }{
		{"corpus", text.String()}, {"prose", plain}, {"base64", strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAUA", 1<<15)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				redact.Text(c.text)
			}
		})
	}
}
