package redact_test

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/redact"
)

// surrounding writes the lines of a text as they are met in transcripts. What it has no way to write is empty.
type surrounding struct {
	title string
	write func(lines []string) string
}

// byLine are surroundings of each line for itself.
var byLine = []surrounding{
	{"plain", join("")},
	{"windows", func(l []string) string { return strings.Join(l, "\r\n") + "\r\n" }},
	{"a literal of Python", func(l []string) string {
		return "'" + strings.ReplaceAll(quoted(strings.Join(l, "\n")), `\"`, `"`) + "'"
	}},
	{"a member of Python", func(l []string) string {
		return "{'out': '" + strings.ReplaceAll(quoted(strings.Join(l, "\n")), `\"`, `"`) + "', 'n': 1}"
	}},
	{"a list of Python", func(l []string) string { return "['" + strings.Join(l, "', '") + "']" }},
	{"colours", join("\x1b[32m")},
	{"colours of lines", func(l []string) string { return "\x1b[1;32m" + strings.Join(l, "\x1b[0m\n\x1b[1;32m") + "\x1b[0m" }},
	{"colours of words, without their escape", func(l []string) string {
		return "[1;32m" + strings.Join(l, "[0m\n[1;32m") + "[0m"
	}},
	{"blanks that do not break", join("\u00a0 ")},
	{"mail", join("> ")},
	{"mail, twice", join("> > ")},
	{"mail, tight", join(">>")},
	{"compose", join("web-1  | ")},
	{"compose, twice", join("web-1  | 2026-01-02T03:04:05Z ")},
	{"log", join("2026-01-02T03:04:05Z ")},
	{"log, fractions", func(l []string) string { return numbered(l, "2026-01-02 03:04:05.%03d ") }},
	{"log, level", func(l []string) string { return numbered(l, "[12:00:0%d] INFO ") }},
	{"log, service", join("Jan  2 03:04:05 web-1 app[17]: ")},
	{"cat -n", func(l []string) string { return numbered(l, "%6d\t") }},
	{"numbered from nine on", func(l []string) string { return " 9 | " + strings.Join(l, "\n10 | ") }},
	{"numbered with an arrow", func(l []string) string { return numbered(l, "%6d→") }},
	{"grep -n", func(l []string) string { return numbered(l, "%d:") }},
	{"grep -n, path", func(l []string) string { return numbered(l, "notes/a.md:%d:") }},
	{"grep -n, what follows", func(l []string) string { return "12:" + strings.Join(l, "\n13-") }},
	{"grep, what follows", func(l []string) string { return "notes/a.md:" + strings.Join(l, "\nnotes/a.md-") }},
	{"kubectl logs", join("[pod/web-7d9f5b-x2x/app] ")},
	{"github actions", join("build\tRun tests\t2026-01-02T03:04:05.0000000Z ")},
	{"diff", join("+")},
	{"comment", join("# ")},
	{"comment of source", join("// ")},
	{"bold label", bold("**", "")},
	{"bold label, code", bold("**", "`")},
	{"bold both", bold("**", "**")},
	{"italic label", bold("*", "")},
	{"italic with _", bold("_", "")},
	{"bold with __", bold("__", "__")},
	{"label in code", bold("`", "`")},
	{"bold all", func(l []string) string { return "**" + strings.Join(l, "\n") + "**" }},
	{"list", func(l []string) string { return "- " + strings.Join(l, "\n  ") }},
	{"list, star", func(l []string) string { return "* " + strings.Join(l, "\n  ") }},
	{"list of all", join("- ")},
	{"list, numbered", func(l []string) string { return "1. " + strings.Join(l, "\n   ") }},
	{"heading", func(l []string) string { return "## " + strings.Join(l, "\n") }},
	{"fence", func(l []string) string { return l[0] + "\n```\n" + strings.Join(l[1:], "\n") + "\n```" }},
	{"right to left", join("\u202e")},
	{"zero width", join("\u200b")},
	{"zero width within", func(l []string) string { return l[0][:2] + "\u200d" + strings.Join(l, "\n")[2:] }},
	{"byte order mark", func(l []string) string { return "\ufeff" + strings.Join(l, "\n") }},
	{"isolated", func(l []string) string { return "\u2066" + strings.Join(l, "\u2069\n\u2066") + "\u2069" }},
	{"escape that is cut off", join("\x1b[")},
	{"escape that is cut off in a number", join("\x1b[3")},
	{"escape that is cut off in numbers", join("\x1b[38;5;")},
	{"escape that is cut off at the end", func(l []string) string { return strings.Join(l, "\x1b[\n") + "\x1b[" }},
	{"escape that is cut off at the end in a number", func(l []string) string { return strings.Join(l, "\x1b[3\n") + "\x1b[3" }},
	{"escape that is cut off on the line before", func(l []string) string { return "out \x1b[3\n" + strings.Join(l, "\n") }},
	{"escape alone", join("\x1b")},
}

