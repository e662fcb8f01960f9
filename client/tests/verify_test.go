package client_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	full      = transcriptv1.View_VIEW_FULL
	effective = transcriptv1.View_VIEW_EFFECTIVE
)

// repaired is the head of a chain with all that a verifier meets: a root, metadata, salt, a link to a spawner, nodes of
// several messages and of none, a fork, a call that gets a stub, a result that is left out.
func repaired(t *testing.T, c *client.Client) (head string, ids []string) {
	t.Helper()
	late := client.Result(call, "too late")
	res := must(c.PutAll(t.Context(),
		client.Node{Messages: messages{system}, SpawnedFrom: &transcriptv1.SpawnedFromRef{
			NodeId: strings.Repeat("ab", 32), ToolCallId: call.Id,
		}},
		client.Node{Previous: true, Messages: messages{hello, answer}, Metadata: map[string]string{"b": "2", "a": "1"}},
		client.Node{Previous: true, Messages: messages{hello}, Salt: bytes.Repeat([]byte{7}, 16)},
		client.Node{Previous: true, Metadata: map[string]string{"only": "metadata"}, Salt: bytes.Repeat([]byte{8}, 32)},
		client.Node{Previous: true, Messages: messages{asks, client.User("Never mind.")}},
		client.Node{Previous: true, Messages: messages{late, answer}},
	))(t)
	for _, r := range res {
		ids = append(ids, r.NodeId)
	}
	return ids[len(ids)-1], ids
}

func TestWhatIsTrueVerifies(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, ids := repaired(t, c)
	for _, view := range []transcriptv1.View{0, full, effective} {
		for _, after := range append(slices.Clone(ids), "") {
			a := must(c.Assemble(ctx, client.ByID(head), client.Query{View: view, After: after}))(t)
			if a.BaseID != after {
				t.Errorf("base %q, want %q", a.BaseID, after)
			}
			var inFrames int64
			for frame := range c.Frames(ctx, client.ByID(head), client.Query{View: view, After: after}) {
				inFrames += frame.Bytes()
			}
			if inFrames != a.Bytes() {
				t.Errorf("%d bytes in frames, %d in one", inFrames, a.Bytes())
			}
		}
	}
	for _, id := range ids {
		must(c.Node(ctx, client.ByID(id)))(t)
		must(c.NodeInfo(ctx, client.ByID(id[:12])))(t)
	}
	a := must(c.Assemble(ctx, client.ByID(head), client.Query{}))(t)
	again := must(c.Assemble(ctx, client.ByID(head), client.Query{IfNoneMatch: a.Etag}))(t)
	if !again.NotModified || again.Bytes() != 0 {
		t.Errorf("not modified %v, %d bytes", again.NotModified, again.Bytes())
	}
}

