package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

func ExampleText() {
	fmt.Println(redact.Text(`POST /login {"user": "ada", "password": "hunter2", "max_tokens": 512}`))
	fmt.Println(redact.Text(`curl -H "Authorization: Bearer 2YotnFZFEjr1zCsicMWpAA" https://ada:lovelace@example.com/v1?page=2`))
	// Output:
	// POST /login {"user": "ada", "password": "[redacted]", "max_tokens": 512}
	// curl -H "Authorization: Bearer [redacted]" https://ada:[redacted]@example.com/v1?page=2
}

func ExampleNew() {
	r := redact.New(redact.Options{
		Names:  []string{"door code"},
		Shapes: []*regexp.Regexp{regexp.MustCompile(`\bACME-[0-9]{6}\b`)},
	})
	fmt.Println(r.Text(`{"frontDoorCode": "open sesame", "note": "badge ACME-004711"}`))
	// Output:
	// {"frontDoorCode": "[redacted]", "note": "badge [redacted]"}
}

// Each name stands for one of the kinds in each spelling that is met.
func TestNamesInAnySpelling(t *testing.T) {
	const value = "k2vLm9ZtRcYw4NpUe8Jd"
	for _, name := range []string{
		"authorization", "Authorization", "proxy-authorization", "HTTP_AUTHORIZATION", "cookie", "Set-Cookie", "setCookie",
		"password", "PASSWORD", "dbPassword", "db-password", "DB_PASSWORD", "db.password", "userpassword", "passwd", "pwd",
		"passphrase", "sshPassphrase", "token", "accessToken", "access_token", "refresh-token", "REFRESH_TOKEN", "idToken",
		"githubToken", "x-amz-security-token", "csrfToken", "XSRF-TOKEN", "sessionToken", "authtoken", "secret", "clientSecret",
		"client_secret", "CLIENT-SECRET", "aws_secret_access_key", "apiKey", "APIKey", "api-key", "API_KEY", "x-api-key", "apikey",
		"openaiApiKey", "OPENAI_API_KEY_PROD", "privateKey", "private_key_pem", "signing-key", "encryptionKey", "walletSeed",
		"seed", "mnemonic", "recoveryPhrase", "recovery_phrase", "credentials", "invoice", "macaroon", "adminMacaroon", "preimage",
		"payment_preimage", "otp", "bearer", "jwt", "accountKey", "API_Keys",
	} {
		text := fmt.Sprintf(`{"%s": "%s"}`, name, value)
		if got, want := redact.Text(text), fmt.Sprintf(`{"%s": "%s"}`, name, redact.Mark); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestNamesThatOnlyLookLikeIt(t *testing.T) {
	const value = "k2vLm9ZtRcYw4NpUe8Jd"
	for _, name := range []string{
		"token_count", "max_tokens", "tokens", "tokenizer", "passwordHint", "secretary", "seedling", "nextPageToken", "page_token",
		"eosToken", "publicKey", "primary_key", "cacheKey", "passenger", "compass", "authors", "authority", "cookieName", "pinned",
		"spin", "keyboard", "monkey", "invoiceDate", "credentialsUrl", "tokenType", "secretName", "passwordPolicy", "etag",
		"signature", "sessionId", "forgotPassword", "resetPassword", "hasPassword", "statusCode", "errorCode", "idempotencyKey",
	} {
		text := fmt.Sprintf(`{"%s": "%s"}`, name, value)
		if got := redact.Text(text); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

func TestJSONIsEditedInPlace(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"{ \"n\" : 1.50e+2 ,\t\"password\" : \"x\u00e9y\" }", "{ \"n\" : 1.50e+2 ,\t\"password\" : \"[redacted]\" }"},
		{`{"a":"\u0041\/","password":"\u0041bc"}`, `{"a":"\u0041\/","password":"[redacted]"}`},
		{`{"pin":4711,"n":4711}`, `{"pin":"[redacted]","n":4711}`},
		{`"{\"pin\":4711}"`, `"{\"pin\":\"[redacted]\"}"`},
		{`["{\"a\":\"{\\\"pin\\\":4711}\"}"]`, `["{\"a\":\"{\\\"pin\\\":\\\"[redacted]\\\"}\"}"]`},
		{`{"password":null,"secret":true,"token":"","pin":12}`, `{"password":null,"secret":true,"token":"","pin":12}`},
		{`{"password":{"value":"hunter2","set":true}}`, `{"password":{"value":"[redacted]","set":true}}`},
		{`{"text":"key \ud83d\udd11: password=hunter2 \ud83d\udd11"}`, `{"text":"key \ud83d\udd11: password=[redacted] \ud83d\udd11"}`},
		{`{"text":"\ud83d password=hunter2"}`, `{"text":"\ud83d password=[redacted]"}`},
		{`{"ghp_9sKq2LmZ7xVbN4cT8rWyUe3HaJd6PfG1oi5B":1}`, `{"[redacted]":1}`},
	} {
		if got := redact.Text(c.in); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// A number is a secret from a length on that depends on what its name says, and beside the parameters of a model a seed never is.
func TestNumbers(t *testing.T) {
	for _, in := range []string{
		`{"password":4711}`, `{"pin":4711}`, `{"passphrase":4711}`, `{"authorization":4711}`, `{"cookie":-4711}`, `{"api_key":12345}`,
		`{"secret":12345}`, `{"token":123456}`, `{"pass":123456}`, `{"secrets":{"db":1234567}}`, `{"seed":12345678}`,
		`{"seed":"12345678"}`, `{"token":12345678901234567890123}`, `{"token":123456,"id":7}`,
	} {
		if got := redact.Text(in); !strings.Contains(got, redact.Mark) || !json.Valid([]byte(got)) {
			t.Errorf("%s became %s", in, got)
		}
	}
	for _, in := range []string{
		`{"password":471}`, `{"api_key":1234}`, `{"refresh_token":3600}`, `{"token":4096}`, `{"max_tokens":1234567}`, `{"pass":12345,"fail":0}`,
		`{"pass":1234567,"fail":0}`, `{"seed":1234567}`, `{"seed":20260301}`, `{"seed":"20260301"}`, `{"seed":3844321984,"temperature":0.2}`, `{"top_p":1,"seed":"3844321984"}`,
		`{"random_seed":3844321984}`, `{"invoice":20260042}`, `{"token":123456,"token_str":"x"}`, `{"seed":0.12345678}`,
	} {
		if got := redact.Text(in); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// The bytes of a key are gone, and the list keeps its length; a list of seeds or of anything else stays.
func TestKeysInBytes(t *testing.T) {
	bytes := "1,20,255" + strings.Repeat(",7", 13)
	digits, zeros := `"111"`+strings.Repeat(`,"222"`, 15), "0"+strings.Repeat(",0", 15)
	for in, want := range map[string]string{
		`{"privateKey":[` + bytes + `]}`:                            `{"privateKey":["[redacted]"` + strings.Repeat(",0", 15) + `]}`,
		`{"seed":{"type":"Buffer","data":[ ` + bytes + ` ]},"n":1}`: `{"seed":{"type":"Buffer","data":[ "[redacted]"` + strings.Repeat(",0", 15) + ` ]},"n":1}`,
		`{"seeds":[` + bytes + `]}`:                                 `{"seeds":[` + bytes + `]}`,
		`{"tokens":[` + bytes + `]}`:                                `{"tokens":[` + bytes + `]}`,
		`{"privateKey":[` + bytes + `,256]}`:                        `{"privateKey":[` + bytes + `,256]}`,
		`{"seed":[` + digits + `]}`:                                 `{"seed":[` + digits + `]}`,
		`{"seed":[` + zeros + `]}`:                                  `{"seed":[` + zeros + `]}`,
		`{"privateKey":[1,2,3]}`:                                    `{"privateKey":[1,2,3]}`,
	} {
		if got := redact.Text(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		promises(t, in)
	}
}

func TestValue(t *testing.T) {
	var r redact.Redactor
	for _, c := range []struct{ name, value, want string }{
		{"db_password", "hunter2", redact.Mark},
		{"token_count", "12", "12"},
		{"Authorization", "Bearer 2YotnFZFEjr1zCsicMWpAA", "Bearer " + redact.Mark},
		{"note", "token=2YotnFZFEjr1zCsicMWpAA", "token=" + redact.Mark},
		{"password", redact.Mark, redact.Mark},
		{"password", "", ""},
	} {
		if got := r.Value(c.name, c.value); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// A shape of the caller's that runs over the signs of JSON changes nothing there; in strings it holds.
func TestShapesKeepJSON(t *testing.T) {
	r := redact.New(redact.Options{Shapes: []*regexp.Regexp{regexp.MustCompile(`b.*c`)}})
	in := `a b1c {"b":"x","c":"b\nc","d":["b","bzc"]}`
	if got, want := r.Text(in), `a [redacted] {"b":"x","c":"b\nc","d":["b","[redacted]"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A shape of the caller's sees a text as it is written and as it is read.
func TestShapesSeeWhatIsWritten(t *testing.T) {
	r := redact.New(redact.Options{Shapes: []*regexp.Regexp{regexp.MustCompile(`ACME\\[0-9]+`), regexp.MustCompile("vault:\t\\w+")}})
	for in, want := range map[string]string{
		`dir ACME\4711, tab \t`:            `dir [redacted], tab \t`,
		`tab vault:\topen &amp; shut`:      `tab [redacted] &amp; shut`,
		"colours \x1b[1mACME\\\x1b[m4711 ": "colours \x1b[1m[redacted] ",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Ten secrets of which each is seen only when the one before it is gone: what is given back is the mark alone, in JSON as a
// string.
func TestWhatDoesNotSettleIsNotShown(t *testing.T) {
	var shapes []*regexp.Regexp
	for _, c := range "bcdefghijk" {
		shapes = append(shapes, regexp.MustCompile(`^a(?:\[redacted\])*(`+string(c)+`)`))
	}
	r := redact.New(redact.Options{Shapes: shapes})
	for in, want := range map[string]string{
		"abc":                 "a[redacted][redacted]",
		"abcdefghijk":         redact.Mark,
		`"abcdefghijk"`:       `"` + redact.Mark + `"`,
		`{"n":"abcdefghijk"}`: `"` + redact.Mark + `"`,
	} {
		if got := r.Text(in); got != want || r.Text(got) != got {
			t.Errorf("%s became %q, and that %q; want %q", in, got, r.Text(got), want)
		}
	}
}

func TestCallsAtOnce(t *testing.T) {
	r := redact.New(redact.Options{Names: []string{"door code"}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := r.Text(`{"door_code":"1 2 3","password":"hunter2"}`); got != `{"door_code":"[redacted]","password":"[redacted]"}` {
				t.Errorf("got %s", got)
			}
		})
	}
	wg.Wait()
}

// Deeper than eight strings, and deeper than encoding/json goes, what is valid stays valid.
func TestDeepNesting(t *testing.T) {
	s := `{"password":"hunter2","pin":4711}`
	for range 9 {
		s = encode(t, map[string]string{"a": s})
	}
	promises(t, s)
	promises(t, strings.Repeat("[", 9_999)+`{"pin":4711}`+strings.Repeat("]", 9_999))
	promises(t, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000))
}
