package badgerstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The golden store's encoding and program are fixed with it: nothing here may change. What a later version adds to the
// format gets a program and an archive of its own.

// goldenClock begins in 2026, or so much later, and goes on when it is told to.
type goldenClock struct{ start, passed time.Duration }

func (c *goldenClock) now() time.Time {
	return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(c.start + c.passed)
}

type goldenMessage struct {
	Role   runloop.Role
	Text   string           `json:",omitempty"`
	Calls  []runloop.Call   `json:",omitempty"`
	CallID runloop.Optional `json:",omitzero"`
	Note   runloop.Note     `json:"-"`
	// Detail is there from format 2 on.
	Detail chainstore.Detail `json:"-"`
}

func (m *goldenMessage) facts(length int) runloop.Facts {
	return runloop.Facts{
		Role: m.Role, Length: length, PartsLength: len(m.Text), BareLength: length - len(m.Text),
		TextOctets: len(m.Text), TextPoints: len([]rune(m.Text)),
		Empty: m.Text == "" && len(m.Calls) == 0, Calls: m.Calls, CallID: m.CallID,
	}
}

func goldenSum(parts ...[]byte) chainstore.ID {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	return chainstore.ID(h.Sum(nil))
}

func goldenIdentity(parent *chainstore.ID, payload, metadata, salt []byte, from *chainstore.SpawnedFrom) chainstore.ID {
	var up, link []byte
	if parent != nil {
		up = parent[:]
	}
	if from != nil {
		link = append(from.Node[:], from.CallID.Value...)
	}
	return goldenSum(payload, metadata, salt, up, link)
}

// goldenNode makes a node; each message is a line of JSON.
func goldenNode(parent *chainstore.ID, messages ...goldenMessage) chainstore.NewNode {
	n := chainstore.NewNode{Parent: chainstore.Parent{Kind: chainstore.NoParent}}
	if parent != nil {
		n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: *parent}
	}
	var details []chainstore.Detail
	for _, m := range messages {
		line, _ := json.Marshal(m) // cannot fail
		n.Payload = append(append(n.Payload, line...), '\n')
		f := m.facts(len(line) + 1)
		f.Note = m.Note
		n.Messages, details = append(n.Messages, f), append(details, m.Detail)
	}
	n.Details = chainstore.EncodeDetails(details)
	return identified(n)
}

func identified(n chainstore.NewNode) chainstore.NewNode {
	n.Identify = func(parent *chainstore.ID) chainstore.ID {
		return goldenIdentity(parent, n.Payload, n.Metadata, n.Salt, n.SpawnedFrom)
	}
	return n
}

// setting adds metadata that sets variables.
func setting(n chainstore.NewNode, names ...string) chainstore.NewNode {
	n.Metadata, n.Variables = []byte(strings.Join(names, " ")), goldenVariables(names)
	return identified(n)
}

// goldenVariables are what names set; one that begins with a dash is unset.
func goldenVariables(names []string) (changes []runloop.VariableChange) {
	for _, name := range names {
		name, unset := strings.CutPrefix(name, "-")
		changes = append(changes, runloop.VariableChange{Name: name, Unset: unset})
	}
	return changes
}

func goldenJudge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	out := chainstore.Judgement{ID: goldenIdentity(parent, payload, metadata, h.Salt, h.SpawnedFrom)}
	for line := range strings.Lines(string(payload)) {
		var m goldenMessage
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return out, errors.New("not a golden message")
		}
		out.Messages = append(out.Messages, m.facts(len(line)))
	}
	if len(metadata) > 0 {
		out.Variables = goldenVariables(strings.Split(string(metadata), " "))
	}
	return out, nil
}