// However one byte of a reply is changed, its messages are those that were put, or it is refused.
func TestAFlippedByteIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	head, ids := repaired(t, c)
	query := client.Query{View: full, Verify: true}
	want := must(must(c.Assemble(ctx, client.ByID(head), query))(t).Messages())(t)
	var size int
	l.change = func(raw *[]byte) bool { size = len(*raw); return true }
	must(c.Assemble(ctx, client.ByID(head), query))(t)
	refused := 0
	for at := range size {
		l.change = func(raw *[]byte) bool { (*raw)[at] ^= 1 << (at % 8); return true }
		a, err := c.Assemble(ctx, client.ByID(head), query)
		switch {
		case errors.Is(err, client.ErrVerification) || errors.Is(err, client.ErrBadReply):
			refused++
		case err != nil:
			t.Fatalf("byte %d: %v", at, err)
		default:
			same(t, must(a.Messages())(t), want...)
		}
	}
	if refused < len(canonical.EncodePayload(want)) {
		t.Errorf("%d of %d flips refused", refused, size)
	}
	c = l.client(client.WithVerification())
	l.change = func(raw *[]byte) bool { size = len(*raw); return true }
	must(c.Node(ctx, client.ByID(ids[1])))(t)
	for at := range size {
		l.change = func(raw *[]byte) bool { (*raw)[at] ^= 1 << (at % 8); return true }
		node, err := c.Node(ctx, client.ByID(ids[1]))
		if err == nil {
			same(t, node.Messages, hello, answer)
			if e := node.Metadata.Entries; len(e) != 2 || e[0].Key+e[0].Value+e[1].Key+e[1].Value != "a1b2" {
				t.Fatalf("byte %d: metadata %v", at, e)
			}
		} else if !errors.Is(err, client.ErrVerification) && !errors.Is(err, client.ErrBadReply) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

// tamper decodes each frame, lets change alter it, and sends it on; no frame where change gives nil.
func tamper(t *testing.T, change func(*transcriptv1.StreamAssembleResponse) *transcriptv1.StreamAssembleResponse) func(*[]byte) bool {
	return func(raw *[]byte) bool {
		var m transcriptv1.StreamAssembleResponse
		if err := proto.Unmarshal(*raw, &m); err != nil {
			t.Error(err)
		}
		changed := change(&m)
		if changed == nil {
			return false
		}
		b, err := proto.Marshal(changed)
		if err != nil {
			t.Error(err)
		}
		*raw = b
		return true
	}
}

type response = transcriptv1.StreamAssembleResponse

// drop takes the nth node and its messages from a frame.
func drop(m *response, n int) {
	first := 0
	for _, info := range m.Nodes[:n] {
		first += int(info.MessageCount)
	}
	m.Messages = slices.Delete(m.Messages, first, first+int(m.Nodes[n].MessageCount))
	m.Nodes = slices.Delete(m.Nodes, n, n+1)
}

func TestATamperingServerIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, ids := repaired(t, c)
	other := must(c.Put(ctx, client.Node{Messages: messages{client.User("other")}}))(t)
	for name, change := range map[string]func(*response){
		"nothing":                           nil,
		"text":                              func(m *response) { m.Messages[1] = client.User("Hello!") },
		"role":                              func(m *response) { m.Messages[1].Role = transcriptv1.Role_ROLE_SYSTEM },
		"first dropped":                     func(m *response) { drop(m, 0) },
		"middle dropped":                    func(m *response) { drop(m, 2) },
		"last dropped":                      func(m *response) { drop(m, len(m.Nodes)-1) },
		"all dropped":                       func(m *response) { m.Messages, m.Nodes = nil, nil },
		"empty one dropped":                 func(m *response) { drop(m, 3) },
		"message dropped":                   func(m *response) { m.Messages = m.Messages[:len(m.Messages)-1] },
		"message added":                     func(m *response) { m.Messages = append(m.Messages, hello) },
		"order swapped":                     func(m *response) { m.Nodes[1], m.Nodes[2] = m.Nodes[2], m.Nodes[1] },
		"messages swapped":                  func(m *response) { m.Messages[1], m.Messages[2] = m.Messages[2], m.Messages[1] },
		"counts shifted":                    func(m *response) { m.Nodes[0].MessageCount, m.Nodes[1].MessageCount = 2, 1 },
		"negative count":                    func(m *response) { m.Nodes[3].MessageCount = -1; m.Nodes[1].MessageCount = 3 },
		"another head":                      func(m *response) { m.HeadId = other.NodeId },
		"a base unasked":                    func(m *response) { m.BaseId = ids[0]; drop(m, 0) },
		"parent":                            func(m *response) { m.Nodes[1].Envelope.ParentId = "" },
		"malformed parent":                  func(m *response) { m.Nodes[1].Envelope.ParentId = "x" },
		"salt":                              func(m *response) { m.Nodes[2].Envelope.Salt[0]++ },
		"salt dropped":                      func(m *response) { m.Nodes[2].Envelope.Salt = nil },
		"metadata":                          func(m *response) { m.Nodes[1].Envelope.MetadataDigest = "" },
		"spawner":                           func(m *response) { m.Nodes[0].Envelope.SpawnedFrom.NodeId = other.NodeId },
		"spawner dropped":                   func(m *response) { m.Nodes[0].Envelope.SpawnedFrom = nil },
		"covers":                            func(m *response) { m.Nodes[1].Envelope.CoversThroughId = ids[0] },
		"no envelope":                       func(m *response) { m.Nodes[1].Envelope = nil },
		"id":                                func(m *response) { m.Nodes[0].NodeId = other.NodeId },
		"a node twice":                      func(m *response) { m.Nodes = append(m.Nodes, m.Nodes[len(m.Nodes)-1]) },
		"called repaired, without a digest": func(m *response) { m.Nodes[1].Content = transcriptv1.NodeContent_NODE_CONTENT_MADE },
		"a stub from nowhere": func(m *response) {
			stub := client.Result(call, "what was never said")
			stub.Origin = transcriptv1.Origin_ORIGIN_STUB
			m.Messages = slices.Insert(m.Messages, 1, stub)
			m.Nodes[0].MessageCount++
		},
	} {
		l.change = nil
		if change != nil {
			l.change = tamper(t, func(m *response) *response { change(m); return m })
		}
		for _, view := range []transcriptv1.View{full, effective} {
			_, err := c.Assemble(ctx, client.ByID(head), client.Query{View: view})
			refused := errors.Is(err, client.ErrVerification) || errors.Is(err, client.ErrBadReply)
			if refused != (change != nil) || err != nil && !refused {
				t.Errorf("%s, %v: %v", name, view, err)
			}
		}
	}
}

func TestAStubThatSaysMoreIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, _ := repaired(t, c)
	stubs := 0
	l.change = tamper(t, func(m *response) *response {
		for _, one := range m.Messages {
			if one.Origin == transcriptv1.Origin_ORIGIN_STUB {
				stubs++
				one.Parts = client.Result(call, "what was never said").Parts
			}
		}
		return m
	})
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
	if stubs != 1 {
		t.Errorf("%d stubs", stubs)
	}
}

// A server cannot pass other messages off as repaired.
func TestMessagesCalledRepaired(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, _ := repaired(t, c)
	for name, change := range map[string]func(*response){
		"another text":     func(m *response) { m.Messages[1] = client.User("Hello!") },
		"a message added":  func(m *response) { m.Messages = slices.Insert(m.Messages, 1, hello); m.Nodes[1].MessageCount++ },
		"not a result out": func(m *response) { m.Messages = slices.Delete(m.Messages, 2, 3); m.Nodes[1].MessageCount-- },
		"order":            func(m *response) { m.Messages[1], m.Messages[2] = m.Messages[2], m.Messages[1] },
	} {
		l.change = tamper(t, func(m *response) *response {
			if len(m.Nodes) > 1 { // else it is a node as it was put
				digest := canonical.PayloadDigest(nil, canonical.EncodePayload(m.Messages[1:3]))
				m.Nodes[1].Content, m.Nodes[1].Envelope.PayloadDigest = transcriptv1.NodeContent_NODE_CONTENT_MADE, hex.EncodeToString(digest[:])
				change(m)
			}
			return m
		})
		for _, view := range []transcriptv1.View{full, effective} {
			_, err := c.Assemble(ctx, client.ByID(head), client.Query{View: view})
			fails(t, err, client.ErrVerification)
			t.Log(name, err)
		}
	}
}

func TestALastNodeCalledRepaired(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, _ := repaired(t, c)
	last := func(m *response) *response {
		if n := len(m.Messages) - 1; m.Messages[n].Role == answer.Role && m.Report.Repairs > 0 {
			m.Messages[n] = client.Assistant("Never said.")
		}
		return m
	}
	l.change = tamper(t, last)
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
	fails(t, ends(c.Frames(ctx, client.ByID(head), client.Query{})), client.ErrVerification)

	// A server that calls everything repaired, also what is asked for to settle that.
	l.change = tamper(t, func(m *response) *response {
		own := m.Messages[len(m.Messages)-int(m.Nodes[len(m.Nodes)-1].MessageCount):]
		digest := canonical.PayloadDigest(nil, canonical.EncodePayload(own))
		info := m.Nodes[len(m.Nodes)-1]
		if info.Content == transcriptv1.NodeContent_NODE_CONTENT_VERBATIM {
			info.Content, info.Envelope.PayloadDigest = transcriptv1.NodeContent_NODE_CONTENT_MADE, hex.EncodeToString(digest[:])
		}
		return last(m)
	})
	_, err = c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
}

// ends is the error that a sequence ends with.
func ends[T any](seq func(func(T, error) bool)) (last error) {
	seq(func(_ T, err error) bool {
		last = err
		return true
	})
	return last
}

