package conformance

import (
	"fmt"
	"slices"
	"time"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func listAliasesChecks() []Check {
	return []Check{
		{ID: "list-aliases/prefix", Promise: "a prefix lists its names in the order of their bytes, both ways, in pages, each once", run: listPrefix},
		{ID: "list-aliases/folder", Promise: "a folder lists the names under it at any depth, last moved first, and the other way round, in pages, each once", run: listFolder},
		{ID: "list-aliases/loops", Promise: "with include_loops it tells where the last run loop of each chain stands; open_only leaves out the others", run: listLoops},
		{ID: "list-aliases/page-size", Promise: "page_size less than 0 is refused, and open_only without include_loops", run: listRefused},
	}
}

// list reads all pages of aliases.
func (p *probe) list(r *transcriptv1.ListAliasesRequest) []*transcriptv1.AliasInfo {
	r.Namespace = p.namespace
	var all []*transcriptv1.AliasInfo
	for range 1000 {
		page, err := p.ListAliases(p.ctx, r)
		p.ok(err, "ListAliases")
		p.holds(r.GetPageSize() == 0 || len(page.GetAliases()) <= int(r.GetPageSize()), "a page of at most %d, got %d", r.GetPageSize(), len(page.GetAliases()))
		all = append(all, page.GetAliases()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all
		}
	}
	p.failf("expected a last page of ListAliases, got 1000 pages")
	return nil
}

func aliasesOf(list []*transcriptv1.AliasInfo) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.GetName()
	}
	return names
}

func prefix(s string) *transcriptv1.ListAliasesRequest_Prefix {
	return &transcriptv1.ListAliasesRequest_Prefix{Prefix: s}
}

func listPrefix(p *probe) {
	id := p.node("", p.user())
	var names []string
	for _, rest := range []string{"b", "a", "a/x", "B", "｡", "😀", "é"} {
		names = append(names, p.name(rest))
		p.point(p.name(rest), id)
	}
	slices.Sort(names)
	p.bothWays("the names in the order of their bytes", names, func() *transcriptv1.ListAliasesRequest {
		return &transcriptv1.ListAliasesRequest{Scope: prefix(p.name(""))}
	}, transcriptv1.SortOrder_SORT_ORDER_ASCENDING)
	got := aliasesOf(p.list(&transcriptv1.ListAliasesRequest{Scope: prefix(p.name("a"))}))
	p.holds(slices.Equal(got, []string{p.name("a"), p.name("a/x")}), "the two names that begin with the prefix, got %d", len(got))
	one := p.list(&transcriptv1.ListAliasesRequest{Scope: prefix(p.name("a/x"))})
	p.same("an alias of the list", one[0], p.resolve(p.name("a/x")))
}

func listFolder(p *probe) {
	a, b := p.node("", p.user()), p.node("", p.user())
	folder := p.name("chat")
	for _, rest := range []string{"/1", "/2", "/3", "/3/deeper", "s"} {
		p.point(folder+rest, a)
		<-time.After(2 * time.Millisecond) // times are told to the millisecond
	}
	p.point(folder+"/1", b)
	p.point(folder+"/2", a) // moves nothing
	scope := func(folder string) func() *transcriptv1.ListAliasesRequest {
		return func() *transcriptv1.ListAliasesRequest {
			return &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: folder}}
		}
	}
	descending := transcriptv1.SortOrder_SORT_ORDER_DESCENDING
	p.bothWays("the names under the folder, last moved first", p.lastMoved(folder+"/1", folder+"/2", folder+"/3", folder+"/3/deeper"), scope(folder), descending)
	p.bothWays("the names under a folder in it", []string{folder + "/3/deeper"}, scope(folder+"/3"), descending)
}

// lastMoved are names in the order in which they were moved, the last first; those moved at one time by name, as they are given.
func (p *probe) lastMoved(names ...string) []string {
	moved := map[string]time.Time{}
	for _, n := range names {
		moved[n] = p.resolve(n).GetMovedAt().AsTime()
		p.holds(!moved[n].After(moved[names[0]]), "moved_at of the alias that was moved last to be the latest")
	}
	slices.SortStableFunc(names, func(a, b string) int { return moved[b].Compare(moved[a]) })
	return names
}

