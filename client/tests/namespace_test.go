package client_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var none = &transcriptv1.NamespaceSettings{}

const setNamespace = transcriptv1.AdminService_SetNamespace_FullMethodName

// TestNamespaces: all names are listed in order, over pages and lost replies.
func TestNamespaces(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	var want []string
	for i := range 1003 {
		want = append(want, fmt.Sprintf("n-%04d", i))
	}
	for _, name := range slices.Backward(want) {
		must(l.client(client.WithNamespace(name)).SetNamespace(ctx, none, nil))(t)
	}
	l.lost[transcriptv1.TranscriptService_ListNamespaces_FullMethodName] = 1
	if got := collect(t, l.client().Namespaces(ctx)); !slices.Equal(got, want) {
		t.Errorf("%d names, in order: %t", len(got), slices.IsSorted(got))
	}
}

// TestSetNamespace: a change at a revision is made once though its reply is lost; one without is not sent again.
func TestSetNamespace(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client(client.WithNamespace("acme"))
	if stats := must(c.Stats(ctx))(t); stats.Settings != nil || stats.SettingsRevision != 0 {
		t.Errorf("settings that were never set are %v", stats)
	}
	l.lost[setNamespace] = 2
	settings := &transcriptv1.NamespaceSettings{MaxNodes: 2, MaxAliases: 5}
	set := must(c.SetNamespace(ctx, settings, new(int64(0))))(t)
	if set.Revision != 1 || set.Settings.MaxNodes != 2 || l.sent[setNamespace] != 3 {
		t.Errorf("sent %d times: %v", l.sent[setNamespace], set)
	}
	if stats := must(c.Stats(ctx))(t); stats.SettingsRevision != 1 || stats.Settings.GetMaxAliases() != 5 {
		t.Errorf("the settings are %v", stats)
	}
	_, err := c.SetNamespace(ctx, none, new(int64(0)))
	fails(t, err, client.ErrSettingsChanged)
	if client.MayHaveHappened(err) {
		t.Error("a change that was refused may have happened")
	}
	l.lost[setNamespace] = 1
	if _, err := c.SetNamespace(ctx, none, nil); !client.MayHaveHappened(err) || l.sent[setNamespace] != 5 {
		t.Errorf("sent %d times: %v", l.sent[setNamespace], err)
	}
	if stats := must(c.Stats(ctx))(t); stats.SettingsRevision != 2 || stats.Settings.GetMaxNodes() != 0 {
		t.Errorf("the settings are %v", stats)
	}
}

// TestQuotas: what is over a quota is refused, tells which, and is not repeated; a thread goes on once there is room.
func TestQuotas(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := begun(t, c)
	must(c.SetNamespace(ctx, &transcriptv1.NamespaceSettings{MaxNodes: 2, MaxMessageBytes: 1}, nil))(t)
	put := transcriptv1.TranscriptService_PutNode_FullMethodName
	before := l.sent[put]
	err := thread.Append(ctx, client.User("one too many"))
	fails(t, err, client.ErrQuotaExceeded)
	var told *client.Error
	want := []client.Quota{{Setting: "max_nodes", Limit: 2, Rule: "at most 2 nodes"}, {Setting: "max_message_bytes", Limit: 1, Rule: "at most 1 message bytes"}}
	if !errors.As(err, &told) || !slices.Equal(told.Quotas, want) || l.sent[put] != before+1 || client.MayHaveHappened(err) {
		t.Errorf("sent %d times: %+v", l.sent[put]-before, told)
	}
	must(c.SetNamespace(ctx, none, nil))(t)
	ok(t, thread.Append(ctx, client.User("one more")))
}
