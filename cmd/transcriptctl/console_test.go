package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/server"
)

// A console file is a text with commands and what they print:
//
//	$ transcriptctl stats
//	nodes  3
//
// Commands are in lines that begin with "$ transcriptctl"; what follows, up to the next command or the end of a code
// block, is what they print, standard error last, then "exit code N" where it is not 0, and an empty line between two
// commands. Everything else is left alone. Commands run in the order in which they stand, against one server whose clock
// goes on by a second with each command.
//
// UPDATE_GOLDEN=1 writes what the commands print now.

// TestGolden runs the console files of this package.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no console files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { checkConsole(t, file) })
	}
}

// TestDocs runs the examples of the tool's page, from the top of the module.
func TestDocs(t *testing.T) {
	t.Chdir("../..")
	checkConsole(t, "docs/transcriptctl.md")
}

// firstSecond is when the server's clock begins.
const firstSecond = 1_800_000_000

const prompt = "$ transcriptctl"

func checkConsole(t *testing.T, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var seconds atomic.Int64
	now := func() time.Time { return time.Unix(firstSecond+seconds.Load(), 0) }
	s := serveAs(t, memstore.New(memstore.Options{Now: now}), server.Config{Version: "test", Now: now})
	var b strings.Builder
	ran, printing := 0, false
	for line := range strings.Lines(string(content)) {
		switch {
		case strings.HasPrefix(line, prompt):
			if printing {
				b.WriteByte('\n')
			}
			seconds.Add(1)
			b.WriteString(line)
			b.WriteString(s.console(strings.TrimPrefix(strings.TrimSpace(line), prompt)))
			ran, printing = ran+1, true
		case strings.HasPrefix(line, "```"):
			printing = false
			b.WriteString(line)
		case !printing:
			b.WriteString(line)
		}
	}
	if ran == 0 {
		t.Fatal("no commands in", file)
	}
	if b.String() == string(content) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(string(content), "\n")
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s:%d is not what the command prints; UPDATE_GOLDEN=1 writes it anew. It prints:\n%s", file, at+1,
		strings.Join(got[at:min(at+3, len(got))], "\n"))
}

// console is what a command line prints, as console files have it. "< FILE" at its end is standard input.
func (s *stack) console(line string) string {
	line, file, _ := strings.Cut(line, " < ")
	stdin := ""
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			s.tb.Fatal(err)
		}
		stdin = string(content)
	}
	r := s.runWith(context.Background(), stdin, splitWords(line)...)
	var b strings.Builder
	if text := strings.TrimRight(s.steady(r.out+r.notes), "\n"); text != "" {
		b.WriteString(text + "\n")
	}
	if r.code != exitOK {
		fmt.Fprintf(&b, "exit code %d\n", r.code)
	}
	return b.String()
}

// steady takes out what differs from run to run.
func (s *stack) steady(text string) string {
	text = strings.ReplaceAll(text, s.addr, "127.0.0.1:7420")
	text = regexp.MustCompile(`("storeId":"|\nstore +)[0-9a-f]{32}`).ReplaceAllString(text, "${1}00112233445566778899aabbccddeeff")
	text = regexp.MustCompile(`(\nkey +)[0-9a-f]{64}`).ReplaceAllString(text, "${1}"+strings.Repeat("0123456789abcdef", 4))
	text = regexp.MustCompile(`in \d+\.\d s`).ReplaceAllString(text, "in 0.1 s")
	return regexp.MustCompile(`"seconds":[0-9.e-]+`).ReplaceAllString(text, `"seconds":0.1`)
}

// splitWords splits a command line at spaces outside of single quotes.
func splitWords(line string) (words []string) {
	word, quoted, any := "", false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if any {
				words = append(words, word)
			}
			word, any = "", false
		default:
			word, any = word+string(r), true
		}
	}
	if any {
		words = append(words, word)
	}
	return words
}
