package client_test

import (
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestErase: each field of an Erasure does what it says, and receipts verify with the server's key.
func TestErase(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	put := func(n client.Node) string {
		t.Helper()
		n.Messages = []*transcriptv1.Message{client.User("a secret")}
		return must(c.Put(ctx, n))(t).NodeId
	}
	erases := func(e client.Erasure, want ...string) {
		t.Helper()
		var got []string
		var last *transcriptv1.EraseResponse
		for report, err := range c.Erase(ctx, e) {
			ok(t, err)
			for _, n := range report.Nodes {
				got = append(got, n.NodeId)
			}
			last = report
		}
		slices.Sort(want)
		if slices.Sort(got); !last.GetDone() || !slices.Equal(got, want) {
			t.Errorf("%+v erases %v, want %v", e, got, want)
		}
	}
	salted := func(salt string) client.Node { return client.Node{Salt: []byte(salt)} }
	one := put(salted("0123456789abcdef"))
	marked, noted, named := salted("0123456789abcdeg"), salted("0123456789abcdeh"), salted("0123456789abcdei")
	marked.Metadata = map[string]string{"subject": "alice"}
	noted.Notes = []*transcriptv1.MessageNote{{Attributes: map[string]string{"user": "alice"}}}
	named.Aliases = []client.AliasUpdate{{Name: "me/1"}}
	two, three, four, shared := put(marked), put(noted), put(named), put(client.Node{})

	erases(client.Erasure{Nodes: []string{one}, DryRun: true}, one)
	if got := must(c.Node(ctx, client.ByID(one)))(t).Messages[0].Parts[0].GetText(); got != "a secret" {
		t.Errorf("behind a dry run the node says %q", got)
	}
	erases(client.Erasure{Nodes: []string{one}, Reference: "T-1", WaitForFiles: true}, one)
	erases(client.Erasure{Metadata: &transcriptv1.EntrySelector{Key: "subject", Value: "alice"}}, two)
	erases(client.Erasure{Attribute: &transcriptv1.EntrySelector{Key: "user", Value: "alice"}}, three)
	erases(client.Erasure{AliasPrefix: "me/"}, four)
	refused := func(e client.Erasure, want client.Reason) {
		t.Helper()
		var last error
		for _, err := range c.Erase(ctx, e) {
			last = err
		}
		fails(t, last, want)
	}
	refused(client.Erasure{Nodes: []string{shared}}, client.ErrSharedRoot)
	erases(client.Erasure{Nodes: []string{shared}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_KEEP})
	erases(client.Erasure{Nodes: []string{shared}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE}, shared)

	receipts := must(c.Receipts(ctx, one, two))(t)
	says := must(canonical.CheckReceipt(receipts[0].Receipt))(t)
	info := must(c.ServerInfo(ctx))(t)
	if says.Reference != "T-1" || says.StoreId != info.StoreId || !slices.Equal(receipts[0].Receipt.PublicKey, info.ReceiptPublicKey) || receipts[0].PurgedAt == nil {
		t.Errorf("the receipt says %v", says)
	}
	lone := must(c.Put(ctx, client.Node{Messages: []*transcriptv1.Message{client.User("lone")}}))(t).NodeId
	_, err := c.Receipts(ctx, lone)
	fails(t, err, client.ErrNodeNotFound)
	refused(client.Erasure{}, client.ErrInvalidField)
}