// bothWays holds that a list is what it should be in its own order, in that order by name, and in reverse in the other.
func (p *probe) bothWays(what string, want []string, request func() *transcriptv1.ListAliasesRequest, own transcriptv1.SortOrder) {
	for _, size := range []int32{0, 1, 3} {
		for order := range transcriptv1.SortOrder_SORT_ORDER_DESCENDING + 1 {
			r := request()
			r.PageSize, r.Order = size, order
			expected := slices.Clone(want)
			if order != transcriptv1.SortOrder_SORT_ORDER_UNSPECIFIED && order != own {
				slices.Reverse(expected)
			}
			got := aliasesOf(p.list(r))
			p.holds(slices.Equal(got, expected), "%s with %s, %d of them in pages of %d; got %d, or in another order", what, order, len(want), size, len(got))
		}
	}
}

func listLoops(p *probe) {
	for name, letters := range map[string]string{"open": "u c1", "closed": "u a", "failed": "u !failed", "none": "s"} {
		p.point(p.name(name), p.chain(letters).head())
	}
	r := func(open bool) map[string]*transcriptv1.AliasLoop {
		found := map[string]*transcriptv1.AliasLoop{}
		for _, a := range p.list(&transcriptv1.ListAliasesRequest{Scope: prefix(p.name("")), IncludeLoops: true, OpenOnly: open}) {
			found[a.GetName()] = a.GetLoop()
		}
		return found
	}
	all := r(false)
	is(p, "aliases", len(all), 4)
	is(p, "state of an open loop", all[p.name("open")].GetState(), transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN)
	is(p, "state of a closed loop", all[p.name("closed")].GetState(), transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED)
	is(p, "outcome of a loop that failed", all[p.name("failed")].GetOutcome(), transcriptv1.RunOutcome_RUN_OUTCOME_FAILED)
	is(p, "state without a loop", all[p.name("none")].GetState(), transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED)
	p.holds(all[p.name("open")].GetLastPutAt().GetSeconds() > 0, "last_put_at of a loop, got none")
	page, err := p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, Scope: prefix(p.name("")), IncludeLoops: true})
	p.ok(err, "ListAliases")
	p.holds(!page.GetNow().AsTime().Before(all[p.name("open")].GetLastPutAt().AsTime()), "now to be no earlier than what was put")
	open := r(true)
	p.holds(len(open) == 1 && open[p.name("open")] != nil, "open_only to list the alias of the open loop alone, got %d", len(open))
}

func listRefused(p *probe) {
	_, err := p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, PageSize: -1})
	p.refused(err, "INVALID_FIELD", "page_size")
	_, err = p.ListAliases(p.ctx, &transcriptv1.ListAliasesRequest{Namespace: p.namespace, OpenOnly: true})
	p.refused(err, "INVALID_FIELD", "open_only")
}

func historyChecks() []Check {
	return []Check{
		{ID: "list-alias-history/states", Promise: "the states of an alias newest first, the present one first, a deletion as an empty node_id, in pages", run: historyStates},
		{ID: "list-alias-history/bounded", Promise: "at most the last 100 states", run: historyBounded},
		{ID: "list-alias-history/never-set", Promise: "a name never set is ALIAS_NOT_FOUND", run: historyNever},
	}
}

// history reads all pages of an alias's history.
func (p *probe) history(name string) []*transcriptv1.AliasHistoryEntry {
	return p.historyPages(name, 0)
}

func (p *probe) historyPages(name string, size int32) []*transcriptv1.AliasHistoryEntry {
	r := &transcriptv1.ListAliasHistoryRequest{Namespace: p.namespace, Name: name, PageSize: size}
	var all []*transcriptv1.AliasHistoryEntry
	for range 1000 {
		page, err := p.ListAliasHistory(p.ctx, r)
		p.ok(err, "ListAliasHistory")
		all = append(all, page.GetEntries()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all
		}
	}
	p.failf("expected a last page of ListAliasHistory, got 1000 pages")
	return nil
}

