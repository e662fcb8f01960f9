package redact_test

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

var (
	ansi = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")
	half = regexp.MustCompile(`[0-9A-Za-z]{4}`)
	full = regexp.MustCompile(`[0-9A-Za-z_-]+`)
	line = regexp.MustCompile(`(?m)^.+$`)
)

// disguises write a text in another way, and read it again.
var disguises = []struct {
	title string
	write func(text string, secrets []string) string
	read  func(string) string
}{
	{"secrets in colours", func(s string, secrets []string) string {
		for _, secret := range secrets {
			s = strings.Replace(s, secret, "\x1b[32m"+secret+"\x1b[0m", 1)
		}
		return s
	}, plain},
	{"words in colours", func(s string, _ []string) string { return full.ReplaceAllString(s, "\x1b[1;36m$0\x1b[m") }, plain},
	{"lines in colours", func(s string, _ []string) string { return line.ReplaceAllString(s, "\x1b[38;5;208m$0\x1b[0m\x1b[K") }, plain},
	{"parts of words found by grep", func(s string, _ []string) string { return half.ReplaceAllString(s, "\x1b[01;31m\x1b[K$0\x1b[m\x1b[K") }, plain},
	{"a string that is cut off", func(s string, _ []string) string { return `{"user":"ada","body":"out\n` + quoted(s) }, unquoted},
	{"a string of a string that is cut off", func(s string, _ []string) string { return `{"body":"` + quoted(`{"log":"out\n`+quoted(s)) }, func(s string) string {
		return unquoted(unquoted(s))
	}},
	{"a string with escapes", func(s string, _ []string) string {
		return `{"body":"out\n` + strings.NewReplacer("=", `\u003d`, `\"`, `\u0022`, "'", `\u0027`, ":", `\u003A`).Replace(quoted(s))
	}, unquoted},
	{"colours in a string", func(s string, _ []string) string {
		return `{"body":"out\n` + quoted(full.ReplaceAllString(s, "\x1b[1;36m$0\x1b[m"))
	}, func(s string) string { return plain(unquoted(s)) }},
	{"colours in source", func(s string, _ []string) string {
		return strings.ReplaceAll(full.ReplaceAllString(s, "\x1b[36m$0\x1b[0m"), "\x1b", `\x1b`)
	}, func(s string) string { return plain(strings.ReplaceAll(s, `\x1b`, "\x1b")) }},
	{"entities", func(s string, _ []string) string { return html.EscapeString(s) }, html.UnescapeString},
	{"named entities", func(s string, _ []string) string {
		return strings.NewReplacer("&#34;", "&quot;", "&#39;", "&#x27;", "=", "&equals;").Replace(html.EscapeString(s))
	}, html.UnescapeString},
	{"entities twice", func(s string, _ []string) string { return html.EscapeString(html.EscapeString(s)) }, func(s string) string {
		return html.UnescapeString(html.UnescapeString(s))
	}},
}

func plain(s string) string { return ansi.ReplaceAllString(s, "") }

// quoted is the inside of the text as a JSON string.
func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw[1 : len(raw)-1])
}

// unquoted is the last string of a JSON text that is cut off in it.
func unquoted(s string) string {
	s = s[strings.Index(s, `:"`)+2:]
	s = strings.TrimPrefix(s, `ada","body":"`)
	var text string
	if json.Unmarshal([]byte(`"`+s+`"`), &text) != nil {
		return s
	}
	return strings.TrimPrefix(text, "out\n")
}

// What is found in a text is found however it is written, and nothing more.
func TestTheCorpusInDisguise(t *testing.T) {
	entries := append(corpus(t, "secrets.txt"), corpus(t, "harmless.txt")...)
	for _, d := range disguises {
		for _, e := range entries {
			if d.title == "colours in source" && strings.Contains(e.text, `\`) {
				continue // no colour begins within an escape
			}
			text := d.write(e.text, e.secrets)
			want, got := redact.Text(e.text), d.read(redact.Text(text))
			if bare := strings.NewReplacer(`"`+redact.Mark+`"`, redact.Mark); bare.Replace(got) != bare.Replace(want) {
				t.Errorf("%s, %s:\n got %s\nwant %s", d.title, e.title, got, want)
			}
			promises(t, text)
			promises(t, encode(t, map[string]string{"a": text}))
		}
	}
}
