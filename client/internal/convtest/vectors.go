package convtest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Case is a provider's JSON with a name. Sent is what Format writes of the messages where that is not the same: it is without what
// is a framework's own.
type Case struct {
	Name, Provider, Sent string
}

// vector is a case and what becomes of it: the messages, and the node that holds just them and has no parent.
type vector struct {
	Name          string            `json:"name"`
	Provider      string            `json:"provider"`
	Sent          string            `json:"sent,omitempty"`
	Messages      []json.RawMessage `json:"messages"`
	PayloadHex    string            `json:"payload_hex"`
	PayloadDigest string            `json:"payload_digest"`
	NodeID        string            `json:"node_id"`
}

// Vectors compares a file of vectors with the cases, or with update writes it anew. Where it is not written, each vector
// is also read back: its messages as protojson have its id, and no two cases have one.
func Vectors(t *testing.T, file string, update bool, cases []Case, parse func([]byte) ([]*transcriptv1.Message, error)) {
	t.Helper()
	vectors := make([]vector, len(cases))
	for i, c := range cases {
		messages, err := parse([]byte(c.Provider))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		vectors[i] = makeVector(t, c, messages)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(vectors); err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("%s is not what the converter makes: ids would change", file)
	}
	readBack(t, want)
}

func makeVector(t *testing.T, c Case, messages []*transcriptv1.Message) vector {
	t.Helper()
	v := vector{Name: c.Name, Provider: c.Provider, Sent: c.Sent}
	for _, m := range messages {
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		var plain bytes.Buffer // protojson's white space is not the same each time
		if err := json.Compact(&plain, text); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		v.Messages = append(v.Messages, plain.Bytes())
	}
	if err := canonical.Validate(messages, nil, nil); err != nil {
		t.Fatalf("%s: a server would refuse it: %v", c.Name, err)
	}
	node := canonical.NewNode(messages, nil, nil)
	id := canonical.NodeID(node.Envelope(nil, nil))
	v.PayloadHex = hex.EncodeToString(node.Payload)
	v.PayloadDigest = hex.EncodeToString(node.PayloadDigest[:])
	v.NodeID = hex.EncodeToString(id[:])
	return v
}

func readBack(t *testing.T, file []byte) {
	t.Helper()
	var vectors []vector
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, v := range vectors {
		var messages []*transcriptv1.Message
		for _, text := range v.Messages {
			m := &transcriptv1.Message{}
			if err := protojson.Unmarshal(text, m); err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			messages = append(messages, m)
		}
		node := canonical.NewNode(messages, nil, nil)
		id := canonical.NodeID(node.Envelope(nil, nil))
		if got := hex.EncodeToString(id[:]); got != v.NodeID {
			t.Errorf("%s: node id %s, want %s", v.Name, got, v.NodeID)
		}
		if other := names[v.NodeID]; other != "" {
			t.Errorf("%s and %s have one id", v.Name, other)
		}
		names[v.NodeID] = v.Name
	}
	if len(vectors) < 40 {
		t.Errorf("only %d vectors", len(vectors))
	}
}
