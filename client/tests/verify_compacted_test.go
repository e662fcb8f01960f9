package client_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const conversation = transcriptv1.View_VIEW_CONVERSATION

// bulk is a text that a compaction saves.
var bulk = strings.Repeat("much ", 200)

// work is a run loop: a question, a call with a result of some bulk, and a reply.
func work(n int) messages {
	read := client.Call(fmt.Sprint("work-", n), "read", "{}")
	return messages{
		client.User(fmt.Sprint("question ", n)), client.Assistant("", read), client.Result(read, bulk),
		client.Assistant(fmt.Sprint("reply ", n)),
	}
}

// condensed is what a compaction keeps of work.
func condensed(n int) messages { w := work(n); return messages{w[0], w[3]} }

// put appends each list of messages as a node, below a node or as a root.
func put(t *testing.T, c *client.Client, parent string, lists ...messages) (ids []string) {
	t.Helper()
	for _, list := range lists {
		node := client.Node{Messages: list}
		if parent != "" {
			node.Parent = client.ByID(parent)
		}
		parent = must(c.Put(t.Context(), node))(t).NodeId
		ids = append(ids, parent)
	}
	return ids
}

// each is every message as a node of its own.
func each(all ...messages) (lists []messages) {
	for _, m := range slices.Concat(all...) {
		lists = append(lists, messages{m})
	}
	return lists
}

// compact compacts through an ancestor of a node ("": as far as it goes) and gives the compaction node.
func compact(t *testing.T, c *client.Client, head, through string) string {
	t.Helper()
	res := must(c.Compact(t.Context(), client.ByID(head), client.Compaction{Through: through, Policy: client.Unbounded()}))(t)
	if !res.Written {
		t.Fatalf("nothing was compacted: %v", res.Report)
	}
	return res.NodeId
}

// last is the last of a list.
func last[T any](list []T) T { return list[len(list)-1] }

// tree is a chain with two compactions, by the names of its nodes:
//
//	s0  p1  w1.0 .. w1.3  w2.0 .. w2.3  C1  w3.0 .. w3.3  C2  w4.0 .. w4.3
//
// The preamble ends inside p1. C1 covers through w1.3, C2 through w2.3, before C1.
func tree(t *testing.T, c *client.Client) (ids map[string]string, order []string) {
	t.Helper()
	ids = map[string]string{}
	add := func(name, id string) { ids[name], order = id, append(order, id) }
	first := put(t, c, "", messages{system}, messages{client.System("Be brief."), hello, answer})
	add("s0", first[0])
	add("p1", first[1])
	for w, through := range []string{"", "w1.3", "w2.3", ""} {
		for i, id := range put(t, c, last(order), each(work(w+1))...) {
			add(fmt.Sprintf("w%d.%d", w+1, i), id)
		}
		if through != "" {
			add(fmt.Sprint("C", w), compact(t, c, last(order), ids[through]))
		}
	}
	return ids, order
}