func goldenPut(tb testing.TB, s chainstore.Store, namespace string, nodes ...chainstore.NewNode) (ids []chainstore.ID) {
	tb.Helper()
	out, err := s.Commit(context.Background(), namespace, &chainstore.Change{Nodes: nodes})
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range out.Nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// goldenProgram makes changes that write rows of every table, and returns the ids of its nodes.
func goldenProgram(tb testing.TB, s chainstore.Store, clock *goldenClock) (ids []chainstore.ID) {
	tb.Helper()
	text := func(role runloop.Role, text string) goldenMessage { return goldenMessage{Role: role, Text: text} }
	add := func(n chainstore.NewNode) *chainstore.ID {
		clock.passed += time.Second
		ids = append(ids, goldenPut(tb, s, "default", n)...)
		return &ids[len(ids)-1]
	}
	noted := text(runloop.User, "What is the weather in Zürich?")
	noted.Note = runloop.Note{HasSentAt: true, SentAt: 1_790_000_000_000, HasTokens: true, Tokens: 9}
	root := add(setting(goldenNode(nil, text(runloop.System, "You are helpful.")), "model", "mood"))
	asked := add(goldenNode(root, noted))
	called := add(goldenNode(asked, goldenMessage{Role: runloop.Assistant, Calls: []runloop.Call{
		{ID: runloop.Some("c1"), Name: runloop.Some("weather")}, {ID: runloop.Some("c2"), Name: runloop.Some("time")}, {},
	}}))
	answered := add(goldenNode(called,
		goldenMessage{Role: runloop.Tool, CallID: runloop.Some("c1"), Text: strings.Repeat("rain ", 60)},
		goldenMessage{Role: runloop.Tool, CallID: runloop.Some("c1"), Text: "again"},
		goldenMessage{Role: runloop.Tool, CallID: runloop.Some("nobody"), Text: "orphan"},
		goldenMessage{Role: runloop.Tool, Text: "the call without an id"}))
	told, tokens := text(runloop.Assistant, "It rains."), int32(70_000)
	told.Detail = chainstore.Detail{Model: "m-1", FinishReason: "stop", Input: &tokens, Attributes: []chainstore.Attribute{{Key: "a", Value: "1"}}}
	replied := add(setting(goldenNode(answered, told), "mood"))
	late := add(goldenNode(replied, goldenMessage{Role: runloop.Tool, CallID: runloop.Some("c2"), Text: "late"}))
	add(goldenNode(late, goldenMessage{Role: runloop.Assistant, Calls: []runloop.Call{
		{ID: runloop.Some("c1"), Name: runloop.Some("weather")},
	}}))
	long := text(runloop.User, strings.Repeat("a long story ", 50_000))
	long.Detail.Model = "m-1"
	large := add(goldenNode(replied, long))
	goldenForks(add, large)
	salted := goldenNode(root, text(runloop.User, "salted"))
	salted.Salt = []byte("sixteen bytes...")
	salted.SpawnedFrom = &chainstore.SpawnedFrom{Node: *called, CallID: runloop.Some("c2")}
	spawned := add(identified(salted))
	below := add(goldenNode(spawned, text(runloop.Assistant, "below what was spawned")))
	spawner := goldenNode(below, text(runloop.Assistant, "put after what it spawned"))
	for _, from := range []chainstore.ID{spawner.Identify(below), {1}} {
		early := goldenNode(nil, text(runloop.User, "spawned before"))
		early.SpawnedFrom = &chainstore.SpawnedFrom{Node: from}
		add(identified(early))
	}
	add(spawner)
	ids = append(ids, goldenPut(tb, s, "other", goldenNode(nil, text(runloop.User, "elsewhere")))...)
	goldenAliases(tb, s, clock, ids)
	clock.passed += 13 * time.Hour
	goldenPut(tb, s, "default", setting(goldenNode(nil, text(runloop.System, "You are helpful.")), "model", "mood"))
	return ids
}

// goldenForks makes a chain of which every node is its parent's second child.
func goldenForks(add func(chainstore.NewNode) *chainstore.ID, at *chainstore.ID) {
	for i := range 70 {
		parent := *at
		add(goldenNode(&parent, goldenMessage{Role: runloop.User, Text: fmt.Sprint("first child ", i)}))
		at = add(goldenNode(&parent, goldenMessage{Role: runloop.Assistant, Text: fmt.Sprint("second child ", i)}))
	}
}

func goldenAliases(tb testing.TB, s chainstore.Store, clock *goldenClock, ids []chainstore.ID) {
	tb.Helper()
	labelled := setAlias("chat/a", ids[3], chainstore.Condition{})
	labelled.Labels, labelled.SetLabels = map[string]string{"title": "Rain", "empty": ""}, true
	steps := []chainstore.AliasChange{
		labelled, setAlias("chat/b", ids[4], chainstore.Condition{}), setAlias("chat/gone", ids[4], chainstore.Condition{}),
		setAlias("chat/a", ids[6], chainstore.Condition{}), {Name: "chat/gone", Target: chainstore.Target{Kind: chainstore.TargetNone}},
	}
	for i := range 105 {
		steps = append(steps, setAlias("busy", ids[i%5], chainstore.Condition{}))
	}
	for _, step := range steps {
		clock.passed += time.Minute
		commitAliases(tb, s, step)
	}
}