// whole are surroundings whose lines belong together.
var whole = []surrounding{
	{"a string of JSON", func(l []string) string { return `{"a":` + literal(strings.Join(l, "\n")) + `,"n":1}` }},
	{"JSON in a string of JSON", func(l []string) string {
		return `{"b":` + literal(`{"a":`+literal(strings.Join(l, "\n"))+`}`) + `}`
	}},
	{"JSON that is cut off", func(l []string) string { return `{"a":"out\n` + quoted(strings.Join(l, "\n")) + `","b":"str` }},
	{"JSON that is cut off behind the text", func(l []string) string { return `{"a":"` + quoted(strings.Join(l, "\n")) }},
	{"JSON in JSON that is cut off", func(l []string) string {
		return `{"b":"` + quoted(`{"a":"`+quoted(strings.Join(l, "\n"))+`","c":1}`) + `","d":"str`
	}},
	{"a list of JSON", func(l []string) string { return `{"lines":` + encoded(l) + `}` }},
	{"a list of JSON, ends of lines", func(l []string) string { return encoded(withEnds(l)) }},
	{"a list of JSON in JSON that is cut off", func(l []string) string { return `{"b":"` + quoted(encoded(l)) + `","d":"str` }},
	{"a list that is cut off", func(l []string) string { return strings.TrimSuffix(encoded(l), "]") + `,"str` }},
	{"colours in JSON", func(l []string) string {
		return `{"a":"\u001b[32m` + strings.Join(escapedLines(l), `\u001b[0m\n\u001b[32m`) + `\u001b[0m"}`
	}},
	{"colours in JSON that is cut off", func(l []string) string {
		return `{"a":"\u001b[32m` + strings.Join(escapedLines(l), `\u001b[0m\n\u001b[32m`) + `\u001b[0m","b":"str`
	}},
	{"table", func(l []string) string { return "| a | b |\n|---|---|\n| " + strings.Join(cells(l), " | ") + " |\n" }},
	{"table, code", func(l []string) string { return "| " + strings.Join(cells(l), " | `") + "` |\n" }},
	{"table, bold", func(l []string) string { return "| **" + strings.Join(cells(l), "** | **") + "** |\n" }},
	{"column", func(l []string) string {
		return "| a | " + l[0] + " |\n|---|---|\n| b | " + strings.Join(l[1:], "") + " |\n"
	}},
	{"column, the last row", func(l []string) string {
		return "> a | " + l[0] + "\n> --|:-:\n> b | `c` \n> d | `" + strings.Join(l[1:], "") + "`\n"
	}},
	{"column that is drawn", func(l []string) string {
		return "│ a │ " + l[0] + " │\n├───┼──────┤\n│ b │ " + strings.Join(l[1:], "") + " │\n"
	}},
	{"column of psql", func(l []string) string {
		return " " + l[0] + " | id \n-----+----\n " + strings.Join(l[1:], "") + " |  1 \n(1 row)\n"
	}},
	{"column of mysql", func(l []string) string {
		return "+----+-----+\n| id | " + l[0] + " |\n+----+-----+\n|  1 | " + strings.Join(l[1:], "") + " |\n+----+-----+\n"
	}},
	{"escape that is cut off, in JSON", func(l []string) string { return `{"a":"\u001b[3` + strings.Join(escapedLines(l), `\n\u001b[`) + `"}` }},
	{"escape that is cut off, in cut JSON", func(l []string) string { return `{"a":"\u001b[3` + strings.Join(escapedLines(l), `\n\u001b[`) }},
}

