package redact_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

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
	"pAsswd:0", "password:KE-", "t/api_key:api/-__token__://", "https://a|password:cal.", `{"Authorization":`, `{"Cookie":[`,
	`"seed":pS%password:D\n | f`, `'secrets': {'a':NPM_TOKEN: 'isbrets'{'a':sd=\""`,
	"jetetSkie:iCookie:v", "Cookie:a=b", "@tcp(::::::", "[32m", "[3;", "password for a: ", "password (", "</td><td>", "<b>token</b><i>", "│", "── ",
	"1 is your otp ", "493021 is your pin, ", `\u{3d}`, `\075`, "token | a\n", "LS0tLS1CRUdJTi\n", "Cookie a=", "password are:\n",
}

const (
	// maxCost is what a text may cost, as a multiple of what plain text of its length does in the same process. The dearest
	// piece that a search has found costs a third of that; one costs more for which each name looks as far ahead as a value may go.
	maxCost = 150

	// minCost is what a text costs at least whose growth is measured; what is cheaper does not matter.
	minCost = 8

	// maxGrowth is how many times as much as a quarter of a text, four times, the whole may cost. It is one if the work is linear, and four if it is
	// quadratic.
	maxGrowth = 2.2
)

// plainText is text of n bytes as most of it is, with a name now and then.
func plainText(n int) string {
	const line = "The tokenizer splits a text into words; the password of the user is kept as a hash.\n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

// plainWork is the work for a byte of plain text, measured once.
var plainWork = sync.OnceValue(func() float64 { return perByte(plainText(1<<18), 8) })

// perByte is the work for a byte of a text, in nanoseconds, measured some times over: the clock is coarse.
func perByte(text string, times int) float64 {
	return float64(work(text, times)) / float64(times*len(text))
}

// checkWork checks that the work for a text that repeats itself is linear, and not much more than that for other texts. Nothing is measured in
// seconds: a machine may be slow, and the fuzzer counts what is run. What else the machine does may disturb a measurement; three
// are wrong only if the work is.
func checkWork(t *testing.T, title, text string) {
	t.Helper()
	plain, long, short := plainWork(), perByte(text, 1), 0.0
	if long < minCost*plain {
		return
	}
	for range 3 {
		long, short = perByte(text, 2), perByte(text[:len(text)/4], 8)
		if long < maxCost*plain && (long < minCost*plain || long < maxGrowth*short) {
			return
		}
		plain = perByte(plainText(1<<18), 8)
	}
	t.Errorf("%d KiB of %q took %.0f ns a byte, a quarter of that %.0f, and plain text %.0f", len(text)>>10, title, long, short, plain)
}

func TestWorkGrowsWithTheLength(t *testing.T) {
	for _, piece := range nasty {
		s := strings.Repeat(piece, 1<<18/len(piece))
		checkWork(t, piece, s)
		if got := redact.Text(s); len(got) > 4*len(s)+len(redact.Mark) {
			t.Errorf("256 KiB of %q became %d bytes", piece, len(got))
		}
	}
}

// What is found in one pass must not make more to be found in the next, again and again: such a text would be hidden as a whole.
func TestNothingIsHiddenAsAWhole(t *testing.T) {
	for _, piece := range nasty {
		const before, after = "A line of prose.\n\n", "\n\nAnother line of prose."
		got := redact.Text(before + strings.Repeat(piece, 1<<12/len(piece)) + after)
		if got == redact.Mark {
			t.Errorf("4 KiB of %q hide what is around them", piece)
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
		promises(t, s)
		if took := perByte(s, 1); took > maxCost*plainWork() {
			t.Errorf("%s, nested, took %.0f ns a byte, and plain text %.0f", c.open, took, plainWork())
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
	for _, c := range []struct{ name, text string }{
		{"corpus", text.String()}, {"prose", plainText(1 << 20)}, {"base64", strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAUA", 1<<15)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				redact.Text(c.text)
			}
		})
	}
}
