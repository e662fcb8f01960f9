package client_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testreceipt"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// putsBefore is a store of which somebody else puts a node before each commit that erases some, as long as there are any.
type putsBefore struct {
	chainstore.Store
	put  func(*transcriptv1.ArchivedNode)
	left []*transcriptv1.ArchivedNode
}

func (s *putsBefore) Commit(ctx context.Context, ns string, change *chainstore.Change) (*chainstore.Committed, error) {
	if len(s.left) > 0 && len(change.Nodes) > 0 && change.Nodes[0].Erased != nil {
		n := s.left[0]
		s.left = s.left[1:]
		s.put(n)
	}
	return s.Store.Commit(ctx, ns, change)
}

// What was erased elsewhere is put although others put the same nodes with their content as fast as the server looks: the client repeats the call by itself.
func TestArchivedWhileOthersPutThem(t *testing.T) {
	store := &putsBefore{Store: memstore.New(memstore.Options{})}
	l := linkTo(testserver.Start(t, store))
	c, other := l.client(), linkTo(l.ClientConn).client()
	var erased []*transcriptv1.ArchivedNode
	for i := range 9 {
		form := canonical.NewNode(messages{client.User(fmt.Sprint(i))}, nil, nil)
		envelope := form.Envelope(nil, nil)
		whole := &transcriptv1.ArchivedNode{Envelope: canonical.AppendEnvelope(nil, envelope), Payload: form.Payload}
		store.left = append(store.left, whole)
		erased = append(erased, must(canonical.EraseArchived(whole, testreceipt.Of(t, canonical.NodeID(envelope), "")))(t))
	}
	store.put = func(n *transcriptv1.ArchivedNode) {
		if _, err := other.PutArchived(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	put := must(c.PutArchived(t.Context(), erased...))(t)
	if n := l.sent[transcriptv1.TranscriptService_PutArchivedNodes_FullMethodName]; n != 2 || len(store.left) != 0 || put[0].Retried {
		t.Errorf("sent %d times, %d nodes were not put meanwhile, retried %v", n, len(store.left), put[0].Retried)
	}
	for _, p := range put {
		if got := must(c.NodeInfo(t.Context(), client.ByID(p.NodeId)))(t); got.Info.Content != transcriptv1.NodeContent_NODE_CONTENT_ERASED {
			t.Errorf("node %s: %v", p.NodeId, got)
		}
	}
}
