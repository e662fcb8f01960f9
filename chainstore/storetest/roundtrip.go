package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

func roundTripChecks() []check {
	return []check{
		{RoundTrip, "EverythingComesBack", everythingComesBack},
		{RoundTrip, "Spans", spans},
		{RoundTrip, "YieldFails", yieldFails},
		{RoundTrip, "After", after},
		{RoundTrip, "Absent", absentHeads},
		{RoundTrip, "FirstPutStays", firstPutStays},
		{Elsewhere, "FirstPut", firstPutElsewhere},
		{RoundTrip, "ChainsOutliveMoves", chainsOutliveMoves},
		{Headers, "AreWhatTheFoldsGive", headersFold},
		{Headers, "CountForks", headersCountForks},
		{Headers, "PassOverOpaque", headersPassOverOpaque},
	}
}

// everyKind is a chain of nodes that has everything a node can have, each under the one before.
func everyKind() []Node {
	text := string(bytes.Repeat([]byte("long output "), 40))
	sent := runloop.Note{HasSentAt: true, SentAt: 1_700_000_000_123}
	tokens := runloop.Note{HasTokens: true, Tokens: 12, Estimated: true}
	ask := user("日本語 😀")
	ask.Note = sent
	answer := assistant("fine")
	answer.Note, answer.Detail = tokens, detail()
	failed := result("c2", "no")
	failed.Error = true
	failed.Name = runloop.Some("write")
	odd := Message{Role: runloop.Assistant, Calls: []runloop.Call{{}, {ID: runloop.Some("")}, {Name: runloop.Some("")}}}
	nameless := Message{Role: runloop.Tool, Text: "for whom"}
	nodes := []Node{
		root(system("be kind"), Message{Role: runloop.Developer, Text: "and short"}),
		{Messages: []Message{ask}, Metadata: []Entry{{"var/mood", `"calm"`}, {"x", ""}}},
		{Messages: []Message{calling("read", "c1", "c2")}, Salt: bytes.Repeat([]byte{7}, 16)},
		{Messages: []Message{result("c1", text), failed, result("c1", "again")}},
		{Messages: []Message{odd, nameless}, Salt: bytes.Repeat([]byte{0}, 32)},
		{Metadata: []Entry{{"var/mood", `"glad"`}, {"var/a", "1"}}},
		{Messages: []Message{user("and now?"), result("c1", "late"), result("never", "orphan")}},
		{Messages: []Message{answer, assistant(""), user("   ")},
			SpawnedFrom: &chainstore.SpawnedFrom{Node: unknownID(9), CallID: runloop.Some("c1")}},
		{Messages: []Message{calling("read", "c1")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: unknownID(8)}},
		{Messages: []Message{opaque(runloop.User, "state")}},
	}
	for i := 1; i < len(nodes); i++ {
		nodes[i].Parent = previous()
	}
	return nodes
}

// detail is one that has everything.
func detail() chainstore.Detail {
	input, output, cached := int32(math.MaxInt32), int32(0), int32(300)
	return chainstore.Detail{
		Model: "model-1", FinishReason: "stop", Input: &input, Output: &output, Cached: &cached,
		Attributes: []chainstore.Attribute{{Key: "a", Value: ""}, {Key: "日本", Value: "😀"}},
	}
}

func everythingComesBack(f *fixture) {
	nodes := everyKind()
	out := f.commit(nodes, set("head", len(nodes)-1, mustNotExist()))
	made := f.change(nodes).Nodes
	rows := f.all(aliasRef("head"))
	equal(f, "the number of rows", len(rows), len(nodes))
	for i, r := range rows {
		f.matches(r, &made[i])
		equal(f, "the id", r.header.ID, out.Nodes[i].ID)
		equal(f, "created", out.Nodes[i].Created, true)
		equal(f, "the full totals", r.header.State.Full.Totals, out.Nodes[i].Full)
		equal(f, "the effective totals", r.header.State.Effective.Totals, out.Nodes[i].Effective)
		one := f.head(idRef(r.header.ID), nil)
		equal(f, "the head's id", one.Head().ID, r.header.ID)
		equal(f, "the head's place", one.Head().Seq, uint32(i))
		f.matches(f.rows(one, chainstore.Span{From: uint32(i), Through: uint32(i)})[0], &made[i])
	}
	states, _ := f.fold(made, out.Nodes, millis(f.clock.Now()))
	for i := range states {
		equal(f, "the folded full totals", out.Nodes[i].Full, states[i].Full.Totals)
		equal(f, "the folded effective totals", out.Nodes[i].Effective, states[i].Effective.Totals)
	}
	f.clean()
}

