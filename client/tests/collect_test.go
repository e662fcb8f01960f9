package client_test

import (
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestCollectGarbage: each field of a Collection, and deletions with histories, do what they say.
func TestCollectGarbage(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c, other := l.client(), l.client(client.WithNamespace("other"))
	none := new(time.Duration)
	gone := func(q client.Collection, nodes int64) (last *transcriptv1.CollectGarbageResponse) {
		t.Helper()
		for report, err := range c.CollectGarbage(ctx, q) {
			ok(t, err)
			last = report
		}
		if !last.GetDone() || last.GetNodes() != nodes {
			t.Errorf("%+v ends with %v, want %d nodes", q, last, nodes)
		}
		return last
	}
	chat := must(c.Chat(ctx, "1", client.System("s")))(t)
	lone := must(c.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("nobody refers to it")}}))(t).NodeId
	must(other.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("theirs")}}))(t)

	gone(client.Collection{}, 0) // within the server's grace
	gone(client.Collection{DryRun: true, Grace: none}, 1)
	must(c.Node(ctx, client.ByID(lone)))(t)
	gone(client.Collection{Grace: none, MaxNodesPerSecond: 1000}, 1)
	_, err := c.Node(ctx, client.ByID(lone))
	fails(t, err, client.ErrNodeNotFound)

	must(c.DeleteAlias(ctx, chat.Alias(), client.Condition{}))(t)
	gone(client.Collection{Grace: none}, 0) // its history keeps it
	if was := must(c.ForgetAlias(ctx, chat.Alias(), client.Condition{}))(t); was != "" {
		t.Errorf("a deleted alias pointed to %s", was)
	}
	gone(client.Collection{Grace: none}, 1)

	must(c.Chat(ctx, "2", client.System("s")))(t)
	if n := len(collect(t, c.DeleteAliases(ctx, client.AliasDeletion{Prefix: "chat/", Forget: true}))); n != 1 {
		t.Errorf("%d aliases are forgotten", n)
	}
	if last := gone(client.Collection{WholeStore: true, Grace: none}, 2); last.NamespacesCollected != 2 {
		t.Errorf("%d namespaces are collected", last.NamespacesCollected)
	}
}
