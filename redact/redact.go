// Package redact takes secrets out of text and JSON.
//
// [Text] gives back its argument with every secret it knows replaced by [Mark]. A secret is known in two ways:
//
//   - by the name it stands under: passwords, tokens, API keys, cookies, authorization headers, private keys, seeds,
//     mnemonics, invoices, macaroons, preimages, one-time codes, in any spelling (dbPassword, DB_PASSWORD, db-password,
//     "db password") and in any surroundings where a name has a value: JSON, YAML, .env lines, headers, query
//     strings, connection strings, flags of commands, source text, XML, and JSON within a JSON string;
//   - by its shape, wherever it stands: JWTs, private keys in PEM (also in base64, and line by line in a list), keys and
//     tokens with their makers' prefixes (sk-…, ghp_…, AKIA… and some 300 others), BOLT11 invoices, private keys of Bitcoin (WIF, xprv), hashes
//     of passwords as crypt writes them, passwords in URLs. A token that is the last of its text, or has dots behind it or is said to be truncated, may lack its
//     last quarter.
//
// A text is looked at as it is read: without the colours of a terminal and characters that are not seen, with drawn lines as
// those of ASCII, and with what escapes (\n, \u003d, \x1b[32m) and entities (&quot;, &#34;) stand for. What is found is replaced where it is written; what is not secret keeps its spelling.
//
// What a name says is weighed with where the value stands. In JSON and under other quoted names, in query strings, .env lines,
// flags and headers, and where it is all there is on a line after "name: ", a value is taken whatever it looks like: a word, a
// phrase in any case, a number that is too long to count something. It stays if it is empty, a placeholder, a type, a
// reference to a variable, the path of a file, a description, or excused by what stands beside it (a seed by a temperature, a
// token by its logprob). On a line below "name:", in a list of lines, in quoted mail and logs too, in a table's column below
// a name, in the next element of HTML, and after "name for somebody:" it must look chosen or random. In running text and source it
// must look like a secret as well. `max_tokens: 4096`, `is_secret: true`, `password: string`, `token := parse(s)` and
// `password=${DB_PASSWORD}` hold no secret and stay as they are.
//
// # What holds for every argument
//
//   - JSON stays JSON: an argument that is a valid JSON text gives a valid JSON text with members in the same
//     order and the same white space, and so do a JSON value in the middle of other text and JSON text within a JSON
//     string (eight levels deep). Bytes are replaced in place; what is not secret keeps its spelling. A number
//     that is a secret ("pin": 4711) becomes a string; of a key that is a list of bytes the first becomes one and the others
//     zeros; a member's name is replaced only if it has the shape of a secret.
//   - Valid UTF-8 stays valid UTF-8: code points are replaced as a whole.
//   - Equal arguments give equal results, and Text(Text(s)) == Text(s).
//   - len(Text(s)) <= 4*len(s) + len(Mark), by the built-in rules. Mostly the result is shorter.
//   - The time taken grows with the length alone, whatever is in the text (BenchmarkText; linear_test.go has inputs made to
//     be slow).
//
// # What it is not
//
// It is a net, not a proof. A password in a sentence that does not call it one, a word in running text that could be any
// other, a key without a maker's prefix that stands alone, names in languages other than English: these pass. Secrets should
// be kept out of transcripts where they arise; this package is for text that is shown again to people and to models.
package redact

import (
	"regexp"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/jsontext"
	"github.com/transcriptd/transcriptd/redact/internal/names"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// Mark stands where a secret stood. It needs no escaping in JSON, however deeply strings are nested.
const Mark = edit.Mark

// passes bounds how often a text is gone over until nothing changes; two is usual, three is rare.
const passes = 8

// Options add to the built-in rules; nothing takes away from them.
type Options struct {
	// Names mean secrets besides the built-in ones, in whatever spelling and with whatever words before them: "vault phrase"
	// also means vaultPhrase and MY_VAULT_PHRASE. Their values are replaced whatever they look like, save when
	// they are empty, a placeholder, a boolean or null. A short name and a list of short numbers can break the bound of
	// the length.
	Names []string
	// Shapes are secrets wherever they stand: the first group of each match, or without groups the whole match.
	// They see text without colours and without characters that are not seen, with its escapes and with what those stand for, and strings in JSON as decoded; matches that are empty or touch a Mark are left alone.
	Shapes []*regexp.Regexp
}

// Redactor replaces secrets. The zero value has the built-in rules alone. It is immutable: calls may run at once.
type Redactor struct {
	names  names.Own
	shapes []*regexp.Regexp
}

// New returns a Redactor with the built-in rules and what o adds. The slices of o are copied.
func New(o Options) *Redactor {
	return &Redactor{names: names.NewOwn(o.Names), shapes: append([]*regexp.Regexp(nil), o.Shapes...)}
}

// Text returns s without its secrets, by the built-in rules. See the package comment for what holds.
func Text(s string) string { return (&Redactor{}).Text(s) }

// Text returns s without its secrets.
func (r *Redactor) Text(s string) string {
	text := s
	for range passes {
		spans := r.find(text, 0)
		if len(spans) == 0 {
			return text
		}
		text = edit.Replace(text, spans)
	}
	return hidden(s)
}

// hidden is what becomes of a text that does not settle: it is not shown at all.
func hidden(s string) string {
	a, b := chars.TrimSpace(s)
	if end, ok := jsontext.End(s[:b], a); ok && end == b {
		return `"` + edit.Mark + `"`
	}
	return edit.Mark
}

// Value returns a value that stands under a name: Mark if the name means a secret and the value looks like one, as a
// member of a JSON object would be judged, else Text(value).
func (r *Redactor) Value(name, value string) string {
	k := r.names.Kind(name)
	if a, b, ok := values.Judge(k, value, values.InJSON, name); ok {
		value = edit.Replace(value, []edit.Span{{Start: a, End: b}})
	}
	return r.Text(value)
}
