package redact_test

import (
	"math"
	"math/rand/v2"
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
	"secrets: {", "secrets:\n  a: ", "{'cookies': {", "'secrets': {'a': 'b', ", "mnemonic: [a, ", "mnemonic:\n  - a\n", `["--password",`,
	`[["token","a"],`, "| password | a |\n", "config set password a ", "a://b:c/", "%3F", "My new password: a ", "user: a, password: b, ",
	"form-data; name=\"password\"\r\n\r\n", `<entry key="password">`, "password 'a' ", "curl -ua:b ", `x["password"] = "a"`,
	`get("password", "a")`, "> Cookie: a ", "ENV password a\n", "password=a\\ ", "token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"token=é", "?sig=", "&key=a", ";Password=", "${TOKEN:-", "identified by '", "api key: ", "password is ", "x=1;password=a(", `{"a":"\"`,
	`"password":"`, `"pin":1234,`, "[redacted]", "password=[redacted]a", "token==\"", "a.b.c.d.", "_", "-", "--", "$",
}

// bound is for 256 KiB on a machine that is busy; what is quadratic takes minutes.
const bound = 5 * time.Second

// fastest gives how long f takes, at best of three if it takes longer than the bound: others may have the machine.
func fastest(f func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for n := 0; n < 3 && best > bound; n++ {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

func TestTimeGrowsWithTheLength(t *testing.T) {
	for _, piece := range nasty {
		s := strings.Repeat(piece, 1<<18/len(piece))
		var got string
		if took := fastest(func() { got = redact.Text(s) }); took > bound {
			t.Errorf("256 KiB of %q took %v", piece, took)
		}
		if len(got) > 4*len(s)+len(redact.Mark) {
			t.Errorf("256 KiB of %q became %d bytes", piece, len(got))
		}
	}
}

// Values in values, as deep as they are walked: what is given back or taken at one level must not go over the others again.
func TestTimeGrowsWithTheDepth(t *testing.T) {
	for _, c := range []struct{ open, close string }{
		{`{"token":"hunter2","logprob":1,"a":`, `}`}, {`{"a":{"token":"hunter2"},"line":1,"b":`, `}`}, {`{"name":"token","a":`, `,"value":"x"}`},
		{`{"secrets":{"a":`, `}}`}, {`{"mnemonic":["letter","advice","cage",`, `]}`}, {`["letter",`, `]`}, {`[["token",`, `]]`},
		{`{"private_key":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,`, `]}`}, {`{"password":[`, `]}`},
	} {
		n := min(maxNested, 1<<18/len(c.open+c.close))
		s := `{"mnemonic":` + strings.Repeat(c.open, n) + `"hunter2"` + strings.Repeat(c.close, n) + `}`
		s = strings.Repeat(s+"\n", 1<<18/len(s)+1)
		if took := fastest(func() { promises(t, s) }); took > bound {
			t.Errorf("%s, nested, took %v", c.open, took)
		}
	}
}

// maxNested is how many of two brackets each are still walked.
const maxNested = 4_900

func TestNastyPiecesKeepThePromises(t *testing.T) {
	for _, a := range nasty {
		for _, b := range nasty {
			promises(t, a+b)
			promises(t, strings.Repeat(a+b, 3)+a)
		}
	}
}

// Pieces of the corpora, cut anywhere and joined: what tests of whole texts and a short run of the fuzzer do not come upon.
func TestJoinsKeepThePromises(t *testing.T) {
	var texts []string
	for _, e := range append(corpus(t, "secrets.txt"), corpus(t, "harmless.txt")...) {
		texts = append(texts, e.text)
	}
	texts = append(texts, nasty...)
	joins := 30_000
	if testing.Short() {
		joins = 3_000
	}
	random := rand.New(rand.NewPCG(4, 7))
	for range joins {
		var join strings.Builder
		for range 1 + random.IntN(6) {
			text := texts[random.IntN(len(texts))]
			from := random.IntN(len(text))
			join.WriteString(text[from : from+1+random.IntN(min(len(text)-from, 40))])
		}
		promises(t, join.String())
		promises(t, encode(t, map[string]any{"note": join.String(), "password": []string{join.String()}}))
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