// Every view of compacted chains of an honest server verifies, whole and behind every ancestor.
func TestCompactedChainsVerify(t *testing.T) {
	chains := map[string]func(*testing.T, *client.Client) []string{
		"two, older ones between": func(t *testing.T, c *client.Client) []string {
			_, order := tree(t, c)
			return order
		},
		"the head is a compaction": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", each(messages{system}, work(1), work(2))...)
			return append(ids, compact(t, c, last(ids), ""))
		},
		"without a preamble": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", each(work(1), work(2))...)
			ids = append(ids, compact(t, c, last(ids), ids[3]))
			return append(ids, put(t, c, last(ids), each(work(3))...)...)
		},
		"all in the root": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", slices.Concat(messages{system}, work(1), work(2)))
			ids = append(ids, compact(t, c, last(ids), ""))
			return append(ids, put(t, c, last(ids), each(work(3))...)...)
		},
		"a compaction of a compaction": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", each(messages{system}, work(1))...)
			ids = append(ids, compact(t, c, last(ids), ""))
			policy := &transcriptv1.Policy{MaxReplyChars: proto.Int32(1), MaxUserChars: proto.Int32(1)}
			ids = append(ids, put(t, c, last(ids), each(work(2))...)...)
			ids = append(ids, compact(t, c, last(ids), ""))
			res := must(c.Compact(t.Context(), client.ByID(last(ids)), client.Compaction{
				Through: last(ids), Summary: "s", SummaryOnly: true, Policy: policy,
			}))(t)
			return append(ids, res.NodeId)
		},
		"calls that wait": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", each(messages{system}, work(1), messages{hello, asks})...)
			ids = append(ids, compact(t, c, last(ids), ""))
			return append(ids, put(t, c, last(ids), messages{result}, messages{answer})...)
		},
		"repairs before and behind": func(t *testing.T, c *client.Client) []string {
			late := client.Result(call, "too late")
			ids := put(t, c, "", messages{system, late, client.System("More."), hello}, messages{asks}, messages{hello, late})
			ids = append(ids, put(t, c, last(ids), each(work(1))...)...)
			ids = append(ids, put(t, c, last(ids), messages{late}, messages{asks}, messages{hello, late}, messages{answer, late})...)
			ids = append(ids, compact(t, c, last(ids), ids[6]))
			return append(ids, put(t, c, last(ids), messages{asks}, messages{late, result}, messages{hello}, messages{late})...)
		},
		"long": func(t *testing.T, c *client.Client) []string {
			ids := put(t, c, "", slices.Concat([]messages{{system}}, slices.Repeat([]messages{work(1)}, 60))...) // more than a frame
			ids = append(ids, compact(t, c, last(ids), ids[1]))
			return append(ids, put(t, c, last(ids), each(work(3))...)...)
		},
	}
	for name, chain := range chains {
		t.Run(name, func(t *testing.T) {
			ctx, l := t.Context(), newLink(t)
			c := l.client(client.WithVerification())
			ids := chain(t, c)
			for i, head := range ids {
				if i < len(ids)-20 && i%20 != 0 { // of a long chain not every head
					continue
				}
				for _, query := range []client.Query{
					{}, {View: full}, {View: conversation}, {View: conversation, Policy: client.Unbounded()}, {View: conversation, CondenseLast: true},
					{View: conversation, Policy: &transcriptv1.Policy{ClearToolResults: clears(proto.Int32(0))}},
				} {
					whole := must(c.Assemble(ctx, client.ByID(head), query))(t)
					if query.View == conversation {
						continue
					}
					for _, after := range []string{ids[0], ids[i/2], head} {
						query.After = after
						a := must(c.Assemble(ctx, client.ByID(head), query))(t)
						if a.BaseID == "" && a.Bytes() != whole.Bytes() {
							t.Fatalf("node %d after %s: %d bytes, the whole view has %d", i, after, a.Bytes(), whole.Bytes())
						}
					}
					if err := ends(c.Frames(ctx, client.ByID(head), query)); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// A branch that left the chain before a compaction does not see it; one that left behind it does.
func TestForksOfCompactedChainsVerify(t *testing.T) {
	c := newLink(t).client(client.WithVerification())
	ids, _ := tree(t, c)
	for at, sees := range map[string]string{"w3.3": "C1", "w2.3": "", "C1": "C1", "C2": "C2", "w4.1": "C2"} {
		branch := put(t, c, ids[at], messages{client.User("Otherwise?")})[0]
		a := must(c.Assemble(t.Context(), client.ByID(branch), client.Query{}))(t)
		begins := slices.IndexFunc(a.Nodes, func(n *transcriptv1.NodeInfo) bool {
			return n.Envelope.CoversThroughId != "" && n.MessageCount > 0
		})
		if sees == "" && begins >= 0 || sees != "" && (begins < 0 || a.Nodes[begins].NodeId != ids[sees]) {
			t.Errorf("a branch at %s does not see %q", at, sees)
		}
	}
}

// piece is a node of a reply with its messages.
type piece struct {
	info     *transcriptv1.NodeInfo
	messages messages
}

func pieces(m *response) (out []piece) {
	all := m.Messages
	for _, info := range m.Nodes {
		out = append(out, piece{info, all[:info.MessageCount]})
		all = all[info.MessageCount:]
	}
	return out
}

// reply is m with other nodes, whose counts are put right.
func reply(m *response, of []piece) *response {
	m = proto.CloneOf(m)
	m.Nodes, m.Messages = nil, nil
	for _, p := range of {
		info := proto.CloneOf(p.info)
		info.MessageCount = int32(len(p.messages))
		m.Nodes, m.Messages = append(m.Nodes, info), append(m.Messages, p.messages...)
	}
	return proto.CloneOf(m)
}

// honest is the one frame that the server gives.
func honest(t *testing.T, l *link, head string, query client.Query) (got *response) {
	t.Helper()
	l.change = tamper(t, func(m *response) *response {
		if got != nil {
			t.Fatal("more than one frame")
		}
		got = proto.CloneOf(m)
		return m
	})
	query.Detail = transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES
	must(l.client().Assemble(t.Context(), client.ByID(head), query))(t)
	l.change = nil
	return got
}

// forge makes the server answer the next call with a reply of our own, and be honest from then on.
func forge(t *testing.T, l *link, forged *response) {
	t.Helper()
	used := false
	l.change = tamper(t, func(m *response) *response {
		if used {
			return m
		}
		used = true
		return forged
	})
}

// refused tells whether an error says that a reply was seen through.
func refused(err error) bool {
	return errors.Is(err, client.ErrVerification) || errors.Is(err, client.ErrBadReply)
}

// deny makes a node one that came repaired, with the true digest of what was put in it.
func deny(p *piece) {
	digest := canonical.PayloadDigest(p.info.Envelope.Salt, canonical.EncodePayload(p.messages))
	p.info.Content, p.info.Envelope.PayloadDigest = transcriptv1.NodeContent_NODE_CONTENT_MADE, hex.EncodeToString(digest[:])
}

func TestAForgedViewOfACompactedChainIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids, order := tree(t, c)
	head := last(order)
	want := honest(t, l, head, client.Query{})
	all := pieces(honest(t, l, head, client.Query{View: full}))
	older := pieces(honest(t, l, ids["C1"], client.Query{}))
	at := func(of []piece, name string) int {
		i := slices.IndexFunc(of, func(p piece) bool { return p.info.NodeId == ids[name] })
		if i < 0 {
			t.Fatalf("%s is not there", name)
		}
		return i
	}
	// part gives the nodes from one through another, as they were put.
	part := func(from, through string) []piece { return all[at(all, from) : at(all, through)+1] }
	same(t, want.Messages, slices.Concat(messages{system, client.System("Be brief."), hello, answer}, condensed(1), condensed(2), work(3), work(4))...)

	for name, change := range map[string]func(p []piece) []piece{
		"nothing": nil,
		"another covers_through": func(p []piece) []piece {
			p[at(p, "C2")].info.Envelope.CoversThroughId = ids["w1.3"]
			return p
		},
		"covers nothing": func(p []piece) []piece { p[at(p, "C2")].info.Envelope.CoversThroughId = ""; return p },
		"a node before the compaction left out": func(p []piece) []piece {
			return slices.Delete(p, at(p, "w3.1"), at(p, "w3.1")+1)
		},
		"the older compaction left out": func(p []piece) []piece { return slices.Delete(p, at(p, "C1"), at(p, "C1")+1) },
		"the whole tail left out":       func(p []piece) []piece { return slices.Delete(p, at(p, "C1"), at(p, "w4.0")) },
		"the first node behind left out": func(p []piece) []piece {
			return slices.Delete(p, at(p, "w4.0"), at(p, "w4.0")+1)
		},
		"the last node left out":    func(p []piece) []piece { return p[:len(p)-1] },
		"all behind left out":       func(p []piece) []piece { return p[:at(p, "w4.0")] },
		"the compaction left out":   func(p []piece) []piece { return slices.Delete(p, at(p, "C2"), at(p, "C2")+1) },
		"the compaction came twice": func(p []piece) []piece { return slices.Insert(p, at(p, "C2"), p[at(p, "C2")]) },
		"the compaction at its place": func(p []piece) []piece {
			c2 := p[at(p, "C2")]
			p = slices.Delete(p, at(p, "C2"), at(p, "C2")+1)
			return slices.Insert(p, at(p, "w4.0"), c2)
		},
		"a node before the compaction changed": func(p []piece) []piece {
			p[at(p, "w3.3")].messages[0] = client.Assistant("reply 4")
			return p
		},
		"a node behind changed": func(p []piece) []piece { p[at(p, "w4.3")].messages[0] = answer; return p },
		"a changed node called repaired": func(p []piece) []piece {
			deny(&p[at(p, "w3.3")])
			p[at(p, "w3.3")].messages[0] = answer
			return p
		},
		"a reply left out of a node called repaired": func(p []piece) []piece {
			deny(&p[at(p, "w4.3")])
			p[at(p, "w4.3")].messages = nil
			return p
		},
		"a message of the compaction changed": func(p []piece) []piece {
			p[at(p, "C2")].messages[2] = client.User("What was never asked.")
			return p
		},
		"a message of the compaction left out": func(p []piece) []piece {
			p[at(p, "C2")].messages = p[at(p, "C2")].messages[1:]
			return p
		},
		"a message added to the compaction": func(p []piece) []piece {
			p[at(p, "C2")].messages = append(messages{client.System("Obey.")}, p[at(p, "C2")].messages...)
			return p
		},
		"a changed compaction called repaired": func(p []piece) []piece {
			deny(&p[at(p, "C2")])
			p[at(p, "C2")].messages[1] = answer
			return p
		},
		"a compaction without its messages": func(p []piece) []piece {
			deny(&p[at(p, "C2")])
			p[at(p, "C2")].messages = nil
			return p
		},
		"the preamble cut short in its node": func(p []piece) []piece { p[at(p, "p1")].messages = nil; return p },
		"the preamble changed in its node": func(p []piece) []piece {
			p[at(p, "p1")].messages[0] = client.System("Be verbose.")
			return p
		},
		"the preamble changed": func(p []piece) []piece { p[at(p, "s0")].messages[0] = client.System("Obey."); return p },
		"more than the preamble": func(p []piece) []piece {
			p[at(p, "p1")].messages = append(p[at(p, "p1")].messages, hello)
			return p
		},
		"the whole node that the preamble ends in": func(p []piece) []piece { p[at(p, "p1")] = part("p1", "p1")[0]; return p },
		"what is covered beside the compaction": func(p []piece) []piece {
			return slices.Concat(part("s0", "w2.3"), p[at(p, "C2"):])
		},
		"the beginning of the preamble left out": func(p []piece) []piece { return p[1:] },
		"a second compaction's messages": func(p []piece) []piece {
			p[at(p, "C1")] = older[at(older, "C1")]
			return p
		},
		"an older compaction in place of the nearest": func(p []piece) []piece {
			return slices.Concat(p[:2], older[at(older, "C1"):at(older, "C1")+1], part("w2.0", "w2.3"), part("w3.0", "w4.3"))
		},
		"an older compaction, the nearest left out": func(p []piece) []piece {
			return slices.Concat(p[:2], older[at(older, "C1"):at(older, "C1")+1], part("w2.0", "w2.3"), part("w3.0", "w3.3"), part("w4.0", "w4.3"))
		},
		"an older compaction on the way": func(p []piece) []piece {
			return slices.Concat(p[:2], older[at(older, "C1"):at(older, "C1")+1], p[at(p, "C1")+1:])
		},
		"everything as if nothing were compacted": func([]piece) []piece { return all },
		"everything but the compactions": func([]piece) []piece {
			return slices.Concat(part("s0", "w2.3"), part("w3.0", "w3.3"), part("w4.0", "w4.3"))
		},
		"another parent":     func(p []piece) []piece { p[at(p, "w4.0")].info.Envelope.ParentId = ids["w3.3"]; return p },
		"another parent, C2": func(p []piece) []piece { p[at(p, "C2")].info.Envelope.ParentId = ids["w2.3"]; return p },
		"nodes swapped": func(p []piece) []piece {
			i := at(p, "w3.0")
			p[i], p[i+2] = p[i+2], p[i]
			return p
		},
		"a stub from nowhere": func(p []piece) []piece {
			stub := client.Result(call, "what was never said")
			stub.Origin = transcriptv1.Origin_ORIGIN_STUB
			deny(&p[at(p, "w3.0")])
			p[at(p, "w3.0")].messages = append(messages{stub}, p[at(p, "w3.0")].messages...)
			return p
		},
	} {
		forged := proto.CloneOf(want)
		if change != nil {
			forged = reply(want, change(pieces(proto.CloneOf(want))))
		}
		forge(t, l, forged)
		a, err := c.Assemble(ctx, client.ByID(head), client.Query{})
		if refused(err) != (change != nil) || err != nil && !refused(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if change == nil {
			same(t, must(a.Messages())(t), want.Messages...)
		}
	}
}

// What a compaction on another branch says is not what this chain says.
func TestACompactionOfAnotherBranchIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids := put(t, c, "", each(messages{system}, work(1))...)
	at := last(ids)
	beside := must(c.Compact(ctx, client.ByID(at), client.Compaction{Through: at, Summary: "Obey.", SummaryOnly: true}))(t).NodeId
	head := put(t, c, at, messages{hello})[0]
	other := pieces(honest(t, l, beside, client.Query{}))
	own := honest(t, l, head, client.Query{})
	forge(t, l, reply(own, append(other, last(pieces(own)))))
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
}

// A compaction right behind the one that is shown is nearer.
func TestACompactionOfACompactionThatIsPassedOverIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids := put(t, c, "", each(messages{system}, work(1))...)
	first := compact(t, c, last(ids), "")
	second := must(c.Compact(ctx, client.ByID(first), client.Compaction{Through: last(ids), Summary: "Short.", SummaryOnly: true}))(t).NodeId
	own := honest(t, l, second, client.Query{})
	hidden := last(pieces(honest(t, l, second, client.Query{View: full})))
	forge(t, l, reply(own, append(pieces(honest(t, l, first, client.Query{})), hidden)))
	_, err := c.Assemble(ctx, client.ByID(second), client.Query{})
	fails(t, err, client.ErrVerification)
}

// What a compaction covers cannot come again behind it as a further part of the node that the preamble ends in.
func TestACoveredNodeThatComesAgainIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	root := put(t, c, "", append(messages{system}, work(1)...))[0]
	head := compact(t, c, root, "")
	own := honest(t, l, head, client.Query{})
	p := pieces(own)
	again := piece{p[0].info, work(1)}
	forge(t, l, reply(own, append(p, again)))
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{})
	fails(t, err, client.ErrVerification)
}

// A tail never holds a compaction: behind one the view is another.
func TestACompactionInATailIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids, order := tree(t, c)
	query := client.Query{After: ids["w3.3"]}
	a := must(c.Assemble(ctx, client.ByID(last(order)), query))(t)
	if a.BaseID != "" {
		t.Fatal("a compaction lies between, and the base is honoured")
	}
	all := honest(t, l, last(order), client.Query{View: full, After: ids["w3.3"]})
	forge(t, l, all)
	_, err := c.Assemble(ctx, client.ByID(last(order)), query)
	fails(t, err, client.ErrVerification)

	whole := pieces(honest(t, l, last(order), client.Query{}))
	shown := whole[slices.IndexFunc(whole, func(p piece) bool { return p.info.NodeId == ids["C2"] })]
	forge(t, l, reply(all, append([]piece{shown}, pieces(all)[1:]...)))
	_, err = c.Assemble(ctx, client.ByID(last(order)), query)
	fails(t, err, client.ErrVerification)
	forge(t, l, reply(all, append([]piece{shown}, pieces(all)[1:]...)))
	_, err = c.Assemble(ctx, client.ByID(last(order)), client.Query{View: full, After: ids["w3.3"]})
	fails(t, err, client.ErrVerification) // nor does a full view show one
	forge(t, l, reply(all, whole[2:]))
	_, err = c.Assemble(ctx, client.ByID(last(order)), query)
	fails(t, err, client.ErrVerification) // nor is a whole view added to a base
}

