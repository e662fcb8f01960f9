package redact_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// secretNames are the names of secrets as words, each with values that have nothing of a key about them: what takes them is
// the name. A value with blanks stands only where a value may have some.
var secretNames = []struct {
	name   string
	values []string
}{
	{"password", []string{"swordfish", "hunter2x9", "Correct Horse Battery Staple"}},
	{"db password", []string{"swordfish"}},
	{"pass word", []string{"swordfish"}},
	{"passphrase", []string{"swordfish", "correct horse battery"}},
	{"token", []string{"swordfish", "hunter2x9"}},
	{"access token", []string{"swordfish"}},
	{"refresh token", []string{"swordfish"}},
	{"x auth token", []string{"swordfish"}},
	{"secret", []string{"swordfish", "hunter2x9"}},
	{"client secret", []string{"swordfish"}},
	{"api key", []string{"swordfish", "hunter2x9"}},
	{"x api key", []string{"swordfish"}},
	{"private key", []string{"swordfish", "hunter2x9"}},
	{"authorization", []string{"swordfish", "swordfish-token", "hunter2x9", "Bearer swordfish"}},
	{"cookie", []string{"sid=hunter2x9"}},
	{"set cookie", []string{"sid=hunter2x9"}},
	{"seed", []string{"swordfish", "hunter2x9", "legal winner thank year wave sausage"}},
	{"wallet seed", []string{"swordfish"}},
	{"seed phrase", []string{"swordfish", "Legal Winner Thank Year Wave Sausage"}},
	{"mnemonic", []string{"swordfish", "LEGAL WINNER THANK YEAR WAVE SAUSAGE"}},
	{"macaroon", []string{"swordfish", "hunter2x9"}},
	{"preimage", []string{"swordfish", "hunter2x9"}},
	{"pre image", []string{"swordfish"}},
	{"payment preimage", []string{"swordfish"}},
	{"invoice", []string{"lnbc1pvjluezpp5qqqsyqcyq5rqwzqf"}},
}

// spellings write the words of a name in one of the ways that are met.
var spellings = []struct {
	title string
	join  func(words []string) string
}{
	{"snake", func(w []string) string { return strings.Join(w, "_") }},
	{"kebab", func(w []string) string { return strings.Join(w, "-") }},
	{"screaming", func(w []string) string { return strings.ToUpper(strings.Join(w, "_")) }},
	{"header", func(w []string) string { return capitals(w, 0, "-") }},
	{"camel", func(w []string) string { return capitals(w, 1, "") }},
	{"pascal", func(w []string) string { return capitals(w, 0, "") }},
	{"glued", func(w []string) string { return strings.Join(w, "") }},
	{"dotted", func(w []string) string { return "app." + strings.Join(w, ".") }},
}

// spaced are the spellings of names in prose and as members of JSON.
var spaced = []struct {
	title string
	join  func(words []string) string
}{
	{"spaced", func(w []string) string { return strings.Join(w, " ") }},
	{"spaced, capitals", func(w []string) string { return capitals(w, 0, " ") }},
}

// capitals joins words that begin with capitals from the given one on.
func capitals(words []string, from int, sep string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if i >= from {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		out[i] = w
	}
	return strings.Join(out, sep)
}