func join(front string) func([]string) string {
	return func(l []string) string { return front + strings.Join(l, "\n"+front) + "\n" }
}

func numbered(lines []string, front string) string {
	var b strings.Builder
	for i, l := range lines {
		fmt.Fprintf(&b, front+"%s\n", i+1, l)
	}
	return b.String()
}

// bold puts marks around a label with its colon, and others around each line below it.
func bold(label, value string) func([]string) string {
	return func(l []string) string {
		name, rest, found := strings.Cut(l[0], ":")
		if !found || strings.ContainsAny(l[0], "<{") {
			return ""
		}
		s := label + name + ":" + label
		if rest != "" {
			s += " " + value + rest[1:] + value
		}
		for _, below := range l[1:] {
			if below != "" {
				below = value + below + value
			}
			s += "\n" + below
		}
		return s
	}
}

func cells(lines []string) (out []string) {
	for _, l := range lines {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

func literal(s string) string { return `"` + quoted(s) + `"` }

func encoded(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func withEnds(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, l+"\n")
	}
	return out
}

func escapedLines(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, quoted(l))
	}
	return out
}

// encoders write a text within another; a list has its lines, which must make sense by themselves.
var encoders = []struct {
	title string
	list  bool
	write func(s string) string
}{
	{"text", false, func(s string) string { return s }},
	{"JSON", false, func(s string) string { return encoded(map[string]string{"a": s}) }},
	{"JSON that is cut off", false, func(s string) string { return `{"a":` + literal("out\n"+s) + `,"b":"str` }},
	{"Python", false, func(s string) string { return `{'a': '` + pythonic(s) + `', 'b': 1}` }},
	{"lines in JSON", true, func(s string) string { return encoded(strings.SplitAfter(s, "\n")) }},
	{"lines in Python", true, func(s string) string { return "['" + strings.ReplaceAll(pythonic(s), `\n`, "', '") + "']" }},
	{"HTML", false, html.EscapeString},
	{"indented", false, func(s string) string { return "out:\n    " + strings.ReplaceAll(s, "\n", "\n    ") }},
}

// pythonic is the inside of a text as Python shows it.
func pythonic(s string) string { return strings.ReplaceAll(quoted(s), "'", `\'`) }

// inEverySurrounding calls f with each text in each surrounding, and that within each other text.
func inEverySurrounding(texts []entry, f func(title, s string, secrets []string)) {
	for _, e := range encoders {
		all := byLine
		if !e.list {
			all = slices.Concat(byLine, whole)
		}
		for _, around := range all {
			for _, text := range texts {
				s := around.write(strings.Split(text.text, "\n"))
				if s != "" && !(e.list && text.title == "pem") {
					f(fmt.Sprintf("%s, %s, %s", e.title, around.title, text.title), e.write(s), text.secrets)
				}
			}
		}
	}
}

// What is secret in a text is gone in whatever the text stands, and what is not stays.
func TestEveryTextInEverySurrounding(t *testing.T) {
	inEverySurrounding(corpus(t, "surrounded.txt"), func(title, s string, secrets []string) {
		got := redact.Text(s)
		if len(secrets) == 0 && got != s {
			t.Errorf("%s: %q became %q", title, s, got)
		}
		for _, secret := range secrets {
			if survives(got, secret) {
				t.Errorf("%s: %q is in %q", title, secret, got)
			}
		}
		promises(t, s)
	})
}

// A private key without its last line goes on as far as its lines do, whatever stands before them.
func TestACutKeyInEverySurrounding(t *testing.T) {
	lines := []string{"-----BEGIN PRIVATE KEY-----", "MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInF", "EX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu"}
	for _, e := range encoders {
		for _, around := range byLine {
			if e.list || around.title == "fence" {
				continue // a fence does not begin within a key
			}
			s := e.write(around.write(lines))
			got := redact.Text(s)
			for _, secret := range lines[1:] {
				if survives(got, secret) {
					t.Errorf("%s, %s: %q became %q", e.title, around.title, s, got)
				}
			}
			promises(t, s)
		}
	}
}
