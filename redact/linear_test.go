package redact_test

import (
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
	"> password:\n> a1b2c3\n", `["password:",`, `["password:","a1b2c3",`, `["a:","[\"a:\",\"b\"]"],`, "password:', '", "password:', '', '", "| password |\n|---|\n",
	"| a1b2c3 | a |\n", "**password: ", "\u200b", "\u202epassword", "\x1b[3", "\x1b[3;", "\x1b[3password ",
	"\x1b[", "\x1b[0m", "\x1b]", "\x1b]8;;a\a", "\x1b]8;;\x1b\\", "\x1b", "a\x1b[m", "&quot;", "&", "&amp;amp;", `\n`, `\\`, `\u003d`, `\x1b[`, "^[[", `\"a\"`,
	"password:\n", "password:\n\na1b2c3\n", `setPassword("`, `.password("a`, "a.b:1:password: ", "a.b-1-", "INFO password: ", "x |", "Bearer a|", "Bearer a=",
	"LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\n", `["-----BEGIN PRIVATE KEY-----",`, "------BEGIN PRIVATE KEY-----\n-a\n",
	"ghp_9sKq2LmZ7xVbN4c...", "eyJhbGciOiJIUzI1NiIs…", `{"a":"b"} \n `, `[1] &quot;`, "token=é", "?sig=", "&key=a", ";Password=", "${TOKEN:-", "identified by '", "api key: ", "password is ", "x=1;password=a(", `{"a":"\"`,
	`"password":"`, `"pin":1234,`, "[redacted]", "password=[redacted]a", "token==\"", "a.b.c.d.", "_", "-", "--", "$",
}

// most is the work that 256 KiB may take. What is linear takes a tenth of it, what is quadratic ten times as much.
const most = 2 * time.Second

func TestWorkGrowsWithTheLength(t *testing.T) {
	for _, piece := range nasty {
		s := strings.Repeat(piece, 1<<18/len(piece))
		var got string
		if took := work(t, func() { got = redact.Text(s) }); took > most {
			t.Errorf("256 KiB of %q took %v of work", piece, took)
		}
		if len(got) > 4*len(s)+len(redact.Mark) {
			t.Errorf("256 KiB of %q became %d bytes", piece, len(got))
		}
	}
}

// Values in values, as deep as they are walked: what is given back or taken at one level must not go over the others again.
func TestWorkGrowsWithTheDepth(t *testing.T) {
	for _, c := range []struct{ open, close string }{
		{`{"token":"hunter2","logprob":1,"a":`, `}`}, {`{"a":{"token":"hunter2"},"line":1,"b":`, `}`}, {`{"name":"token","a":`, `,"value":"x"}`},
		{`{"secrets":{"a":`, `}}`}, {`{"mnemonic":["letter","advice","cage",`, `]}`}, {`["letter",`, `]`}, {`[["token",`, `]]`},
		{`{"private_key":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,`, `]}`}, {`{"password":[`, `]}`},
	} {
		n := min(maxNested, 1<<18/len(c.open+c.close))
		s := `{"mnemonic":` + strings.Repeat(c.open, n) + `"hunter2"` + strings.Repeat(c.close, n) + `}`
		s = strings.Repeat(s+"\n", 1<<18/len(s)+1)
		if took := work(t, func() { promises(t, s) }); took > most {
			t.Errorf("%s, nested, took %v of work", c.open, took)
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
