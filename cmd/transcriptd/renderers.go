package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/transcriptd/transcriptd/compaction"
)

// maxTemplates bounds the file of --replay-templates.
const maxTemplates = 1 << 20

// readRenderers reads the file of --replay-templates: a JSON object that gives, by the name of a tool, the text of its
// calls, in which {{PATH}} stands for a value; none for no file. A PATH is a GJSON path
// (https://github.com/tidwall/gjson/blob/master/SYNTAX.md) into
//
//	{"id": …, "name": …, "state": "ok", "error" or "unanswered", "arguments": …, "result": …}
//
// where arguments and result are JSON if they were, else strings. What is not there is "-".
//
//	{"read_file": "read {{arguments.path}}\n=> {{result}}"}
func readRenderers(file string) (map[string]compaction.Renderer, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, usagef("--replay-templates: %w", err)
	}
	if info.Size() > maxTemplates {
		return nil, usagef("--replay-templates %s must be at most 1 MiB", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--replay-templates: %w", err)
	}
	var templates map[string]string
	if err := json.Unmarshal(b, &templates); err != nil {
		return nil, usagef("--replay-templates %s must be a JSON object of texts by the names of tools: %w", file, err)
	}
	renderers := map[string]compaction.Renderer{}
	for tool, text := range templates {
		parts, err := parseTemplate(text)
		if err != nil {
			return nil, usagef("--replay-templates %s: tool %q: %w", file, tool, err)
		}
		renderers[tool] = parts.render
	}
	return renderers, nil
}

// template is text and paths, in turns, text first.
type template []string

func parseTemplate(text string) (template, error) {
	var parts template
	for {
		before, rest, found := strings.Cut(text, "{{")
		parts = append(parts, before)
		if !found {
			return parts, nil
		}
		path, after, closed := strings.Cut(rest, "}}")
		if path = strings.TrimSpace(path); !closed || path == "" {
			return nil, fmt.Errorf("{{ needs a path and }}")
		}
		parts, text = append(parts, path), after
	}
}

func (t template) render(c *compaction.ReplayCall) string {
	document := replayDocument(c)
	var b strings.Builder
	for i, part := range t {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		if v := gjson.Get(document, part); v.Exists() {
			b.WriteString(v.String())
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// replayDocument is what paths look into.
func replayDocument(c *compaction.ReplayCall) string {
	members := map[string]any{
		"state": c.State, "arguments": jsonOrText(c.Arguments), "result": jsonOrText(c.Result),
	}
	if c.ID.Present {
		members["id"] = c.ID.Value
	}
	if c.Name.Present {
		members["name"] = c.Name.Value
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		return "{}"
	}
	return b.String()
}

func jsonOrText(s string) any {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return s
}
