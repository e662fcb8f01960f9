package main

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/transcriptd/transcriptd/client"
)

// FuzzMessages: messages of any form are read, or refused, and what is read is one text of JSON.
func FuzzMessages(f *testing.F) {
	for _, text := range []string{
		`{"role": "user", "text": "a"}`, `[{"role": "assistant", "text": "", "calls": [{"id": "c", "name": "n", "arguments": {"a": 1e999}}]}]`,
		`[{"role":"user","content":"a"}],"system":"x"`, `{"messages": [{"role": "user", "content": "a"}], "model": "m"}`, `{"items": [{"type": "message"}]} x`,
		`{"role":"user","text":"\ud800"}`, `{"messages":null}`, `[[`, `{`, `"`, ` `, "\ufeff{}", `{"role":"tool","call_id":"","text":"x","error":true}`, "{\"role\":\"user\",\"text\":\"\xff\"}",
		`{"messages":[{"role":"ROLE_USER","parts":[{"text":"a"}]}]}`, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}]`,
	} {
		for form := range uint8(6) {
			f.Add(text, form)
		}
	}
	f.Fuzz(func(t *testing.T, text string, form uint8) {
		name := []string{"", formSimple, formOpenAI, formAnthropic, formResponses, formProtoJSON}[form%6]
		s := newSession(&commandLine{}, nil, bufio.NewWriter(io.Discard), io.Discard)
		messages, err := readMessages([]byte(text), name, s)
		if err != nil {
			return
		}
		if !json.Valid([]byte(strings.TrimSpace(text))) {
			t.Errorf("%q is read as messages of the form %q", text, name)
		}
		if slices.Contains(messages, nil) {
			t.Errorf("%q has no message", text)
		}
	})
}

// TestOddLines: a command line that is being typed is completed to lines of text, and one that is there is read or refused.
func TestOddLines(t *testing.T) {
	contextsAt(t)
	t.Setenv("TRANSCRIPTCTL_ADDR", "unix:///nonexistent/socket")
	for _, line := range []string{
		"", " ", "log chat/ -5", "put --form=", "put -a x -p", "search --role=user,too", "help alias ", "help help help ", "--context= ", "-- -", "--", "---", "--=", "log -n", "-rn5", "--namespace",
		"alias list --since 65535w", "log x --since=0000-01-01", "import a b ", "token create --role", "--output=json=x", "log alias: node:", "put --if-head  -", "log -99999999999999999999",
		"log \xff -", "log é --\u202e", "--help", "--version", "help --help ", "log --no-", "-", "log -n -5 ", "log --limit= ", "alias alias ", "bench --seconds=1e9 ", "--timeout 0s log ", "--timeout=-1s log ", "search --role \x03,", "search --role \n,",
	} {
		words := strings.Split(line, " ")
		var out strings.Builder
		if err := complete(t.Context(), words, &out); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		for offered := range strings.Lines(out.String()) {
			if strings.IndexFunc(offered, hidden) >= 0 || !strings.HasSuffix(offered, "\n") || strings.TrimSpace(offered) == "" {
				t.Errorf("%q: offered %q", line, offered)
			}
		}
		_, _ = parse(t.Context(), &commandLine{}, words, io.Discard)
	}
}

// FuzzNames: names on the command line are read as they are written, whatever the command.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "chat/a", "alias:", "alias:alias:x", "node:x", "alias:chat/", "chat/", "a%0A", "chat/%25%0a", "\n", "ABCDEF", strings.Repeat("f", 65), "\xff"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var name aliasName
		var prefix aliasPrefix
		var chat chatName
		plain, marked := strings.CutPrefix(text, aliasMark)
		if err := name.UnmarshalText([]byte(text)); err == nil && (string(name) != plain || plain == "") {
			t.Errorf("the name %q became %q", text, name)
		}
		if err := prefix.UnmarshalText([]byte(text)); err == nil && string(prefix) != plain {
			t.Errorf("the prefix %q became %q", text, prefix)
		}
		if err := chat.UnmarshalText([]byte(text)); err == nil {
			if !strings.HasPrefix(chat.alias, client.ChatAlias("")) || chat.id == "" || marked && chat.alias != plain {
				t.Errorf("the conversation %q became %+v", text, chat)
			}
			if back := chatID(chat.alias); utf8.ValidString(text) && back != chat.id {
				t.Errorf("the conversation %q became %+v and %q", text, chat, back)
			}
		}
		idMistake(text)
	})
}

// FuzzQuotes: an answer quotes a result where 24 characters in a row stand in it and in nothing else before.
func FuzzQuotes(f *testing.F) {
	f.Add("", strings.Repeat("abcdefgh", 4), "x"+strings.Repeat("abcdefgh", 3))
	f.Add(strings.Repeat("a", 24), strings.Repeat("a", 30), strings.Repeat("a", 24))
	f.Add("", strings.Repeat("\x00", 23)+"é", strings.Repeat("\x00", 23)+"é")
	f.Add("日本", strings.Repeat("日本語", 9), strings.Repeat("日本語", 8))
	f.Fuzz(func(t *testing.T, before, result, answer string) {
		if len(before)+len(result)+len(answer) > 4000 || !utf8.ValidString(before+result+answer) {
			return // the naive search takes too long, or the text is no message
		}
		call := client.Call("c", "n", "{}")
		q := newQuotes()
		q.add(client.User(before))
		q.add(client.Assistant("", call))
		q.add(client.Result(call, result))
		got := len(q.add(client.Assistant(answer))) > 0
		want, said := false, []rune(answer)
		for i := 0; i+quoteChars <= len(said); i++ {
			run := string(said[i : i+quoteChars])
			want = want || strings.Contains(result, run) && !strings.Contains(before, run)
		}
		if got != want {
			t.Errorf("%q of %q behind %q: %v", answer, result, before, got)
		}
	})
}