// A server cannot show a node's ancestors in it by settling the doubt with the whole chain.
func TestANodeSettledWithTheWholeChain(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := begun(t, c)
	l.ask = func(req *transcriptv1.StreamAssembleRequest) { req.AfterId = "" }
	l.change = tamper(t, func(m *response) *response {
		digest := canonical.PayloadDigest(nil, canonical.EncodePayload(m.Messages[1:]))
		if len(l.asked) == 1 {
			m.Messages = append(messages{system}, m.Messages...)
			m.Nodes[1].MessageCount++
			m.Nodes[1].Content, m.Nodes[1].Envelope.PayloadDigest = transcriptv1.NodeContent_NODE_CONTENT_MADE, hex.EncodeToString(digest[:])
		}
		return m
	})
	_, err := c.Assemble(ctx, client.ByID(thread.Head()), client.Query{})
	fails(t, err, client.ErrVerification)
}

func TestAnotherChainThanAskedIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	head, ids := repaired(t, c)
	l.ask = func(req *transcriptv1.StreamAssembleRequest) {
		req.Head = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: ids[1]}}
	}
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
}

func TestAPutUnderAnotherIDIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := begun(t, c)
	l.answer = func(reply any) {
		switch m := reply.(type) {
		case *transcriptv1.PutNodeResponse:
			m.NodeId = thread.Head()
		case *transcriptv1.PutNodesResponse:
			m.Nodes[1].NodeId = thread.Head()
		}
	}
	fails(t, thread.Append(ctx, answer), client.ErrVerification)
	_, err := c.PutAll(ctx, client.Node{Messages: messages{system}}, client.Node{Previous: true, Messages: messages{answer}})
	fails(t, err, client.ErrVerification)
}

func TestATamperedTailIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := begun(t, c)
	must(thread.Messages(ctx, nil))(t)
	ok(t, thread.Append(ctx, asks))
	ok(t, thread.Append(ctx, result))
	l.change = tamper(t, func(m *response) *response { drop(m, 0); return m })
	_, err := thread.Messages(ctx, nil)
	fails(t, err, client.ErrVerification)
	l.change = nil
	shows(t, thread, system, hello, asks, result)
}

func TestAStreamCutShortIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	thread := long(t, c, 200)
	frames := 0
	for frame := range c.Frames(ctx, client.ByID(thread.Head()), client.Query{}) {
		if len(must(frame.Messages())(t)) > 0 {
			frames++
		}
	}
	if frames < 2 {
		t.Fatalf("%d frames do not try it", frames)
	}
	for _, cut := range []int{0, frames - 1} { // the first, then the last frame with messages
		n := -1
		l.change = tamper(t, func(m *response) *response {
			if n++; n == cut {
				m.Messages, m.Nodes = nil, nil
			}
			return m
		})
		_, err := c.Assemble(ctx, client.ByID(thread.Head()), client.Query{})
		fails(t, err, client.ErrVerification)
	}
	for _, opts := range [][]client.Option{nil, {client.WithVerification()}} {
		l.change = tamper(t, func(m *response) *response {
			if m.Report != nil {
				return nil
			}
			return m
		})
		_, err := l.client(opts...).Assemble(ctx, client.ByID(thread.Head()), client.Query{})
		fails(t, err, client.ErrBadReply)
	}
}

func TestAnotherNodeThanAskedIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	_, ids := repaired(t, c)
	var stolen []byte
	l.change = func(raw *[]byte) bool { stolen = *raw; return true }
	must(c.Node(ctx, client.ByID(ids[1])))(t)
	l.change = func(raw *[]byte) bool { *raw = stolen; return true }
	_, err := c.Node(ctx, client.ByID(ids[2]))
	fails(t, err, client.ErrVerification)
	l.change = nil
	must(c.Node(ctx, client.ByID(ids[2])))(t)
}

// A node to which repair adds more than a frame holds comes in parts.
func TestANodeInPartsVerifies(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	name := strings.Repeat("n", 1000)
	calls := slices.Repeat([]*transcriptv1.ToolCall{client.Call(name, name, "{}")}, 10)
	loop := messages{client.Assistant("", calls...), client.User("u")}
	node := must(c.Put(ctx, client.Node{Messages: slices.Repeat(loop, 120)}))(t)
	a := must(c.Assemble(ctx, client.ByID(node.NodeId), client.Query{}))(t)
	if n := len(must(a.Messages())(t)); n != 120*12 || len(a.Nodes) < 2 {
		t.Errorf("%d messages, want %d; in %d parts", n, 120*12, len(a.Nodes))
	}
}