// secretPlaces are where a name has a value, with N for the name and V for the value.
var secretPlaces = []struct {
	title, text string
	spaced      bool   // a name of several words may have blanks here
	blank       string // stands for a blank in a value; empty: there can be none; "1": a value has a digit, words are variables
}{
	{"json", `{"user":"ada","‹N›":"‹V›","n":1}`, true, " "},
	{"json, alone", `{"‹N›":"‹V›"}`, true, " "},
	{"json, pretty", "{\n  \"user\": \"ada\",\n  \"‹N›\": \"‹V›\"\n}", true, " "},
	{"json, list", `{"‹N›":["‹V›"]}`, true, " "},
	{"json, value object", `{"‹N›":{"value":"‹V›"}}`, true, " "},
	{"json, pair", `{"headers":[{"name":"‹N›","value":"‹V›"}]}`, true, " "},
	{"json, pair, value first", `{"env":[{"value":"‹V›","name":"‹N›"}]}`, true, " "},
	{"json, in a string", `{"arguments":"{\"‹N›\":\"‹V›\"}"}`, true, " "},
	{"json, in a string twice", `{"a":"{\"b\":\"{\\\"‹N›\\\":\\\"‹V›\\\"}\"}"}`, true, " "},
	{"json, in text", `2026-03-01 INFO body={"‹N›":"‹V›"} status=200`, true, " "},
	{"json, in a shell command", `curl -d '{"‹N›":"‹V›"}' https://api.example.org`, true, " "},
	{"json, escaped in text", `curl -d "{\"‹N›\":\"‹V›\"}" https://api.example.org`, true, " "},
	{"json, cut off", `{"user":"ada","‹N›":"‹V›","address":{"str`, true, " "},
	{"header", "GET / HTTP/1.1\r\nHost: example.org\r\n‹N›: ‹V›\r\nAccept: */*\r\n", false, " "},
	{"header, alone", "‹N›: ‹V›", true, " "},
	{"header, of curl -v", "> ‹N›: ‹V›\n> Accept: */*", false, " "},
	{"header, of a flag", `curl -H "‹N›: ‹V›" https://api.example.org`, false, " "},
	{"header, of a flag, single quotes", `curl -H '‹N›: ‹V›' https://api.example.org`, false, " "},
	{"header, in json", `{"raw":"HTTP/1.1 200 OK\r\n‹N›: ‹V›\r\n\r\nok"}`, false, " "},
	{"query", "https://api.example.org/cb?‹N›=‹V›", false, "+"},
	{"query, second", "GET /v1/things?page=2&‹N›=‹V›&limit=50 HTTP/1.1", false, "+"},
	{"query, in json", `{"url":"https://api.example.org/cb?‹N›=‹V›"}`, false, "+"},
	{"query, in quotes", `fetch("https://api.example.org/cb?x=1&‹N›=‹V›")`, false, "+"},
	{"fragment", "https://app.example.org/#‹N›=‹V›&state=x", false, "+"},
	{"form", "‹N›=‹V›&user=ada", false, "+"},
	{"form, later", "user=ada&‹N›=‹V›", false, "+"},
	{"form, of curl", "curl -d 'user=ada&‹N›=‹V›' https://api.example.org", false, "+"},
	{"form, of curl, first", "curl -d ‹N›=‹V› https://api.example.org", false, "+"},
	{"yaml", "db:\n  host: db.internal\n  ‹N›: ‹V›\n  port: 5432", false, " "},
	{"yaml, list", "- ‹N›: ‹V›\n- user: ada", false, " "},
	{"yaml, quoted", "db:\n  ‹N›: \"‹V›\"\n", false, " "},
	{"yaml, single quotes, comment", "db:\n  ‹N›: '‹V›' # rotate\n", false, " "},
	{"yaml, comment", "db:\n  ‹N›: ‹V› # rotate\n", false, " "},
	{"dotenv", "HOST=db.internal\n‹N›=‹V›\nPORT=1", false, ""},
	{"dotenv, quoted", "‹N›=\"‹V›\"", false, " "},
	{"export", "export ‹N›=‹V›", false, ""},
	{"export, single quotes", "export ‹N›='‹V›'", false, " "},
	{"one command", "‹N›=‹V› ./deploy --region eu", false, ""},
	{"docker", "docker run -e ‹N›=‹V› nginx", false, ""},
	{"dockerfile", "FROM scratch\nENV ‹N› ‹V›\n", false, ""},
	{"batch", "set ‹N›=‹V›", false, ""},
	{"powershell", `$env:‹N› = "‹V›"`, false, " "},
	{"ini", "[client]\nuser = root\n‹N› = ‹V›\n", false, "1"},
	{"properties", "spring.datasource.‹N›=‹V›", false, ""},
	{"toml", "‹N› = \"‹V›\"", false, " "},
	{"flag", "deploy --region eu --‹N› ‹V›", false, ""},
	{"flag, =", "deploy --‹N›=‹V› --region eu", false, ""},
	{"flag, quoted", "deploy --‹N› \"‹V›\" --region eu", false, " "},
	{"flag, quoted, =", "deploy --‹N›='‹V›'", false, " "},
	{"python dict", "{'user': 'ada', '‹N›': '‹V›', 'port': 5432}", true, " "},
	{"python, keyword argument", `connect(host="db", ‹N›="‹V›")`, false, " "},
	{"python, subscript", `os.environ["‹N›"] = "‹V›"`, false, " "},
	{"python, default", `os.environ.get("‹N›", "‹V›")`, false, " "},
	{"ruby hash", `{"‹N›"=>"‹V›", "user"=>"ada"}`, false, " "},
	{"go literal", `cfg := Config{‹N›: "‹V›", Debug: true}`, false, " "},
	{"javascript", `const c = { user: 'ada', ‹N›: '‹V›' };`, false, " "},
	{"c#, java", `String ‹N› = "‹V›";`, false, " "},
	{"connection string", "Server=db;‹N›=‹V›;Encrypt=True;", false, ""},
	{"logfmt", "level=info user=ada ‹N›=‹V› took=12ms", false, ""},
	{"logfmt, quoted", `level=info ‹N›="‹V›" took=12ms`, false, " "},
	{"xml element", "<server><id>1</id><‹N›>‹V›</‹N›></server>", false, " "},
	{"xml attribute", `<add user="sa" ‹N›="‹V›" />`, false, " "},
	{"xml pair", `<add key="‹N›" value="‹V›" />`, false, " "},
	{"plain", "Hello,\n‹N›: ‹V›\nBye", true, " "},
	{"plain, of mine", "My ‹N›: ‹V›", true, " "},
	{"plain, sentence", "The ‹N› is: ‹V›", true, " "},
	{"markdown", "- **‹N›:** ‹V›\n- **Role:** admin", true, " "},
	{"markdown, bold name", "**‹N›**: ‹V›", true, " "},
	{"markdown, code", "- `‹N›`: `‹V›`", true, " "},
	{"markdown, table", "| user | ada |\n| ‹N› | ‹V› |\n", true, "1"},
	{"diff", "+  ‹N›: ‹V›\n-  x: y", false, ""},
}

