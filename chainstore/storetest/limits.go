package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// The limits of a node, which a store must hold at least.
const (
	maxPayload  = 4<<20 - 128<<10
	maxMessages = 1000
	maxCalls    = 256
	maxName     = 1 << 10
	maxEntries  = 64
	maxKey      = 256
	maxValue    = 4 << 10
	// maxDetail is the most of one message's detail, maxDetails of a node's: as a request has them, which is about as they are stored.
	maxDetail, maxDetails = 1 << 10, 64 << 10
	// chunkAbove is the payload size above which an engine may keep payloads in another way.
	chunkAbove = 256 << 10
)

func limitChecks() []check {
	return []check{
		{Limits, "PayloadSizes", payloadSizes},
		{Limits, "Messages", manyMessages},
		{Limits, "Details", largeDetails},
		{Limits, "Metadata", largeMetadata},
		{Limits, "Labels", largeLabels},
		{Limits, "Salts", salts},
		{Limits, "CallNames", longCallNames},
		{Limits, "OpenCalls", openCalls},
		{Limits, "OpenCallBytes", openCallBytes},
	}
}

// sized is a node whose payload has exactly size bytes.
func (f *fixture) sized(parent chainstore.Parent, size int) Node {
	f.Helper()
	n := under(parent)
	for rest := size; rest > 2<<20; rest -= 3 << 19 {
		n.Messages = append(n.Messages, assistant(strings.Repeat("y", 3<<19)))
	}
	n.Messages = append(n.Messages, user("x"))
	last := &n.Messages[len(n.Messages)-1]
	for range 5 {
		got := len(f.cfg.Encoding.Make(n).Payload)
		if got == size {
			return n
		}
		last.Text = strings.Repeat("x", len(last.Text)+size-got)
	}
	f.Fatalf("no payload of %d bytes can be made", size)
	return n
}

func payloadSizes(f *fixture) {
	at := f.put(root(system("s")))
	var nodes []Node
	var ids []chainstore.ID
	for _, size := range []int{
		1000, 64 << 10, chunkAbove - 1, chunkAbove, chunkAbove + 1, 2*chunkAbove - 1, 2 * chunkAbove, 2*chunkAbove + 1,
		chunkAbove + 64<<10, 3 << 19, maxPayload - 1, maxPayload,
	} {
		n := f.sized(byID(at), size)
		id := f.put(n)
		ids, nodes = append(ids, id), append(nodes, n)
		fork := f.sized(byID(at), size)
		fork.Messages[0].Role = runloop.Developer
		fork.Messages[0].Detail = detail()
		made := f.change([]Node{fork}).Nodes[0]
		f.matches(f.rows(f.head(idRef(f.put(fork)), nil), chainstore.Span{From: uint32(len(ids)), Through: uint32(len(ids))})[0], &made)
		at = id
	}
	rows := f.all(idRef(at))
	for i, made := range f.change(nodes).Nodes {
		equal(f, "the id", rows[i+1].header.ID, ids[i])
		f.matches(rows[i+1], &made)
	}
	headers := f.rows(f.head(idRef(at), nil), chainstore.Span{Through: uint32(len(ids)), HeadersOnly: true})
	for i, r := range headers[1:] {
		equal(f, "the length in the header", r.header.PayloadLength, len(rows[i+1].payload))
	}
	f.clean()
}

func manyMessages(f *fixture) {
	var n Node
	for i := range maxMessages {
		m := user(fmt.Sprint(i))
		m.Note = runloop.Note{HasSentAt: true, SentAt: int64(i) * 1e9, HasTokens: i%2 == 0, Tokens: uint32(i)}
		if !m.Note.HasTokens {
			m.Note.Tokens = 0
		}
		n.Messages = append(n.Messages, m)
	}
	id := f.put(n)
	made := f.change([]Node{n}).Nodes[0]
	f.matches(f.all(idRef(id))[0], &made)
	f.put(under(byID(id), assistant("done")))
	f.clean()
}

// largeDetails: details of every size come back behind payloads of every size, and who reads headers alone gets none.
func largeDetails(f *fixture) {
	var nodes []Node
	at := f.put(root(system("s")))
	for _, size := range []int{
		1, chunkAbove - maxDetails - 20_000, chunkAbove - maxDetails, chunkAbove - 20_000, chunkAbove, 2*chunkAbove - maxDetails, 2 << 20,
	} {
		n := under(byID(at), user(strings.Repeat("x", size)))
		for len(n.Messages) < maxDetails/maxDetail {
			m := assistant("y")
			m.Detail.Model = strings.Repeat("m", maxDetail-3)
			n.Messages = append(n.Messages, m)
		}
		n.Messages[0].Detail = detail()
		at, nodes = f.put(n), append(nodes, n)
	}
	rows := f.all(idRef(at))
	for i, made := range f.change(nodes).Nodes {
		f.matches(rows[i+1], &made)
		got, err := chainstore.DecodeDetails(rows[i+1].details, len(nodes[i].Messages))
		f.ok(err)
		for k := range got {
			if !reflect.DeepEqual(got[k], nodes[i].Messages[k].Detail) {
				f.Fatalf("the detail of message %d of node %d is %+v, want %+v", k, i, got[k], nodes[i].Messages[k].Detail)
			}
		}
	}
	for i, r := range f.rows(f.head(idRef(at), nil), chainstore.Span{Through: uint32(len(nodes)), HeadersOnly: true}) {
		equal(f, "the bytes of details without payload", len(r.details), 0)
		equal(f, "their length in the header", r.header.DetailsLength, len(rows[i].details))
	}
	f.clean()
}