func historyStates(p *probe) {
	a, b, name := p.node("", p.user()), p.node("", p.user()), p.name("x")
	p.point(name, a)
	p.point(name, b)
	p.move(&transcriptv1.AliasMove{Name: name, Target: byID(b), Labels: &transcriptv1.Labels{Entries: map[string]string{"k": "v"}}})
	p.move(&transcriptv1.AliasMove{Name: name, Delete: true})
	p.point(name, a)
	for _, size := range []int32{0, 1, 3} {
		var ids []string
		entries := p.historyPages(name, size)
		for i, e := range entries {
			ids = append(ids, e.GetNodeId())
			p.holds(i == 0 || !e.GetBeganAt().AsTime().After(entries[i-1].GetBeganAt().AsTime()), "times that do not rise towards the past")
		}
		is(p, fmt.Sprintf("states in pages of %d", size), fmt.Sprintf("%q", ids), fmt.Sprintf("%q", []string{a, "", b, a}))
	}
}

func historyBounded(p *probe) {
	ids, name := []string{p.node("", p.user()), p.node("", p.user())}, p.name("x")
	for i := range 103 {
		p.point(name, ids[i%2])
	}
	is(p, "states after 103 moves", len(p.history(name)), 100)
}

func historyNever(p *probe) {
	_, err := p.ListAliasHistory(p.ctx, &transcriptv1.ListAliasHistoryRequest{Namespace: p.namespace, Name: p.name("never")})
	p.refused(err, "ALIAS_NOT_FOUND", "name")
}

func nodeChecks() []Check {
	return []Check{
		{ID: "get-node/prefix", Promise: "GetNode takes 6 or more of an id's digits; a prefix of several is AMBIGUOUS_PREFIX, with candidates", run: nodePrefix},
		{ID: "get-node/facts", Promise: "it tells ancestors, roles, size, first put and the aliases that point to the node, in order", run: nodeFacts},
		{ID: "get-node/omit-messages", Promise: "omit_messages leaves the messages out and nothing else", run: omitMessages},
		{ID: "get-node/not-there", Promise: "an id that no node has is NODE_NOT_FOUND, an alias that is not there ALIAS_NOT_FOUND", run: nodeNotThere},
		{ID: "get-nodes/in-order", Promise: "GetNodes gives nodes in the order of the request, and names those that are missing", run: nodesInOrder},
		{ID: "get-nodes/remaining", Promise: "a reply that is full says how many ids it did not come to", Large: true, run: nodesRemaining},
		{ID: "get-nodes/refused", Promise: "no ids, an id twice, and a malformed one are refused", run: nodesRefused},
		{ID: "list-children/stable", Promise: "children are listed in one stable order, in pages, each once", run: childrenStable},
	}
}

func nodePrefix(p *probe) {
	id := p.node("", p.user())
	is(p, "id found by 20 digits", p.get(id[:20]).GetInfo().GetNodeId(), id)
	// Of 6 digits there are 16,777,216: two of some thousand nodes share them. Two of 4,000 do with a probability of a third, so
	// this is looked for among ids that are computed, and put only once found.
	a, b := p.twins()
	first, second := p.put(a).GetNodeId(), p.put(b).GetNodeId()
	_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(first[:6])})
	p.refused(err, "AMBIGUOUS_PREFIX")
	d := ambiguous(err)
	p.holds(slices.Contains(d, first) && slices.Contains(d, second) && len(d) <= 10 && slices.IsSorted(d), "both nodes among the candidates, in order, got %d", len(d))
}

func nodeFacts(p *probe) {
	c := p.chain("s u a")
	for _, n := range []string{"b", "a", "c"} {
		p.point(p.name(n), c.head())
	}
	put := p.put(&transcriptv1.PutNodeRequest{Parent: byID(c.ids[1]), Messages: []*transcriptv1.Message{p.letter("c1"), p.letter("r1")}})
	n := p.get(c.head())
	is(p, "ancestors", n.GetAncestors(), 2)
	is(p, "size_bytes", n.GetInfo().GetSizeBytes(), int64(payloadBytes(c.messages[2])))
	p.holds(slices.Equal(n.GetAliases(), []string{p.name("a"), p.name("b"), p.name("c")}), "the three aliases in the order of their names, got %d", len(n.GetAliases()))
	is(p, "has_more_aliases", n.GetHasMoreAliases(), false)
	p.holds(n.GetFirstPutAt().GetSeconds() > 0, "first_put_at, got none")
	roles := p.get(put.GetNodeId()).GetRoles()
	is(p, "roles", roles, []transcriptv1.Role{transcriptv1.Role_ROLE_ASSISTANT, transcriptv1.Role_ROLE_TOOL})
}

