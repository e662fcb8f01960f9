package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// language is one that the agent is written in.
type language struct {
	name string
	// find gives what runs the agent, or says why that cannot be done here. It looks once.
	find func() (command []string, missing string)
}

var languages = []language{
	{"go", sync.OnceValues(func() ([]string, string) {
		binary, err := built.agent()
		if err != nil {
			return nil, err.Error()
		}
		return []string{binary}, ""
	})},
	{"python", sync.OnceValues(func() ([]string, string) {
		python := os.Getenv("REPLY_CHAIN_PYTHON")
		if python == "" {
			python = filepath.Join("..", ".venv", "bin", "python")
		}
		if out, err := exec.Command(python, "-c", "import transcriptd, openai, anthropic").CombinedOutput(); err != nil {
			return nil, fmt.Sprintf("%s cannot import transcriptd, openai and anthropic: %v\n%s", python, err, out)
		}
		return []string{python, filepath.Join("..", "python")}, ""
	})},
	{"typescript", sync.OnceValues(func() ([]string, string) {
		if _, err := os.Stat(filepath.Join("..", "typescript", "dist", "main.js")); err != nil {
			return nil, "the TypeScript agent is not built"
		}
		return []string{"node", filepath.Join("..", "typescript")}, ""
	})},
}

// eachLanguage runs a test for each language. One whose interpreter or packages are not here is skipped, and fails where the environment
// variable REPLY_CHAIN_LANGUAGES, names with commas between them, asks for it; where that is set, others are left out.
func eachLanguage(t *testing.T, test func(t *testing.T, command []string)) {
	t.Helper()
	var wanted []string
	if names := os.Getenv("REPLY_CHAIN_LANGUAGES"); names != "" {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(languages, func(l language) bool { return l.name == name }) {
			t.Fatalf("REPLY_CHAIN_LANGUAGES has %q, which is none of go, python and typescript", name)
		}
	}
	for _, l := range languages {
		if len(wanted) > 0 && !slices.Contains(wanted, l.name) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			command, missing := l.find()
			switch {
			case missing != "" && (len(wanted) > 0 || l.name == "go"):
				t.Fatal(missing)
			case missing != "":
				t.Skip("NOT DONE: " + missing + " (examples/reply-chain/README.md has the command)")
			}
			test(t, command)
		})
	}
}

// letter, reply, payment and ring are the lines of the agent's files.
type (
	letter struct {
		ID      string `json:"id"`
		ReplyTo string `json:"reply_to"`
		Text    string `json:"text"`
	}
	reply struct {
		ID        string `json:"id"`
		InReplyTo string `json:"in_reply_to"`
		Text      string `json:"text"`
		Depth     int64  `json:"depth"`
	}
	payment struct {
		Key    string `json:"key"`
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	ring struct {
		Key string `json:"key"`
	}
)

// world is the folder of an agent, and what runs the agent in it.
type world struct {
	dir     string
	command []string
	env     []string
}

// newWorld has the notes of the sample, and an inbox.
func newWorld(t *testing.T, command []string, inbox ...letter) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), command: command}
	if err := os.CopyFS(filepath.Join(w.dir, "notes"), os.DirFS(filepath.Join("..", "sample", "notes"))); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, in := range inbox {
		if err := json.NewEncoder(&lines).Encode(in); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, "inbox.jsonl", lines.Bytes())
	return w
}

func (w *world) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the agent.
func (w *world) start(t *testing.T, server, namespace string, options ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	words := append(slices.Clone(w.command[1:]), "--dir", w.dir, "--server", server, "--namespace", namespace)
	p := &process{cmd: exec.CommandContext(ctx, w.command[0], append(words, options...)...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "MODEL=")
	p.cmd.Env = append(p.cmd.Env, w.env...)
	p.cmd.Stderr = &p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// runs runs the agent to its end, which has to be a good one.
func (w *world) runs(t *testing.T, server, namespace string, options ...string) {
	t.Helper()
	p := w.start(t, server, namespace, options...)
	if <-p.ended; p.err != nil {
		t.Fatalf("%v\n%s", p.err, &p.errors)
	}
}

// fails runs the agent to its end, which has to be a failure, and gives what it told.
func (w *world) fails(t *testing.T, server, namespace string, options ...string) string {
	t.Helper()
	p := w.start(t, server, namespace, options...)
	if <-p.ended; p.err == nil {
		t.Fatal("the agent did not fail")
	}
	return p.errors.String()
}

// process is a running agent.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error // after ended
	errors bytes.Buffer
}

// kill ends the agent at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// lines are those of a file of the agent.
func lines[Line any](t *testing.T, dir, name string) []Line {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []Line
	for line := range bytes.Lines(data) {
		var one Line
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&one); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			t.Fatalf("%s, line %d: %q: %v", name, len(all)+1, line, err)
		}
		all = append(all, one)
	}
	return all
}

// outbox are the replies, in the order of the inbox: each once.
func (w *world) outbox(t *testing.T) []reply {
	t.Helper()
	place := map[string]int{}
	for i, in := range lines[letter](t, w.dir, "inbox.jsonl") {
		place[in.ID] = i
	}
	replies := lines[reply](t, w.dir, "outbox.jsonl")
	slices.SortStableFunc(replies, func(a, b reply) int { return place[a.InReplyTo] - place[b.InReplyTo] })
	return replies
}
