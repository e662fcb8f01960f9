// Package script is a model without a network: what it says follows from what it is sent, by the rules that
// examples/reply-chain/README.md states, so that it is the same in every language.
package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// summaryLines is how many lines a summary keeps, the last ones.
const summaryLines = 40

// Answer is what the model says to messages: calls of tools, or a text. No messages are an empty text.
func Answer(messages []*transcriptv1.Message) *transcriptv1.Message {
	last := -1
	for i, m := range messages {
		if m.GetRole() == transcriptv1.Role_ROLE_USER {
			last = i
		}
	}
	if last < 0 {
		return client.Assistant("")
	}
	asked := lastText(messages[last])
	if strings.HasPrefix(asked, "Summarize") {
		return client.Assistant(summary(messages[:last]))
	}
	known := resultsIn(messages)
	var texts []string
	number := 0
	for _, round := range strings.Split(asked, "; ") {
		var calls []*transcriptv1.ToolCall
		answered := 0
		for _, words := range strings.Split(round, " & ") {
			id := fmt.Sprintf("call_%x_%d", sha256.Sum256([]byte(asked)), number)
			id = id[:len("call_")+8] + id[len("call_")+64:]
			call := callOf(id, strings.Split(words, " "), known)
			if call == nil {
				continue
			}
			number++
			calls = append(calls, call)
			for _, r := range known {
				if r.id == id {
					answered++
					texts = append(texts, r.tool+": "+r.text)
				}
			}
		}
		if answered < len(calls) {
			return client.Assistant("", calls...)
		}
	}
	if len(texts) == 0 {
		return client.Assistant("You said: " + asked)
	}
	return client.Assistant(strings.Join(texts, "; "))
}

// callOf is the call that words ask for; nil: none.
func callOf(id string, words []string, known []result) *transcriptv1.ToolCall {
	switch {
	case words[0] == "read" && len(words) == 2:
		return call(id, "read_note", struct {
			Name string `json:"name"`
		}{words[1]})
	case words[0] == "calc" && len(words) == 4:
		return call(id, "calculate", struct {
			A  int    `json:"a"`
			Op string `json:"op"`
			B  int    `json:"b"`
		}{number(words[1]), words[2], number(words[3])})
	case words[0] == "pay" && len(words) == 3:
		return call(id, "pay", struct {
			To     string `json:"to"`
			Amount int    `json:"amount"`
		}{words[1], number(words[2])})
	case words[0] == "ring" && len(words) == 1:
		return call(id, "ring", struct{}{})
	case words[0] == "call" && len(words) >= 3:
		return client.Call(id, words[1], strings.Join(words[2:], " "))
	case words[0] == "recall" && len(words) == 2:
		// The latest call of the tool that it sees, of an earlier text.
		wanted := "none"
		for _, r := range known {
			if r.tool == words[1] && !strings.HasPrefix(r.id, id[:len("call_")+8]) {
				wanted = r.id
			}
		}
		return call(id, "recall_tool_call", struct {
			CallID string `json:"call_id"`
		}{wanted})
	}
	return nil
}

// number is a whole number of up to 9 digits; anything else is 0.
func number(s string) int {
	if !whole.MatchString(s) {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

var whole = regexp.MustCompile(`^-?[0-9]{1,9}$`)

func call(id, name string, arguments any) *transcriptv1.ToolCall {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(arguments); err != nil {
		return client.Call(id, name, "{}")
	}
	return client.Call(id, name, strings.TrimSuffix(b.String(), "\n"))
}

// result is a call with the last line of its result.
type result struct{ tool, id, text string }

var summaryResult = regexp.MustCompile(`^- (\w+) (call_[0-9a-f]{8}_[0-9]+): (.*)$`)

// resultsIn are the results in messages, also those that a summary tells of, in order.
func resultsIn(messages []*transcriptv1.Message) []result {
	var all []result
	names := map[string]string{}
	for _, m := range messages {
		for _, c := range client.Calls(m) {
			names[c.GetId()] = c.GetName()
		}
		switch m.GetRole() {
		case transcriptv1.Role_ROLE_TOOL:
			all = append(all, resultOf(m, names))
		case transcriptv1.Role_ROLE_USER:
			for _, line := range summaryIn(m) {
				if found := summaryResult.FindStringSubmatch(line); found != nil {
					all = append(all, result{found[1], found[2], found[3]})
				}
			}
		default:
		}
	}
	return all
}

func resultOf(m *transcriptv1.Message, names map[string]string) result {
	lines := strings.Split(strings.TrimRight(client.Text(m), "\n"), "\n")
	return result{tool: names[m.GetToolCallId()], id: m.GetToolCallId(), text: lines[len(lines)-1]}
}

// summaryIn are the lines of a summary in a message: of the texts that begin with "- ".
func summaryIn(m *transcriptv1.Message) []string {
	var lines []string
	for _, part := range m.GetParts() {
		if strings.HasPrefix(part.GetText(), "- ") {
			lines = append(lines, strings.Split(part.GetText(), "\n")...)
		}
	}
	return lines
}

// summary tells of messages, a line each, and repeats the summary that is among them.
func summary(messages []*transcriptv1.Message) string {
	var lines []string
	names := map[string]string{}
	for _, m := range messages {
		for _, c := range client.Calls(m) {
			names[c.GetId()] = c.GetName()
		}
		switch m.GetRole() {
		case transcriptv1.Role_ROLE_TOOL:
			r := resultOf(m, names)
			lines = append(lines, "- "+r.tool+" "+r.id+": "+r.text)
		case transcriptv1.Role_ROLE_USER:
			lines = append(lines, summaryIn(m)...)
			if text := lastText(m); !strings.HasPrefix(text, "- ") {
				lines = append(lines, "- user: "+text)
			}
		case transcriptv1.Role_ROLE_ASSISTANT:
			if text := client.Text(m); text != "" {
				lines = append(lines, "- assistant: "+text)
			}
		default:
		}
	}
	return strings.Join(lines[max(0, len(lines)-summaryLines):], "\n")
}

// lastText is the last text part of a message.
func lastText(m *transcriptv1.Message) string {
	text := ""
	for _, part := range m.GetParts() {
		if t, ok := part.GetKind().(*transcriptv1.Part_Text); ok {
			text = t.Text
		}
	}
	return text
}
