package convtest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/client/internal/providerjson"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Conversions is a file of what converters refuse, write and send: proto/testdata/*_conversions.json.
type Conversions struct {
	Refused  []Refusal `json:"refused"`
	ForModel []Sending `json:"for_model"`
	Written  []Writing `json:"written"`
}

// Refusal is JSON that is no provider's, and the error: the path of a member and the rule.
type Refusal struct {
	Name        string `json:"name"`
	Provider    string `json:"provider,omitempty"`
	ProviderHex string `json:"provider_hex,omitempty"` // where it is not UTF-8
	Error       string `json:"error"`
}

// Sending is what ForModel makes of the messages that a provider's JSON becomes.
type Sending struct {
	Name     string   `json:"name"`
	From     string   `json:"from"`
	Provider string   `json:"provider"`
	Sent     string   `json:"sent"`
	Changes  []Change `json:"changes"`
}

// Writing is what Format makes of messages that this provider has no place for.
type Writing struct {
	Name     string            `json:"name"`
	Messages []json.RawMessage `json:"messages"`
	Provider string            `json:"provider"`
	Changes  []Change          `json:"changes"`
}

// Change is a change of a report.
type Change struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// maxRefusal is the bytes of the JSON that a file holds; larger cases are the tests' alone.
const maxRefusal = 4 << 10

// AddRefusal adds a case, where it is not too large for a file.
func (c *Conversions) AddRefusal(name, provider, text string) {
	r := Refusal{Name: name, Error: text}
	switch {
	case len(provider) > maxRefusal:
		return
	case utf8.ValidString(provider):
		r.Provider = provider
	default:
		r.ProviderHex = hex.EncodeToString([]byte(provider))
	}
	c.Refused = append(c.Refused, r)
}

// AddWriting adds what was written of messages.
func (c *Conversions) AddWriting(t *testing.T, name string, messages []*transcriptv1.Message, provider string, report providerjson.Report) {
	t.Helper()
	w := Writing{Name: name, Provider: provider, Changes: ChangesOf(report)}
	for _, m := range messages {
		form, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var plain bytes.Buffer
		if err := json.Compact(&plain, form); err != nil {
			t.Fatal(err)
		}
		w.Messages = append(w.Messages, plain.Bytes())
	}
	c.Written = append(c.Written, w)
}

// ChangesOf are the changes of a report, as a file has them.
func ChangesOf(report providerjson.Report) []Change {
	all := []Change{}
	for _, c := range report.Changes {
		all = append(all, Change{c.Path, string(c.Kind), c.From, c.To})
	}
	return all
}

// Golden compares a file with the cases, or with update writes it anew.
func (c *Conversions) Golden(t *testing.T, file string, update bool) {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(c); err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("%s is not what the tests say", file)
	}
}
