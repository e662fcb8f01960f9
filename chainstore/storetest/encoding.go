package storetest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Encoding makes nodes of what the suite wants to put.
type Encoding struct {
	// Make encodes a node. Equal specs give equal nodes; specs that differ in more than notes and the parent give nodes
	// with other ids under one parent. What it returns shares nothing that is changed later.
	Make func(Node) chainstore.NewNode
	// Judge is what Verify is called with.
	Judge chainstore.Judge
	// Erase makes what is to be left of a node that is not erased: markers of the messages that erased tells of, by their index. nil
	// where the category Erase is skipped.
	Erase func(h *chainstore.Header, payload, metadata []byte, erased func(i int) bool) chainstore.ErasedNode
}

// Node is a node to make.
type Node struct {
	Parent      chainstore.Parent
	Messages    []Message
	Metadata    []Entry
	Salt        []byte
	SpawnedFrom *chainstore.SpawnedFrom
	// Compaction makes it a compaction node, with a Provenance for each message, and neither metadata nor SpawnedFrom.
	// Only where the category Compaction is not skipped.
	Compaction *chainstore.Compaction
}

// Message is a message to make. The suite keeps to what is allowed: calls on assistants, call ids and errors on
// results, valid UTF-8, a message at most 3 MiB.
type Message struct {
	Role runloop.Role
	// Text is one text part; empty: no part.
	Text string
	// Calls are tool calls with the arguments "{}".
	Calls  []runloop.Call
	CallID runloop.Optional
	Error  bool
	Name   runloop.Optional
	// Summary and Made are the origins that the server alone gives, LeftOut, if not 0, that of a left-out line and what it says. In
	// compaction nodes only.
	Summary bool  `json:",omitempty"`
	Made    bool  `json:",omitempty"`
	LeftOut int64 `json:",omitempty"`
	// Savings, if not nil, are what shorter arguments of the calls save. Only where the category Compaction is not skipped.
	Savings runloop.Savings `json:",omitempty"`
	// Partial says that it did not come whole.
	Partial bool `json:",omitempty"`
	// Opaque says that it is a framework's own state: Text are the state's bytes, and there is nothing else. Not on results.
	Opaque bool              `json:",omitempty"`
	Note   runloop.Note      `json:"-"`
	Detail chainstore.Detail `json:"-"`
}

// Details are those of the messages, as a NewNode has them.
func (n *Node) Details() []byte {
	details := make([]chainstore.Detail, len(n.Messages))
	for i := range n.Messages {
		details[i] = n.Messages[i].Detail
	}
	return chainstore.EncodeDetails(details)
}

// VariableInfo is a value of "varinfo/NAME".
const VariableInfo = `{"type":"str","size":200000,"preview":"It was","iteration":3}`

// Entry is one of a node's metadata. A key "var/NAME", which counts first, or "varinfo/NAME" with VariableInfo sets the variable NAME, or
// unsets it where the value is empty; "run/end" with one of the values of Outcomes ends the
// run.
type Entry struct{ Key, Value string }

// Outcomes are the values of "run/end".
var Outcomes = map[string]runloop.Outcome{
	"replied": runloop.Replied, "stopped": runloop.Stopped, "failed": runloop.Failed, "cancelled": runloop.Cancelled,
}

// Simple is an encoding for tests that know no other: JSON in length-delimited entries, with sizes and ids that follow
// from it. It is not the wire's.
func Simple() Encoding {
	return Encoding{Make: simpleMake, Judge: simpleJudge, Erase: simpleErase}
}

func simpleMake(n Node) chainstore.NewNode {
	out := chainstore.NewNode{
		Parent: n.Parent, Salt: bytes.Clone(n.Salt), SpawnedFrom: n.SpawnedFrom, Compaction: n.Compaction, Details: n.Details(),
	}
	for _, m := range n.Messages {
		body, _ := json.Marshal(m) // cannot fail: strings, numbers and booleans
		at := len(out.Payload)
		out.Payload = append(out.Payload, 0x0a)
		out.Payload = binary.AppendUvarint(out.Payload, uint64(len(body)))
		out.Payload = append(out.Payload, body...)
		f := simpleFacts(&m, len(body), len(out.Payload)-at)
		f.Note = m.Note
		out.Messages = append(out.Messages, f)
	}
	if len(n.Metadata) > 0 {
		sorted := slices.Clone(n.Metadata)
		slices.SortFunc(sorted, func(a, b Entry) int { return cmp.Compare(a.Key, b.Key) })
		out.Metadata, _ = json.Marshal(sorted)
		out.Variables, out.Outcome = variables(sorted), runEnd(sorted)
	}
	payload, metadata := simpleDigests(out.Payload, out.Metadata, out.Salt)
	from, covers := n.SpawnedFrom, coversOf(&n)
	out.Identify = func(parent *chainstore.ID) chainstore.ID { return simpleID(parent, covers, payload, metadata, from) }
	return out
}

// simpleDigests are the digests of a payload and of metadata, nil for none, under a salt.
func simpleDigests(payload, metadata, salt []byte) (p chainstore.ID, m *chainstore.ID) {
	digest := func(b []byte) chainstore.ID {
		return sha256.Sum256(slices.Concat(binary.AppendUvarint(nil, uint64(len(salt))), salt, b))
	}
	if len(metadata) > 0 {
		d := digest(metadata)
		m = &d
	}
	return digest(payload), m
}

