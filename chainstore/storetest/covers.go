package storetest

import (
	"fmt"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// notCovered: what a compaction node must not cover, and what it just may.
func notCovered(f *fixture) {
	ids := f.talk()
	fork := f.put(under(byID(ids[3]), user("another way")))
	c := f.put(compacted(ids[8], ids[5], summary("so far")))
	on := f.put(under(byID(c), assistant("answer 2")))
	c2 := f.put(compacted(on, c, summary("more")))
	open := f.put(under(byID(ids[0]), system("t")))
	inside := f.put(root(system("s"), user("q")))
	deep := f.put(under(byID(f.put(under(byID(inside), system("no preamble")))), assistant("a")))
	ended := f.chain(byID(ids[7]), user("stop"), result("c3", "late"))
	for name, at := range map[string]struct {
		parent, covers chainstore.ID
		want           error
	}{
		"no node":                               {ids[9], unknownID(1), chainstore.ErrNodeNotFound},
		"a descendant":                          {ids[5], ids[6], chainstore.ErrNotAncestor},
		"a branch":                              {ids[9], fork, chainstore.ErrNotAncestor},
		"a trunk beside a branch":               {fork, ids[4], chainstore.ErrNotAncestor},
		"another root's":                        {ids[9], inside, chainstore.ErrNotAncestor},
		"a compaction beside":                   {ids[9], c, chainstore.ErrNotAncestor},
		"the preamble":                          {ids[9], ids[0], chainstore.ErrAlreadyCovered},
		"the preamble of a chain without more":  {ids[0], ids[0], chainstore.ErrAlreadyCovered},
		"all of a longer preamble":              {open, open, chainstore.ErrAlreadyCovered},
		"the preamble before a longer one":      {open, ids[0], chainstore.ErrAlreadyCovered},
		"the node in which the preamble ends":   {ids[9], ids[1], nil},
		"the root in which the preamble ends":   {deep, inside, nil},
		"the root as parent":                    {inside, inside, nil},
		"a system message behind":               {deep, f.header(deep).ID, nil},
		"open calls":                            {ids[9], ids[2], chainstore.ErrOpenCalls},
		"one call of two":                       {ids[9], ids[3], chainstore.ErrOpenCalls},
		"open calls at the parent":              {ids[7], ids[7], chainstore.ErrOpenCalls},
		"answered calls":                        {ids[9], ids[4], nil},
		"what lies before open calls":           {ids[7], ids[6], nil},
		"calls that got their stubs":            {ended[1], ended[0], nil},
		"a result that answers nothing":         {ended[1], ended[1], nil},
		"before what is covered":                {on, ids[4], chainstore.ErrAlreadyCovered},
		"what is covered":                       {on, ids[5], nil},
		"between what is covered and the node":  {on, ids[6], nil},
		"open calls between":                    {on, ids[7], chainstore.ErrOpenCalls},
		"the compaction node":                   {on, c, nil},
		"the compaction node as parent":         {c, c, nil},
		"what is covered, from the node":        {c, ids[5], nil},
		"before what is covered, from the node": {c, ids[1], chainstore.ErrAlreadyCovered},
		"before the node that is covered":       {c2, ids[8], chainstore.ErrAlreadyCovered},
		"the node that is covered":              {c2, c, nil},
		"a node behind the one covered":         {c2, on, nil},
	} {
		n := compacted(at.parent, at.covers, summary("by "+name))
		_, err := f.try([]Node{n})
		switch {
		case at.want == nil:
			if err != nil {
				f.Errorf("%s: error is %v", name, err)
			}
		case err == nil:
			f.Errorf("%s: no error, want %v", name, at.want)
		default:
			f.fails(err, at.want)
			f.absent(f.idOf(n, &at.parent))
		}
	}
	orphaned := compacted(ids[9], ids[9], summary("a root"))
	orphaned.Parent = chainstore.Parent{}
	_, err := f.try([]Node{orphaned})
	f.fails(err, chainstore.ErrNotAncestor)
	for seq, want := range map[uint32]error{5: nil, 6: chainstore.ErrNotAncestor, 1 << 31: chainstore.ErrNotAncestor} {
		n := compacted(ids[9], ids[5], user(fmt.Sprint("put at ", seq)))
		n.Compaction.Provenance[0] = chainstore.Provenance{Present: true, Place: runloop.Place{Seq: seq}}
		if _, err := f.try([]Node{n}); want == nil {
			f.ok(err)
		} else {
			f.fails(err, want)
		}
	}
	f.clean()
}

// compactionOrderOfErrors: parents, then what is covered, then groups; conditions last. Nothing of a change that fails
// is left.
func compactionOrderOfErrors(f *fixture) {
	ids := f.talk()
	f.commit(nil, point("chat", ids[9], anything()))
	c := f.put(compacted(ids[9], ids[5], summary("so far")))
	fork := f.chain(byID(ids[1]), calling("t", "open"))
	moved := set("chat", 0, headIs(ids[0]))
	large := Message{Role: runloop.Assistant}
	for range runloop.MaxGroupCalls + 1 {
		large.Calls = append(large.Calls, runloop.Call{})
	}
	for _, at := range []struct {
		name           string
		parent, covers chainstore.ID
		message        Message
		want           error
	}{
		{"no parent, no node", unknownID(1), unknownID(2), summary("x"), chainstore.ErrParentNotFound},
		{"no node, too large", ids[9], unknownID(2), large, chainstore.ErrNodeNotFound},
		{"no ancestor, open calls", ids[9], fork[0], large, chainstore.ErrNotAncestor},
		{"covered, open calls", c, ids[3], large, chainstore.ErrAlreadyCovered},
		{"preamble, too large", ids[9], ids[0], large, chainstore.ErrAlreadyCovered},
		{"open calls, too large", ids[9], ids[3], large, chainstore.ErrOpenCalls},
		{"too large, a condition", ids[9], ids[9], large, chainstore.ErrGroupTooLarge},
		{"a condition", ids[9], ids[9], summary("x"), chainstore.ErrAliasMoved},
	} {
		n := compacted(at.parent, at.covers, at.message)
		_, err := f.try([]Node{n, under(byID(ids[9]), user("with it"))}, moved)
		if f.fails(err, at.want); at.parent != unknownID(1) {
			f.absent(f.idOf(n, &at.parent))
		}
		f.absent(f.idOf(under(byID(ids[9]), user("with it")), &ids[9]))
		f.points("chat", ids[9])
	}
	_, err := f.try([]Node{compacted(ids[9], ids[3], summary("x")), under(byID(unknownID(1)), user("x"))})
	f.fails(err, chainstore.ErrOpenCalls)
	_, err = f.try([]Node{under(byID(unknownID(1)), user("x")), compacted(ids[9], ids[3], summary("x"))})
	f.fails(err, chainstore.ErrParentNotFound)
	f.clean()
}
