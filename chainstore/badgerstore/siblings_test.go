package badgerstore

import (
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// A result of a sibling branch's call is an orphan, also where that lies in the segment that the branch forked from.
func TestCallsOfSiblingsAreNotEarlier(t *testing.T) {
	below := func(parent *chainstore.ID, n chainstore.NewNode) (chainstore.NewNode, chainstore.ID) {
		if parent != nil {
			n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: *parent}
		}
		return n, n.Identify(parent)
	}
	result := func(id string) chainstore.NewNode {
		return storetest.Simple().Make(storetest.Node{
			Messages: []storetest.Message{{Role: runloop.Tool, CallID: runloop.Some(id), Text: "done"}},
		})
	}
	root, rootID := below(nil, callNode(nil, []string{"z"}))
	a1, a1ID := below(&rootID, callNode(nil, []string{"x"})) // continues the root's segment
	a2, a2ID := below(&a1ID, callNode(nil, []string{"other"}))
	b1, b1ID := below(&rootID, callNode(nil, []string{"y"}))
	b2, b2ID := below(&b1ID, callNode(nil, []string{"yy"}))
	ofX, ofXID := below(&b2ID, result("x"))
	ofZ, ofZID := below(&b2ID, result("z"))
	late, lateID := below(&a2ID, result("x"))
	c1, c1ID := below(&rootID, callNode(nil, []string{"w"})) // in a segment of its own, as b1
	ofY, ofYID := below(&c1ID, result("y"))
	nodes := []chainstore.NewNode{root, a1, a2, b1, b2, ofX, ofZ, late, c1, ofY}

	for name, write := range map[string]func(s *Store){
		"in the database": func(s *Store) {
			for _, n := range nodes {
				put(t, s, n)
			}
		},
		"in one batch":  func(s *Store) { inOneBatch(t, s, nodes...) },
		"in one change": func(s *Store) { put(t, s, nodes...) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			write(s)
			for what, c := range map[string]struct {
				id   chainstore.ID
				want runloop.LeftOut
			}{
				"of a sibling's call in the parent's segment": {ofXID, runloop.Orphan},
				"of a sibling's call in another segment":      {ofYID, runloop.Orphan},
				"of an ancestor's call":                       {lateID, runloop.Late},
				"of a call before the fork":                   {ofZID, runloop.Late},
			} {
				if got := headerOf(t, s, c.id).Messages[0].Mark.LeftOut; got != c.want {
					t.Errorf("a result %s is left out for %d, want %d", what, got, c.want)
				}
			}
		})
	}
}