func largeMetadata(f *fixture) {
	n := root(user("x"))
	for i := range maxEntries {
		key := fmt.Sprintf("var/%0*d", maxKey-4, i)
		n.Metadata = append(n.Metadata, Entry{key, strings.Repeat("v", maxValue)})
	}
	empty := Node{Metadata: n.Metadata}
	out := f.commit([]Node{n, empty, under(previous(), user("y"))})
	made := f.change([]Node{n, empty}).Nodes
	f.matches(f.all(idRef(out.Nodes[0].ID))[0], &made[0])
	rows := f.all(idRef(out.Nodes[2].ID))
	f.matches(rows[0], &made[1])
	equal(f, "the messages of the node without any", len(rows[0].header.Messages), 0)
	f.clean()
}

func largeLabels(f *fixture) {
	labels := map[string]string{}
	for i := range maxEntries {
		labels[fmt.Sprintf("%0*d", maxKey, i)] = strings.Repeat("v", maxValue)
	}
	id := f.put(root(user("x")))
	name := strings.Repeat("é", 256)
	f.commit(nil, f.labelled(name, id, labels))
	if !maps.Equal(f.alias(name).Labels, labels) {
		f.Fatal("other labels came back")
	}
	f.commit(nil, f.labelled(name, id, nil))
	equal(f, "the labels", len(f.alias(name).Labels), 0)
	f.clean()
}

// salts: with another salt an equal node is another node.
func salts(f *fixture) {
	base := f.put(root(system("s")))
	seen := map[chainstore.ID]bool{}
	for _, size := range []int{0, 16, 17, 31, 32} {
		for _, b := range []byte{0, 1, 255} {
			n := under(byID(base), user("x"))
			n.Salt = bytes.Repeat([]byte{b}, size)
			first := f.commit([]Node{n}).Nodes[0]
			equal(f, "created", first.Created, !seen[first.ID])
			seen[first.ID] = true
			if got := f.all(idRef(first.ID))[1].header.Salt; !bytes.Equal(got, n.Salt) {
				f.Fatalf("salt is %x, want %x", got, n.Salt)
			}
		}
	}
	equal(f, "the nodes", len(seen), 13)
	f.clean()
}

func longCallNames(f *fixture) {
	id, name := strings.Repeat("i", maxName), strings.Repeat("n", maxName)
	answer := result(id, "r")
	answer.Name = runloop.Some(name)
	out := f.commit([]Node{root(user("u")), under(previous(), calling(name, id)), under(previous(), answer),
		{Parent: previous(), Messages: []Message{user("v")}, SpawnedFrom: &chainstore.SpawnedFrom{Node: unknownID(1), CallID: runloop.Some(id)}}})
	equal(f, "the rows", len(f.all(idRef(out.Nodes[3].ID))), 4)
	f.clean()
}

// openCalls: a group may have 1,024 calls, in any nodes; once it has ended there may be as many again.
func openCalls(f *fixture) {
	at := f.put(root(user("u")))
	for round := range 2 {
		for i := range runloop.MaxGroupCalls / maxCalls {
			m := Message{Role: runloop.Assistant, Calls: make([]runloop.Call, maxCalls)}
			m.Text = fmt.Sprint(round, i)
			at = f.put(under(byID(at), m))
		}
		_, err := f.try([]Node{under(byID(at), calling("t", "one too many"))})
		f.fails(err, chainstore.ErrGroupTooLarge)
		at = f.put(under(byID(at), user("on")))
	}
	out := f.commit([]Node{under(byID(at), assistant("end"))})
	equal(f, "the stubs", out.Nodes[0].Effective.Messages-out.Nodes[0].Full.Messages, 2*runloop.MaxGroupCalls)
	f.clean()
}

func openCallBytes(f *fixture) {
	at := f.put(root(user("u")))
	for i := range runloop.MaxGroupBytes / (2 * maxName) {
		m := calling(strings.Repeat("n", maxName), fmt.Sprintf("%0*d", maxName, i))
		at = f.put(under(byID(at), m))
	}
	_, err := f.try([]Node{under(byID(at), calling("", "x"))})
	f.fails(err, chainstore.ErrGroupTooLarge)
	at = f.put(under(byID(at), calling("", ""), result("", "ends the run of calls"), calling("t", "next group")))
	f.put(under(byID(at), result("next group", "r")))
	f.clean()
}
