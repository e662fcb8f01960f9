package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Nodes come in the order of their ids, however many calls that takes; those that are not there are named.
func TestNodesByIDs(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	for _, c := range []*client.Client{l.client(), l.client(client.WithVerification())} {
		var asked, there, absent []string
		for i := range 1100 {
			id := fmt.Sprintf("%064x", i)
			if i%10 == 0 {
				id = must(c.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User(fmt.Sprint(i, strings.Repeat("x", 100<<10)))}}))(t).NodeId
				there = append(there, id)
			} else {
				absent = append(absent, id)
			}
			asked = append(asked, id)
		}
		found := must(c.Nodes(ctx, asked...))(t)
		if !slices.Equal(found.Missing, absent) || len(found.Nodes) != len(there) {
			t.Fatalf("%d missing, %d nodes", len(found.Missing), len(found.Nodes))
		}
		for i, n := range found.Nodes {
			one := must(c.Node(ctx, client.ByID(there[i])))(t)
			if !proto.Equal(n, one) {
				t.Errorf("node %d is %v", i, n.Info)
			}
		}
		infos := must(c.NodeInfos(ctx, asked...))(t).Nodes
		if len(infos) != len(there) || len(infos[7].Messages) > 0 || infos[7].Info.NodeId != there[7] {
			t.Errorf("%d infos", len(infos))
		}
		if none := must(c.Nodes(ctx))(t); len(none.Nodes)+len(none.Missing) > 0 {
			t.Errorf("nodes of no id: %v", none)
		}
		_, err := c.Nodes(ctx, there[0], there[0])
		fails(t, err, client.ErrInvalidField)
	}
}

// What a server says of other nodes than those asked for, or of too few, is a bad reply.
func TestNodesOfABadServer(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	a, b := must(c.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("a")}}))(t).NodeId,
		must(c.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("b")}}))(t).NodeId
	one := proto.Size(must(c.Node(ctx, client.ByID(a)))(t))
	for name, change := range map[string]func(raw []byte) []byte{
		"none":         func([]byte) []byte { return nil },
		"one of two":   func(raw []byte) []byte { return raw[:1+protowire.SizeBytes(one)] },
		"one twice":    func(raw []byte) []byte { n := 1 + protowire.SizeBytes(one); return slices.Concat(raw[:n], raw[:n]) },
		"one too many": func(raw []byte) []byte { return append(slices.Clone(raw), raw[:1+protowire.SizeBytes(one)]...) },
		"one missing": func(raw []byte) []byte {
			return protowire.AppendString(protowire.AppendTag(raw, 2, protowire.BytesType), a)
		},
		"one remaining": func(raw []byte) []byte {
			return protowire.AppendVarint(protowire.AppendTag(raw, 3, protowire.VarintType), 1)
		},
	} {
		l.change = func(raw *[]byte) bool {
			*raw = change(*raw)
			return true
		}
		_, err := c.Nodes(ctx, a, b)
		l.change = nil
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		fails(t, err, client.ErrBadReply)
	}
}