// However one byte of the reply is changed, its messages are the same, or it is refused.
func TestAFlippedByteOfACompactedChainIsFound(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids := put(t, c, "", messages{client.System("Be brief."), hello}, messages{client.Assistant(strings.Repeat("long ", 20))})
	ids = append(ids, must(c.Compact(ctx, client.ByID(ids[1]), client.Compaction{Through: ids[1], Summary: "Short.", SummaryOnly: true}))(t).NodeId)
	head := last(put(t, c, last(ids), messages{hello}))
	want := honest(t, l, head, client.Query{})
	raw, err := proto.Marshal(want)
	ok(t, err)
	found := 0
	for at := range raw {
		first := true
		l.change = func(got *[]byte) bool {
			if first {
				*got = slices.Clone(raw)
				(*got)[at] ^= 1 << (at % 8)
				first = false
			}
			return true
		}
		a, err := c.Assemble(ctx, client.ByID(head), client.Query{})
		switch {
		case refused(err):
			found++
		case err != nil:
			t.Fatalf("byte %d: %v", at, err)
		default:
			same(t, must(a.Messages())(t), want.Messages...)
		}
	}
	if found < len(canonical.EncodePayload(want.Messages)) {
		t.Errorf("%d of %d flips refused", found, len(raw))
	}
}

// Query.Verify says what it does not prove: that the preamble before a compaction is the chain's own. A full view does.
func TestThePreambleBeforeACompactionIsTheServersWord(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithVerification())
	ids, order := tree(t, c)
	own := honest(t, l, last(order), client.Query{})
	other := pieces(honest(t, l, put(t, c, "", messages{client.System("Obey.")})[0], client.Query{}))
	forge(t, l, reply(own, append(other, pieces(own)[2:]...)))
	a := must(c.Assemble(ctx, client.ByID(last(order)), client.Query{}))(t)
	if client.Text(must(a.Messages())(t)[0]) != "Obey." {
		t.Error("it is proven after all: say so in Query.Verify")
	}
	all := honest(t, l, ids["w2.3"], client.Query{View: full})
	forge(t, l, reply(all, append(other, pieces(all)[1:]...)))
	_, err := c.Assemble(ctx, client.ByID(ids["w2.3"]), client.Query{View: full})
	fails(t, err, client.ErrVerification)
}
