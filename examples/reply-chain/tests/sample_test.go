package tests

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// The replies to the sample, and what its tools do.
var (
	sampleReplies = []reply{
		{"re-m1", "m1", "[depth:4] read_note: Don't forget the crème fraîche — 200 g; calculate: 42", 4},
		{"re-m2", "m2", "[depth:4] pay: paid 5 to alice; pay: paid 7 to bob; ring: rang", 4},
		{"re-m3", "m3", "[depth:8] read_note: The cat is called 小雨; recall_tool_call: Don't forget the crème fraîche — 200 g", 8},
		{"re-m4", "m4", "[depth:7] calculate: 5", 7},
		{"re-m5", "m5", "[depth:7] pay: paid 1 to carol; calculate: -1", 7},
		{"re-m6", "m6", "[depth:13] recall_tool_call: The cat is called 小雨; read_note: Don't forget the crème fraîche — 200 g; calculate: -8", 13},
		{"re-m7", "m7", "[depth:2] You said: Hello?", 2},
		{"re-m8", "m8", "[depth:16] recall_tool_call: -8", 16},
	}
	samplePayments = []payment{
		{"m2/2.0", "alice", 5},
		{"m2/2.1", "bob", 7},
		{"m5/6.0", "carol", 1},
	}
	sampleRings = []ring{{"m2/3.0"}}
)

func sampleInbox(t *testing.T) []letter {
	t.Helper()
	return lines[letter](t, filepath.Join("..", "sample"), "inbox.jsonl")
}

// isSample checks that all was done, once.
func (w *world) isSample(t *testing.T) {
	t.Helper()
	equal(t, "the outbox", w.outbox(t), sampleReplies)
	equal(t, "the ledger", lines[payment](t, w.dir, "ledger.jsonl"), samplePayments)
	equal(t, "the bell", lines[ring](t, w.dir, "bell.jsonl"), sampleRings)
}

func equal[V comparable](t *testing.T, what string, got, want []V) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// The agent answers all messages, several at once. Two replies to one message are two branches that share all that is before, and
// nothing behind it. A run with nothing to do changes nothing.
func TestSample(t *testing.T) {
	t.Parallel()
	d := startDaemon(t)
	eachLanguage(t, func(t *testing.T, command []string) {
		w := newWorld(t, command, sampleInbox(t)...)
		namespace := filepath.Base(t.Name())
		w.runs(t, d.addr, namespace)
		w.isSample(t)

		c := d.client(t, namespace)
		shared := chain(t, c, client.ByAlias("msg/re-m1"))
		left, right := chain(t, c, client.ByAlias("msg/re-m3")), chain(t, c, client.ByAlias("msg/re-m4"))
		begin := len(shared)
		if len(left) <= begin || len(right) <= begin {
			t.Fatal("a branch has nothing of its own")
		}
		equal(t, "the beginning of a branch", left[:begin], shared)
		equal(t, "the beginning of the other", right[:begin], shared)
		for _, id := range left[begin:] {
			if slices.Contains(right[begin:], id) {
				t.Errorf("%s is in both branches", id)
			}
		}
		if !compacted(t, c, client.ByAlias("msg/re-m6")) || compacted(t, c, client.ByAlias("msg/re-m4")) {
			t.Error("not the long branch alone was compacted")
		}

		before := outboxBytes(t, w)
		w.runs(t, d.addr, namespace)
		if outboxBytes(t, w) != before {
			t.Error("a run with nothing to do changed the outbox")
		}
		if err := os.Remove(filepath.Join(w.dir, "outbox.jsonl")); err != nil {
			t.Fatal(err)
		}
		w.runs(t, d.addr, namespace) // all replies come from the service
		w.isSample(t)
	})
}

func outboxBytes(t *testing.T, w *world) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "outbox.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// chain are the ids of a chain's nodes, from the root on, without compactions.
func chain(t *testing.T, c *client.Client, head client.Ref) []string {
	t.Helper()
	var ids []string
	for _, n := range full(t, c, head).Nodes {
		ids = append(ids, n.GetNodeId())
	}
	return ids
}

func full(t *testing.T, c *client.Client, head client.Ref) *client.Assembly {
	t.Helper()
	a, err := c.Assemble(t.Context(), head, client.Query{View: transcriptv1.View_VIEW_FULL, Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// compacted tells whether a model is sent a summary.
func compacted(t *testing.T, c *client.Client, head client.Ref) bool {
	t.Helper()
	a, err := c.Assemble(t.Context(), head, client.Query{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := a.Messages()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(messages, func(m *transcriptv1.Message) bool { return m.GetOrigin() == transcriptv1.Origin_ORIGIN_SUMMARY })
}