// matches compares a row with the node that was put, as far as it is that node's own.
func (f *fixture) matches(r kept, n *chainstore.NewNode) {
	f.Helper()
	h := r.header
	switch {
	case !bytes.Equal(r.payload, n.Payload) || h.PayloadLength != len(n.Payload):
		f.Fatalf("%d bytes of payload came back (the header says %d), want %d", len(r.payload), h.PayloadLength, len(n.Payload))
	case !bytes.Equal(r.metadata, n.Metadata) || h.MetadataLength != len(n.Metadata):
		f.Fatalf("metadata is %q (the header says %d), want %q", r.metadata, h.MetadataLength, n.Metadata)
	case !bytes.Equal(r.details, n.Details) || h.DetailsLength != len(n.Details):
		f.Fatalf("details are %q (the header says %d), want %q", r.details, h.DetailsLength, n.Details)
	case !bytes.Equal(h.Salt, n.Salt):
		f.Fatalf("salt is %x, want %x", h.Salt, n.Salt)
	case !reflect.DeepEqual(h.SpawnedFrom, n.SpawnedFrom):
		f.Fatalf("spawned from %v, want %v", h.SpawnedFrom, n.SpawnedFrom)
	case len(h.Messages) != len(n.Messages):
		f.Fatalf("%d messages in the header, want %d", len(h.Messages), len(n.Messages))
	}
	for i := range h.Messages {
		got, want := h.Messages[i], runloop.BriefOf(&n.Messages[i], h.Messages[i].Mark)
		if !reflect.DeepEqual(got, want) {
			f.Fatalf("message %d is %+v in the header, want %+v", i, got, want)
		}
	}
}

// fold folds nodes that make up a chain from its root on; put are their ids.
func (f *fixture) fold(nodes []chainstore.NewNode, put []chainstore.PutNode, firstPut int64) ([]runloop.State, [][]runloop.Mark) {
	f.Helper()
	var state runloop.State
	var states []runloop.State
	var marks [][]runloop.Mark
	seen := map[runloop.Optional]bool{}
	for i, n := range nodes {
		m, _, err := state.Fold(runloop.Node{
			Seq: uint32(i), Prefix: put[i].ID.Prefix(), Times: runloop.Times{FirstPut: firstPut}, Messages: n.Messages,
		}, func(id runloop.Optional) bool { return seen[id] })
		f.ok(err)
		for _, facts := range n.Messages {
			for _, c := range facts.Calls {
				seen[c.ID] = true
			}
		}
		states, marks = append(states, state), append(marks, m)
	}
	return states, marks
}

func headersFold(f *fixture) {
	nodes := everyKind()
	out := f.commit(nodes)
	made := f.change(nodes).Nodes
	now := millis(f.clock.Now())
	states, marks := f.fold(made, out.Nodes, now)
	var tools, variables, spawned chainstore.Link
	for i, r := range f.all(idRef(out.Nodes[len(nodes)-1].ID)) {
		here := chainstore.Link{Present: true, Seq: uint32(i)}
		want := &chainstore.Header{
			ID: out.Nodes[i].ID, Seq: uint32(i), FirstPut: now, Salt: made[i].Salt, SpawnedFrom: made[i].SpawnedFrom,
			PayloadLength: len(made[i].Payload), MetadataLength: len(made[i].Metadata),
			DetailsLength: len(made[i].Details), State: states[i],
		}
		for k := range made[i].Messages {
			want.Messages = append(want.Messages, runloop.BriefOf(&made[i].Messages[k], marks[i][k]))
			if len(made[i].Messages[k].Calls) > 0 {
				tools = here
			}
		}
		if len(made[i].Variables) > 0 {
			variables = here
		}
		if made[i].SpawnedFrom != nil {
			spawned = here
		}
		want.Tools, want.Variables, want.Spawned = tools, variables, spawned
		raw := chainstore.RawHeader(chainstore.AppendHeader(nil, want))
		if !bytes.Equal(r.raw, raw) {
			f.Fatalf("header %d is %+v, want %+v", i, r.header, want)
		}
		equal(f, "the head's state", f.head(idRef(want.ID), nil).Head().State.Repairs, states[i].Repairs)
	}
}