// simpleMarker is what is left of a message that is erased.
func simpleMarker(m Message) Message {
	if m.Made && m.Text == "[no result]" || m.LeftOut != 0 {
		return m
	}
	out := Message{Role: m.Role, Calls: m.Calls, CallID: m.CallID, Error: m.Error, Summary: m.Summary, Made: m.Made, Partial: m.Partial, Opaque: m.Opaque}
	if m.Role == runloop.Tool {
		out.Name = m.Name
	}
	if !m.Opaque && strings.TrimSpace(m.Text) != "" {
		out.Text = erasedText
	}
	return out
}

// erasedText is the text of a marker.
const erasedText = "[erased]"

func simpleErase(h *chainstore.Header, payload, metadata []byte, erased func(i int) bool) chainstore.ErasedNode {
	out := chainstore.ErasedNode{ID: h.ID, Receipt: []byte("receipt of " + h.ID.Prefix())}
	out.PayloadDigest, out.MetadataDigest = simpleDigests(payload, metadata, h.Salt)
	for i, at := 0, 0; i < len(h.Messages); i++ {
		entry := payload[at : at+h.Messages[i].Length]
		if at += len(entry); erased(i) {
			var m Message
			_, n := binary.Uvarint(entry[1:])
			_ = json.Unmarshal(entry[1+n:], &m) // it was put
			body, _ := json.Marshal(simpleMarker(m))
			entry = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(body))), body...)
		}
		out.Payload = append(out.Payload, entry...)
	}
	was, _ := simpleJudge(h, payload, metadata, nil, nil)
	is, _ := simpleJudge(h, out.Payload, nil, nil, nil)
	out.Facts, out.Variables = is.Messages, was.Variables
	return out
}

// coversOf is a copy of what a node covers; nil but for compaction nodes.
func coversOf(n *Node) *chainstore.ID {
	if n.Compaction == nil {
		return nil
	}
	id := n.Compaction.Covers
	return &id
}

// variables is what entries, which are in the order of their keys, do to variables.
func variables(entries []Entry) []runloop.VariableChange {
	var changes []runloop.VariableChange
	for _, e := range entries {
		name, declared := strings.CutPrefix(e.Key, "varinfo/")
		if !declared {
			var ok bool
			if name, ok = strings.CutPrefix(e.Key, "var/"); !ok {
				continue
			}
		}
		if !slices.ContainsFunc(changes, func(c runloop.VariableChange) bool { return c.Name == name }) {
			changes = append(changes, runloop.VariableChange{Name: name, Declared: declared, Unset: e.Value == ""})
		}
	}
	slices.SortFunc(changes, func(a, b runloop.VariableChange) int { return cmp.Compare(a.Name, b.Name) })
	return changes
}

func runEnd(entries []Entry) runloop.Outcome {
	for _, e := range entries {
		if e.Key == "run/end" {
			return Outcomes[e.Value]
		}
	}
	return runloop.NoOutcome
}

func simpleFacts(m *Message, body, length int) runloop.Facts {
	if m.Opaque {
		return runloop.Facts{
			Role: m.Role, Length: length, PartsLength: len(m.Text), BareLength: body - len(m.Text), Empty: true, Opaque: true,
		}
	}
	f := runloop.Facts{
		Role: m.Role, Length: length, PartsLength: len(m.Text), BareLength: body - len(m.Text),
		TextOctets: len(m.Text), TextPoints: len([]rune(m.Text)),
		Empty: len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "",
		Error: m.Error, Summary: m.Summary, Made: m.Made, Partial: m.Partial,
		LeftOutLine: m.LeftOut != 0, LeftOutLoops: m.LeftOut,
		Name: m.Name, Calls: slices.Clone(m.Calls), CallID: m.CallID, Savings: slices.Clone(m.Savings),
	}
	if m.Text == "" {
		f.PartsLength, f.BareLength = 0, body
	}
	return f
}

func simpleID(parent, covers *chainstore.ID, payload chainstore.ID, metadata *chainstore.ID, from *chainstore.SpawnedFrom) chainstore.ID {
	h := sha256.New()
	h.Write(payload[:])
	for name, id := range []*chainstore.ID{metadata, parent, covers} {
		if id != nil {
			h.Write([]byte{byte(name)})
			h.Write(id[:])
		}
	}
	if from != nil {
		link, _ := json.Marshal(from)
		h.Write([]byte("from"))
		h.Write(link)
	}
	return chainstore.ID(h.Sum(nil))
}

var errNotSimple = errors.New("the bytes are not of the simple encoding")

func simpleJudge(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
	p, m := simpleDigests(payload, metadata, h.Salt)
	if h.Erased != nil {
		p, m = h.Erased.PayloadDigest, h.Erased.MetadataDigest
	}
	out := chainstore.Judgement{ID: simpleID(parent, covers, p, m, h.SpawnedFrom)}
	for rest := payload; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || rest[0] != 0x0a || size > uint64(len(rest)-1-n) {
			return out, errNotSimple
		}
		length := 1 + n + int(size)
		var m Message
		if err := json.Unmarshal(rest[1+n:length], &m); err != nil {
			return out, errNotSimple
		}
		out.Messages = append(out.Messages, simpleFacts(&m, int(size), length))
		rest = rest[length:]
	}
	if len(metadata) > 0 {
		var entries []Entry
		if err := json.Unmarshal(metadata, &entries); err != nil {
			return out, errNotSimple
		}
		out.Variables, out.Outcome = variables(entries), runEnd(entries)
	}
	return out, nil
}
