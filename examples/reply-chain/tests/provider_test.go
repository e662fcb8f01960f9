package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/openai"
	"github.com/transcriptd/transcriptd/examples/reply-chain/go/script"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const key = "key-of-the-test"

// The agent answers the same with a provider's client, over HTTP, where a server with the provider's API answers by the script.
func TestProviders(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	for _, provider := range []provider{openAI, anthropicAI} {
		t.Run(provider.name, func(t *testing.T) {
			eachLanguage(t, func(t *testing.T, command []string) {
				asked := serve(t, provider)
				w := newWorld(t, command, sampleInbox(t)...)
				w.env = append([]string{"MODEL=" + provider.name + ":script-1"}, provider.env(asked.url)...)
				w.runs(t, d.addr, provider.name+"-"+filepath.Base(t.Name()))
				w.isSample(t)
				if asked.count.Load() < 20 {
					t.Errorf("the provider was asked %d times", asked.count.Load())
				}
			})
		})
	}
}

// A message whose model fails is told of and left, and the rest is answered; a further run answers it. A model that is not there is told of.
func TestModelFails(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		asked := serve(t, openAI, 4)
		w := newWorld(t, command, sampleInbox(t)...)
		namespace := filepath.Base(t.Name())
		for _, wrong := range []string{"gpt", "openai:", "other:gpt"} {
			w.env = []string{"MODEL=" + wrong}
			if told := w.fails(t, d.addr, namespace); !strings.Contains(told, "MODEL has to be openai:NAME or anthropic:NAME") {
				t.Errorf("of the model %q it is told: %s", wrong, told)
			}
		}
		w.env = append([]string{"MODEL=openai:script-1"}, openAI.env(asked.url)...)
		told := w.fails(t, d.addr, namespace)
		for _, in := range sampleInbox(t) {
			left := !slices.ContainsFunc(w.outbox(t), func(r reply) bool { return r.InReplyTo == in.ID })
			if left != strings.Contains(told, in.ID+": ") {
				t.Errorf("%s was left: %v, and it is told:\n%s", in.ID, left, told)
			}
			if strings.Contains(told, in.Text) {
				t.Errorf("what was said is told:\n%s", told)
			}
		}
		w.runs(t, d.addr, namespace)
		w.isSample(t)
	})
}

// provider is a provider's API, as far as agents use it.
type provider struct {
	name, path string
	env        func(url string) []string
	allowed    func(http.Header) bool
	// parse reads a request's messages; format writes a reply.
	parse  func(request) ([]*transcriptv1.Message, error)
	format func(*transcriptv1.Message) (any, error)
}

// request is what both have in a request.
type request struct {
	Model     string            `json:"model"`
	System    json.RawMessage   `json:"system,omitempty"`
	Messages  json.RawMessage   `json:"messages"`
	Tools     []json.RawMessage `json:"tools"`
	MaxTokens int               `json:"max_tokens"`
}

var openAI = provider{
	name: "openai", path: "/v1/chat/completions",
	env:     func(url string) []string { return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1"} },
	allowed: func(h http.Header) bool { return h.Get("Authorization") == "Bearer "+key },
	parse: func(r request) ([]*transcriptv1.Message, error) {
		messages, _, err := openai.Parse(r.Messages)
		return messages, err
	},
	format: func(said *transcriptv1.Message) (any, error) {
		message, _, err := openai.FormatMessage(said)
		reason := "stop"
		if len(client.Calls(said)) > 0 {
			reason = "tool_calls"
		}
		return map[string]any{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "script-1",
			"choices": []any{map[string]any{"index": 0, "message": json.RawMessage(message), "finish_reason": reason, "logprobs": nil}},
			"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		}, err
	},
}

var anthropicAI = provider{
	name: "anthropic", path: "/v1/messages",
	env: func(url string) []string { return []string{"ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=" + url} },
	allowed: func(h http.Header) bool {
		return (h.Get("X-Api-Key") == key || h.Get("Authorization") == "Bearer "+key) && h.Get("Anthropic-Version") != ""
	},
	parse: func(r request) ([]*transcriptv1.Message, error) {
		if r.MaxTokens < 1 {
			return nil, fmt.Errorf("max_tokens is %d", r.MaxTokens)
		}
		prompt, err := json.Marshal(map[string]json.RawMessage{"system": r.System, "messages": r.Messages})
		if err != nil {
			return nil, err
		}
		messages, _, err := anthropic.Parse(prompt)
		return messages, err
	},
	format: func(said *transcriptv1.Message) (any, error) {
		content, reason := []any{}, "end_turn"
		if text := client.Text(said); text != "" {
			content = append(content, map[string]any{"type": "text", "text": text})
		}
		for _, call := range client.Calls(said) {
			reason = "tool_use"
			content = append(content, map[string]any{
				"type": "tool_use", "id": call.GetId(), "name": call.GetName(), "input": json.RawMessage(call.GetArguments()),
			})
		}
		return map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "script-1", "content": content, "stop_reason": reason,
			"stop_sequence": nil, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
		}, nil
	},
}

// asked is a running provider, and how often it was asked.
type asked struct {
	url   string
	count atomic.Int64
}

// serve serves a provider's API, which refuses some requests, by their numbers.
func serve(t *testing.T, p provider, refused ...int64) *asked {
	t.Helper()
	a := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(refused, a.count.Add(1)) {
			http.Error(w, `{"error":{"message":"refused"}}`, http.StatusBadRequest)
			return
		}
		answer, err := p.answer(r)
		if err != nil {
			t.Error(err)
			http.Error(w, `{"error":{"message":"refused"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// answer answers a request by the script.
func (p provider) answer(r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost || r.URL.Path != p.path || !p.allowed(r.Header) {
		return nil, fmt.Errorf("%s %s is no request of %s, or has no key", r.Method, r.URL, p.name)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	messages, err := p.parse(in)
	if err != nil {
		return nil, err
	}
	said := script.Answer(messages)
	if in.Model != "script-1" || len(client.Calls(said)) > 0 && !p.offersAll(in.Tools) {
		return nil, fmt.Errorf("a request for the model %s with %d tools", in.Model, len(in.Tools))
	}
	answer, err := p.format(said)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// offersAll tells whether the agent's tools are there, each with a schema of its arguments.
func (p provider) offersAll(tools []json.RawMessage) bool {
	var names []string
	for _, tool := range tools {
		var flat struct {
			Name, Type, Description string
			InputSchema             json.RawMessage `json:"input_schema"`
			Function                struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		if json.Unmarshal(tool, &flat) != nil {
			return false
		}
		if f := flat.Function; p.name == "openai" && flat.Type == "function" && bytes.Contains(f.Parameters, []byte(`"object"`)) && f.Description != "" {
			names = append(names, f.Name)
		} else if bytes.Contains(flat.InputSchema, []byte(`"object"`)) && flat.Description != "" {
			names = append(names, flat.Name)
		}
	}
	return slices.Equal(names, []string{"read_note", "calculate", "pay", "ring", "recall_tool_call"})
}