// headersPassOverOpaque: with opaque messages at any place a chain has the folds that it has without, but for the messages and bytes
// of the full view, and for places.
func headersPassOverOpaque(f *fixture) {
	put := []Message{
		system("s"), user("q"), calling("t", "1", "2"), result("1", "one"), result("2", "two"), assistant("a"), user("and?"), calling("t", "1"),
	}
	plain := f.header(last(f.chain(chainstore.Parent{}, put...))).State
	state := []Message{opaque(runloop.System, "1"), opaque(runloop.User, "22"), opaque(runloop.Assistant, ""), opaque(runloop.Developer, "4")}
	for _, of := range [][]Message{state[:1], state[1:2], state[2:3], state} {
		var all []Message
		for _, m := range put {
			all = append(append(all, of...), m)
		}
		all = append(all, of...)
		h := f.header(last(f.chain(chainstore.Parent{}, all...)))
		got, extra := h.State, int64(len(of)*(len(put)+1))
		equal(f, "the messages of the full view", got.Full.Messages, plain.Full.Messages+extra)
		equal(f, "whether their bytes are more", got.Full.Bytes > plain.Full.Bytes+extra, true)
		equal(f, "the place of the preamble's end", got.PreambleEnd, runloop.Place{Seq: uint32(2*len(of)) + 1})
		equal(f, "the place of the loop", got.Full.Loop.Start, runloop.Place{Seq: uint32(7*len(of)) + 6})
		equal(f, "the nodes", got.Full.Nodes, int64(len(all)))
		equal(f, "the calls without a result", got.Group.Unanswered(), 1)
		got.Full.Messages, got.Full.Bytes, got.Full.Nodes = plain.Full.Messages, plain.Full.Bytes, plain.Full.Nodes
		got.Effective.Nodes, got.PreambleEnd = plain.Effective.Nodes, plain.PreambleEnd
		got.Full.Loop.Start, got.Effective.Loop.Start = plain.Full.Loop.Start, plain.Effective.Loop.Start
		got.Full.LatestUser, got.Effective.LatestUser = plain.Full.LatestUser, plain.Effective.LatestUser
		equal(f, "the folds", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", plain))
	}
	f.clean()
}

func last(ids []chainstore.ID) chainstore.ID { return ids[len(ids)-1] }

func headersCountForks(f *fixture) {
	ids := f.chain(chainstore.Parent{}, system("s"), user("u"), assistant("first child"))
	fork := f.put(under(byID(ids[1]), assistant("second child")))
	third := f.put(under(byID(ids[1]), assistant("third child")))
	below := f.put(under(byID(fork), user("on")))
	deeper := f.put(under(byID(fork), user("on, otherwise")))
	other := f.put(root(system("another root")))
	batch := f.commit([]Node{under(byID(other), user("1")), under(byID(other), user("2")), under(previous(), user("3"))})
	for id, want := range map[chainstore.ID]uint32{
		ids[0]: 0, ids[1]: 0, ids[2]: 0, fork: 1, third: 1, below: 1, deeper: 2, other: 0,
		batch.Nodes[0].ID: 0, batch.Nodes[1].ID: 1, batch.Nodes[2].ID: 1,
	} {
		equal(f, "the number of forks", f.head(idRef(id), nil).Head().Forks, want)
	}
	f.clean()
}

func spans(f *fixture) {
	ids := f.long(chainstore.Parent{}, 50)
	fork := f.long(byID(ids[20]), 30)
	path := append(append([]chainstore.ID{}, ids[:21]...), fork...)
	c := f.head(idRef(fork[29]), nil)
	last := uint32(len(path) - 1)
	for _, s := range [][2]uint32{{0, last}, {0, 0}, {20, 20}, {20, 21}, {21, 21}, {5, 30}, {last, last}, {30, 29}, {22, last}} {
		for _, headersOnly := range []bool{false, true} {
			rows := f.rows(c, chainstore.Span{From: s[0], Through: s[1], HeadersOnly: headersOnly})
			want := path[min(s[0], s[1]+1) : s[1]+1]
			if s[0] > s[1] {
				want = nil
			}
			equalSlices(f, fmt.Sprintf("rows of %v", s), idsOf(rows), want)
			for _, r := range rows {
				equal(f, "that payloads came", r.payload != nil, !headersOnly)
			}
		}
	}
	equal(f, "the rows through the far end", len(f.rows(c, chainstore.Span{From: last - 1, Through: math.MaxUint32})), 2)
	equal(f, "the rows behind the end", len(f.rows(c, chainstore.Span{From: last + 1, Through: last + 9})), 0)
}

func yieldFails(f *fixture) {
	ids := f.long(chainstore.Parent{}, 20)
	stop := errors.New("stop")
	n := 0
	err := f.head(idRef(ids[19]), nil).Rows(f.ctx(), []chainstore.Span{{Through: 19}}, func(*chainstore.Row) error {
		if n++; n == 7 {
			return stop
		}
		return nil
	})
	f.fails(err, stop)
	equal(f, "the rows yielded", n, 7)
}

func after(f *fixture) {
	trunk := f.long(chainstore.Parent{}, 12)
	fork := f.long(byID(trunk[5]), 6)
	forkOfFork := f.put(under(byID(fork[2]), user("away")))
	head := idRef(fork[5])
	for i, id := range append(append([]chainstore.ID{}, trunk[:6]...), fork...) {
		c := f.head(head, &id)
		equal(f, "the place of after", c.After(), uint32(i))
		equal(f, "the head", c.Head().ID, fork[5])
	}
	for _, id := range []chainstore.ID{trunk[6], trunk[11], forkOfFork} {
		_, err := f.store.Chain(f.ctx(), f.ns, head, &id)
		f.fails(err, chainstore.ErrNotAncestor)
	}
	_, err := f.store.Chain(f.ctx(), f.ns, idRef(fork[1]), &fork[2])
	f.fails(err, chainstore.ErrNotAncestor)
	other := f.put(root(user("another tree")))
	_, err = f.store.Chain(f.ctx(), f.ns, head, &other)
	f.fails(err, chainstore.ErrNotAncestor)
	no := unknownID(1)
	_, err = f.store.Chain(f.ctx(), f.ns, head, &no)
	f.fails(err, chainstore.ErrAfterNotFound)
}

func absentHeads(f *fixture) {
	f.absent(unknownID(1))
	_, err := f.store.Chain(f.ctx(), f.ns, aliasRef("nobody"), nil)
	f.fails(err, chainstore.ErrAliasNotFound)
	id := f.put(root(user("x")), set("a", 0, anything()))
	_, err = f.store.Chain(f.ctx(), f.ns, aliasRef("nobody"), &id)
	f.fails(err, chainstore.ErrAliasNotFound)
	_, err = f.store.Chain(f.ctx(), f.ns, idRef(unknownID(1)), &id)
	f.fails(err, chainstore.ErrNodeNotFound)
	if errors.Is(err, chainstore.ErrAfterNotFound) {
		f.Error("of a head that is not there the node that must be an ancestor is said to be missing")
	}
	_, err = f.try([]Node{under(byID(unknownID(1)), user("y"))})
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try([]Node{under(byAlias("nobody"), user("y"))})
	f.fails(err, chainstore.ErrParentNotFound)
	_, err = f.try(nil, point("b", unknownID(1), anything()))
	f.fails(err, chainstore.ErrNodeNotFound)
	f.gone("b")
}

func firstPutStays(f *fixture) {
	first := millis(f.clock.Now())
	noted := user("when")
	noted.Note, noted.Detail = runloop.Note{HasSentAt: true, SentAt: 1000, HasTokens: true, Tokens: 5}, detail()
	id, details := f.put(root(noted)), f.change([]Node{root(noted)}).Nodes[0].Details
	other := user("when")
	other.Detail.Model = "another"
	for i := range 3 {
		f.clock.Advance(13 * 60 * 60 * 1e9)
		out := f.commit([]Node{root([]Message{user("when"), other, user("when")}[i])})
		equal(f, "the id", out.Nodes[0].ID, id)
		equal(f, "created", out.Nodes[0].Created, false)
		h := f.all(idRef(id))[0].header
		equal(f, "the first put", h.FirstPut, first)
		equal(f, "the note", h.Messages[0].Note, noted.Note)
		equal(f, "the details", string(f.all(idRef(id))[0].details), string(details))
		equal(f, "the tokens", out.Nodes[0].Full.Tokens, 5)
	}
	f.clean()
}

// firstPutElsewhere: a node that was put elsewhere has the time of then, or of now if that is later, in whatever it counts, and keeps it.
func firstPutElsewhere(f *fixture) {
	now := millis(f.clock.Now())
	parent := chainstore.Parent{}
	for i, c := range []struct{ given, want int64 }{{1000, 1000}, {0, now}, {now + 1, now}, {now - 90*24*60*60*1000, now - 90*24*60*60*1000}} {
		change := f.change([]Node{under(parent, user("when"))})
		change.Nodes[0].FirstPut = c.given
		var id chainstore.ID
		for again := range 2 {
			out, err := f.store.Commit(f.ctx(), f.ns, change)
			f.ok(err)
			id = out.Nodes[0].ID
			equal(f, "created", out.Nodes[0].Created, again == 0)
		}
		h := f.all(idRef(id))[i].header
		equal(f, "the first put", h.FirstPut, c.want)
		parent = byID(id)
	}
	f.clean()
}

// chainsOutliveMoves: a Chain stays true while aliases move and nodes are added.
func chainsOutliveMoves(f *fixture) {
	ids := f.long(chainstore.Parent{}, 10)
	f.commit(nil, point("a", ids[9], anything()))
	c := f.head(aliasRef("a"), &ids[3])
	before := idsOf(f.rows(c, chainstore.Span{Through: 9}))
	f.long(byID(ids[9]), 5)
	f.long(byID(ids[4]), 5)
	f.commit(nil, remove("a", anything()))
	equalSlices(f, "the rows", idsOf(f.rows(c, chainstore.Span{Through: 9})), before)
	equal(f, "the head", c.Head().ID, ids[9])
	equal(f, "the place of after", c.After(), 3)
}