func omitMessages(p *probe) {
	id := p.node("", p.user(), p.letter("a"))
	whole := p.get(id)
	bare, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(id), OmitMessages: true})
	p.ok(err, "GetNode")
	is(p, "messages left out", len(bare.GetMessages()), 0)
	is(p, "message_count", bare.GetInfo().GetMessageCount(), 2)
	is(p, "payload_digest", bare.GetInfo().GetEnvelope().GetPayloadDigest(), whole.GetInfo().GetEnvelope().GetPayloadDigest())
	bare.Messages = whole.GetMessages()
	p.same("the rest of the reply", bare, whole)
}

const nowhere = "00000000000000000000000000000000000000000000000000000000000000ff"

func nodeNotThere(p *probe) {
	_, err := p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byID(nowhere)})
	p.refused(err, "NODE_NOT_FOUND", "node")
	_, err = p.GetNode(p.ctx, &transcriptv1.GetNodeRequest{Namespace: p.namespace, Node: byAlias(p.name("none"))})
	p.refused(err, "ALIAS_NOT_FOUND", "node")
}

func nodesInOrder(p *probe) {
	c := p.chain("u a u")
	ids := []string{c.ids[2], nowhere, c.ids[0]}
	r, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: ids})
	p.ok(err, "GetNodes")
	is(p, "missing_ids", r.GetMissingIds(), []string{nowhere})
	is(p, "nodes", len(r.GetNodes()), 2)
	is(p, "remaining", r.GetRemaining(), 0)
	for i, id := range []string{c.ids[2], c.ids[0]} {
		p.same("a node as GetNode gives it", r.GetNodes()[i], p.get(id))
	}
}

func nodesRemaining(p *probe) {
	var ids []string
	for range 3 {
		big := p.user()
		big.Parts = append(big.Parts, textPart(fill(1900<<10)))
		ids = append(ids, p.node("", big))
	}
	r, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: ids})
	p.ok(err, "GetNodes")
	is(p, "nodes of 1.9 MiB in a reply", len(r.GetNodes()), 2)
	is(p, "remaining", r.GetRemaining(), 1)
}

func nodesRefused(p *probe) {
	id := p.node("", p.user())
	for field, ids := range map[string][]string{"node_ids": nil, "node_ids[1]": {id, id}, "node_ids[0]": {id[:10]}} {
		_, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: ids})
		p.refused(err, "INVALID_FIELD", field)
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("%064x", i)
	}
	_, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: many})
	p.refused(err, "LIMIT_EXCEEDED", "node_ids")
	r, err := p.GetNodes(p.ctx, &transcriptv1.GetNodesRequest{Namespace: p.namespace, NodeIds: many[:1000]})
	p.ok(err, "GetNodes of 1,000 ids")
	is(p, "missing_ids of 1,000 ids", len(r.GetMissingIds()), 1000)
}

func childrenStable(p *probe) {
	root := p.node("", p.user())
	put := map[string]bool{}
	for range 7 {
		put[p.node(root, p.user())] = true
	}
	want := p.children(root)
	is(p, "children", len(want), 7)
	for _, id := range want {
		p.holds(put[id], "the children that were put, got another node")
	}
	r := &transcriptv1.ListChildrenRequest{Namespace: p.namespace, Node: byID(root), PageSize: 3}
	var got []string
	for range 10 {
		page, err := p.ListChildren(p.ctx, r)
		p.ok(err, "ListChildren")
		for _, c := range page.GetChildren() {
			got = append(got, c.GetNodeId())
		}
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			break
		}
	}
	is(p, "children in pages of 3", got, want)
	is(p, "roles of a child", p.get(want[0]).GetRoles(), []transcriptv1.Role{transcriptv1.Role_ROLE_USER})
}
