package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestSearchEndsWithinANode: a page whose time is over ends between two messages of one node, and the next goes on there.
func TestSearchEndsWithinANode(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	var large []*Message
	for i := range 200 {
		large = append(large, user(fmt.Sprintf("%s %d", []string{"needle", "hay"}[i%2], i)))
	}
	first := r.put("", user("needle before"), user("hay"))
	r.put2to("chat", r.put(first, large...), user("needle behind"))
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Millisecond); return now }
	for _, req := range []*SearchRequest{byRegexp(inChain(byAlias("chat"), ""), "ne[e]dle"), byRegexp(underPrefix("ch", ""), "ne[e]dle")} {
		for _, size := range []int32{3, 100} {
			search := searchWith(store, searchLimits{Now: clock, Time: 20 * time.Millisecond})
			req.PageSize, req.PageToken = size, ""
			var found []string
			pages, within := 0, 0
			for ; pages == 0 || req.PageToken != ""; pages++ {
				page := must[*SearchResponse](r)(search(r.ctx(), req))
				for _, h := range page.Hits {
					found = append(found, strings.Fields(h.Excerpt)[1])
				}
				if len(page.Hits) > 0 && len(page.Hits) < int(size) {
					within++
				}
				req.PageToken = page.NextPageToken
			}
			want := []string{"behind"}
			for i := 198; i >= 0; i -= 2 {
				want = append(want, fmt.Sprint(i))
			}
			equal(r, "the hits", fmt.Sprint(found), fmt.Sprint(append(want, "before")))
			if pages < 10 || size == 100 && within < 10 {
				t.Errorf("%d pages of %d, %d ended before they were full", pages, size, within)
			}
		}
	}
}

// put2to puts a node under a parent and sets an alias to it.
func (r *rig) put2to(alias, parent string, messages ...*Message) {
	r.Helper()
	r.point(alias, r.put(parent, messages...))
}

// TestSearchOfSlowMessages: messages that take longer than a page are given up where they are read with others, and looked
// at by themselves; each is found, once.
func TestSearchOfSlowMessages(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	slow := user(strings.Repeat("abcd efgh ", 2500) + "!") // with the pattern a quarter of a second
	root := r.put("", slow, user("found at once!"))
	head := r.put(root, slow)
	search := searchWith(store, searchLimits{Time: 10 * time.Millisecond})
	req := byRegexp(inChain(byID(head), ""), `[a-z ]{1,700}[!?]`)
	var found []string
	for more := true; more; more = req.PageToken != "" {
		page := must[*SearchResponse](r)(search(r.ctx(), req))
		for _, h := range page.Hits {
			found = append(found, fmt.Sprintf("%s.%d", h.Place.NodeId, h.Place.MessageIndex))
		}
		equal(r, "the nodes that a page has looked at", page.ScannedNodes, int32(1))
		req.PageToken = page.NextPageToken
	}
	equal(r, "the hits", fmt.Sprint(found), fmt.Sprint([]string{head + ".0", root + ".1", root + ".0"}))
}

// TestSearchCountsWhatItReads: a page ends at its bytes also where these are of nodes that hold nothing to find.
func TestSearchCountsWhatItReads(t *testing.T) {
	store := memstore.New(memstore.Options{})
	r := newRig(t, store)
	r.chain("chat", system("s"), user("needle one"), assistant(strings.Repeat("two ", 2000)), user("three"), assistant("done"))
	compacted := r.compact(&Compact{Head: byAlias("chat"), Summary: strings.Repeat("summary ", 700), SummaryOnly: true})
	equal(r, "that it was compacted", compacted.Written, true)
	labelled := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), &PutNode{
		Parent: byID(compacted.NodeId), Metadata: []*transcriptv1.MetadataEntry{{Key: "1", Value: strings.Repeat("v", 3000)}, {Key: "2", Value: strings.Repeat("v", 3000)}},
	}))
	search := searchWith(store, searchLimits{Bytes: 5000, Span: 1, Rows: 1})
	req := inChain(byID(labelled.NodeId), "needle")
	var nodes []int32
	for {
		page := must[*SearchResponse](r)(search(r.ctx(), req))
		nodes = append(nodes, page.ScannedNodes)
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			break
		}
	}
	equal(r, "the nodes of pages", fmt.Sprint(nodes), fmt.Sprint([]int{1, 1, 3, 2}))
}
