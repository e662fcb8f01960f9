package badgerstore

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// A node with many calls below many forks holds up the committer, and with it all callers, for a walk over the forks,
// not for one for each call.
func TestManyCallsBelowManyForks(t *testing.T) {
	const forks, calls = 100, 1000
	s := openStore(t, Options{})
	end := put(t, s, callNode(nil, ids("root", 2)))[0].ID
	for i := range forks {
		parent := end
		put(t, s, node(&parent, fmt.Sprint("first child ", i)))
		end = put(t, s, callNode(&parent, ids(fmt.Sprint("second child ", i), 2)))[0].ID
	}
	many := ids("many", calls)
	c := s.cost(func() { end = put(t, s, callNode(&end, many))[0].ID })
	t.Logf("%d calls below %d forks: %+v", calls, forks, c)
	if c.seeks > 4*forks {
		t.Errorf("%d seeks for %d calls below %d forks", c.seeks, calls, forks)
	}
	h := headerOf(t, s, put(t, s, callNode(&end, many, ids("root", 2), ids("new", 2)))[0].ID)
	for i, want := range []int{calls, 2, 0} {
		if got := h.Messages[2*i+1].Mark.RepeatedIDs; got != want {
			t.Errorf("%d repeated ids were found in message %d, want %d", got, 2*i+1, want)
		}
	}
}

func ids(name string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(name, " ", i))
	}
	return ids
}

// callNode is a node of a user's message and an assistant's with calls of these ids, for each group of ids.
func callNode(parent *chainstore.ID, groups ...[]string) chainstore.NewNode {
	n := storetest.Node{}
	if parent != nil {
		n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: *parent}
	}
	for _, group := range groups {
		m := storetest.Message{Role: runloop.Assistant}
		for _, id := range group {
			m.Calls = append(m.Calls, runloop.Call{ID: runloop.Some(id)})
		}
		n.Messages = append(n.Messages, storetest.Message{Role: runloop.User, Text: "go on"}, m)
	}
	return storetest.Simple().Make(n)
}

func headerOf(t *testing.T, s chainstore.Store, id chainstore.ID) *chainstore.Header {
	t.Helper()
	c, err := s.Chain(t.Context(), testNamespace, chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Head()
}