// Every name, in every spelling, in every place: the value is gone, and what stands around it is not.
func TestEveryNameInEveryPlace(t *testing.T) {
	for _, n := range secretNames {
		words := strings.Fields(n.name)
		for _, place := range secretPlaces {
			forms := spellings
			if place.spaced {
				forms = append(forms[:len(forms):len(forms)], spaced...)
			}
			for _, form := range forms {
				for _, value := range n.values {
					if value, ok := fit(value, place.blank); ok {
						checkGone(t, place.text, form.join(words), value)
					}
				}
			}
		}
	}
}

// fit gives the value as it stands in a place, if it can.
func fit(value, blank string) (string, bool) {
	if blank == "1" {
		return value, strings.ContainsAny(value, "0123456789") && !strings.Contains(value, " ")
	}
	return strings.ReplaceAll(value, " ", blank), blank != "" || !strings.Contains(value, " ")
}

func checkGone(t *testing.T, place, name, value string) {
	t.Helper()
	text := strings.NewReplacer("‹N›", name, "‹V›", value).Replace(place)
	before, after, _ := strings.Cut(strings.ReplaceAll(place, "‹N›", name), "‹V›")
	secret := strings.TrimPrefix(value, "Bearer ") // the scheme may stay
	got := redact.Text(text)
	if strings.Contains(got, secret) {
		t.Errorf("%q became %q", text, got)
	}
	if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
		t.Errorf("%q became %q: more than the value is gone", text, got)
	}
}
